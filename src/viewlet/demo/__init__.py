"""The demonstration: a retail warehouse, made here, whose views stay fresh while it changes."""
