"""Sinks: what they were given, put together, is what the view holds."""
