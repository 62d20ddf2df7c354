"""HdrHistogram, which several load generators write."""
