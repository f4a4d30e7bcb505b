"""Aggregates kept as a mergeable state per key, without rows."""
