"""Running a loop within an epoch."""
