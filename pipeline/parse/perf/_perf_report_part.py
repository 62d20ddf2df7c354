"""A report of perf report while it is read: the table of an event, the counts of ``--stats``, and their warnings."""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_report_columns import Columns, Entry, unheaded
from pipeline.parse.perf._perf_report_rows import Hotspots, Stacks

_GROUP = re.compile(r"[^{}]*\{ ?(.*?) ?\}(?::\S*)?$")
_TYPE = re.compile(r" *(\S+) events: +(\d{1,18})(?: +\(.*\))?\s*$")
_STATS_OF = re.compile(r"(\S.*) stats:$")
_FOLDED = re.compile(r"(\d+|\d+\.\d+%) (\S.*)$")
_MAX_NAME = 10000  # characters of the names in a group


class Part:
    """The report, while it is read."""

    def __init__(self, source: Source) -> None:
        self.report = Report("perf_report", source)
        self.hotspots = Hotspots(self.report)
        self.events: list[str] = []
        self.event_name: str | None = None  # of the event or the group, as printed
        self.columns: Columns | None = None
        self.n_graph_lines = self.n_unread = self.n_empty = 0
        self.has_figures = self.has_tip = False
        self.n_screens = 0  # of perf top
        self.problems: dict[str, tuple[int, str]] = {}
        self.stats = Stats(self.report)
        self._n_samples: str | None = None
        self._entry: Entry | None = None
        self._stacks = Stacks()
        self.line = 0  # of the last row

    def event(self, n_samples: str, name: str | None) -> None:
        """Begin the table of an event, or a group of events."""
        self.end_table()
        self.has_figures = True
        self.columns, self._n_samples, self.event_name = None, n_samples.strip(), name
        group = _GROUP.fullmatch((name or "")[:_MAX_NAME])
        self.events = split_events(group[1]) if group else [name] if name else []
        self.report.parameter("Samples", self._n_samples, job=name)

    def entry(self, line: str, number: int) -> bool:
        """Take a row; False where the line is none."""
        entry = self.columns.entry(line) if self.columns is not None else unheaded(line)
        if entry is None:
            return False
        if self.n_screens:
            entry.labels["screen"] = str(self.n_screens)
        if self._entry is not None and self._entry.depth >= entry.depth:
            self._write(self._entry)
        self._entry, self.line, self.n_empty, self.has_figures = entry, number, 0, True
        if entry.is_shifted:
            self.problem("shifted_columns", number, "expected columns where the header has them, found a wider row")
        return True

    def _write(self, entry: Entry) -> None:
        if not self.hotspots.add(entry, self.events):
            message = (
                f"expected {len(self.events)} numbers a column, one an event, found others: which event is not known"
            )
            self.problem("unknown_event", self.line, message)

    def graph_line(self, line: str) -> bool:
        """Take a line of a call graph below a row."""
        if self._entry is None:
            return False
        self.n_empty = 0
        match = _FOLDED.match(line)
        if match and match[1].isdigit() and "children" not in self._entry.numbers and len(self.events) < 2:
            self._stacks.add(match[1], match[2], self._entry)
            return True
        if match or line.startswith(" " * 11):
            self.n_graph_lines += 1
            return True
        return False

    def problem(self, code: str, number: int, message: str) -> None:
        """Note a problem; one warning of a kind comes of it."""
        self.problems.setdefault(code, (number, message))

    def end_table(self) -> None:
        """Write what waits for the end of an event's table."""
        if self._entry is not None:
            self._write(self._entry)
            self._entry = None
        if self._stacks.count:
            event = self.events[0] if self.events else None
            if not self._stacks.write(self.report, event, self._n_samples):
                self.n_graph_lines += self._stacks.count
                self.problem("unread_stacks", self.line, "expected to see which end of the chains is the leaf")
            self._stacks = Stacks()

    def finish(self) -> Report:
        """Write rows and warnings."""
        self.end_table()
        self.hotspots.flush()
        if self.n_graph_lines:
            self.report.parameter("call_graph_lines", self.n_graph_lines)
        if self.hotspots.n_out_of_range:
            self.problem("out_of_range", self.line, "expected shares of 0 … 100 %")
        if self.hotspots.n_bad:
            self.problem("bad_number", self.line, f"expected numbers, found {self.hotspots.n_bad} other cells")
        for code, (number, message) in self.problems.items():
            self.report.warn(number, code, message)
        return self.report


class Stats:
    """``--stats``: events by type, of the file and of each sampled event."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.event: str | None = None
        self.is_open = False
        self._total: int | None = None
        self._left = 0  # of the total, not yet listed
        self._samples = 0

    def take(self, line: str) -> bool:
        """Take a line; False where it is none of this list."""
        if line.startswith("Aggregated stats:"):
            self.is_open = True
        elif not self.is_open:
            return False
        elif match := _STATS_OF.match(line):
            self.event = match[1]
        elif match := _TYPE.match(line):
            self._add(match[1], int(match[2]))
        else:
            return False
        return True

    def _add(self, kind: str, count: int) -> None:
        labels = {"type": kind} | ({"event": self.event} if self.event else {})
        self._report.add("metric_series", metric="n_events", labels=json.dumps(labels), value=float(count))
        if self.event is not None:
            self._samples -= count if kind == "SAMPLE" else 0
        elif kind == "TOTAL":
            self._total = self._left = count
        else:
            self._left -= count
            self._samples = count if kind == "SAMPLE" else self._samples

    @property
    def missing(self) -> str | None:
        """Say what the numbers show to be missing."""
        if self._total is None:
            return "expected `TOTAL events:`, found the end"
        if self._left > 0:
            return f"expected {self._total} events in all, found {self._total - self._left}"
        return f"expected {self._samples} more samples by event, found the end" if self._samples > 0 else None


def split_events(text: str) -> list[str]:
    """Split the names in a group at commas that are outside of slashes (``cpu/event=0x1,umask=0x2/``)."""
    names, name = [], ""
    for piece in text.split(", "):
        name = f"{name}, {piece}" if name else piece
        if name.count("/") % 2 == 0:
            names.append(name)
            name = ""
    return [*names, name] if name else names
