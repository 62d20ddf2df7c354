"""One report of perf stat while it is read: its rows with their windows, and what tells a cut file from a whole one."""

from __future__ import annotations

import json
import re
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_counter import Counter
from pipeline.parse.perf._perf_values import Metric

TOOL = "perf_stat"
STARTED = re.compile(r"# started on (\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\s*$")
VERSION = re.compile(r"perf version (\S+)\s*$")
COMMAND = re.compile(r"\S*perf stat \S.*")
# Events that are counted on a few CPUs only: of the uncore, and perf's own.
_PARTIAL = re.compile(r"\[|^(?!cpu(?:_core|_atom)?/).*/|^(?:duration|user|system)_time|^num_|^system_tsc_freq")


_NO_METRIC = Metric(None, None, None)
_BLOCK_ROWS = 20000
_TYPES = {
    "event": pa.string(), "aggregate": pa.string(), "cgroup": pa.string(), "task": pa.string(),
    "time_s": pa.float64(), "window_s": pa.float64(), "value": pa.float64(), "unit": pa.string(),
    "status": pa.string(), "running_ratio": pa.float64(), "stddev_ratio": pa.float64(), "metric_name": pa.string(),
    "metric_value": pa.float64(), "metric_unit": pa.string(),
}  # fmt: skip
_PLAIN = tuple(name for name in _TYPES if name != "window_s" and not name.startswith("metric"))


class Counters:
    """Collects the lines of one report; ``finish`` gives the report.

    Of intervals, ``rows`` holds the last one alone: the lines before it went to the report.
    """

    def __init__(self, source: Source, started: str | None = None) -> None:
        self.report = Report(TOOL, source)
        self.rows: list[Counter] = []
        self.n_rows = 0
        self.last_line: int | None = None
        self._first_s: float | None = None  # ends of the first interval, of the last one, and of the one before it
        self._last_s = self._before_s = 0.0
        self._sizes: list[int] = []  # of the last two intervals: lines with an event, or lines
        self._has_events = False
        self._block: dict[str, list[object]] = {name: [] for name in _TYPES}
        self._n_counters: dict[str, str] = {}
        self._problems: dict[str, tuple[int, str, int]] = {}
        self._unread: list[tuple[int, str]] = []
        self._n_unread = 0
        if started:
            self.report.parameter("started_on", started)  # local time; perf does not tell its zone

    def add(self, counter: Counter) -> None:
        """Add a line; a ratio that cannot be becomes null."""
        time_s = counter.time_s
        if self.rows and self._first_s is not None and time_s != self.rows[-1].time_s:
            self._end_interval()
        if time_s is not None:
            if self._first_s is None:
                self._first_s = self._last_s = time_s
            elif time_s > self._last_s:
                self._before_s, self._last_s = self._last_s, time_s
            elif time_s < self._last_s:
                self.problem(counter.line, "time_backwards", f"expected a time from {self._last_s:g} s on")
        if counter.running_ratio is not None and counter.running_ratio > 1:
            self.problem(counter.line, "out_of_range", "expected an event to run for 0 … 100 % of the time")
            counter.running_ratio = None
        if counter.status == "counted" and counter.value is None:
            self.problem(counter.line, "bad_number", f"expected a number for {counter.event}, found none")
        self.rows.append(counter)
        self.n_rows += 1
        self.last_line = counter.line

    @property
    def has_intervals(self) -> bool:
        """Whether the lines carry times (``-I``)."""
        return self._first_s is not None

    def is_restart(self, time_s: float) -> bool:
        """Whether a time that goes back belongs to a run that was appended to the file."""
        return self._first_s is not None and time_s < self._last_s and time_s < 1.5 * self._first_s

    def series(self, metric: str, value: float | None, unit: str, **labels: object) -> None:
        """Add a figure of the run as a whole."""
        if value is not None and value >= 0:
            text = json.dumps(labels) if labels else None
            self.report.add("metric_series", metric=metric, value=value, unit=unit, labels=text)

    def problem(self, line: int, code: str, message: str) -> None:
        """Note a problem; one warning of a kind, with their number, comes of it."""
        first_line, first_message, count = self._problems.get(code, (line, message, 0))
        self._problems[code] = first_line, first_message, count + 1

    def skip(self, line: int, text: str) -> None:
        """Remember a line that is no counter; one warning, with their number, comes of it."""
        if not self._unread:
            self._unread.append((line, "".join(c if c.isprintable() else "�" for c in text.strip()[:80])))
        self._n_unread += 1

    def finish(self, *, is_closed: bool = False) -> Report:
        """Write rows and warnings, judge completeness (if no closing line tells it), and return the report."""
        missing = None if is_closed else self._missing()
        self._write_rows()
        self._flush()
        for aggregate, n_counters in self._n_counters.items():
            self.report.parameter("aggregate-number", n_counters, job=aggregate)
        for line, text in self._unread:
            found = f"found {self._n_unread} other lines, the first: {text}"
            self.report.warn(line, "unread_lines", f"expected counters, {found}")
        for code, (line, message, count) in self._problems.items():
            self.report.warn(line, code, message + (f" ({count} times)" if count > 1 else ""))
        if missing:
            self.report.incomplete(self.last_line, "truncated", missing)
        if self._first_s is not None and "duration_s" not in self.report.run:
            self.report.describe(duration_s=self._last_s)
        return self.report

    def _end_interval(self) -> None:
        """Write the lines of an interval that is over."""
        self._remember_size()
        self._write_rows()
        self.rows = []
        if len(self._block["event"]) >= _BLOCK_ROWS:
            self._flush()

    def _remember_size(self) -> None:
        n_events = sum(row.status is not None for row in self.rows)
        if n_events and not self._has_events:
            self._has_events, self._sizes = True, []
        # Metrics come and go with the counts they are made of: they count only where there is nothing else.
        if n_events or not self._has_events:
            self._sizes = [*self._sizes[-1:], n_events or len(self.rows)]

    def _write_rows(self) -> None:
        rows, block = self.rows, self._block
        for name in _PLAIN:
            block[name].extend(map(attrgetter(name), rows))
        last_s, length_s = self._last_s, self._last_s - self._before_s
        block["window_s"].extend(length_s if row.time_s == last_s else None for row in rows)
        metrics = [row.metric or _NO_METRIC for row in rows]
        for i, name in enumerate(("metric_name", "metric_value", "metric_unit")):
            block[name].extend(metric[i] for metric in metrics)
        for row in rows:
            if row.aggregate and row.n_counters:
                known = self._n_counters.get(row.aggregate, "")
                if row.n_counters != known:
                    self._n_counters[row.aggregate] = max(known, row.n_counters, key=_count)

    def _flush(self) -> None:
        """Give rows to the report."""
        if self._block["event"]:
            columns = {name: pa.array(values, _TYPES[name]) for name, values in self._block.items()}
            self.report.add_block("perf_counters", columns)
            self._block = {name: [] for name in _TYPES}

    def _missing(self) -> str | None:
        """Say what the last interval, or the last event or aggregate of a run without intervals, lacks."""
        rows = [row for row in self.rows if row.status is not None] or self.rows
        if not rows or rows[-1].task:  # tasks come and go, too
            return None
        if self._first_s is not None:
            self._remember_size()
            if len(self._sizes) > 1:
                expected, found = self._sizes
                return f"expected {expected} lines in the last interval, found {found}" if found < expected else None
        keys = [row.key for row in rows if not row.event or not _PARTIAL.search(row.event)]
        if not keys or not keys[0][1]:
            return None
        # Either all aggregates of an event, then the next event, or all events of an aggregate, then the next.
        major = 0 if len(keys) > 1 and keys[0][0] == keys[1][0] else 1
        groups = [(name, [key[1 - major] for key in group]) for name, group in groupby(keys, key=lambda k: k[major])]
        if len(groups) < 2:
            return None
        whole, (name, part) = groups[-2][1], groups[-1]
        is_cut = len(part) < len(whole) and whole[: len(part)] == part
        return f"expected {len(whole)} lines of {name}, found {len(part)}" if is_cut else None


def _count(text: str) -> int:
    return int(text[:9] or 0)


class Feed:
    """Splits a file of lines without closing ones (CSV, JSON) into reports."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.all: list[Counters] = []
        self._started: str | None = None
        self._described: dict[str, str] = {}
        self._pending: list[tuple[int, str]] = []

    def take_marker(self, line: str) -> bool:
        """Take a line that says when, with what version or by which command perf ran."""
        if match := STARTED.match(line):
            self._started = match[1]
        elif match := VERSION.match(line):
            self._described["tool_version"] = match[1]
        elif not self.all and COMMAND.fullmatch(line):
            self._described["command"] = line.strip()
        else:
            return False
        return True

    def add(self, counter: Counter) -> Counters:
        """Add a counter to the report that it belongs to, and return that."""
        is_new = not self.all or self._started is not None
        if is_new or (counter.time_s is not None and self.all[-1].is_restart(counter.time_s)):
            self.all.append(Counters(self.source, self._started))
            self.all[-1].report.describe(**self._described)
            for number, text in self._pending:
                self.all[-1].skip(number, text)
            self._started, self._pending = None, []
        self.all[-1].add(counter)
        return self.all[-1]

    def skip(self, number: int, text: str) -> None:
        """Remember a line that is no counter."""
        if self.all:
            self.all[-1].skip(number, text)
        else:
            self._pending.append((number, text))

    def finish(self, torn_line: int | None) -> list[Report]:
        """Return the reports; ``torn_line``: the last line, if the file ends within it."""
        if self._started is not None:  # a run that began and gave nothing
            self.all.append(Counters(self.source, self._started))
        reports = [counters.finish() for counters in self.all]
        if self._started is not None:
            reports[-1].incomplete(None, "truncated", "expected counters, found the end")
        if torn_line is not None:
            reports[-1].incomplete(torn_line, "truncated", "expected a whole line at the end, found a torn one")
        return reports
