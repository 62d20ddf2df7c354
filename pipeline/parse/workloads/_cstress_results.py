"""The ``Results:`` block of cassandra-stress: labels of all versions, totals with the operations in brackets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pipeline import units
from pipeline.parse._figures import clock_seconds, number, snake
from pipeline.parse._report import Report
from pipeline.parse.workloads._cstress_rows import METRICS, PERCENTILES, Row, mean_of, seconds_of, whole

_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_. ()]{1,40}?) *: *(.*)")
_PERCENTILE = re.compile(r"latency (\d{1,2}(?:\.\d{1,6})?)(?:st|nd|rd|th) percentile")
_RATES = ("op rate", "real op rate", "interval_op_rate")
# label → metric, unit, factor; those of a rate count whole things, so that any separator groups digits
_WHOLE = {
    "partition rate": ("partitions_per_s", "1/s", 1.0), "row rate": ("rows_per_s", "1/s", 1.0),
    "key rate": ("keys_per_s", "1/s", 1.0), "interval_key_rate": ("keys_per_s", "1/s", 1.0),
    "adjusted op rate": ("adjusted_ops_per_s", "1/s", 1.0), "adjusted op rate stderr": ("rate_stderr", "1", 1.0),
    "total partitions": ("partitions", "1", 1.0), "total gc count": ("gc_count", "1", 1.0),
    "total gc mb": ("gc_bytes", "B", float(units.MEBI)), "total gc time (s)": ("gc_time", "s", 1.0),
    "avg gc time(ms)": ("gc_time_mean", "s", units.MILLI), "stdev gc time(ms)": ("gc_time_stddev", "s", units.MILLI),
}  # fmt: skip
_WITH_FRACTION = {
    "total gc time": ("gc_time", "s", 1.0), "avg gc time": ("gc_time_mean", "s", units.MILLI),
    "stddev gc time": ("gc_time_stddev", "s", units.MILLI),
}  # fmt: skip
_COUNTS = ("total errors", "total operations", "total partitions")
_NONE = ("NaN", "Infinity", "∞", "-Infinity", "�", "-∞")
_MIDDLE = "Averages from the middle 80% of values:"


def opens_results(text: str) -> bool:
    """Whether a line is the title of a block."""
    return text in ("Results:", _MIDDLE)


def plain(text: str, *, is_whole: bool) -> float | None:
    """A figure with any locale's separators: ``6,778``, ``6.778`` (a count), ``0,6``, ``1.234,5`` (with a fraction)."""
    figure = re.sub(r"[\s’']", "", text)
    if is_whole:
        groups = re.split("[.,]", figure)
        # %.0f prints no fraction; a group that is not of three digits means that this is no such count
        if len(groups) > 1 and any(len(group) != 3 for group in groups[1:]):
            return None
        return number("".join(groups))
    mark = max(figure.rfind("."), figure.rfind(","))
    if mark < 0:
        return number(figure)
    return number(re.sub("[.,]", "", figure[:mark]) + "." + figure[mark + 1 :])


@dataclass
class Figures:
    """What the block says of all operations together, or of one operation."""

    rate: float | None = None
    mean: float | None = None
    maximum: float | None = None
    percentiles: dict[float, float] = field(default_factory=dict)
    n_errors: int | None = None
    n_ops: int | None = None
    metrics: dict[str, tuple[float, str]] = field(default_factory=dict)


@dataclass
class Results:
    """A block as far as it was read."""

    ops: dict[str, Figures] = field(default_factory=lambda: {"total": Figures()})
    duration: float | None = None
    is_open: bool = False
    is_done: bool = False  # its last line was read
    is_rust: bool = False  # cql-stress, which does not say END
    is_middle: bool = False  # averages of intervals, of versions 1.2 and 2.0
    n_no_numbers: int = 0

    def read(self, text: str) -> bool:
        """Read a line of the block; False when it is none."""
        match = _LINE.fullmatch(text[:20_000])
        if match is None:
            return False
        label, value = " ".join(match[1].lower().split()), match[2]
        if label == "total operation time":
            self.duration = clock_seconds(value.strip())
            self.is_done = True
            return self.duration is not None
        total, _, brackets = value.partition("[")
        is_whole = label in _RATES or label in _WHOLE or label in _COUNTS
        if label == "total gc memory":
            return self._take_memory(value.strip())
        if not (is_whole or label in _WITH_FRACTION or label in ("latency mean", "latency median", "latency max")
                or _PERCENTILE.fullmatch(label)):  # fmt: skip
            return False
        self.is_rust = self.is_rust or label == "total operations"
        is_read = self._take(label, "total", total, is_whole=is_whole)
        for part in brackets.rpartition("]")[0].split(", ") if brackets else ():
            name, colon, figure = part.rpartition(":")
            is_read = bool(colon) and self._take(label, name.strip(), figure, is_whole=is_whole) and is_read
        return is_read

    def _take(self, label: str, op: str, text: str, *, is_whole: bool) -> bool:
        words = re.sub(r"\s*(?:op/s|pk/s|row/s|ms|seconds)\s*$", "", text).strip()
        if words in _NONE:
            self.n_no_numbers += 1
            return True
        value = plain(words, is_whole=is_whole)
        if value is None or value < 0:
            return False
        figures = self.ops.setdefault(op, Figures())
        if label in _RATES:
            figures.rate = value
        elif label == "latency mean":
            figures.mean = value * units.MILLI
        elif label == "latency max":
            figures.maximum = value * units.MILLI
        elif label == "latency median":
            figures.percentiles[50.0] = value * units.MILLI
        elif match := _PERCENTILE.fullmatch(label):
            figures.percentiles[float(match[1])] = value * units.MILLI
        elif label == "total errors":
            figures.n_errors = whole(value)
        elif label == "total operations":
            figures.n_ops = whole(value)
        else:
            metric, unit, factor = _WHOLE.get(label) or _WITH_FRACTION[label]
            figures.metrics[metric] = (value * factor, unit)
        return True

    def _take_memory(self, text: str) -> bool:
        figure, _, unit = text.rpartition(" ")
        value = plain(figure, is_whole=False)
        try:
            size = None if value is None else units.byte_size(f"{value!r}{unit}" if unit != "bytes" else f"{value!r}B")
        except ValueError:
            size = None
        if size is not None:
            self.ops["total"].metrics["gc_bytes"] = (size, "B")
        return size is not None or text in _NONE

    def complete_from(self, row: Row) -> None:
        """Take what the block lacks from a row of the whole run: of the table of all thread counts."""
        figures = self.ops.setdefault(row.kind, Figures())
        cells = row.cells
        figures.n_ops = figures.n_ops if figures.n_ops is not None else whole(cells.get("total ops"))
        if figures.rate is not None:
            return
        figures.rate, figures.mean, figures.maximum = cells.get("op/s"), mean_of(cells), seconds_of(cells, "max")
        figures.n_errors = whole(cells.get("errors"))
        for name, percentile in PERCENTILES.items():
            if (latency := seconds_of(cells, name)) is not None:
                figures.percentiles[percentile] = latency
        for name, (metric, unit, factor) in METRICS.items():
            if (value := cells.get(name)) is not None:
                figures.metrics[metric] = (value * factor, unit)

    def add(self, report: Report, queue_depth: float | None) -> None:
        """Add the rows of the whole run."""
        if self.is_middle:
            self._add_middle(report)
            return
        for name, figures in self.ops.items():
            is_total = name == "total"
            if figures == Figures():
                continue
            key = {"op": "total" if is_total else snake(name), "scope": "total" if is_total else "job"}
            report.add("operations", **key, n_ops=figures.n_ops, ops_per_s=figures.rate, duration_s=self.duration,
                       latency_mean_s=figures.mean, latency_max_s=figures.maximum, n_errors=figures.n_errors,
                       queue_depth=queue_depth if is_total else None)  # fmt: skip
            if figures.mean is not None or figures.maximum is not None:
                report.add("latency_summary", **key, phase="total", mean_s=figures.mean, max_s=figures.maximum,
                           n_ops=figures.n_ops)  # fmt: skip
            for percentile, latency in figures.percentiles.items():
                report.add("latency_percentiles", **key, phase="total", percentile=percentile, latency_s=latency)
            labels = None if is_total else json.dumps({"op": key["op"]})
            for metric, (value, unit) in figures.metrics.items():
                report.add("metric_series", metric=metric, labels=labels, value=value, unit=unit)

    def _add_middle(self, report: Report) -> None:
        """Means over intervals are no percentiles of the run: they are metrics of their own."""
        figures, labels = self.ops["total"], json.dumps({"of": "the middle 80% of intervals"})
        values = {f"latency_p{p:g}": (v, "s") for p, v in figures.percentiles.items()} | figures.metrics
        if figures.rate is not None:
            values["ops_per_s"] = (figures.rate, "1/s")
        for metric, (value, unit) in values.items():
            report.add("metric_series", metric=f"{metric}_mean", labels=labels, value=value, unit=unit)
