"""Rows of a pgbench log with a line a transaction: its series, and statistics over all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline import units
from pipeline.parse._pgbench_cells import Cells, Flags, Integers
from pipeline.parse._report import Report

OP = {"op": "transaction", "scope": "total"}
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
EPOCHS_S = (10**8, 10**10)  # 1973 to 2286
_MAX_LATENCY_US = 10**13


def add_transactions(report: Report, cells: Cells) -> bool:
    """Add all rows of a log of transactions; False when there are none."""
    _drop_implausible(cells)
    client, number, latency, script, epoch, micro = cells.numbers[:6]
    stamp = epoch * 1_000_000 + micro
    if not len(stamp):
        return False
    is_done = ~(cells.is_skipped | cells.is_failed)
    start = int((stamp - np.where(is_done, latency, 0)).min())
    end = int(stamp.max())
    _describe(report, start, end)
    lag = _lag(report, cells, is_done)
    n_failed, n_skipped = int(cells.is_failed.sum()), int(cells.is_skipped.sum())
    duration = (end - start) * units.MICRO
    n_ops = int(is_done.sum())
    report.add("operations", **OP, n_ops=n_ops, duration_s=duration, n_errors=n_failed,
               ops_per_s=n_ops / duration if duration else None, queue_depth=_queue_depth(client, lag),
               **_statistics(latency[is_done], "latency_"))  # fmt: skip
    if n_skipped:
        report.warn(
            None, "transactions_skipped", f"expected all scheduled transactions to run, found {n_skipped} skipped"
        )
    if not n_failed + n_skipped:
        _check_numbers(report, client, number)
    time_s = (stamp[is_done] - start) * units.MICRO
    jobs = _names(client[is_done])
    _add_latencies(report, "total", latency[is_done], time_s, jobs)
    if lag is not None:
        _add_latencies(report, "schedule_lag", lag[is_done], time_s, jobs)
    _add_scripts(report, script[is_done], latency[is_done])
    return True


def _drop_implausible(cells: Cells) -> None:
    """Count lines whose stamp cannot be one as bad."""
    _, _, latency, _, epoch, micro = cells.numbers[:6]
    is_good = (epoch >= EPOCHS_S[0]) & (epoch < EPOCHS_S[1]) & (micro < 1_000_000) & (latency < _MAX_LATENCY_US)
    if not is_good.all():
        cells.n_bad += int(len(is_good) - is_good.sum())
        cells.numbers = [column[is_good] for column in cells.numbers]
        cells.is_skipped, cells.is_failed = cells.is_skipped[is_good], cells.is_failed[is_good]


def _describe(report: Report, start_us: int, end_us: int) -> None:
    report.describe(duration_s=(end_us - start_us) * units.MICRO)
    if start_us > 0:
        report.describe(started_at=datetime.fromtimestamp(start_us // 1_000_000, UTC).replace(
            microsecond=start_us % 1_000_000))  # fmt: skip


def _queue_depth(client: Integers, lag: Integers | None) -> float | None:
    return float(len(np.unique(client))) if lag is None else None


def _lag(report: Report, cells: Cells, is_done: Flags) -> Integers | None:
    """The schedule lag, if the log has one; the retries become a parameter."""
    extra = cells.numbers[6:]
    if not extra:
        return None
    is_lag = len(extra) == 2 or bool(cells.is_skipped.any()) or int(extra[0].max(initial=0)) > 100
    if bool((extra[0] > cells.numbers[2])[is_done].any()):
        is_lag = False  # part of the latency is never longer
    if len(extra) == 2:
        report.parameter("retries", int(extra[1].sum()))
    elif not is_lag:
        report.warn(
            None, "unknown_column", "expected schedule_lag or retries, found a seventh column that may be either"
        )
    return extra[0] if is_lag else None


def _statistics(latency: Integers, prefix: str = "") -> dict[str, Any]:
    """Mean, standard deviation of the sample, minimum and maximum in seconds; nothing of no transactions."""
    n = len(latency)
    if not n:
        return {}
    stddev = float(latency.std(ddof=1)) * units.MICRO if n > 1 else None
    extremes = {"min_s": int(latency.min()) * units.MICRO, "max_s": int(latency.max()) * units.MICRO}
    values = {"mean_s": float(latency.mean()) * units.MICRO, "stddev_s": stddev, **extremes}
    return {f"{prefix}{name}": value for name, value in values.items()}


def _add_latencies(report: Report, phase: str, latency: Integers, time_s: Any, jobs: Any) -> None:
    """Summary, percentiles and series of one phase."""
    n = len(latency)
    if not n:
        return
    report.add("latency_summary", **OP, phase=phase, n_ops=n, **_statistics(latency))
    ordered = np.sort(latency)
    for percentile in PERCENTILES:
        rank = -(-n * round(percentile * 100) // 10_000)  # in integers: 99.9 % of 1000 is rank 999, not 1000
        report.add("latency_percentiles", **OP, phase=phase, percentile=percentile,
                   latency_s=int(ordered[rank - 1]) * units.MICRO)  # fmt: skip
    report.add_block("latency_series", {"op": "transaction", "job": jobs, "phase": phase, "time_s": time_s,
                                        "latency_s": latency * units.MICRO})  # fmt: skip


def _names(client: Integers) -> Any:
    values, inverse = np.unique(client, return_inverse=True)
    return np.array([str(value) for value in values], dtype=object)[inverse]


def _add_scripts(report: Report, script: Integers, latency: Integers) -> None:
    scripts = np.unique(script)
    for number in scripts if len(scripts) > 1 else []:
        part = latency[script == number]
        report.add("operations", op="transaction", scope="job", job=f"script {number}", n_ops=len(part),
                   **_statistics(part, "latency_"))  # fmt: skip


def _check_numbers(report: Report, client: Integers, number: Integers) -> None:
    """Each client counts its transactions from 0 (1 in newer versions): gaps are lines that were not logged."""
    clients, inverse = np.unique(client, return_inverse=True)
    last = np.zeros(len(clients), np.int64)
    np.maximum.at(last, inverse, number)
    is_from_1 = bool((number > 0).all())
    expected = sum(last.tolist()) + (0 if is_from_1 else len(clients))
    if expected > len(number):
        found = f"{len(number)}: a sample (--sampling-rate), or lines are missing"
        report.incomplete(
            None, "transactions_missing", f"expected {expected} transactions by their numbers, found {found}"
        )
