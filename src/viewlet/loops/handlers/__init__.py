"""Loops of users' delta handlers: a join with the state, an aggregate, and what the state makes of what comes back."""
