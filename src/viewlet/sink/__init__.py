"""Where results are delivered."""
