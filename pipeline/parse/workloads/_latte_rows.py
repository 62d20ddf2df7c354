"""latte's samples and summary as rows."""

from __future__ import annotations

import json
import re

from pipeline import units
from pipeline.parse._figures import integer, number, positive, snake
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks

_PERCENTILE = re.compile(r"(Min|Max|\d{1,2}(?:\.\d{1,4})?)")
_BIN = re.compile(r" *([\d.]{1,20}) \.\.\. +([\d.]{1,20}) +(\d{1,18}) +[\d.]{1,10}%.*")
CUSTOM = "CUSTOM METRIC "  # heads the section of a metric; its name follows
_FACTOR = {"s": 1.0, "ms": units.MILLI, "%": units.PERCENT}
_UNIT = {"s": "s", "ms": "s", "%": "1", "op/s": "1/s", "req/s": "1/s", "row/s": "1/s"}
_MEANS = {"Cycle latency": "total", "Mean cycle time": "total", "Mean call time": "total",
          "Request latency": "request", "Mean resp. time": "request"}  # fmt: skip
_DETAIL = {
    ("Errors", "%"): "errors_ratio", ("Requests", "req/op"): "requests_per_op", ("Retries", "ret/req"):
    "retries_per_request", ("Rows", "row/req"): "rows_per_request", ("Concurrency", "%"): "concurrency_ratio",
    ("Throughput", "req/s"): "requests_per_s", ("Throughput", "row/s"): "rows_per_s",
    ("Mean sample size", "req"): "mean_sample_requests",
}  # fmt: skip


def add_sample(blocks: RowBlocks, cells: dict[str, float], start: float, phase: str) -> None:
    """Add a row of the log; latencies in ms, null where there was no operation."""
    is_idle = not cells["op/s"] and not cells.get("Max")
    end = cells["time"]
    key = {"interval_start_s": start if start <= end else None, "interval_end_s": end, "op": "total", "scope": "total"}
    latencies = {} if is_idle else {name: cells[name] * units.MILLI for name in cells if _PERCENTILE.fullmatch(name)}
    is_cycle = phase == "total"
    blocks.put("operations", **key, ops_per_s=cells["op/s"], n_ops=_count(cells.get("cycles")),
               n_errors=_count(cells.get("errors")), latency_min_s=latencies.get("Min") if is_cycle else None,
               latency_max_s=latencies.get("Max") if is_cycle else None)  # fmt: skip
    for name, latency in latencies.items():
        blocks.put("latency_percentiles", **key, phase=phase, percentile=percentile_of(name), latency_s=latency)
    if "req/s" in cells:
        blocks.put("metric_series", metric="requests_per_s", time_s=end, value=cells["req/s"], unit="1/s")


def _count(value: float | None) -> int | None:
    return None if value is None else integer(f"{value:.0f}")


def percentile_of(name: str) -> float:
    """``Min`` is 0, ``Max`` is 100."""
    return {"Min": 0.0, "Max": 100.0}[name] if name in ("Min", "Max") else float(name)


class Summary:
    """The summary of one run, as far as it was read."""

    def __init__(self) -> None:
        self.total: dict[str, float] = {}
        self.means: dict[str, float] = {}  # a phase
        self.metrics: list[tuple[str, float, str, dict[str, str]]] = []  # name, value, unit, labels
        self.percentiles: dict[tuple[str, str], dict[float, float]] = {}  # (op, phase)
        self.bins: list[tuple[float, float, int]] = []

    @property
    def has_figures(self) -> bool:
        """Whether anything was read."""
        return bool(self.total or self.metrics)

    def take(self, section: str, label: str, unit: str | None, cell: str) -> bool:
        """Take a figure; False when it is none."""
        if section.startswith(CUSTOM):
            return self._take_custom(snake(section.removeprefix(CUSTOM)), label, cell)
        figure, _, error = cell.partition("±")
        value, margin = positive(figure.strip()), positive(error.strip())
        if value is None:
            return False
        if section.endswith("[ms]"):
            if _PERCENTILE.fullmatch(label) is None:
                return False
            key = ("total", "request") if section.startswith("RESPONSE") else (_function(section), "total")
            self.percentiles.setdefault(key, {})[percentile_of(label)] = value * units.MILLI
            name, unit = "latency", "ms"
            labels = {"op": key[0], "phase": key[1], "percentile": f"{percentile_of(label):g}"}
        else:
            name, labels = self._take_total(label, unit, value)
        if margin is not None:
            factor = _FACTOR.get(unit or "", 1.0)
            self.metrics.append((f"{name}_error", margin * factor, _UNIT.get(unit or "", "1"), labels))
        return True

    def _take_custom(self, name: str, label: str, cell: str) -> bool:
        """Take a statistic of a metric that the workload records: of no known unit, and it may be negative."""
        figure, _, error = cell.partition("±")
        value, margin = number(figure.strip()), positive(error.strip())
        if value is None or not (label == "Mean" or _PERCENTILE.fullmatch(label)):
            return False
        labels = {"statistic": "mean"} if label == "Mean" else {"percentile": f"{percentile_of(label):g}"}
        self.metrics.append((name, value, "1", labels))
        if margin is not None:
            self.metrics.append((f"{name}_error", margin, "1", labels))
        return True

    def _take_total(self, label: str, unit: str | None, value: float) -> tuple[str, dict[str, str]]:
        """Take a figure of SUMMARY STATS; returns its name and its labels."""
        if (label, unit) in _DETAIL:
            name = _DETAIL[label, str(unit)]
        elif label in _MEANS:
            self.means[_MEANS[label]] = value * units.MILLI
            return "latency_mean", {"op": "total", "phase": _MEANS[label]}
        else:
            name = snake(label)
            if label in ("Cycles", "Calls", "Errors", "Throughput", "Elapsed time"):
                self.total[name] = value
                return name, {}
        self.metrics.append((name, value * _FACTOR.get(unit or "", 1.0), _UNIT.get(unit or "", "1"), {}))
        return name, {}

    def read_bin(self, text: str) -> bool:
        """Read a bin of the distribution: edges in ms, rounded to 0.1 ms; the count."""
        match = _BIN.fullmatch(text[:500])
        low, high = (number(match[1]), number(match[2])) if match else (None, None)
        if match is None or low is None or high is None:
            return False
        self.bins.append((low * units.MILLI, high * units.MILLI, int(match[3])))
        return True

    def missing(self, sections: list[str], *, is_own: bool) -> str | None:
        """What a run lacks that was cut; a baseline has no distribution and no errors."""
        if "throughput" not in self.total:
            return "`SUMMARY STATS`"
        if not self.means:
            return "a mean latency"
        has_requests = next((value for name, value, *_ in self.metrics if name == "requests"), 1.0) > 0
        if not self.percentiles and has_requests:
            return "percentiles of the latency"
        if any(100.0 not in values for values in self.percentiles.values()):
            return "the percentiles' line `Max`"
        if is_own and "RESPONSE TIMES [ms]" in sections and not self.bins:
            return "`RESPONSE TIME DISTRIBUTION`"
        if is_own and self.total.get("errors") and sections[-1] != "ERRORS":
            return "`ERRORS`"
        return None

    def add(self, report: Report) -> None:
        """Add the rows."""
        total, own = self.total, self.percentiles.get(("total", "total"), {})
        duration = total.get("elapsed_time")
        report.describe(duration_s=duration)
        if total:
            report.add("operations", op="total", scope="total", duration_s=duration, ops_per_s=total.get("throughput"),
                       n_ops=_count(total.get("cycles", total.get("calls"))), n_errors=_count(total.get("errors")),
                       latency_mean_s=self.means.get("total"), latency_min_s=own.get(0.0),
                       latency_max_s=own.get(100.0))  # fmt: skip
        for op, phase in dict.fromkeys([("total", phase) for phase in self.means] + list(self.percentiles)):
            values, scope = self.percentiles.get((op, phase), {}), "total" if op == "total" else "job"
            report.add("latency_summary", op=op, scope=scope, phase=phase, min_s=values.get(0.0),
                       max_s=values.get(100.0), mean_s=self.means.get(phase) if op == "total" else None)  # fmt: skip
            for percentile, latency in values.items():
                report.add("latency_percentiles", op=op, scope=scope, phase=phase, percentile=percentile,
                           latency_s=latency)  # fmt: skip
        for low, high, count in self.bins:
            if low < high or count:
                report.add("latency_bins", op="total", scope="total", phase="request", lower_s=low, upper_s=high,
                           count=count)  # fmt: skip
        for name, value, unit, labels in self.metrics:
            text = json.dumps(labels) if labels else None
            report.add("metric_series", metric=name, labels=text, value=value, unit=unit)


def _function(section: str) -> str:
    return section.partition(" for ")[2].removesuffix("[ms]").strip() or "total"
