"""Spark's plans and expressions, decoded into the algebra."""
