"""Definitions of flows: their stages, validation, and storage in the catalog."""
