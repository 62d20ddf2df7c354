"""Latencies as exact counts: percentiles as bounds, over time, and stalls."""
