"""Fragments of Spark's plans that Spark evaluates later, on rows at hand."""
