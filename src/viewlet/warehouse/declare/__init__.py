"""What tables and views are declared to be: the catalog, and what changes in it."""
