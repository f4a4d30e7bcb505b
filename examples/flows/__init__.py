"""Programs as flows: those of *Programming Bulk-Incremental Dataflows*, and finding people who are the same."""
