"""The log of a warehouse in a folder."""
