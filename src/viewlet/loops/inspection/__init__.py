"""Looking at a loop: explained, checked, its rounds and their sizes."""
