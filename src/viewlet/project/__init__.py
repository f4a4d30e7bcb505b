"""Spark Declarative Pipelines projects, run unchanged."""
