"""Runs of stages: scheduled, translated, committed, reported."""
