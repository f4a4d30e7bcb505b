"""Matrix programs in a warehouse: matrices from tables, results as tables, state in bags."""
