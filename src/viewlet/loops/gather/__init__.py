"""Loops that settle over a graph: each vertex gathers a sum along the edges that arrive, and makes its value of it."""
