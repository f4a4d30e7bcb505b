"""Loops of user-defined delta handlers: for the state's join with a relation, for an aggregate, and for the state."""
