"""From the syntax of a loop to plans and to the programs that are stored."""
