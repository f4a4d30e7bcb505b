"""Loops that find best paths: one row for each vertex, improved along its incoming edges."""
