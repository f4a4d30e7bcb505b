"""Matrices too large for one process: stored in row blocks, which tasks read and write."""
