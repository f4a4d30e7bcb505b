"""The syntax of loops in SQL and Python, and the values that they are parsed into."""
