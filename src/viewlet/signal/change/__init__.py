"""Changes of readings: how far they reach, and the reruns around them."""
