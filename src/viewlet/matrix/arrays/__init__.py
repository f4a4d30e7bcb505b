"""The evaluation of operators on arrays."""
