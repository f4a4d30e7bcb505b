"""From a program as written to its stored statements, and the choice of those refreshed by deltas."""
