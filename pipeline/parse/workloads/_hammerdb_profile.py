"""HammerDB's time profiles: xtprof (a report at the end) and etprof (windows of 10 s, and a table at the end)."""

from __future__ import annotations

import json
import re
from datetime import datetime

from pipeline import units
from pipeline.parse._figures import integer, positive, snake
from pipeline.parse._report import Report

_HEAD = re.compile(r">>>>> (?:VIRTUAL USER (\S{1,10})|SUMMARY OF (\d{1,6}) ACTIVE VIRTUAL USERS) : "
                   r"(?:MEDIAN )?ELAPSED TIME : (\d{1,15})ms")  # fmt: skip
_PROC = re.compile(r">>>>> PROC: (.{1,80})")
_FIGURE = re.compile(r"([A-Z]{2,5}|P\d\d): *(\d{1,18}(?:\.\d{1,9})?)(ms|%)?")
_WINDOW = re.compile(r"\|PERCENTILES (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) to (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_ROW = re.compile(r"\|(\w{1,60})\|((?:(?:MIN|MAX|SAMPLES|P\d\d%)-[\d.]{1,20}\|?){2,20})")
_CELL = re.compile(r"(MIN|MAX|SAMPLES|P(\d\d)%)-([\d.]{1,20})")
_TABLE = re.compile(
    r"\|(\w{1,60}) *\| *(\d{1,18})\| *([\d.]{1,10})%\| *(\d{1,18})\| *(\d{1,18})\| *(\d{1,18}|NOT AVAILABLE)\|"
)
_FORMAT = "%Y-%m-%d %H:%M:%S"


class Profile:
    """The figures of both profilers."""

    def __init__(self) -> None:
        self._sections: list[tuple[str | None, float, dict[str, dict[str, tuple[float, str | None]]]]] = []
        self._proc: dict[str, tuple[float, str | None]] | None = None
        self._is_closed = False
        self._window: dict[str, tuple[float, float] | None] = {}  # a virtual user
        self._began: datetime | None = None
        self._rows: list[tuple[str | None, tuple[float, float] | None, str, dict[str, float]]] = []
        self._table: list[tuple[str | None, re.Match[str]]] = []

    @property
    def has_figures(self) -> bool:
        """Whether anything was profiled."""
        return bool(self._sections or self._rows or self._table)

    @property
    def missing(self) -> str | None:
        """What a cut xtprof report lacks."""
        if not self._sections:
            return None
        if self._sections[-1][0] is not None:
            return "`SUMMARY OF … ACTIVE VIRTUAL USERS`"
        return None if self._is_closed else "the line below the summary"

    def read(self, job: str | None, text: str) -> bool:
        """Read a line of a profile; False when it is none."""
        if match := _HEAD.fullmatch(text):
            user = f"Vuser {match[1]}" if match[1] else None
            self._sections.append((user, int(match[3]) * units.MILLI, {}))
            self._proc, self._is_closed = None, False
        elif (match := _PROC.fullmatch(text)) and self._sections:
            self._proc = self._sections[-1][2].setdefault(match[1].strip(), {})
        elif self._proc is not None and text.startswith(("CALLS:", "P99:", "P95:")):
            for name, value, unit in _FIGURE.findall(text[:2000]):
                self._proc[name] = (float(value), unit or None)
        elif text.startswith("+-"):
            self._is_closed = True
        elif text.startswith("|"):
            return self._read_window(job, text)
        else:
            return False
        return True

    def _read_window(self, job: str | None, text: str) -> bool:
        key = job or ""
        if match := _WINDOW.fullmatch(text):
            self._window[key] = self._span(match[1], match[2])
        elif match := _ROW.fullmatch(text[:1000]):
            cells = {found[1] or found[0]: positive(found[2]) for found in _CELL.findall(match[2])}
            figures = {name: value for name, value in cells.items() if value is not None}
            self._rows.append((job, self._window.get(key), match[1], figures))
        elif match := _TABLE.fullmatch(text[:1000]):
            self._table.append((job, match))
        else:
            return "PROCNAME" in text
        return True

    def _span(self, start: str, end: str) -> tuple[float, float] | None:
        """A window in seconds since the first one began."""
        try:
            first, last = datetime.strptime(start, _FORMAT), datetime.strptime(end, _FORMAT)
        except ValueError:
            return None
        self._began = self._began or first
        span = ((first - self._began).total_seconds(), (last - self._began).total_seconds())
        return span if 0 <= span[0] <= span[1] else None

    def add(self, report: Report) -> None:
        """Add the rows of both."""
        for user, elapsed, procs in self._sections:
            for name, figures in procs.items():
                _add_procedure(report, user, elapsed, snake(name), figures)
        n_unplaced = 0
        for job, window, name, cells in self._rows:
            n_unplaced += window is None
            if window is not None:
                _add_window(report, job, window, snake(name), cells)
        if n_unplaced:
            report.warn(None, "no_window", f"expected `PERCENTILES … to …` above, found none above {n_unplaced} rows")
        for job, match in self._table:
            labels = _labels(snake(match[1]), job)
            values = (("exclusive_time", match[2], "s"), ("exclusive_time_per_call", match[5], "s"),
                      ("cumulative_time", match[6], "s"))  # fmt: skip
            for metric, text, unit in values:
                if (value := integer(text)) is not None:
                    report.add("metric_series", metric=metric, labels=labels, value=value * units.MICRO, unit=unit)
            if (calls := integer(match[4])) is not None:
                report.add("metric_series", metric="calls", labels=labels, value=float(calls), unit="1")
            if (share := positive(match[3])) is not None:
                ratio = share * units.PERCENT
                report.add("metric_series", metric="exclusive_ratio", labels=labels, value=ratio, unit="1")


def _labels(op: str, job: str | None) -> str:
    return json.dumps({"op": op} if job is None else {"op": op, "job": job})


def _add_procedure(
    report: Report, user: str | None, elapsed: float, op: str, figures: dict[str, tuple[float, str | None]]
) -> None:
    """Add a procedure of xtprof: milliseconds; a deviation without a unit is in µs."""
    key = {"op": op, "job": user, "scope": "total" if user is None else "job"}
    seconds = {name: value * units.MILLI for name, (value, unit) in figures.items() if unit == "ms"}
    calls = figures.get("CALLS", (None, None))[0]
    n_ops = None if calls is None else integer(f"{calls:.0f}")
    if "SD" in figures and figures["SD"][1] is None:
        seconds["SD"] = figures["SD"][0] * units.MICRO
    row = {
        "mean": seconds.get("AVG"),
        "stddev": seconds.get("SD"),
        "min": seconds.get("MIN"),
        "max": seconds.get("MAX"),
    }
    if not n_ops:
        row = dict.fromkeys(row)
    report.add("operations", **key, n_ops=n_ops, duration_s=elapsed, **{f"latency_{k}_s": v for k, v in row.items()})
    report.add("latency_summary", **key, phase="total", n_ops=n_ops, **{f"{k}_s": v for k, v in row.items()})
    for name, value in seconds.items():
        if name[0] == "P" and name[1:].isdigit() and n_ops:
            report.add("latency_percentiles", **key, phase="total", percentile=float(name[1:]), latency_s=value)
    labels = _labels(op, user)
    if "TOTAL" in seconds:
        report.add("metric_series", metric="total_time", labels=labels, unit="s", value=seconds["TOTAL"])
    if "RATIO" in figures:
        report.add("metric_series", metric="elapsed_ratio", labels=labels, unit="1",
                   value=figures["RATIO"][0] * units.PERCENT)  # fmt: skip


def _add_window(report: Report, job: str | None, window: tuple[float, float], op: str, cells: dict[str, float]) -> None:
    """Add a procedure's row of a window of etprof: microseconds."""
    key = {"interval_start_s": window[0], "interval_end_s": window[1], "op": op, "job": job, "scope": "job"}
    n_ops = integer(f"{cells['SAMPLES']:.0f}") if "SAMPLES" in cells else None
    ends = {name: cells[name] * units.MICRO if name in cells else None for name in ("MIN", "MAX")}
    report.add("operations", **key, n_ops=n_ops, latency_min_s=ends["MIN"], latency_max_s=ends["MAX"])
    for name, value in cells.items():
        if name.isdigit():
            report.add("latency_percentiles", **key, phase="total", percentile=float(name),
                       latency_s=value * units.MICRO)  # fmt: skip
