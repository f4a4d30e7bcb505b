"""The commit log: its bytes, its records, and the state that it adds up to."""
