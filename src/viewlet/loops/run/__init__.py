"""A loop inside of an epoch: prepared, run, and finished with its result."""
