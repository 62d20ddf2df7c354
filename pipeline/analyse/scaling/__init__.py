"""Lines and curves over a number of units: LINEST in full, efficiency, Amdahl, the Universal Scalability Law."""
