"""Rounds as programs over maps, in process and by tasks, and what they share with rounds on graphs."""
