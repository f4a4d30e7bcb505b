"""Signals as a kind of maintained thing."""
