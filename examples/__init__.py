"""Programs to read and to run: `python examples/01_first_view.py`."""
