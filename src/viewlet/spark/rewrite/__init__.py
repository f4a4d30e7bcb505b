"""Rewrites of Spark's own plans, before Viewlet decodes them."""
