"""What the two DISKSPD readers share: the settings of a timespan, when it ran, and the tidy rows.

Time zero is the start of the first timespan's measurement, after its warm-up. A later timespan begins when those
before it have been measured and have cooled down, and its own warm-up is over. Rows of a report with one timespan
have no interval: they stand for the whole run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline import units
from pipeline.parse._report import Report

TOOL = "diskspd"
_INT64 = 2**63 - 1
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?", re.ASCII)  # bounded: no quotient overflows
_NOT_FINITE = re.compile(r"-?(?:nan|inf|1\.#)", re.IGNORECASE)
CTRL_C = re.compile(r"^[ \t>]*(\*{3} Interrupted by Ctrl-C.*?)\s*$", re.MULTILINE)  # printed before the report
_STARTED = re.compile(r"(\d{4})/(\d\d?)/(\d\d?) (\d\d?):(\d\d):(\d\d) UTC")
Directions = dict[str, float | None]  # read, write, total → a figure


@dataclass
class Target:
    """A target as configured: operations outstanding a thread, and its own threads (None: not said)."""

    path: str
    block_size_bytes: int | None = None
    outstanding: int | None = None
    threads: int | None = None


@dataclass
class Settings:
    """A timespan as configured. ``pool_requests`` (-O) are outstanding a thread of the pool (-F), over all targets."""

    duration_s: float | None = None
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    measures_latency: bool = False
    gathers_iops: bool = False
    pool_threads: int | None = None
    pool_requests: int | None = None
    bucket_s: float | None = None
    targets: list[Target] = field(default_factory=list)

    def block_size(self, path: str | None) -> int | None:
        """The block size of a target, or of all when ``path`` is None and they agree."""
        return _only({target.block_size_bytes for target in self._of(path)})

    def depth(self, path: str | None) -> float | None:
        """Operations that one thread keeps outstanding on a target; None where -O lets the weights decide."""
        if self.pool_requests:
            return self.pool_requests if len(self.targets) == 1 else None
        return _only({target.outstanding for target in self._of(path)}) if path is not None else None

    def depth_of_all(self, workers: list[tuple[str | None, str | None]] | None) -> float | None:
        """Operations outstanding in all; ``workers`` are all pairs of thread and path that ran, if they are known."""
        if self.pool_requests and self.pool_threads:
            return self.pool_requests * self.pool_threads
        if workers:
            depths = [self.depth(path) for _, path in workers]
        else:
            depths = [_product(target.outstanding, target.threads or self.pool_threads) for target in self.targets]
        known = [depth for depth in depths if depth is not None]
        return sum(known) if known and len(known) == len(depths) else None

    def _of(self, path: str | None) -> list[Target]:
        if path is None or len(self.targets) == 1:
            return self.targets
        return [target for target in self.targets if target.path == path]


@dataclass(frozen=True)
class Span:
    """When a timespan was measured."""

    start_s: float
    seconds: float | None
    is_only: bool

    @property
    def interval(self) -> dict[str, float | None]:
        """Columns of the interval; none when the timespan is the whole run."""
        if self.is_only:
            return {}
        return {"interval_start_s": self.start_s, "interval_end_s": self.end_s}

    @property
    def end_s(self) -> float | None:
        """The end of the measurement; None when its length is unknown."""
        return None if self.seconds is None else self.start_s + self.seconds


def lay_out(settings: list[Settings], seconds: list[float | None]) -> list[Span]:
    """Put the timespans one after another: measured times, warm-ups and cool-downs; what is unknown counts as 0."""
    spans: list[Span] = []
    clock = 0.0
    for number, measured in enumerate(seconds):
        own = settings[number] if number < len(settings) else Settings()
        clock += own.warm_up_s if number else 0.0
        spans.append(Span(clock, measured, max(len(settings), len(seconds)) == 1))
        clock += (measured or 0.0) + own.cool_down_s
    return spans


@dataclass
class Measured:
    """The figures of one direction: of a thread on a target (scope job), or of all together (scope total)."""

    op: str
    scope: str = "total"
    job: str | None = None
    target: str | None = None
    n_ops: int | None = None
    n_bytes: int | None = None
    ops_per_s: float | None = None
    bytes_per_s: float | None = None
    mean_s: float | None = None
    stddev_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    iops_stddev: float | None = None

    @property
    def keys(self) -> dict[str, str | None]:
        """The key columns besides the interval."""
        return {"job": self.job, "target": self.target, "op": self.op, "scope": self.scope}


def add_operation(report: Report, span: Span, measured: Measured, depth: float | None, block: int | None) -> None:
    """Add the row of ``operations`` and what goes with it."""
    report.add(
        "operations", **measured.keys, **span.interval, n_ops=measured.n_ops, n_bytes=measured.n_bytes,
        duration_s=span.seconds, ops_per_s=measured.ops_per_s, bytes_per_s=measured.bytes_per_s,
        block_size_bytes=block, queue_depth=depth, latency_mean_s=measured.mean_s,
        latency_stddev_s=measured.stddev_s, latency_min_s=measured.min_s, latency_max_s=measured.max_s,
    )  # fmt: skip
    add_summary(report, span, measured)


def add_summary(report: Report, span: Span, measured: Measured) -> None:
    """Add the row of ``latency_summary`` and the IOPS deviation, where there are any."""
    if measured.mean_s is not None:
        report.add(
            "latency_summary", **measured.keys, **span.interval, phase="total", n_ops=measured.n_ops,
            mean_s=measured.mean_s, stddev_s=measured.stddev_s, min_s=measured.min_s, max_s=measured.max_s,
        )  # fmt: skip
    if measured.iops_stddev is not None:
        report.add(
            "metric_series", metric="iops_stddev", labels=labels_of(measured.keys),
            time_s=None if span.is_only else span.end_s, value=measured.iops_stddev, unit="1/s",
        )  # fmt: skip


def labels_of(keys: Mapping[str, str | None]) -> str:
    """Job, target, op, scope and statistic as JSON, where there are any."""
    names = ("job", "op", "scope", "statistic", "target")
    known = {name: keys[name] for name in names if keys.get(name) is not None}
    return json.dumps(known, sort_keys=True, ensure_ascii=False)


def add_percentile(report: Report, span: Span, percentile: float, latencies: Directions, target: str | None) -> None:
    """Add a percentile of each direction that has one; of a target when it is named, else of all together."""
    for op, latency in latencies.items():
        if latency is not None:
            report.add(
                "latency_percentiles", **span.interval, target=target, op=op, scope="device" if target else "total",
                phase="total", percentile=percentile, latency_s=latency,
            )  # fmt: skip


class Notes:
    """Warnings, one a kind: the first with its line, and how many more there were."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int | None, str, bool, int]] = {}

    def add(self, line: int | None, code: str, message: str, *, is_damage: bool = False) -> None:
        """Note something; ``is_damage``: the report is not whole."""
        first = self._seen.get(code, (line, message, is_damage, 0))
        self._seen[code] = (*first[:2], first[2] or is_damage, first[3] + 1)

    def add_bad_number(self, line: int | None, name: str, text: str) -> None:
        """Note a figure that is no number: damage, unless the C library wrote it (``-nan(ind)``, ``1.#INF``)."""
        is_damage = not _NOT_FINITE.match(text)
        self.add(line, "bad_number", f"expected a number as {name}, found {text[:40]!r}", is_damage=is_damage)

    def write(self, report: Report) -> None:
        """Add the warnings to the report."""
        for code, (line, message, is_damage, count) in self._seen.items():
            more = f" (and {count - 1} more)" if count > 1 else ""
            (report.incomplete if is_damage else report.warn)(line, code, message + more)


def add_cpu(
    report: Report, span: Span, labels: dict[str, str], percent: dict[str, str], notes: Notes, *, line: int | None
) -> None:
    """Add a row of ``cpu_usage``; ``percent`` as printed, by the columns' names without ``_ratio``."""
    ratios: dict[str, float | None] = {}
    for name, text in percent.items():
        value = number(text)
        ratios[f"{name}_ratio"] = ratio = None if value is None else value * units.PERCENT
        if ratio is None or (ratio > 1 and name != "busy"):
            notes.add(line, "bad_usage", f"expected {name} of a CPU within 0 … 100 %, found {text!r}")
            ratios[f"{name}_ratio"] = None
    report.add("cpu_usage", **labels, **ratios, time_s=span.end_s, window_s=span.seconds)


def number(text: str | None) -> float | None:
    """A number that is not negative; None for N/A, nan and anything else."""
    match = _NUMBER.fullmatch((text or "").strip())
    value = float(match[0]) if match else -1.0
    return abs(value) if value >= 0 else None  # -0.00 is 0


def count(text: str | None) -> int | None:
    """A count that fits a column; None otherwise."""
    digits = (text or "").strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) > _INT64:
        return None
    return int(digits)


def milliseconds(text: str | None) -> float | None:
    """A latency as printed, in seconds."""
    value = number(text)
    return None if value is None else value * units.MILLI


def started_at(text: str | None) -> datetime | None:
    """The start time, which DISKSPD gives in UTC."""
    match = _STARTED.fullmatch((text or "").strip())
    try:
        return datetime(*map(int, match.groups()), tzinfo=UTC) if match else None  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def prefix(timespan: int, n_timespans: int, target: int = 0) -> str:
    """What stands before a parameter's name: the timespan if there are several, and the target; both from 1."""
    return (f"timespan {timespan}/" if n_timespans > 1 else "") + (f"target {target}/" if target else "")


def _only(values: set[int | None]) -> int | None:
    return next(iter(values)) if len(values) == 1 else None


def _product(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left * right
