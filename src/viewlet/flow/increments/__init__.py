"""Which rows a stage reads: connectors, framing, routing, groups, runnability."""
