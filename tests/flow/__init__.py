"""Tests of flows: the model against an interpreter, the paper's programs, recovery."""
