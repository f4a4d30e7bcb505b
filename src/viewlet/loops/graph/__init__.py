"""Graphs in memory: vertices and edges by number, and what is known of each vertex."""
