"""What watches a machine while a benchmark runs: sysstat, vmstat, perfmon, Prometheus."""
