"""Loops that are paths through a graph: one row for each vertex, made better along the edges that lead to it."""
