"""Runs: immutable sorted pieces of a bag; how they are written, read and merged."""
