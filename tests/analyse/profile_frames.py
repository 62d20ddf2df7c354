"""Reports of perf made by hand, for the tests of profiles."""

from frames import report


def hotspots(run_id, *rows, point=None, header=None, **common):
    """A report with rows (symbol, n_samples) or mappings of columns."""
    made = report(run_id, "perf_report", point=point)
    for row in rows:
        columns = row if isinstance(row, dict) else {"symbol": row[0], "n_samples": row[1]}
        defaults = {"event": "cycles", "command": "fio", "shared_object": "[kernel.kallsyms]", "privilege": "k"}
        made.add("perf_hotspots", **{**defaults, **common, **columns})
    if header:
        made.parameter("Samples", header, job="cycles")
    return made


def stacks(run_id, *rows, point=None, event="cycles", period=None):
    """A report with rows (stack, n_samples); with ``period`` the numbers are periods instead."""
    made = report(run_id, "perf_script", point=point)
    for stack, n in rows:
        counts = {"n_samples": None, "period": float(n)} if period else {"n_samples": n, "period": 1000.0 * n}
        made.add("perf_stacks", event=event, command="fio", stack=stack, **counts)
    return made
