"""Graphs in memory: numbered vertices and edges, and the values of vertices."""
