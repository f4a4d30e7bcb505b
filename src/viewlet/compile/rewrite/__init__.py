"""Rewrites, plan to plan, into forms that the tiers know how to maintain."""
