"""From a program as written to the statements that are kept, and which of them are refreshed by deltas."""
