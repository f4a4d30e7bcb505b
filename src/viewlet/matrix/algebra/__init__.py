"""The algebra of matrix programs: operators, shapes, text, and tracing of functions."""
