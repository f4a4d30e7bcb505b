"""Inspecting a warehouse: `status`, `graph`, `describe` and `check`."""
