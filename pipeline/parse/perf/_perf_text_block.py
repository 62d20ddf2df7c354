"""A report in perf stat's text while it is read: its title, its counters, its closing lines."""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_counter import Counter
from pipeline.parse.perf._perf_counters import Counters
from pipeline.parse.perf._perf_text_line import MetricTable
from pipeline.parse.perf._perf_values import number, percentage

_TARGET = re.compile(r"(process id |thread id )?'(system wide$|CPU\(s\) |BPF program\(s\) )?(.*)", re.DOTALL)
_NAMES = {"time elapsed": "elapsed", "user": "user", "sys": "system"}


class Block:
    """What stands under a title, or a run of intervals with their summary."""

    def __init__(self, source: Source, started: str | None, decimal: str) -> None:
        self.counters = Counters(source, started)
        self.decimal = decimal
        self.table: MetricTable | None = None
        self.is_titled = self.has_figures = self.is_torn = False
        self.is_old = False  # of perf before 4.18, which does not close a command with its user and system times
        self.is_followed = False  # by something that does not belong to it
        self.closed: set[str] = set()
        self._is_single_command = False
        self._n_table_rows = 0

    def title(self, text: str, n_runs: str | None) -> None:
        """Take the command, or what was measured instead."""
        self.is_titled, self.table = True, None
        report = self.counters.report
        if n_runs:
            report.parameter("runs", n_runs)
        match = _TARGET.match(text)
        kind, target, rest = match.groups() if match else (None, None, text)
        if kind or target:
            report.parameter((kind or "target").strip().replace(" ", "_"), (target or "") + rest)
        else:
            report.describe(command=rest)
            # `perf stat report` repeats the command, but does not know its times.
            self._is_single_command = not n_runs and not re.search(r"\bstat record\b", rest)

    def add(self, counter: Counter) -> None:
        """Add a counter. What a further metric says of multiplexing and repeats belongs to its event."""
        rows = self.counters.rows
        self.has_figures = True
        if counter.status is None and counter.event is None and rows and self.table is None:
            event = next((row for row in reversed(rows) if row.event), rows[-1])
            if event.status is None:  # lines of a metric group have a share of their own
                counter.event = event.event
            else:
                if event.running_ratio is None:
                    event.running_ratio = counter.running_ratio
                if event.stddev_ratio is None:
                    event.stddev_ratio = counter.stddev_ratio
                counter.running_ratio = counter.stddev_ratio = None
        self.counters.add(counter)

    def add_run(self, match: re.Match[str]) -> None:
        """Take a line of ``--table``."""
        self._n_table_rows += 1
        self.counters.series("elapsed_s", number(match[1], self.decimal), "s", run=self._n_table_rows)

    def may_close(self, match: re.Match[str]) -> bool:
        """Whether a closing line belongs to this report."""
        return (self.is_titled or not self.counters.has_intervals) and _NAMES[match[3]] not in self.closed

    def close(self, match: re.Match[str]) -> None:
        """Take a closing line."""
        name = _NAMES[match[3]]
        seconds = number(match[1], self.decimal)
        self.counters.series(f"{name}_s", seconds, "s")
        if match[2]:
            self.counters.series(f"{name}_stddev_s", number(match[2], self.decimal), "s")
        if match[4]:
            self.counters.series(f"{name}_stddev_ratio", percentage(match[4], self.decimal), "1")
        if name == "elapsed" and seconds is not None and seconds >= 0:
            self.counters.report.describe(duration_s=seconds)
        self.closed.add(name)
        self.has_figures = True

    def finish(self) -> Report:
        """Judge completeness and return the report."""
        report = self.counters.finish(is_closed="elapsed" in self.closed)
        if self.table is not None and not self.counters.n_rows:
            report.warn(None, "no_values", "expected values of the metrics, found none")
        if report.run["is_complete"] and (missing := self._missing()):
            report.incomplete(self.counters.last_line, "truncated", missing)
        return report

    def _missing(self) -> str | None:
        """Say what shows that the file was cut."""
        if not self.is_titled and not self.counters.has_intervals:
            return f"expected `Performance counter stats for …` first, found {self.counters.n_rows} counters"
        if self.is_torn:
            return "expected a line feed at the end, found a torn line"
        if not self.is_titled:
            return None
        if "elapsed" not in self.closed:
            return "expected `seconds time elapsed`, found the end"
        if "user" in self.closed and "system" not in self.closed:
            return "expected `seconds sys`, found the end"
        if self.lacks_times and not self.is_followed and not self.is_old:
            return "expected `seconds user`, found the end"
        return None

    @property
    def lacks_times(self) -> bool:
        """Whether a command that ran once has no user time behind its elapsed time."""
        return self._is_single_command and "elapsed" in self.closed and "user" not in self.closed
