"""Projects of Spark Declarative Pipelines, run as they are."""
