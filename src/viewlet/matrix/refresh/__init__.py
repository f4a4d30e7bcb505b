"""The matrices of a compiled program, and how an update refreshes and checks them."""
