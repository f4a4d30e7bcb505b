"""Fragments of Spark's plans that Spark evaluates later, on given rows."""
