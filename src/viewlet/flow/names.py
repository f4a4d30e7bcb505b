"""Names that users meet in what their functions are given, and give."""

STATE = "state"
"""What outputs call the loopback flow of a stage."""
GROUP = "_group"
"""The column of Arrow tables that says to which key a row belongs."""
