"""Matrices too large for one process: stored in row blocks, and processed by tasks that each read their own rows."""
