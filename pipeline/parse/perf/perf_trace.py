"""perf trace: ``perf trace [-s|-S] [--errno-summary] [--sched] [-F all] [-T] CMD``, its summary and its lines.

Grammar
    A line a call: ``start ( duration ms): task/tid name(arguments) = result``, times in ms; a call that waits when
    another one is printed ends in ``...`` and comes again as ``... [continued]: name()`` with its duration. Page
    faults (``minfault [``) and other events (``sched:sched_switch(``) among them. Summary: ``Summary of events:``, a
    task ``comm (tid), N events, 97.3%``, below it a table with a row a system call, two empty lines.
Versions
    3.12 – 6.15: without errors (before 5.8), with ``--errno-summary``, ``--summary-mode=total`` and ``cgroup``.
Traps
    The stamp is when the call began; lines are in the order of their ends. Stamps are relative, with ``-T`` since boot.
    A call that was running when the trace began has the stamp ``?`` and no duration. perf prints 0.000 for calls that
    it saw begin only (``execve``). ``stddev`` is the standard error of the mean. Names of tasks hold spaces.
Sample
    tests/parse/perf_trace/summary/
Gives
    Lines: latency_series, phase ``total``, with the task as job and the call as op; ``issued_s`` is the stamp,
    ``time_s`` the call's end; the size of a transfer is its result, the offset its argument ``pos``. operations of
    scope ``log``: calls, faults and events counted by our reader, with calls that failed as errors. Summary:
    latency_summary and operations by task and call (``--summary-mode=total``: scope ``total``), metric_series
    ``syscall_time_s``, ``mean_stderr_ratio``, ``n_errors`` by errno, ``n_events`` and ``event_ratio`` of a task. Calls
    without a duration and lines of call graphs are counted in parameters.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_lines import Lines, printable
from pipeline.parse.perf._perf_trace_lines import CALL, EVENT, FAULT, Calls
from pipeline.parse.perf._perf_trace_summary import TASK, Summary

EXPECTED = "perf trace's lines (`0.089 ( 0.017 ms): ls/28236 brk() = …`) or its `Summary of events:`"
FORM = "perf trace, with or without -s"
VERSIONS = "3.12 – 6.15"
NOT_READ = "the arguments of calls, call graphs"
UNSEEN_CUTS = "between two calls, or between the tables of two tasks: nothing says how many there are"

_LOST = re.compile(r"LOST (\d{1,18}) events!")
_GRAPH = re.compile(r" {20,}\S")
_MAX_LENGTH = 1 << 16


def recognise(head: str) -> bool:
    """Whether the head begins with calls, or has a summary with a task below its title."""
    lines = [line for line in head.split("\n")[:200] if line.strip()]
    if any(CALL.match(line) or FAULT.match(line) for line in lines[:20]):
        return True
    if lines and all(EVENT.match(line) for line in lines[:20]):
        return True
    _, found, after = head.partition("Summary of events:")
    first = next((line for line in after.split("\n") if line.strip()), "")
    return bool(found) and TASK.match(first[:1024]) is not None


def parse(source: Source) -> list[Report]:
    """Return the report of the file; ParseError where there is no call."""
    reader = _Reader(source)
    reader.read()
    if not reader.calls.has_figures and not reader.summary.n_rows:
        raise source.error(1, EXPECTED, source.head if "Summary of" not in source.head else "no calls")
    return [reader.finish()]


class _Reader:
    """Goes through the lines of a file."""

    def __init__(self, source: Source) -> None:
        self.report = Report("perf_trace", source)
        self.calls, self.summary = Calls(self.report), Summary(self.report)
        self._lines = Lines(source)
        self._n_unread = self._n_lost = self._n_graph = self._n_empty = 0
        self._first_unread: tuple[int, str] = (0, "")

    def read(self) -> None:
        """Take every line."""
        for number, line in self._lines:
            if not line.strip():
                self._n_empty += 1
            elif self.summary.take(line) or (len(line) <= _MAX_LENGTH and self.calls.take(line)):
                self._n_empty = 0
            elif match := _LOST.match(line):
                self._n_lost += int(match[1])
            elif _GRAPH.match(line) and self.calls.has_figures:
                self._n_graph += 1
            else:
                self._first_unread = self._first_unread if self._n_unread else (number, line)
                self._n_unread += 1

    def finish(self) -> Report:
        """Write counts and warnings, judge completeness."""
        report, calls, lines = self.report, self.calls, self._lines
        calls.finish()
        if self._n_graph:
            report.parameter("call_graph_lines", self._n_graph)
        if self._n_lost:
            report.warn(None, "lost_events", f"expected all events, found that perf lost {self._n_lost}")
        if calls.n_uncounted:
            report.warn(None, "uncounted", f"expected fewer tasks and calls, found {calls.n_uncounted} lines beyond")
        if self._n_unread:
            number, line = self._first_unread
            found = f"expected calls, found {self._n_unread} other lines, the first: {printable(line)}"
            report.warn(number, "unread_lines", found)
        if lines.torn is not None:
            report.incomplete(lines.torn[0], "truncated", "expected a line feed at the end, found a torn line")
        elif self.summary.is_open and self._n_empty < 2:
            missing = "expected two empty lines behind the table, found the end"
            report.incomplete(lines.last or None, "truncated", missing)
        return report
