"""Terms as functions over columns: what both engines run."""
