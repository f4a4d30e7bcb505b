"""Rewrites of Spark's own plans, before Viewlet reads them."""
