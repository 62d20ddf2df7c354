"""Series of windows: steady state, trend, warm-up, fill."""
