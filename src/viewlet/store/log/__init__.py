"""The commit log: its bytes, its records, and the state that they add up to."""
