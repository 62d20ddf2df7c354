"""What processors did: hot symbols, classes of samples, flame graphs, counters, saturation."""
