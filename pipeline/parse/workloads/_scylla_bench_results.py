"""The ``Results`` of scylla-bench: totals, and sections of latencies."""

from __future__ import annotations

import re

from pipeline.parse._figures import go_duration, integer, number
from pipeline.parse._report import Report

TITLE = ("Results", "Results:")
_SECTION = re.compile(r"(?:(raw|c-o fixed)(?: (read|write))? latency ?:|Latency:)")
_ITEM = re.compile(r" +(max|99\.9th|99th|99h|95th|95h|90th|90h|median|mean):\s+(\S+) *")
_TOTAL = re.compile(r"(Time \(avg\)|Total ops|Total rows|Total errors|Operations/s|Rows/s):\s+(\S+) *")
_CRITICAL = "Following critical errors were caught during the run:"
_PERCENTILE = {"99.9th": 99.9, "99th": 99.0, "99h": 99.0, "95th": 95.0, "95h": 95.0, "90th": 90.0, "90h": 90.0,
               "median": 50.0}  # fmt: skip


class Results:
    """The results as far as they were read."""

    def __init__(self) -> None:
        self.is_open = False
        self.duration: float | None = None
        self.problems: list[tuple[str, str]] = []
        self._totals: dict[str, float | None] = {}
        self._sections: dict[tuple[str, str], dict[str, float]] = {}  # (phase, op) → name → seconds
        self._open: dict[str, float] | None = None
        self._is_paired = False  # since 2020 each raw section has a corrected one
        self._n_critical: int | None = None

    def read(self, text: str) -> bool:
        """Read a line; False when it is none of the results."""
        stripped = text.strip()
        if stripped == _CRITICAL:
            self._n_critical = 0
        elif self._n_critical is not None:
            self._n_critical += 1
        elif match := _SECTION.fullmatch(stripped):
            phase = "co_fixed" if match[1] == "c-o fixed" else "total"
            self._is_paired = self._is_paired or match[1] is not None
            self._open = self._sections.setdefault((phase, match[2] or "total"), {})
        elif (match := _ITEM.fullmatch(text)) and self._open is not None:
            seconds = go_duration(match[2])
            if seconds is None:
                return False
            self._open[match[1]] = seconds
        elif match := _TOTAL.fullmatch(stripped):
            self._take_total(match[1], match[2])
        else:
            return False
        return True

    def _take_total(self, name: str, text: str) -> None:
        if name == "Time (avg)":
            self.duration = go_duration(text)
            self._totals[name] = self.duration
        else:
            value = number(text)
            self._totals[name] = value if value is not None and value >= 0 else None
            if value is None:
                self.problems.append(("not_a_number", f"expected a figure of {name}, found {text[:40]}, which is null"))

    def missing(self, *, is_measured: bool) -> str | None:
        """What is missing at the end; None when the results may be whole."""
        if "Rows/s" not in self._totals:
            return "`Rows/s` of the results"
        if is_measured and not self._sections:
            return "latencies"
        if self._open is not None and "mean" not in self._open:
            return "the mean latency"
        ops = [{op for phase, op in self._sections if phase == name} for name in ("total", "co_fixed")]
        if self._is_paired and ops[0] != ops[1]:
            return "`c-o fixed latency` beside each `raw latency`"
        return None

    def add(self, report: Report, queue_depth: float | None) -> None:
        """Add the rows of the whole run."""
        if not self.is_open:
            return
        raw = self._sections.get(("total", "total"), {})
        n_ops = self._count("Total ops")
        report.add("operations", op="total", scope="total", n_ops=n_ops, duration_s=self.duration,
                   ops_per_s=self._totals.get("Operations/s"), latency_mean_s=raw.get("mean") if n_ops else None,
                   latency_max_s=raw.get("max") if n_ops else None, queue_depth=queue_depth,
                   n_errors=self._count("Total errors"))  # fmt: skip
        for name, metric, unit in (("Total rows", "rows", "1"), ("Rows/s", "rows_per_s", "1/s")):
            if (value := self._totals.get(name)) is not None:
                report.add("metric_series", metric=metric, value=value, unit=unit)
        for (phase, op), values in self._sections.items():
            if n_ops or any(values.values()):
                _add_section(report, {"op": op, "scope": "total" if op == "total" else "job", "phase": phase}, values)
        if any("99h" in values for values in self._sections.values()):
            expected = "the 99.9th percentile"
            self.problems.append(("percentile_is_maximum", f"expected {expected}, found cql-stress, which prints the "
                                  "maximum there: null"))  # fmt: skip
        if self._n_critical:
            report.incomplete(None, "critical_errors", f"expected none, found {self._n_critical} critical errors")

    def _count(self, name: str) -> int | None:
        value = self._totals.get(name)
        return integer(f"{value:.0f}") if value is not None else None


def _add_section(report: Report, key: dict[str, str], values: dict[str, float]) -> None:
    report.add("latency_summary", **key, mean_s=values.get("mean"), max_s=values.get("max"))
    for name, seconds in values.items():
        if name in _PERCENTILE and not (name == "99.9th" and "99h" in values):
            report.add("latency_percentiles", **key, percentile=_PERCENTILE[name], latency_s=seconds)
