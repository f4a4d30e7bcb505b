"""What a user writes: the spellings of loops, in SQL and Python, and the values that they become."""
