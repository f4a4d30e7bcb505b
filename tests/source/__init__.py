"""Sources: whatever becomes of what they read, tables hold what Spark reads from scratch."""
