"""The front end is Spark's: its parser, analyser and optimizer process a definition, and Viewlet reads the result.

Nothing is imported here, so that a warehouse opens without a JVM; `analyse` and `fragments` are the entry points.
"""
