"""How the result of each operator changes with its operands, in factors."""
