"""Private to ``hdr_log``: rows of latency_bins and latency_summary, interval by interval."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.histograms._hdr_payload import Histogram

_BLOCK_ROWS = 1 << 17
_DIVISOR_OF_US = 1000.0  # a printed maximum that is this part of the largest value: µs printed as ms
_TOLERANCE = 0.02


class Interval(NamedTuple):
    """A line of a log: its tag, its interval in s since the start, the maximum as printed, and the histogram."""

    tag: str | None
    start_s: float
    end_s: float
    maximum: float
    histogram: Histogram


class IntervalRows:
    """Takes intervals and gives rows; the unit is known when the first interval with values came."""

    def __init__(self, report: Report) -> None:
        self.name = ""  # of #[Logging for: …]
        self.is_us = False  # known by the writer
        self.n_intervals = 0
        self._report = report
        self._unit_s = 0.0
        self._divisor = 0.0
        self._held: list[Interval] = []
        self._n_rows = 0

    def add(self, interval: Interval) -> None:
        """Add an interval."""
        self.n_intervals += 1
        self._held.append(interval)
        self._n_rows += len(interval.histogram.counts) + 1
        if not self._unit_s and len(interval.histogram.counts):
            self._find_unit(interval)
        if self._n_rows >= _BLOCK_ROWS:
            self._hand_over()

    def finish(self) -> None:
        """Add what is left."""
        if not self._unit_s:
            self._unit_s, self._divisor = units.NANO, units.NANO / units.MICRO / units.MILLI
        self._hand_over()

    def _find_unit(self, interval: Interval) -> None:
        """What one unit of a recorded value is, by the writer's habits."""
        largest = float(interval.histogram.upper[-1])
        ratio = largest / interval.maximum if interval.maximum else 0.0
        is_known = self.is_us or self.name != ""
        is_us = is_known or abs(ratio / _DIVISOR_OF_US - 1) < _TOLERANCE
        self._unit_s = units.MICRO if is_us else units.NANO
        self._divisor = 10.0 ** round(np.log10(ratio)) if ratio > 0 else 1e6
        name = "us" if is_us else "ns"
        # A maximum that is printed as it was recorded tells nothing of the unit.
        doubt = (
            "" if is_known or abs(ratio - 1) >= _TOLERANCE else ", which may be 1000 times too small (us) or more (ms)"
        )
        self._report.parameter("value_unit", name)
        self._report.warn(None, "unit_guessed", f"expected a unit of the values, found none: taken as {name}{doubt}")

    def _hand_over(self) -> None:
        if not self._held:
            return
        if not self._unit_s:
            return  # only empty histograms so far
        held, self._held, self._n_rows = self._held, [], 0
        op = re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_") or "total"
        for interval in held:
            report_scope = "total" if interval.tag is None else "job"
            n_ops = int(interval.histogram.counts.sum())
            self._report.add(
                "latency_summary", op=op, job=interval.tag, scope=report_scope, phase="total", n_ops=n_ops,
                interval_start_s=interval.start_s, interval_end_s=interval.end_s,
                max_s=interval.maximum * self._divisor * self._unit_s or None,  # 0.000: too small to be printed
            )  # fmt: skip
        self._add_bins(op, [interval for interval in held if len(interval.histogram.counts)])

    def _add_bins(self, op: str, held: list[Interval]) -> None:
        import pyarrow as pa

        if not held:
            return
        lengths = [len(interval.histogram.counts) for interval in held]

        def repeated(values: list[Any]) -> Any:
            return np.repeat(np.array(values), lengths)

        tags = [interval.tag for interval in held]
        codes = np.repeat(np.arange(len(held), dtype=np.int32), lengths)
        scopes = ["total" if tag is None else "job" for tag in tags]
        self._report.add_block("latency_bins", {
            "interval_start_s": repeated([interval.start_s for interval in held]),
            "interval_end_s": repeated([interval.end_s for interval in held]),
            "job": pa.array(tags, pa.string()).take(pa.array(codes)),
            "scope": pa.array(scopes, pa.string()).take(pa.array(codes)),
            "op": op, "phase": "total",
            "lower_s": np.concatenate([interval.histogram.lower for interval in held]) * self._unit_s,
            "upper_s": np.concatenate([interval.histogram.upper for interval in held]) * self._unit_s,
            "count": np.concatenate([interval.histogram.counts for interval in held]),
        })  # fmt: skip
