"""What other systems are told of a warehouse: metrics for Prometheus, lineage for OpenLineage."""
