"""Access paths: look-ups by key, by range, by rank and by neighbourhood."""
