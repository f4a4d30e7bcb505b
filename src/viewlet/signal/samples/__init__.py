"""The layout of the samples of all groups in arrays."""
