"""The summary of perf trace: system calls by task, by control group or in all."""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.units import PERCENT, seconds

_BEGIN = re.compile(r"\s*Summary of events:\s*$")
# `ls (25745), 290 events, 97.3%`, `total, 2824 events`, `cgroup /a.slice, 12 events`
TASK = re.compile(
    r" ?(\S.{0,300}?)(?: \((-?\d+)\))?, (\d{1,18}) events(?:, (\d{1,3}\.\d)%)?(?:, (\d{1,18}) majfaults)?"
    r"(?:, (\d{1,18}) minfaults)?(?:, (\d{1,15}\.\d{3}) msec)?\s*$"
)
_HEADER = re.compile(r" +syscall +calls +\S")
_RULE = frozenset(" -_")
_ERRNO = re.compile(r"\s+(\w+): (\d{1,18})\s*$")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d+)?%?")
_MAX_LENGTH = 1024


class Summary:
    """Reads the lines behind ``Summary of events:``."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.is_open = False
        self.n_rows = 0
        self._job: str | None = None
        self._scope = "job"
        self._columns: list[str] = []
        self._syscall: str | None = None

    def take(self, line: str) -> bool:
        """Take a line; False where it is none of a summary's."""
        if _BEGIN.match(line):
            self.is_open, self._columns = True, []
            return True
        if len(line) > _MAX_LENGTH or not self.is_open:
            return False
        if _HEADER.match(line):
            self._columns = line.split()[1:]
        elif self._columns and self._take_row(line):
            pass
        elif match := TASK.match(line):
            self._begin(match)
        elif (match := _ERRNO.match(line)) and self._syscall:
            self._metric("n_errors", float(match[2]), None, errno=match[1])
        else:
            words = line.split()  # a line of units, or a rule
            return _RULE.issuperset(line.rstrip()) or all(word in ("(msec)", "(%)") for word in words)
        return True

    def _begin(self, match: re.Match[str]) -> None:
        """Begin the table of a task, a control group, or all."""
        is_all = match[2] is None and match[1] == "total"
        self._scope, self._syscall = "total" if is_all else "job", None
        self._job = None if is_all else f"{match[1]} ({match[2]})" if match[2] else match[1].removeprefix("cgroup ")
        self._metric("n_events", float(match[3]), None)
        if match[4]:
            self._metric("event_ratio", round(float(match[4]) * PERCENT, 6), "1")
        for name, number in (("n_majfaults", match[5]), ("n_minfaults", match[6])):
            if number:
                self._metric(name, float(number), None)
        if match[7]:
            self._metric("runtime_s", _seconds(match[7]), "s")

    def _take_row(self, line: str) -> bool:
        name, *cells = line.split()
        if not cells or len(cells) != len(self._columns) or not all(_NUMBER.fullmatch(cell) for cell in cells):
            return False
        values = {column: float(cell.rstrip("%")) for column, cell in zip(self._columns, cells, strict=True)}
        self._syscall = name
        self.n_rows += 1
        n_ops = int(values["calls"])
        times = {key: _seconds(values[key]) for key in ("min", "avg", "max") if key in values}
        common = {"job": self._job, "op": name, "scope": self._scope, "n_ops": n_ops}
        self.report.add(
            "latency_summary", **common, phase="total",
            mean_s=times.get("avg"), min_s=times.get("min"), max_s=times.get("max"),
        )  # fmt: skip
        n_errors = int(values["errors"]) if "errors" in values else None
        self.report.add(
            "operations", **common, n_errors=n_errors, latency_mean_s=times.get("avg"),
            latency_min_s=times.get("min"), latency_max_s=times.get("max"),
        )  # fmt: skip
        if "total" in values:
            self._metric("syscall_time_s", _seconds(values["total"]), "s")
        if "stddev" in values:
            self._metric("mean_stderr_ratio", round(values["stddev"] * PERCENT, 6), "1")
        return True

    def _metric(self, metric: str, value: float, unit: str | None, **labels: str) -> None:
        known = {"task": self._job, "syscall": self._syscall}
        labels = {key: text for key, text in known.items() if text is not None} | labels
        text = json.dumps(labels, ensure_ascii=False) if labels else None
        self.report.add("metric_series", metric=metric, value=value, unit=unit, labels=text)


def _seconds(text: float | str) -> float:
    """Milliseconds with three decimals, as s."""
    return round(seconds(float(text), "ms"), 9)
