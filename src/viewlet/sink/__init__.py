"""Delivery of results to other systems."""
