"""The page: a warehouse to look at in a browser."""
