"""Plotly figures from result frames, a file a topic: units are scaled here, for display only."""
