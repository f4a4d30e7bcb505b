"""The log of a warehouse in an object store."""
