"""Maintaining the matrices of a compiled program: storage, refreshes, checks."""
