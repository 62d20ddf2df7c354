"""Frames in, small result objects out: no plotting, no files."""
