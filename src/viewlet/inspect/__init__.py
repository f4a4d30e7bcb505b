"""Inspecting a warehouse: how views are maintained, what they hold, and whether they are right."""
