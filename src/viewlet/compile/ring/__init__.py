"""Blocks of the ring: sums of products, and the maps and statements that maintain them."""
