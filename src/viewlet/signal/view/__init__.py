"""Signals as a kind of maintained view."""
