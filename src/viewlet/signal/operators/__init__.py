"""What operators compute, for all groups at once."""
