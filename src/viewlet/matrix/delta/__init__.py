"""Delta rules: the change of each operator's result, in factors."""
