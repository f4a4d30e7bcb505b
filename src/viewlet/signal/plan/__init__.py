"""Pipelines as frozen operators, the kinds of signal that they return, their text and JSON."""
