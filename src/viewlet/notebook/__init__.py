"""Viewlet in notebooks: `%load_ext viewlet`."""
