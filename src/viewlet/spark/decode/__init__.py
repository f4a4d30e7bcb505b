"""Decoding Spark's plans and expressions into the algebra."""
