"""Two sides of repeated runs against each other."""
