"""The rows that a stage reads: connectors, framing, routing, groups, runnability."""
