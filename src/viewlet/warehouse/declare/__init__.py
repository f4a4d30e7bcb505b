"""Declarations of tables and views: the catalog, and its changes."""
