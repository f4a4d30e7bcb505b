"""What other systems learn about a warehouse: metrics for Prometheus, lineage for OpenLineage."""
