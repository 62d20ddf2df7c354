"""Readers of what the host itself says of its state."""
