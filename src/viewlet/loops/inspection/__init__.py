"""Inspecting loops: `explain`, `check`, the history and sizes of rounds."""
