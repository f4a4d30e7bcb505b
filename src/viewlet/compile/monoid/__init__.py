"""Aggregates kept as a mergeable state for each key, without rows."""
