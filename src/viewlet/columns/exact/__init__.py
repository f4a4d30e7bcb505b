"""Exact numbers: sums, products and moments of doubles and decimals as integers."""
