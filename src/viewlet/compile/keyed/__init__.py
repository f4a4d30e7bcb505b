"""Operators maintained group by group: only the groups that a change touches are read."""
