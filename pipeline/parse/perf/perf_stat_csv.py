"""perf stat, CSV: ``perf stat -x SEP [-I MS] [-r N] [-a …] CMD`` on standard error or in ``-o FILE``.

Grammar
    ``[time SEP] [summary SEP] [aggregate SEP [n SEP]] value SEP unit SEP event [SEP cgroup] [SEP x.xx%] SEP run time
    in ns SEP running% [SEP metric SEP unit or name of the metric]``; a further metric on a line with empty fields
    instead of the counter; ``--metric-only``: a line of names, then lines of values, each with a separator at its
    end. Before that, with ``-o``, ``# started on <date>`` and an empty line.
Versions
    3.x (``value,event``), 4.x, 5.13, 6.1, 6.19.
Traps
    The separator is any string: the fields around run time and share give it away. Columns shift with ``-I``, the
    aggregation, ``-r`` and ``-G``, in one file too (``-I --summary`` without a summary column). Events
    (``cpu/event=0x3c,umask=0x1/``) and commands of tasks may hold it. In a locale with a decimal comma perf cuts
    metrics off at it: they become null; with ``-x,`` each number takes two fields. An event that never ran has
    100.00. Percentages have no sign.
Sample
    tests/parse/perf_stat_csv/intervals/
Gives
    perf_counters, as the text's reader does; the run time in ns is left out, its share is ``running_ratio``.
    ``runs.duration_s`` is the end of the last interval. There is no closing line: a file is incomplete when its last
    line is torn (it is left out), or when its last interval, aggregate or event has fewer lines than the one before;
    a cut between two lines of a run without intervals cannot be told.
"""

from __future__ import annotations

import re
from collections import Counter as Votes
from itertools import islice

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_counter import Counter
from pipeline.parse.perf._perf_counters import STARTED, Feed
from pipeline.parse.perf._perf_csv_line import counter_of, metric_alone, metrics_of, names_of
from pipeline.parse.perf._perf_lines import Lines
from pipeline.parse.perf._perf_memo import Memo
from pipeline.parse.perf._perf_values import is_unit

EXPECTED = "perf stat's CSV, such as `962.74,msec,task-clock,962740000,100.00,0.282,CPUs utilized`"

FORM = "perf stat -x"
VERSIONS = "3.x – 6.19"
NOT_READ = "the run time in ns (its share is)"
UNSEEN_CUTS = "between two lines of a run without intervals, between two intervals: nothing closes them"

_MAX_LENGTH = 4096
_HEAD_LINES = 20000  # which decide about the separator
_SEPARATORS = ",;|\t:^"
_SEPARATOR = r"([^\w\s.\-+%<>()\[\]/\"'{}]{1,3}|[\t ])"
_RUNTIME = re.compile(_SEPARATOR + r"\d+\1\d{1,3}[.,]\d\d(?=\1|\s*$)")
_SHORT = re.compile(
    r"(?:[\d.]+|<not (?:counted|supported)>)([,;|\t:])(?:msec|ns|MiB|Joules|)\1[A-Za-z]"
    r"|^(?:[\d.]+|<not (?:counted|supported)>)([,;|\t:])[A-Za-z]"
)
_METRIC_NAMES = re.compile(r"insn per cycle|of all |cycles idle|GHz|bound|retiring|tma_|stalled cycles|_per_|%")


def recognise(head: str) -> bool:
    """Whether a line with run time and share is a counter, or a file of ``-o`` holds shorter lines or metrics."""
    lines = [line for line in head.split("\n")[:2000] if len(line) <= _MAX_LENGTH]
    if separator := _separator(lines):
        for line in lines:
            counter = counter_of(line, 1, separator) if _RUNTIME.search(line) else None
            if counter and (separator != " " or counter.time_s is not None) and is_unit_or_none(counter.unit):
                return True
    if not any(STARTED.match(line) for line in lines):
        return bool(any("<not " in line or ",msec,task-clock" in line for line in lines) and _short_separator(lines))
    return bool(_short_separator(lines) or _header(lines))


def is_unit_or_none(unit: str | None) -> bool:
    """Whether a counter's unit is one that perf is known to print."""
    return unit is None or is_unit(unit) or unit in ("s", "B", "J")


def parse(source: Source) -> list[Report]:
    """Return a report a run; ParseError when no line is a counter."""
    head = [line for _, line in islice(source.numbered_lines(), _HEAD_LINES)]
    separator = _separator(head) or _short_separator(head) or (_header(head) or ("", []))[0]
    reader = _Reader(source, separator)
    lines = Lines(source)
    if separator:
        for i, line in lines:
            reader.take(line, i)
    if not reader.feed.all:
        found = next((i for i, line in enumerate(head) if line.strip() and not STARTED.match(line)), None)
        raise source.error((found or 0) + 1, EXPECTED, "an empty file" if found is None else head[found])
    return reader.feed.finish(lines.torn[0] if lines.torn and lines.torn[1].strip() else None)


def _separator(lines: list[str]) -> str | None:
    """Return the separator around run time and share of most lines."""
    votes = Votes(match[1] for line in lines if len(line) <= _MAX_LENGTH and (match := _RUNTIME.search(line)))
    return votes.most_common(1)[0][0] if votes else None


def _short_separator(lines: list[str]) -> str | None:
    """Return the separator of most lines that end with the event, as perf 3.x and cut lines do."""
    votes = Votes(match[1] or match[2] for line in lines if len(line) <= _MAX_LENGTH and (match := _SHORT.search(line)))
    return votes.most_common(1)[0][0] if votes else None


def _header(lines: list[str]) -> tuple[str, list[str]] | None:
    """Separator and names of the first line that names metrics."""
    for line in lines:
        if len(line) <= _MAX_LENGTH and _METRIC_NAMES.search(line):
            for separator in line[-1] if line[-1] in _SEPARATORS else _SEPARATORS:
                if names := names_of(line, separator):
                    return separator, names
    return None


class _Reader:
    """Goes through the lines; remembers the names of metrics and the metric group."""

    def __init__(self, source: Source, separator: str) -> None:
        self.feed = Feed(source)
        self._separator = separator
        self._names: list[str] | None = None
        self._group: Counter | None = None
        self._memo = Memo()

    def take(self, line: str, i: int) -> None:
        """Read a line; one that is like an earlier one in the short way."""
        fields = line.split(self._separator) if len(line) <= _MAX_LENGTH else []
        if self._names is None and (counter := self._memo.find(len(fields), fields, i)):
            if counter.status is None:
                self._read_metric(counter)
            else:
                self._group = None
                self.feed.add(counter)
        elif line.strip() and not self.feed.take_marker(line):
            self._read(line, i)

    def _read(self, line: str, i: int) -> None:
        """Read a line that is neither empty nor a marker."""
        if len(line) > _MAX_LENGTH:
            self.feed.skip(i, line)
        elif self._names and (cells := metrics_of(line, i, self._separator, self._names)):
            for cell in cells:
                self.feed.add(cell)
        elif counter := counter_of(line, i, self._separator):
            self._learn(line, counter)
            self._group = None
            counters = self.feed.add(counter)
            if counter.is_metric_cut:
                counters.problem(i, "metric_cut", "expected a metric with its decimals, found perf's cut one")
        elif counter := metric_alone(line, i, self._separator):
            self._learn(line, counter)
            self._read_metric(counter)
        elif (names := names_of(line, self._separator)) and not (self.feed.all and self._names is None):
            self._names = names
        else:
            self.feed.skip(i, line)

    def _learn(self, line: str, counter: Counter) -> None:
        fields = line.split(self._separator)
        self._memo.learn(len(fields), fields, counter)

    def _read_metric(self, counter: Counter) -> None:
        if counter.metric is None:
            self._group = counter
            return
        if self._group is not None:
            counter.event = self._group.event
            if counter.running_ratio is None:
                counter.running_ratio, self._group.running_ratio = self._group.running_ratio, None
        self.feed.add(counter)
