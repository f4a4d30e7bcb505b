"""Rounds as programs over maps, in process and as tasks; what they share with the rounds along graphs."""
