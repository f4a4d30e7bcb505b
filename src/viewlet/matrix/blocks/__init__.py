"""Matrices too large for one process: kept in row blocks, and worked on by tasks that each read their own rows."""
