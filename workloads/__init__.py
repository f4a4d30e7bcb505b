"""Workloads that are known from elsewhere: their tables, queries, data and streams of changes."""
