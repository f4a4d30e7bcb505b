"""Contents, changes and earlier states, for readers."""
