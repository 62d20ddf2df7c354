"""Rows of a pgbench log with a line a transaction: statistics over all of it, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.postgres import _pgbench_log_kernel as kernel
from pipeline.parse.postgres._pgbench_log_kernel import LAG_GROUP, LATENCY, MAX_CLIENTS, N_TOTALS, Integers
from pipeline.parse.postgres._pgbench_log_lines import Block, Lines
from pipeline.parse.postgres._pgbench_log_series import OP, TransactionSeries
from pipeline.parse.postgres._pgbench_log_statistics import Moments, Ranks

_MICROSECONDS = 1_000_000
_MAX_RETRIES = 100  # a column with more is none of retries


@dataclass
class _Log:
    """What the lines hold, as far as they are read."""

    totals: Any = field(default_factory=lambda: np.zeros(N_TOTALS, np.int64))
    last_numbers: Any = field(default_factory=lambda: np.zeros(MAX_CLIENTS, np.int64))
    scripts: dict[int, Moments] = field(default_factory=dict)
    latency: Ranks = field(default_factory=Ranks)
    lag: Ranks = field(default_factory=Ranks)

    def __post_init__(self) -> None:
        self.totals[kernel.T_START] = 1 << 62

    @property
    def start(self) -> int:
        """The first start, in µs since 1970."""
        return int(self.totals[kernel.T_START])

    @property
    def duration_us(self) -> int:
        """From the first start to the last end."""
        return int(self.totals[kernel.T_END]) - self.start

    def total(self) -> Moments:
        """Of all transactions that were done."""
        total = Moments()
        for script in sorted(self.scripts.keys() - {LAG_GROUP}):
            total.add(self.scripts[script])
        return total

    def has_lag(self, n_extra: int) -> bool:
        """Whether the seventh column is the schedule lag."""
        is_lag = n_extra > 1 or bool(self.totals[kernel.T_SKIPPED]) or int(self.totals[kernel.T_MAX_LAG]) > _MAX_RETRIES
        return bool(n_extra) and is_lag and not self.totals[kernel.T_LONG_LAGS]  # part of the latency is never longer


def read_transactions(source: Source, lines: Lines) -> Report | None:
    """The report of a log of transactions; None when there are none.

    The series needs to know the first start and whether there is a lag. The first lines nearly always tell; where
    later ones prove them wrong, the report is begun again.
    """
    n_extra = lines.n_columns - 6
    start, has_lag, log = None, False, _Log()
    for _ in range(2):
        report, log = Report("pgbench_log", source), _Log()
        series = TransactionSeries(report, lines, start, has_lag=has_lag)
        _read(lines, log, series)
        if series.start_us is None:
            return None
        if (series.start_us, series.has_lag) == (log.start, log.has_lag(n_extra)):
            break
        start, has_lag = log.start, log.has_lag(n_extra)
    series.finish(log.duration_us)
    _add_rows(report, lines, log)
    return report


def _read(lines: Lines, log: _Log, series: TransactionSeries) -> None:
    """Read all lines; the series learns from the first block what it was not told."""
    sums = np.zeros((LAG_GROUP + 1, kernel.N_SUMS), np.int64)
    spreads = np.zeros(LAG_GROUP + 1)
    n_extra = lines.n_columns - 6
    for block in lines.blocks():
        lines.function("add_up")(
            block.columns, block.states, block.n_rows, n_extra, log.totals, log.last_numbers, sums, spreads,
            log.latency.bins, log.lag.bins,
        )  # fmt: skip
        for group in np.flatnonzero(sums[:, kernel.G_COUNT]).tolist():
            n, total, minimum, maximum = (int(value) for value in sums[group])
            moments = Moments(n, total, minimum, maximum, float(spreads[group]))
            log.scripts.setdefault(group, Moments()).add(moments)
        _add_huge(log, block, sums, n_extra)
        if series.start_us is None:
            series.start_us, series.has_lag = log.start, log.has_lag(n_extra)
        series.add(block, int(log.totals[kernel.T_CLIENTS]), log.last_numbers)


def _add_huge(log: _Log, block: Block, sums: Integers, n_extra: int) -> None:
    """Keep the latencies and lags that no bin takes."""
    if int(sums[:, kernel.G_MAXIMUM].max()) < kernel.COARSE_US:
        return
    done = block.states[: block.n_rows] == kernel.DONE
    log.latency.add_huge(block.columns[LATENCY, : block.n_rows][done])
    if n_extra:
        log.lag.add_huge(block.columns[kernel.LAG, : block.n_rows][done])


def _add_rows(report: Report, lines: Lines, log: _Log) -> None:
    """All rows but the series."""
    total = log.total()
    has_lag = _note_extra(report, log, lines.n_columns - 6)
    _add_totals(report, log, total, has_lag=has_lag)
    _check_numbers(report, log, total.n)
    phases = [("total", total, log.latency)]
    if has_lag:
        phases.append(("schedule_lag", log.scripts.get(LAG_GROUP, Moments()), log.lag))
    phases = [phase for phase in phases if phase[1].n]
    for _, moments, ranks in phases:
        ranks.find_ranges(moments.n)
    if any(ranks.ranges for _, _, ranks in phases):
        for block in lines.blocks():
            done = block.states[: block.n_rows] == kernel.DONE
            log.latency.refine(block.columns[LATENCY, : block.n_rows][done])
            if has_lag:
                log.lag.refine(block.columns[kernel.LAG, : block.n_rows][done])
    for phase, moments, ranks in phases:
        report.add("latency_summary", **OP, phase=phase, n_ops=moments.n, **moments.seconds())
        for percentile, value in ranks.percentiles(moments.n):
            report.add("latency_percentiles", **OP, phase=phase, percentile=percentile,
                       latency_s=value * units.MICRO)  # fmt: skip
    scripts = sorted(log.scripts.keys() - {LAG_GROUP})
    for script in scripts if len(scripts) > 1 else []:
        report.add("operations", op="transaction", scope="job", job=f"script {script}", n_ops=log.scripts[script].n,
                   **log.scripts[script].seconds("latency_"))  # fmt: skip


def _note_extra(report: Report, log: _Log, n_extra: int) -> bool:
    """What the columns behind the stamp are; the retries become a parameter. Returns whether one is the lag."""
    has_lag = log.has_lag(n_extra)
    if n_extra > 1:
        report.parameter("retries", int(log.totals[kernel.T_RETRIES]))
    elif n_extra and not has_lag:
        report.warn(
            None, "unknown_column", "expected schedule_lag or retries, found a seventh column that may be either"
        )
    return has_lag


def _add_totals(report: Report, log: _Log, total: Moments, *, has_lag: bool) -> None:
    start = log.start
    duration = log.duration_us * units.MICRO
    started_at = datetime.fromtimestamp(start // _MICROSECONDS, UTC).replace(microsecond=start % _MICROSECONDS)
    report.describe(duration_s=duration, started_at=started_at)
    n_clients = None if has_lag else float(log.totals[kernel.T_CLIENTS])
    report.add("operations", **OP, n_ops=total.n, duration_s=duration, n_errors=int(log.totals[kernel.T_FAILED]),
               ops_per_s=total.n / duration if duration else None, queue_depth=n_clients,
               **total.seconds("latency_"))  # fmt: skip
    if n_skipped := int(log.totals[kernel.T_SKIPPED]):
        report.warn(
            None, "transactions_skipped", f"expected all scheduled transactions to run, found {n_skipped} skipped"
        )


def _check_numbers(report: Report, log: _Log, n_done: int) -> None:
    """Each client counts its transactions from 0 (1 in newer versions): gaps are lines that were not logged."""
    if log.totals[kernel.T_FAILED] or log.totals[kernel.T_SKIPPED]:
        return
    expected = sum(log.last_numbers[np.flatnonzero(log.last_numbers)].tolist())
    if not log.totals[kernel.T_ZEROS]:  # they count from 1
        expected -= int(log.totals[kernel.T_CLIENTS])
    if expected > n_done:
        found = f"{n_done}: a sample (--sampling-rate), or lines are missing"
        report.incomplete(
            None, "transactions_missing", f"expected {expected} transactions by their numbers, found {found}"
        )
