"""Loops that converge on a graph: each vertex computes its value from a sum along its incoming edges."""
