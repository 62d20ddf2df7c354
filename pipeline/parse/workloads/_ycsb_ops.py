"""The measurements that YCSB exports: a figure a line, gathered by operation."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from itertools import pairwise

from pipeline import units
from pipeline.parse._figures import integer, number, positive, snake
from pipeline.parse._report import Report

_PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d{1,9})?|100)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)")
_RAW_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")
_LATENCY = {
    "AverageLatency(us)": "mean", "Average": "mean", "MinLatency(us)": "min", "Min": "min", "MaxLatency(us)": "max",
    "Max": "max", "AverageLatency(ms)": "mean", "MinLatency(ms)": "min", "MaxLatency(ms)": "max",
}  # fmt: skip
_OF_THE_LOAD = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE")
_GOOD = ("OK", "BATCHED_OK", "0")
_UNIT = re.compile(r"(.*)\((us|ms|%|ops/sec)\)")
_SUB_BUCKET_BITS = 11  # of HdrHistogram with three significant digits: values below 2048 are exact


@dataclass
class Operation:
    """The figures of one operation."""

    n_ops: int | None = None
    latency: dict[str, float] = field(default_factory=dict)
    percentiles: dict[float, float] = field(default_factory=dict)
    returns: dict[str, int] = field(default_factory=dict)
    numbered: list[tuple[int, float]] = field(default_factory=list)
    overflow: tuple[int, int] | None = None  # above which ms, how many
    variance: float | None = None


class Measurements:
    """All exported figures of a run."""

    def __init__(self) -> None:
        self.overall: dict[str, float] = {}
        self.ops: dict[str, Operation] = {}
        self.others: list[tuple[str, str, float]] = []
        self.n_not_numbers = 0
        self._last = ""

    def take(self, metric: str, name: str, text: str) -> bool:
        """Take a figure; False when it is none."""
        name = name.strip()
        if name.startswith("Below is a summary"):
            return True
        value = number(text)
        if value is None and text in ("NaN", "Infinity", "-Infinity"):
            self.n_not_numbers += 1
            return True
        if value is None:
            return False
        if metric == "OVERALL":
            self.overall[name] = value
        elif name in ("Operations", "Total Operations") or name.startswith(("Return=", ">")) or metric in self.ops:
            self._last = metric
            return self._take_op(self.ops.setdefault(metric, Operation()), name, text, value)
        else:
            self.others.append((metric, name, value))
        return True

    def _take_op(self, op: Operation, name: str, text: str, value: float) -> bool:
        count = integer(text.removesuffix(".0"))
        factor = units.MILLI if name.endswith("(ms)") else units.MICRO
        if name in ("Operations", "Total Operations"):
            op.n_ops = count
        elif name.startswith("Return=") and count is not None:
            op.returns[name.removeprefix("Return=")] = count
        elif name in _LATENCY and value >= 0:
            op.latency[_LATENCY[name]] = value * factor
        elif name == "LatencyVariance(us)":
            op.variance = value
        elif match := _PERCENTILE.fullmatch(name) or _RAW_PERCENTILE.fullmatch(name):
            op.percentiles[float(match[1])] = value * factor
        elif name.startswith(">") and (limit := integer(name[1:])) is not None and count is not None:
            op.overflow = (limit, count)
        elif (position := integer(name)) is not None and value >= 0:
            op.numbered.append((position, value))
        else:
            return False
        return True

    @property
    def missing(self) -> str | None:
        """What a cut export lacks; None where it may be whole."""
        if "Throughput(ops/sec)" not in self.overall or "RunTime(ms)" not in self.overall:
            return "`[OVERALL]`"
        if not self.ops:
            return "an operation"
        for name, op in self.ops.items():
            if op.n_ops is None or (op.n_ops and not {"mean", "max"} <= op.latency.keys()):
                return f"the latencies of {name}"
        has_bins = any(op.overflow for op in self.ops.values())
        if has_bins and any(op.overflow is None for op in self.ops.values()):
            return "the last bin of an operation"
        return self._missing_at_the_end(has_bins=has_bins) or self._missing_operations()

    def _missing_at_the_end(self, *, has_bins: bool) -> str | None:
        """What the last operation lacks: return codes, which only the load has, or percentiles that others have."""
        if (last := self.ops.get(self._last)) is None:
            return None
        if self._last.removeprefix("Hdr") in _OF_THE_LOAD:
            return None if last.returns else f"`Return=` of {self._last}"
        if has_bins or last.variance is not None or not last.n_ops:
            return None  # bins of 1 ms: a percentile above the last of them is not exported
        others = [len(op.percentiles) for name, op in self.ops.items() if name != self._last and op.percentiles]
        is_whole = len(last.percentiles) >= min(others, default=0)
        return None if is_whole else f"{min(others)} percentiles of {self._last} (found {len(last.percentiles)})"

    def _missing_operations(self) -> str | None:
        """Throughput × time is the count of all operations: fewer were exported where the text was cut."""
        total = round(self.overall["Throughput(ops/sec)"] * self.overall["RunTime(ms)"] * units.MILLI)
        counted = {name: op.n_ops or 0 for name, op in self.ops.items()}
        n_ops = sum(count for name, count in counted.items() if name.removesuffix("-FAILED") in _OF_THE_LOAD)
        if not any(name.removesuffix("-FAILED") in _OF_THE_LOAD for name in counted):
            return None  # a workload with names of its own
        n_ops -= counted.get("READ-MODIFY-WRITE", 0)
        return f"{total} operations in all (found {n_ops})" if n_ops < total * 0.999 - 1 else None

    def add(self, report: Report) -> None:
        """Add the rows."""
        if self.overall:
            run_time = positive(str(self.overall.get("RunTime(ms)", "")))
            duration = None if run_time is None else run_time * units.MILLI
            report.describe(duration_s=duration)
            report.add("operations", op="total", scope="total", duration_s=duration,
                       ops_per_s=positive(str(self.overall.get("Throughput(ops/sec)", ""))))  # fmt: skip
            for name, value in self.overall.items():
                if name not in ("RunTime(ms)", "Throughput(ops/sec)"):
                    self.others.append(("OVERALL", name, value))
        for name, op in self.ops.items():
            _add_operation(report, {"op": snake(name), "scope": "job"}, op)
        for metric, name, value in self.others:
            match = _UNIT.fullmatch(name)
            word = match[2] if match else name
            factor, unit = {"us": (units.MICRO, "s"), "ms": (units.MILLI, "s"), "%": (units.PERCENT, "1"),
                            "ops/sec": (1.0, "1/s"), "MBs": (units.MEBI, "B")}.get(word, (1.0, "1"))  # fmt: skip
            is_share = word == "%"
            report.add("metric_series", metric=snake(metric) + ("_ratio" if is_share else ""), unit=unit,
                       labels=json.dumps({"measurement": name}), value=value * factor)  # fmt: skip
        if self.n_not_numbers:
            found = f"found {self.n_not_numbers} figures such as NaN, which are null"
            report.warn(None, "not_a_number", f"expected numbers, {found}")


def _add_operation(report: Report, key: dict[str, str], op: Operation) -> None:
    is_some = bool(op.n_ops)
    latency = op.latency if is_some else {}
    stddev = math.sqrt(op.variance) * units.MICRO if is_some and op.variance is not None and op.variance >= 0 else None
    failed = [count for code, count in op.returns.items() if code not in _GOOD]
    report.add("operations", **key, n_ops=op.n_ops, latency_mean_s=latency.get("mean"), latency_stddev_s=stddev,
               latency_min_s=latency.get("min"), latency_max_s=latency.get("max"),
               n_errors=min(sum(failed), 2**62) if op.returns else None)  # fmt: skip
    if latency:
        report.add("latency_summary", **key, phase="total", n_ops=op.n_ops, mean_s=latency.get("mean"),
                   stddev_s=stddev, min_s=latency.get("min"), max_s=latency.get("max"))  # fmt: skip
    for percentile, value in op.percentiles.items() if is_some else ():
        if value >= 0:
            report.add("latency_percentiles", **key, phase="total", percentile=percentile, latency_s=value)
    for code, count in op.returns.items():
        labels = json.dumps({"op": key["op"], "code": code})
        report.add("metric_series", metric="returns", labels=labels, value=float(count), unit="1")
    _add_numbered(report, key, op)


def _add_numbered(report: Report, key: dict[str, str], op: Operation) -> None:
    """Add the numbered lines: bins of 1 ms, values in µs with counts, or windows with mean latencies."""
    if op.overflow is not None:
        for position, count in op.numbered:
            if count:
                report.add("latency_bins", **key, phase="total", lower_s=position * units.MILLI,
                           upper_s=(position + 1) * units.MILLI, count=int(min(count, 2**62)))  # fmt: skip
        if op.overflow[1]:
            report.add("latency_bins", **key, phase="total", lower_s=op.overflow[0] * units.MILLI,
                       count=op.overflow[1])  # fmt: skip
        return
    total = sum(count for _, count in op.numbered)
    if op.numbered and total == op.n_ops and all(count == int(count) for _, count in op.numbered if count < 2**62):
        for highest, count in op.numbered:
            size = 1 << max(0, highest.bit_length() - _SUB_BUCKET_BITS)
            report.add("latency_bins", **key, phase="total", lower_s=(highest + 1 - size) * units.MICRO,
                       upper_s=(highest + 1) * units.MICRO, count=int(count))  # fmt: skip
        return
    starts = [start for start, _ in op.numbered]
    steps = [after - before for before, after in pairwise(starts) if after > before]
    window = min(steps) if steps else None
    for start, mean in op.numbered:
        end = None if window is None else (start + window) * units.MILLI
        report.add("latency_series", op=key["op"], phase="total", time_s=end, latency_s=mean * units.MICRO,
                   window_s=None if window is None else window * units.MILLI)  # fmt: skip
