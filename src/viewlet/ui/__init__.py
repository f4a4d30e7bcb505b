"""The page: a warehouse in a browser."""
