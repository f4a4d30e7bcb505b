"""How samples of all groups are laid out in arrays."""
