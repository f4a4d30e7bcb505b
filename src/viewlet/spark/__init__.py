"""The front end is Spark's: its parser, analyser and optimizer read a definition, and Viewlet reads their result.

Nothing is imported here, so that a warehouse opens without a JVM; `analyse` and `fragments` are the doors.
"""
