"""perf stat, text: ``perf stat [-I MS] [-r N] [-a …] CMD`` on standard error or with ``-o FILE``; ``perf stat report``.

Grammar
    ``# started on <date>`` (``-o`` alone); `` Performance counter stats for 'CMD' (N runs):``; a line a counter, as
    ``[aggregate [n]] VALUE [unit] event [cgroup] [# METRIC] [( +- x% )] [(running%)]``; METRIC is ``number name``,
    ``number% name``, ``number unit`` or ``number unit  name`` (two spaces); further metrics of the event on lines of
    their own; ``a [+- b] seconds time elapsed``, ``seconds user``, ``seconds sys``. With ``-I`` a header
    ``#  time … counts unit events`` instead, a time before each line, and no closing line. ``--metric-only``: a line
    of metric names over lines of values.
Versions
    3.x (no units: clocks in ms, ``[54.18%]``), 4.x (``task-clock (msec)``), 5.x, 6.x (``msec``), hybrid and topdown
    of 6.4, 6.19 (``46.3 cs/sec  cs_per_second``), raw ns of the newest.
Traps
    Separators follow the locale; the whole file decides which is which. Multiplexing and deviation of an event with
    several metrics stand on its last line. ``comm-pid`` may hold spaces. A clock without a unit is ms or ns.
    ``--append`` and redirection put several reports into a file. A command may hold line feeds. Program output,
    ``-v`` and hints are mixed in. perf's own errors are no report.
Sample
    tests/parse/perf_stat_text/two-appended-runs/
Gives
    perf_counters: times in s, MiB in B, Joules in J; percentages as ratios, rates in 1/s without a name. A line that
    carries a metric alone has no event, or the metric group's name (``TopdownL1 (cpu_core)``). The count of
    aggregated counters is the parameter ``aggregate-number``. metric_series: ``elapsed_s``, ``user_s``, ``system_s``,
    of repeats the mean with ``elapsed_stddev_s`` and ``elapsed_stddev_ratio``, with ``--table`` each run by its
    label. ``runs.duration_s`` is the elapsed time (of repeats the mean), else the last interval's end. The date of
    ``# started on`` has no zone: the parameter ``started_on``. Complete: a closing line, and behind it the user and
    system times of a command that ran once (perf before 4.18 has none: other signs of it excuse them); with ``-I`` a
    last interval of as many lines as the one before and no torn line — a file that was cut between two intervals
    cannot be told from a whole one.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_counter import Counter
from pipeline.parse.perf._perf_counters import COMMAND, STARTED, VERSION
from pipeline.parse.perf._perf_lines import Ahead
from pipeline.parse.perf._perf_memo import Memo
from pipeline.parse.perf._perf_text_block import Block
from pipeline.parse.perf._perf_text_line import CLOSING, INTERVAL_HEADER, MAX_LENGTH, TABLE_ROW, MetricTable, counter_of
from pipeline.parse.perf._perf_values import decimal_mark

EXPECTED = "perf stat's text with `Performance counter stats for …` or interval lines"
FORM = "perf stat, text"
VERSIONS = "3.x – 6.19"
NOT_READ = ""
UNSEEN_CUTS = "-I between two intervals: nothing closes them; an appended run that is not there; the times of perf 3.x"

_TITLE = re.compile(r"\s*Performance counter stats for (.*)")
_TITLE_END = re.compile(r"'(?: \((\d+) runs\))?:\s*$")
_TITLE_LINES = 200  # a command may be a script of many lines
_ERRORS = re.compile(
    r"^[ \t]*+Usage: perf stat\b|You may not have permission to collect (?:system-wide )?stats"
    r"|\A\s*Error:\s+(?:Access to performance monitoring|No permission to enable|The .* event is not supported"
    r"|The sys_perf_event_open\(\) syscall)"
    r"|\A(?:Workload failed: |event syntax error: |System does not support topdown)",
    re.MULTILINE,
)
_BEGIN = re.compile(
    r"^(?:[ \t]*+Performance counter stats for |# started on \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}[ \t]*$"
    r"|#[ \t]+time[ \t].*counts[ \t].*events[ \t]*$|# {11}time .*\n {0,5}\d+\.\d{9} )",
    re.MULTILINE,
)
_VERBOSE = re.compile(r"\S.*: -?\d+ \d+ \d+\s*$")
_HINTS = (
    "Some events weren't counted. Try disabling the NMI watchdog", "echo 0 > /proc/sys/kernel/nmi_watchdog",
    "perf stat ...", "echo 1 > /proc/sys/kernel/nmi_watchdog", "The events in group usually have to be from the same",
    "# Table of individual measurements:", "# Final result:",
)  # fmt: skip
_OLD = re.compile(r"\(msec\)|\[[\d.,]+%\]|insns per cycle|CPU-migrations|\d[.,]\d{6} +(?:task|cpu)-clock")
_HALF_CLOSING = re.compile(r"\s*(?:[\d.,]+[ a-z]*)?\ufffd?")


def recognise(head: str) -> bool:
    """Whether a title, an interval header or the first line of ``-o`` stands in the head; or perf stat's own error."""
    return _BEGIN.search(head) is not None or _ERRORS.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report a title, or a run of intervals; ParseError with what perf said when there is no figure."""
    reader = _Reader(source)
    reader.read()
    if not any(block.has_figures for block in reader.blocks):
        raise source.error(*_what_perf_said(source))
    blocks = reader.blocks
    if any(block.is_old or (block.lacks_times and block.is_followed) for block in blocks):
        blocks[-1].is_old = True
    return [block.finish() for block in blocks]


def _what_perf_said(source: Source) -> tuple[int, str, str]:
    """Line, expectation and text of the first lines that say something."""
    lines = source.head.split("\n")
    said = [(i, text.strip()) for i, text in enumerate(lines, 1) if text.strip() and not STARTED.match(text)]
    if not said:
        return 1, EXPECTED, "no counters: " + (source.head.strip() or "an empty file")
    return said[0][0], EXPECTED, " ".join(text for _, text in said[:3])


def _decimal_of(source: Source) -> str:
    """Return the decimal mark of the file's first 4 MiB: what is appended later has the locale of the beginning."""
    block = next(source.blocks(), b"")
    return decimal_mark(block.decode("utf-8", "replace").split("\n")) if b"," in block else "."


class _Reader:
    """Goes through the lines of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.decimal = _decimal_of(source)
        self._ahead = Ahead(source)
        self._memo = Memo(self.decimal)
        self.blocks: list[Block] = []
        self._started: str | None = None
        self._described: dict[str, str] = {}
        self._pending: list[tuple[int, str]] = []  # lines before the first report

    def read(self) -> None:
        """Fill ``blocks``."""
        i = 0
        while (line := self._ahead.peek(0)) is not None:
            self._ahead.skip(1)
            i += 1
            if not line.strip() or self._read_alike(line, i):
                continue
            if title := _TITLE.match(line):
                i = self._read_title(title[1], i)
            elif not self._read_marker(line):
                self._read_line(line, i, is_torn=self._ahead.is_torn)
        if self.blocks and (self._started or self._pending):
            block = self._start() if self._started else self.blocks[-1]  # a run that began and gave nothing
            for line_number, text in self._pending:
                block.counters.skip(line_number, text)

    def _read_alike(self, line: str, i: int) -> bool:
        """Read a line of an interval that is like an earlier one."""
        block = self.blocks[-1] if self.blocks and self._started is None else None
        if block is None or block.table or block.is_titled or not block.counters.has_intervals or not line.isascii():
            return False
        words = line.split()
        if len(line) > MAX_LENGTH or (counter := self._memo.find(len(words), words, i)) is None:
            return False
        # A line that is torn at the end may look like a whole one.
        if self._ahead.is_torn or counter.time_s is None or block.counters.is_restart(counter.time_s):
            return False
        block.add(counter)
        return True

    def _read_title(self, text: str, i: int) -> int:
        """Take a title from line ``i`` (from 1) on; return the number of its last line."""
        block = self.blocks[-1] if self.blocks and self._started is None else None
        if block is None or block.is_titled or not block.counters.has_intervals:
            block = self._start()
        parts = [text]
        for n_ahead in range(_TITLE_LINES + 1):
            if end := _TITLE_END.search(parts[-1]):
                parts[-1] = parts[-1][: end.start()]
                block.title("\n".join(parts), end[1])
                self._ahead.skip(n_ahead)
                return i + n_ahead
            line = self._ahead.peek(n_ahead)
            if line is None or CLOSING.match(line) or _TITLE.match(line):
                break
            parts.append(line)
        block.title(text.rstrip(":' "), None)
        return i

    def _start(self) -> Block:
        if self.blocks:
            self.blocks[-1].is_followed = True
        block = Block(self.source, self._started, self.decimal)
        block.counters.report.describe(**self._described)
        for line_number, text in self._pending:
            block.counters.skip(line_number, text)
        self._pending, self._started = [], None
        self.blocks.append(block)
        return block

    def _read_marker(self, line: str) -> bool:
        """Take a line that says when, with what version or by which command; or one that says nothing."""
        if match := STARTED.match(line):
            self._started = match[1]
            if self.blocks:
                self.blocks[-1].is_followed = True
        elif match := VERSION.match(line):
            self._described["tool_version"] = match[1]
        elif not self.blocks and COMMAND.fullmatch(line):
            self._described["command"] = line.strip()
        elif header := INTERVAL_HEADER.match(line):
            self._read_interval_header(header)
        else:
            return line.strip().startswith(_HINTS) or bool(_VERBOSE.fullmatch(line) and not self._is_open())
        return True

    def _read_interval_header(self, header: re.Match[str]) -> None:
        if self._is_restarted():
            self._start()
        names = " " * header.start(1) + header[1]  # in their columns
        self.blocks[-1].table = None if "counts" in header[1] else MetricTable(names)

    def _is_restarted(self) -> bool:
        """Whether an interval belongs to a new report."""
        return self._started is not None or not self.blocks or self.blocks[-1].is_titled

    def _is_open(self) -> bool:
        """Whether the last report may still have counters."""
        return bool(self.blocks) and self._started is None and "elapsed" not in self.blocks[-1].closed

    def _read_line(self, line: str, i: int, *, is_torn: bool) -> None:
        block = self.blocks[-1] if self.blocks and self._started is None else None
        if len(line) > MAX_LENGTH:
            self._skip(line, i)
        elif block and (match := CLOSING.match(line)) and block.may_close(match):
            block.close(match)
            # The deviation stands behind `seconds time elapsed`.
            block.is_torn = is_torn and bool(match[2]) and not match[4]
        elif is_torn:
            # Half a line may be a wrong event or a wrong number.
            if block and (not block.closed or _HALF_CLOSING.fullmatch(line)):
                block.is_torn = True
                block.counters.skip(i, line)
            else:
                self._skip(line, i)
        elif block and (match := TABLE_ROW.match(line)):
            block.add_run(match)
        elif not self._read_counters(line, i, block):
            self._skip(line, i)

    def _read_counters(self, line: str, i: int, block: Block | None) -> bool:
        if block and block.table and (cells := block.table.counters(line, i, self.decimal)):
            for cell in cells:
                block.add(cell)
            return True
        counter = counter_of(line, i, self.decimal)
        if counter is None:
            return self._read_header_of_metrics(line, block)
        if counter.time_s is not None:
            is_new = self._is_restarted() or self.blocks[-1].counters.is_restart(counter.time_s)
            block = self._start() if is_new else self.blocks[-1]
        elif block is None or not self._is_open() or not block.is_titled:
            return self._read_untitled(line, counter)
        block.is_old |= _OLD.search(line) is not None
        if block.counters.has_intervals and not block.is_titled and line.isascii():
            words = line.split()
            self._memo.learn(len(words), words, counter)
        block.add(counter)
        return True

    def _read_untitled(self, line: str, counter: Counter) -> bool:
        """Take counters of a report whose beginning is lost, when they cannot be a program's output."""
        is_sure = counter.metric is not None or counter.running_ratio is not None or " msec " in line or "<not " in line
        if not is_sure or (counter.status is None and not self._is_open()):
            return False
        block = self.blocks[-1] if self._is_open() and not self.blocks[-1].is_titled else self._start()
        block.add(counter)
        return True

    def _read_header_of_metrics(self, line: str, block: Block | None) -> bool:
        """Take the names of ``--metric-only`` under a title."""
        if block is None or not block.is_titled or block.table or block.counters.n_rows or block.closed or "#" in line:
            return False
        table = MetricTable(line)
        if not line.startswith(" ") or any(re.fullmatch(r"[-+\d.,%]+", name) for name in table.names):
            return False
        block.table = table
        return True

    def _skip(self, line: str, i: int) -> None:
        if self.blocks and self._started is None:
            self.blocks[-1].counters.skip(i, line)
            self.blocks[-1].is_followed |= bool(self.blocks[-1].closed)
        else:
            self._pending.append((i, line))
