"""DISKSPD's text report, of Windows (``-Rtext``, the default) and of the Linux port.

Grammar
    ``Command Line: …``, ``Input parameters:`` with a block a timespan and a block a target, ``System information:``;
    then for each timespan ``Results for timespan N:``, ``actual test time: 120.00s``, the CPU table, the tables
    ``Total IO``, ``Read IO``, ``Write IO`` (a row a thread and target, a total row) and with -L the latency tables
    in ms (``min``, ``25th`` … ``9-nines``, ``max``), one a target if there are several, then one of all. Several
    timespans end with ``Totals:`` over all of them.
Versions
    2.0.11–2.2 by their source code, samples of 2.0.17a, 2.0.21a and 2.2; diskspd-for-linux.
Traps
    MiB/s is labelled MB/s in 2.0.17a and on Linux. Columns come and go with -L and -D, and stand in another order on
    Linux. A latency of 0.000 beside no I/O is none. The heading of a latency table is nothing, ``total:``, a bare
    path, ``Latency distribution: PATH`` or ``Total latency distribution:``. The path in ``path (size)`` may hold
    spaces. CPU ids repeat in each group; usage may exceed 100 %. Pages indent reports or paste bare tables.
    Ctrl-C ends a test before its duration; it is told on stdout, in a line before the report.
Sample
    tests/parse/diskspd_text/
Gives
    operations and latency_summary: scope job = thread × target (job = the thread's id) and scope total = the total
    row, for read, write (those with I/O) and total; rows of a timespan have its interval when there are several, and
    ``Totals:`` gives rows without one. ``ops_per_s`` is as printed (2 decimals, which is finer than I/Os by the test
    time printed to 0.01 s) unless the quotient is finer and agrees; ``bytes_per_s`` is bytes by the time that follows
    from it, if that agrees with the printed MiB/s. ``queue_depth``: -o of the row's thread and target; of all
    together in total rows. latency_percentiles: scope total, and device with target (min is 0, max is 100).
    cpu_usage (``all``: the avg. row), parameters (``target N/`` before the names of a target's, ``timespan N/`` if
    there are several). metric_series: IopsStdDev as ``iops_stddev``; ETW's counters (-e) as ``etw_events`` and
    ``etw_session``; counts of the wait statistics (-vs) a thread (label job): ``completion_waits``,
    ``throttle_waits``, ``throttle_sleeps``, ``lookasides`` and ``lookaside_completions`` by how many completed. Time
    zero is the start of the first timespan's measurement.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.diskspd import _diskspd_rows as rows
from pipeline.parse.diskspd._diskspd_cells import (
    check_decimals,
    figures_of,
    latencies_of,
    latency_of,
    parameters_of,
    path_of,
    percentile_of,
    rates,
    seconds_of,
    settings_of,
)
from pipeline.parse.diskspd._diskspd_checks import check, check_length, is_whole, known_paths
from pipeline.parse.diskspd._diskspd_extras import Extras
from pipeline.parse.diskspd._diskspd_lines import Cells, Draft, Result, Scanner, Table
from pipeline.parse.diskspd._diskspd_rows import Directions, Measured, Notes, Settings, Span

EXPECTED = "a DISKSPD report: `Command Line: …`, `Input parameters:`, `Results for timespan 1:`, `Total IO`"
FORM = "text report, of Windows and of Linux"
VERSIONS = "2.0.11 – 2.2"
NOT_READ = ""
UNSEEN_CUTS = ""

_RECOGNISED = re.compile(
    r"^[ \t>\ufeff]*(?:Results for timespan \d+:\s*$|Results for job \d+:\s*$"
    r"|thread \|\s+bytes\s+\|\s+I/Os\s+\|\s+Mi?B/s\s+\|\s+I/O per s"
    r"|Input parameters:\s{1,20}(?:timespan|job):\s+\d)",
    re.MULTILINE,
)
_CPU = {"usage": "busy", "user": "user", "kernel": "kernel", "io wait": "iowait", "idle": "idle"}


def recognise(head: str) -> bool:
    """Whether the first 64 KiB hold a part of a DISKSPD report, wherever it begins."""
    return _RECOGNISED.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return the reports in the file, in its order; ParseError when there is no part of one."""
    scanner = Scanner()
    for number, line in enumerate(source.lines, 1):
        scanner.feed(number, line)
    scanner.finish()
    reports = [_Reader(source, draft).read() for draft in scanner.drafts if _has_content(draft)]
    if not reports:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return reports


def _has_content(draft: Draft) -> bool:
    return bool(draft.settings) or any(result.tables or result.facts or result.interrupted for result in draft.results)


class _Reader:
    """Turns a draft into a report."""

    def __init__(self, source: Source, draft: Draft) -> None:
        self.draft = draft
        self.notes = Notes()
        self.report = Report(rows.TOOL, source, command=draft.command)
        self.settings = [settings_of(block) for block in draft.settings]
        self.slacks: list[float] = []  # rounding of each test time; the Linux port divides by whole seconds
        seconds: list[float | None] = []
        for result in draft.results:
            text = result.facts.get("actual test time", result.facts.get("test time", ""))
            self.slacks.append(0.00501 if "." in text else 0.0)
            seconds.append(seconds_of(text))
        self.spans = rows.lay_out(self.settings, seconds)
        if any(seconds):
            self.report.describe(duration_s=sum(filter(None, seconds)))

    def read(self) -> Report:
        """Return the report."""
        for name, value in parameters_of(self.draft):
            self.report.parameter(name, value)
            if name == "start time":
                self.report.describe(started_at=rows.started_at(value))
        for position, result in enumerate(self.draft.results):
            settings = self.settings[position] if position < len(self.settings) else Settings()
            self._add_result(result, self.spans[position], settings, self.slacks[position])
        self._add_totals()
        check(self.draft, self.settings, self.notes)
        self.notes.write(self.report)
        return self.report

    def _add_result(self, result: Result, span: Span, settings: Settings, slack_s: float) -> None:
        check_length(settings, span.seconds, self.notes, result.line)
        if result.cpu:
            self._add_cpu(result.cpu, span)
        extras = Extras(self.report, span, self.notes)
        extras.add_etw_lines(result.extras.get("ETW", []))
        extras.add_wait_lines(result.extras.get("Wait Statistics", []))
        extremes = self._add_latency(result, span)
        total = result.io.get("total")
        workers = None
        if total and is_whole(total):
            workers = [(cells.get("thread"), path_of(cells, settings, line, self.notes)) for line, cells in total.rows]
        depth_of_all = settings.depth_of_all(workers)
        for op, table in result.io.items():
            for line, cells in table.rows:
                measured = self._measured(line, cells, op, span.seconds, slack_s)
                measured.scope, measured.job = "job", cells.get("thread")
                measured.target = path = path_of(cells, settings, line, self.notes)
                if measured.n_ops or op == "total":
                    rows.add_operation(self.report, span, measured, settings.depth(path), settings.block_size(path))
            if table.last:
                measured = self._measured(*table.last, op, span.seconds, slack_s)
                measured.min_s, measured.max_s = extremes.get(op, (None, None)) if measured.n_ops else (None, None)
                if measured.n_ops or op == "total":
                    rows.add_operation(self.report, span, measured, depth_of_all, settings.block_size(None))

    def _measured(self, line: int, cells: Cells, op: str, seconds: float | None, slack_s: float) -> Measured:
        figures = figures_of(cells, line, self.draft.last, self.notes)
        ops_per_s, bytes_per_s, agrees = rates(figures, seconds, slack_s)
        if not agrees:
            message = f"expected the counts by {seconds} s, found {' | '.join(cells.values())}"
            self.notes.add(line, "inconsistent_rate", message)
        mean, stddev = latency_of(figures)
        n_ops, n_bytes = rows.count(cells.get("i/os")), rows.count(cells.get("bytes"))
        return Measured(op, n_ops=n_ops, n_bytes=n_bytes, ops_per_s=ops_per_s, bytes_per_s=bytes_per_s, mean_s=mean,
                        stddev_s=stddev, iops_stddev=figures.get("iopsstddev") if n_ops else None)  # fmt: skip

    def _add_latency(self, result: Result, span: Span) -> dict[str, tuple[float | None, float | None]]:
        """Add the percentiles; return minimum and maximum of each direction of the total distribution."""
        extremes: dict[str, Directions] = {}
        seen: set[str | None] = set()
        total = result.io["total"].last if "total" in result.io else None
        is_idle = total is not None and rows.count(total[1].get("i/os")) == 0
        for table in result.latency:
            is_of_one = table.heading in known_paths(result)
            target = table.heading.removeprefix("Latency distribution: ") if is_of_one else None
            if target in seen:
                message = f"expected one latency table of {target or 'all'}, found two"
                self.notes.add(table.line, "repeated_table", message)
                continue
            seen.add(target)
            for line, cells in table.rows:
                latencies = self._latencies(line, cells)
                percentile = percentile_of(cells["%-ile"])
                if not is_idle:
                    rows.add_percentile(self.report, span, percentile, latencies, target)
                    if target is None and percentile in (0, 100):
                        extremes[cells["%-ile"]] = latencies
        minima, maxima = extremes.get("min", {}), extremes.get("max", {})
        return {op: (minima.get(op), maxima.get(op)) for op in ("read", "write", "total")}

    def _latencies(self, line: int, cells: Cells) -> Directions:
        latencies = latencies_of(cells)
        for column, text in cells.items():
            if column != "%-ile" and text != "N/A":
                if rows.number(text) is None:
                    self.notes.add_bad_number(line, column, text)
                elif line == self.draft.last:
                    check_decimals(text, 3, line, self.notes)
        return latencies

    def _add_cpu(self, table: Table, span: Span) -> None:
        for line, cells in [*table.rows, *([table.last] if table.last else [])]:
            cpu = cells.get("cpu", "all")
            labels = {"cpu": cpu} | {name: cells[name] for name in ("socket", "node", "group", "core") if name in cells}
            percent = {name: cells[column].removesuffix("%") for column, name in _CPU.items() if column in cells}
            rows.add_cpu(self.report, span, labels, percent, self.notes, line=line)
            if "class" in cells:
                self.report.parameter(f"class of cpu {cells.get('group', '0')}/{cpu}", cells["class"])

    def _add_totals(self) -> None:
        """Add the whole run's rows, which only a report of several timespans has."""
        table, seconds = self.draft.totals, seconds_of(self.draft.total_time or "")
        if seconds:
            self.report.describe(duration_s=seconds)
        for line, cells in table.rows if table else []:
            op = cells.get("type", "")
            measured = self._measured(line, cells, op, seconds, 0.00501)
            if op in ("read", "write", "total") and (measured.n_ops or op == "total"):
                rows.add_operation(self.report, Span(0.0, seconds, is_only=True), measured, None, None)
