"""Rows of an aggregated pgbench log (--aggregate-interval): a line an interval, sums in µs and µs²."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.postgres._pgbench_log_kernel import EPOCH_S, LAST_EPOCH_S
from pipeline.parse.postgres._pgbench_log_lines import Lines
from pipeline.parse.postgres._pgbench_log_series import OP

Interval = list[int]
_SKIPPED, _RETRIED, _RETRIES, _FAILURES = 10, 11, 12, 13  # where they stand in a line; the kinds of failures go on


def _n_failed(row: Interval) -> int:
    return sum(row[_FAILURES:])


# The names of the progress lines (``pgbench``), how many columns a line has that holds them, and where.
_COUNTS: tuple[tuple[str, int, Callable[[Interval], int]], ...] = (
    ("transactions_skipped", 11, lambda row: row[_SKIPPED]),
    ("transactions_failed", 15, _n_failed),
    ("transactions_retried", 15, lambda row: row[_RETRIED]),
    ("transactions_retries", 15, lambda row: row[_RETRIES]),
)


def read_intervals(source: Source, lines: Lines) -> Report | None:
    """The report of all rows; None when there are none.

    They are in memory together: a day of seconds takes some 50 MB.
    """
    read = [row for block in lines.blocks() for row in block.columns[: lines.n_columns, : block.n_rows].T.tolist()]
    rows: list[Interval] = [row for row in read if EPOCH_S <= row[0] < LAST_EPOCH_S]
    lines.n_bad += len(read) - len(rows)
    if not rows:
        return None
    report = Report("pgbench_log", source)
    start = min(row[0] for row in rows)
    steps = [after[0] - before[0] for before, after in pairwise(rows) if after[0] > before[0]]
    window = float(min(steps)) if steps else None
    report.describe(started_at=datetime.fromtimestamp(start, UTC))
    _add_totals(report, rows)
    for row in rows:
        when = {"op": "transaction", "window_s": window}
        if window is not None:
            report.add("throughput_series", **when, time_s=row[0] - start + window, ops_per_s=row[1] / window)
        for phase, first in _phases(row):
            report.add("latency_series", **when, time_s=row[0] - start + window if window is not None else None,
                       phase=phase, latency_s=row[first] / row[1] * units.MICRO,
                       latency_max_s=row[first + 3] * units.MICRO)  # fmt: skip
    _add_counts(report, rows, start, window)
    return report


def _add_counts(report: Report, rows: list[Interval], start: int, window: float | None) -> None:
    """A row an interval and count; of one that is 0 throughout none, as it may not have been looked for."""
    for metric, n_columns, count in _COUNTS:
        if not any(len(row) >= n_columns and count(row) for row in rows):
            continue
        for row in rows:
            time_s = row[0] - start + window if window is not None else None
            report.add("metric_series", metric=metric, time_s=time_s, value=float(count(row)), unit="1")
    if n_retries := sum(row[_RETRIES] for row in rows if len(row) >= 15):
        report.parameter("retries", n_retries)


def _phases(row: Interval) -> list[tuple[str, int]]:
    """The phases of an interval and where their sum, sum of squares, minimum and maximum begin."""
    phases = [("total", 2)] if row[1] else []
    if row[1] and len(row) >= 10 and row[6]:
        phases.append(("schedule_lag", 6))
    return phases


def _add_totals(report: Report, rows: list[Interval]) -> None:
    """The operations row and a summary a phase; rate and duration stay null, as the last interval may be partial."""
    n = sum(row[1] for row in rows)
    n_skipped = sum(row[_SKIPPED] for row in rows if len(row) >= 11)
    n_failed = sum(map(_n_failed, rows)) or None  # not counted, or not looked for: both are zeros
    total = _statistics(rows, 2)
    report.add("operations", **OP, n_ops=n, n_errors=n_failed, **{f"latency_{k}": v for k, v in total.items()})
    if n:
        report.add("latency_summary", **OP, phase="total", n_ops=n, **total)
    if any(phase == "schedule_lag" for row in rows for phase, _ in _phases(row)):
        report.add("latency_summary", **OP, phase="schedule_lag", n_ops=n, **_statistics(rows, 6))
    if n_skipped:
        found = f"found {n_skipped} skipped"
        report.warn(None, "transactions_skipped", f"expected all scheduled transactions to run, {found}")


def _statistics(rows: list[Interval], first: int) -> dict[str, float | None]:
    """Mean, standard deviation of the sample (n - 1), minimum and maximum in seconds, from the sums."""
    filled = [row for row in rows if row[1]]
    n, total, squares = (sum(row[i] for row in filled) for i in (1, first, first + 1))
    if not n:
        return {}
    spread = squares * n - total * total  # integers: the sums of long runs leave no digits to a float
    return {
        "mean_s": total / n * units.MICRO,
        "stddev_s": math.sqrt(spread / (n * (n - 1))) * units.MICRO if n > 1 and spread >= 0 else None,
        "min_s": min(row[first + 2] for row in filled) * units.MICRO,
        "max_s": max(row[first + 3] for row in filled) * units.MICRO,
    }
