"""Runs of ACT made by hand."""

from frames import report

MS = ((0.0, 0.001), (0.001, 0.002), (0.008, 0.016), (0.064, 0.128))


def act_run(windows, *, run_id="r1", unit="ms", devices=1, x=1.0, duration=None, is_complete=True, warnings=(),
            bins=MS, op="read", offered=None, names=None):  # fmt: skip
    """A run whose ``windows`` are (start, end, counts of the bins)."""
    duration = max((end for _, end, _ in windows), default=0.0) if duration is None else duration
    made = report(run_id=run_id, tool="act", duration_s=duration, is_complete=is_complete)
    total = 0
    for start, end, counts in windows:
        for (lower, upper), count in zip(bins, counts, strict=False):
            if count:
                made.add("latency_bins", interval_start_s=start, interval_end_s=end, job="reads", op=op, scope="total",
                         phase="total", lower_s=lower, upper_s=upper, count=count)  # fmt: skip
                total += count
    made.add("operations", op=op, scope="total", job="reads", n_ops=total, ops_per_s=total / max(duration, 1))
    rate = 2000 * x * devices if offered is None else offered
    made.parameter("device-names", names or ",".join(f"/dev/nvme{i}n1" for i in range(devices)))
    made.parameter("read-reqs-per-sec", f"{rate:g}")
    made.parameter("write-reqs-per-sec", f"{rate / 2:g}")
    made.parameter("microsecond-histograms", "yes" if unit == "us" else "no")
    made.parameter("report-interval-sec", "1")
    for code in warnings:
        made.warn(None, code, code)
    return made
