"""The computations of operators, for all groups at once."""
