"""Signals as things that a warehouse keeps fresh."""
