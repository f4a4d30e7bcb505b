"""What the operators mean on arrays."""
