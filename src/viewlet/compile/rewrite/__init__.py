"""Plan to plan: forms that the tiers below know how to maintain."""
