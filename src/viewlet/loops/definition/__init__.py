"""From a loop as written to plans and programs: what is stored of it."""
