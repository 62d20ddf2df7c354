"""iperf 2 and 3."""
