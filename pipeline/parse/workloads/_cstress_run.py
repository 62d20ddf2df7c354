"""Runs of cassandra-stress: one thread count each, several in a session with autothreads."""

from __future__ import annotations

import json

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._cstress_results import Results
from pipeline.parse.workloads._cstress_rows import Intervals, Row, whole

_SECRET = ("password",)


class Run:
    """One run of load at one thread count."""

    def __init__(self, source: Source) -> None:
        self.report = Report("cassandra_stress", source)
        self.intervals = Intervals(self.report, from_start=False)
        self.results = Results()
        self.threads: int | None = None
        self.operations: str | None = None
        self.limit: str | None = None
        self.improvement: tuple[str, float] | None = None
        self.has_header = False
        self.cut: int | None = None  # the line in which the file ends
        self.notes: dict[str, list[object]] = {}  # code → first line, count, first text

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return self.has_header or self.intervals.n_rows > 0 or self.results.is_open

    def begin_rows(self) -> None:
        """The header was read: the next row is the first."""
        self.has_header = True
        self.intervals.from_start = True

    def note(self, line: int, text: str, code: str) -> None:
        """Note a line that is none of a report."""
        found = self.notes.setdefault(code, [line, 0, text[:200]])
        found[1] = int(str(found[1])) + 1

    def finish(self, settings: dict[str, str]) -> None:
        """Add the rows of the whole run, and what was noticed."""
        self.intervals.finish()
        results, report = self.results, self.report
        self._count_ops()
        report.describe(duration_s=results.duration)
        for name, value in (("operations", self.operations), ("threads", self.threads), ("limit", self.limit)):
            if value is not None:
                report.parameter(name, value)
        is_limited = settings.get("Rate.OpsPer Sec", "0") not in ("0", "-1", "0/s")
        results.add(report, None if is_limited or self.threads is None else float(self.threads))
        if self.improvement:
            labels = json.dumps({"over_threads": self.improvement[0]})
            report.add("metric_series", metric="improvement_ratio", labels=labels, unit="1",
                       value=self.improvement[1] * units.PERCENT)  # fmt: skip
        for code, (line, count, text) in self.notes.items():
            expected = "no messages of errors" if code == "tool_error" else "cassandra-stress's lines"
            report.warn(int(str(line)), code, f"expected {expected}, found {count}, the first: {text}")
        if n_none := self.intervals.n_no_numbers + results.n_no_numbers:
            report.warn(None, "not_a_number", f"expected numbers, found {n_none} figures such as NaN, which are null")
        if n_unplaced := self.intervals.n_unplaced:
            expected = "op/s × time to give the operations since the row before"
            report.warn(None, "interval_start_unknown", f"expected {expected}, found {n_unplaced} where it does not")

    def _count_ops(self) -> None:
        """The last row's count is the run's, if it was printed when the run ended."""
        end = self.intervals.last["total"].cells.get("time") if "total" in self.intervals.last else None
        if end is None or self.results.duration is None:
            return
        if not -1 <= end - self.results.duration < 2:
            self.report.warn(None, "rows_missing", f"expected intervals until {self.results.duration:g} s, found the "
                             f"last at {end:g} s")  # fmt: skip
            return
        for kind, row in self.intervals.last.items():
            figures = self.results.ops.get(kind)
            if figures is not None and figures.n_ops is None:
                figures.n_ops = whole(row.cells.get("total ops"))
        if len(self.results.ops) == 2:  # of one kind, which then has no rows of its own
            only = next(figures for kind, figures in self.results.ops.items() if kind != "total")
            only.n_ops = self.results.ops["total"].n_ops


class Session:
    """One call of the tool: its settings and its runs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: list[Run] = []
        self.settings: dict[str, str] = {}
        self.command: str | None = None
        self.is_auto = False
        self.end: str | None = None
        self.last_line = 1

    @property
    def is_closed(self) -> bool:
        """Whether its end mark was read."""
        return self.end is not None

    def new_run(self) -> Run:
        """Begin the next run."""
        self.runs.append(Run(self.source))
        return self.runs[-1]

    def setting(self, name: str, value: str) -> None:
        """Take a setting as printed."""
        if not name.lower().endswith(_SECRET):
            self.settings[name] = value

    def take(self, run: Run, row: Row) -> None:
        """Take a row of an interval, or one of the table of all thread counts."""
        if row.id is None:
            run.intervals.take(row)
            return
        threads = row.id.split(" ")[0]
        home = next((other for other in reversed(self.runs) if str(other.threads) == threads), run)
        home.results.complete_from(row)
        home.intervals.n_no_numbers += row.n_no_numbers if home.results.duration is None else 0

    def close(self, run: Run, line: int, text: str) -> None:
        """Take the end mark."""
        self.end = text
        if text == "FAILURE":
            run.report.incomplete(line, "failed", "expected `END`, found `FAILURE`")

    def reports(self) -> list[Report]:
        """The reports of the runs that measured anything."""
        runs = [run for run in self.runs if run.has_figures]
        for run in runs:
            if self.command:
                run.report.describe(command=self.command)
            for name, value in self.settings.items():
                run.report.parameter(name, value)
            run.finish(self.settings)
            if missing := self._missing(run, is_last=run is self.runs[-1]):
                line = run.cut or self.last_line
                run.report.incomplete(line, "truncated", f"expected {missing}, found the end of the run")
        return [run.report for run in runs]

    def _missing(self, run: Run, *, is_last: bool) -> str | None:
        """What a run lacks that was cut; None when it is whole."""
        results = run.results
        if results.is_open and not results.is_done:
            return "`Total operation time`"
        if self.end is not None or (results.is_done and (not is_last or results.is_rust)):
            return "a whole last line" if run.cut is not None else None
        return "`END`" if results.is_done else "`Results:`"
