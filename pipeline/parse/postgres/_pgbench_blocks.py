"""Blocks of pgbench's summary (the totals, a script) and its progress lines, and their rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import pyarrow as pa

from pipeline import units
from pipeline.parse._report import Report

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MAX_COUNT = 2**63 - 1  # of the tables' integers
_SCRIPT_COUNT = re.compile(r"(\d+) transactions \(\S+ of total(?:, tps = (\S+))?\)")
_SCRIPT_TPS = re.compile(r"\d+ \(tps = (\S+)\)")
_PROGRESS = re.compile(r"progress: (\S+) s, (\S+) tps, lat (\S+) ms stddev (\S+?)(?:, (.*))?")
_COUNTS = ("skipped", "failed", "retried", "retries")
_PROGRESS_COUNT = re.compile(r"(\d+) (skipped|failed|retried|retries)")
_PROGRESS_LAG = re.compile(r"\blag (\S+) ms")  # behind the failures from 15 on, before it first
_JOB_LENGTH = 100


def number(text: str | None) -> float | None:
    """A number of at least 0 at the beginning of a text; None when there is none or it is not finite."""
    match = _NUMBER.match(text or "")
    value = float(match[0]) if match else math.inf
    return value if math.isfinite(value) else None


def count(text: str | None) -> int | None:
    """The same as a count that the tables can hold."""
    match = re.match(r"\d{1,19}(?!\d)", text or "")
    return int(match[0]) if match and int(match[0]) <= _MAX_COUNT else None


def milliseconds(text: str | None) -> float | None:
    """The same in seconds."""
    value = number(text)
    return value * units.MILLI if value is not None else None


@dataclass
class Block:
    """What one block says: the totals, or a script by its name."""

    name: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    tps: list[tuple[str, float | None]] = field(default_factory=list)  # what it says of connections, and the value
    statements_header: str | None = None
    statements: list[tuple[float | None, list[str], str]] = field(default_factory=list)  # latency, counts, text

    @property
    def n_ops(self) -> int | None:
        """Transactions processed."""
        return count(self.values.get("number of transactions actually processed", self.values.get("transactions")))

    def read_script_line(self, text: str) -> bool:
        """Read ``5000 transactions (50.0% of total, tps = 833.3)``; False when it is none."""
        match = _SCRIPT_COUNT.fullmatch(text)
        if match is None:
            return False
        self.values["transactions"] = match[1]
        if match[2]:
            self.tps.append(("script", number(match[2])))
        return True

    def read_statement(self, text: str) -> bool:
        """Read a statement's latency, its counts (as many as the header names) and its text; False when it is none."""
        header = self.statements_header or ""
        n_counts = ("failures" in header) + ("retries" in header)
        parts = text.split(None, 1 + n_counts)
        if len(parts) != 2 + n_counts or not all(_NUMBER.fullmatch(part) for part in parts[:-1]):
            return False
        self.statements.append((milliseconds(parts[0]), parts[1:-1], parts[-1]))
        return True

    def add_script(self, report: Report) -> None:
        """Add the rows of a script: part of the transactions, so without a queue depth of its own."""
        processed = _SCRIPT_TPS.fullmatch(self.values.get("number of transactions actually processed", ""))
        tps = number(processed[1]) if processed else next((value for _, value in self.tps), None)
        mean, stddev = (milliseconds(self.values.get(f"latency {name}")) for name in ("average", "stddev"))
        if self.n_ops:
            report.add("operations", job=self.name, op="transaction", scope="job", n_ops=self.n_ops, ops_per_s=tps,
                       latency_mean_s=mean, latency_stddev_s=stddev,
                       n_errors=count(self.values.get("number of failed transactions")))  # fmt: skip
            report.add("latency_summary", job=self.name, op="transaction", scope="job", phase="total", n_ops=self.n_ops,
                       mean_s=mean, stddev_s=stddev)  # fmt: skip

    def add_statements(self, report: Report, prefix: str) -> None:
        """Add a row a statement; equal texts are numbered."""
        seen: Counter[str] = Counter()
        for latency_s, counts, text in self.statements:
            job = prefix + (text if len(text) <= _JOB_LENGTH else text[: _JOB_LENGTH - 1] + "…")
            seen[job] += 1
            job += f" #{seen[job]}" if seen[job] > 1 else ""
            report.add("operations", job=job, op="statement", scope="job", latency_mean_s=latency_s,
                       n_errors=count(counts[0]) if counts else None)  # fmt: skip
            if len(counts) > 1:
                report.parameter("retries", counts[1], job)


@dataclass(frozen=True)
class Progress:
    """A progress line; the latency is None where there was no transaction."""

    time_s: float
    tps: float
    latency_s: float | None
    stddev_s: float | None
    lag_s: float | None
    counts: dict[str, int]


def read_progress(text: str) -> Progress | None:
    """Read ``progress: 5.0 s, 1234.5 tps, lat 0.8 ms stddev 0.2, 0 failed``; None when it is none."""
    match = _PROGRESS.fullmatch(text)
    if match is None:
        return None
    time_s, tps = number(match[1]), number(match[2])
    if time_s is None or tps is None:
        return None
    rest = match[5] or ""
    counts = {kind: int(n) for n, kind in _PROGRESS_COUNT.findall(rest) if len(n) < 19}
    lag = _PROGRESS_LAG.search(rest)
    latency, stddev, lag_s = (milliseconds(t) if tps else None for t in (match[3], match[4], lag[1] if lag else None))
    return Progress(time_s, tps, latency, stddev, lag_s, counts)


def add_progress(report: Report, lines: list[Progress]) -> None:
    """Add the windows. A stamp is the window's end, since the start or, with --progress-timestamp, since 1970."""
    if not lines:
        return
    is_epoch = lines[0].time_s > 1e8
    steps = [later.time_s - earlier.time_s for earlier, later in pairwise(lines)]
    first = (median(steps) if steps else None) if is_epoch else lines[0].time_s
    origin = lines[0].time_s - first if first is not None else None
    start = 0.0 if origin is None else origin
    times = [line.time_s - start if origin is not None and line.time_s >= start else None for line in lines]
    windows = [window if window is not None and window > 0 else None for window in (first, *steps)]
    keys = {"op": "transaction", "time_s": _column(times), "window_s": _column(windows)}
    report.add_block("throughput_series", {**keys, "ops_per_s": _column([line.tps for line in lines])})
    for phase, values in (("total", [line.latency_s for line in lines]), ("schedule_lag", [ln.lag_s for ln in lines])):
        known = [i for i, value in enumerate(values) if value is not None]
        if known:
            report.add_block("latency_series", {
                "op": "transaction", "phase": phase, "time_s": _column([times[i] for i in known]),
                "window_s": _column([windows[i] for i in known]), "latency_s": _column([values[i] for i in known]),
            })  # fmt: skip
    _add_metric(report, "transaction_latency_stddev_s", "s", times, [line.stddev_s for line in lines])
    for kind in _COUNTS:
        _add_metric(report, f"transactions_{kind}", "1", times, [line.counts.get(kind) for line in lines])


def _add_metric(
    report: Report, metric: str, unit: str, times: list[float | None], values: Sequence[float | None]
) -> None:
    known = [i for i, value in enumerate(values) if value is not None]
    if known:
        columns = {"time_s": _column([times[i] for i in known]), "value": _column([values[i] for i in known])}
        report.add_block("metric_series", {"metric": metric, "unit": unit, **columns})


def _column(values: Sequence[float | None]) -> pa.DoubleArray:
    return pa.array([None if value is None else float(value) for value in values], pa.float64())
