"""The lines of perf stat's text: counters, continuation lines, metric tables and closing lines."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from pipeline.parse.perf._perf_counter import Counter, Places, Recipe
from pipeline.parse.perf._perf_values import (
    STATUS,
    Metric,
    is_unit,
    kind_of,
    metric_kind,
    metric_of,
    number,
    percentage,
)  # fmt: skip

MAX_LENGTH = 4096  # of a line that holds a counter; longer ones are something else
_NUMBER = r"[-+]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?![\d.,])|[-+]?\d[\d.,'’]*"
_TIME = re.compile(r"\s*(\d+\.\d{9})\s(?!\s*(?:seconds |\+-|\())")
_AGGREGATE = re.compile(
    r"\s*(?:(?P<cpu>CPU\d+)|(?P<group>S-?\d+(?:-D-?\d+)?(?:-(?:C|CLS|L\d+-ID)-?\d+)?|D\d+|N-?\d+|[\da-f]{4}:[\da-f]{2})"
    r"(?:\s+(?P<n>\d+)(?=\s+(?:[-\d<]|nan\b)|\s*$))?)(?=\s|$)"
)
_VALUE = re.compile(rf"\s*(?P<value>{_NUMBER}|<not (?:counted|supported)>)(?P<gap>\s+)(?P<rest>\S.*)")
_TASK = re.compile(rf"\s*(?P<task>\S.*?-\d+)\s+(?=(?:{_NUMBER}|<not (?:counted|supported)>)\s+[^\s\d])")
_TASK_ALONE = re.compile(r"\s*(?P<task>\S.*-\d+)\s*$")
_METRIC = re.compile(r"([-+]?(?:nan|inf|\d[\d.,]*))\s*(%?)(.*)")
_RUNNING = re.compile(r"\s*(?:[\[(]([\d.,]+)%[\])]|\(\s*scaled from\s+([\d.,]+)%\s*\))\s*$")
_STDDEV = re.compile(r"\s*\(\s*\+-\s*([\d.,]+|-?nan|inf)\s*%\s*\)\s*$")
_LEGACY_CLOCK = re.compile(r"((?:task|cpu)-clock\S*) \((msec)\)")
_EVENT_AND_CGROUP = re.compile(r"(\S+(?: \[[^\]]*\])?)(?:\s+(\S+))?$")
_PLAIN_EVENTS = frozenset({"cycles", "instructions", "branches", "faults", "migrations", "cs"})
_CELL = re.compile(r"[-+]?(?:nan|inf|\d[\d.,]*)%?|-+")

CLOSING = re.compile(
    rf"\s*({_NUMBER})(?:\s*\+-\s*({_NUMBER}))?\s+seconds (time elapsed|user|sys)"
    rf"(?:\s+\(\s*\+-\s*([\d.,]+|-?nan|inf)\s*%\s*\))?\s*$"
)
TABLE_ROW = re.compile(rf"\s*({_NUMBER})\s+\(({_NUMBER})\)\s+#+\s*$")
INTERVAL_HEADER = re.compile(r"#\s+time\b(.*)")
_HEADER_PREFIX = re.compile(r"\s*(?:(?:core|cache|cluster|die|socket|node)\s+(?:cpus|ctrs)\b|(?:cpu|CPU|comm-pid)\b)?")


class Annotated(NamedTuple):
    """A line without what perf prints at its end about multiplexing and repeats."""

    text: str
    running_ratio: float | None
    stddev_ratio: float | None


def annotated(line: str, decimal: str) -> Annotated:
    """Take ``( +- 0.45% )`` and ``(54.18%)`` off the end of a line."""
    running = stddev = None
    while True:
        if match := _RUNNING.search(line):
            running = percentage(match[1] or match[2], decimal)
        elif match := _STDDEV.search(line):
            stddev = percentage(match[1], decimal)
        else:
            return Annotated(line, running, stddev)
        line = line[: match.start()]


def counter_of(line: str, number_of_line: int, decimal: str) -> Counter | None:
    """Read a line with a counter, or with a metric alone (``event`` then names its metric group); None: neither."""
    if len(line) > MAX_LENGTH:
        return None
    if not line.isascii():
        line = re.sub(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3})", "", line)
    text, running, stddev = annotated(line, decimal)
    counter = Counter(number_of_line, running_ratio=running, stddev_ratio=stddev)
    if match := _TIME.match(text):
        counter.time_s = number(match[1])
        text = text[match.end() :]
    left, sign, right = text.rpartition(" # ")
    if not sign:
        left, right = right, ""
    if right:
        counter.metric = _metric_of_text(right, decimal)
        if counter.metric is None:
            return None
    n_before = len(left.split())
    left = _take_prefix(left, counter)
    if match := _VALUE.match(left):
        factor = _take_event(match, counter, decimal)
        if factor is None:
            return None
        # The value stands behind the prefix, the metric behind `#`.
        at = n_before - len(left.split())
        counter.recipe = _recipe(counter, line, (at, n_before + 1), (match["value"], factor, right))
        return counter
    if counter.metric is None or re.search(r"^\s*[-\d<]", left):
        return None
    counter.event = " ".join(left.split()) or None
    counter.recipe = _recipe(counter, line, (0, n_before + 1), ("", 1.0, right))
    return counter


def _take_prefix(left: str, counter: Counter) -> str:
    """Take the aggregate or the task off the beginning."""
    if match := _AGGREGATE.match(left):
        counter.aggregate = match["cpu"] or match["group"]
        counter.n_counters = match["n"]
    elif not _VALUE.match(left) and (match := _TASK.match(left) or _TASK_ALONE.match(left)):
        counter.task = match["task"]
    else:
        return left
    return left[match.end() :]


def _recipe(counter: Counter, line: str, words: tuple[int, int], parts: tuple[str, float, str]) -> Recipe | None:
    """Note how a line was read, by its words; ``words``: of the value and the metric behind the time."""
    value, factor, right = parts
    if counter.stddev_ratio is not None or " " in value:
        return None
    n_time = int(counter.time_s is not None)
    has_metric = counter.metric is not None and counter.metric.value is not None
    parsed = _METRIC.match(right.strip()) if has_metric else None
    places = Places(
        time=0 if n_time else -1,
        value=n_time + words[0] if counter.status == "counted" else -1,
        share=len(line.split()) - 1 if counter.running_ratio is not None else -1,
        metric=n_time + words[1] if parsed else -1,
    )
    return Recipe(places, factor, metric_kind(parsed[3], has_sign=bool(parsed[2])) if parsed else None)


def _take_event(match: re.Match[str], counter: Counter, decimal: str) -> float | None:
    """Read value, unit, event and cgroup, and return the unit's factor; None when the value is no number."""
    text, rest = match["value"], match["rest"].rstrip()
    unit = ""
    if legacy := _LEGACY_CLOCK.match(rest):
        unit, rest = legacy[2], legacy[1] + rest[legacy.end() :]
    else:
        first, _, others = rest.partition(" ")
        is_odd_unit = match["gap"] == " " and re.fullmatch(r"[A-Za-z%°]{1,10}", first) and first not in _PLAIN_EVENTS
        if others.strip() and not others.lstrip().startswith("[") and (is_unit(first) or is_odd_unit):
            unit, rest = first, others.strip()
    event = rest
    if (parts := _EVENT_AND_CGROUP.match(rest)) and parts[1].count("/") % 2 == 0:
        event, counter.cgroup = parts[1], parts[2]
    counter.status = STATUS.get(text, "counted")
    value = None if text in STATUS else number(text, decimal)
    if value is None and counter.status == "counted":
        return None
    counter.event, factor, counter.unit = kind_of(event, unit, has_fraction=decimal in text)
    counter.value = None if value is None else value * factor
    return factor


def _metric_of_text(text: str, decimal: str) -> Metric | None:
    match = _METRIC.match(text.strip())
    if match is None:
        return None
    value = number(match[1], decimal)
    if value is None and match[1].strip("+-") not in ("nan", "inf"):
        return None
    return metric_of(value, match[3], has_sign=bool(match[2]))


class MetricTable:
    """The table of ``--metric-only``: a line of names, right-aligned, over lines of values."""

    def __init__(self, header: str) -> None:
        self.names: list[str] = []
        self._ends: list[int] = []
        prefix = _HEADER_PREFIX.match(header)
        start = prefix.end() if prefix else 0
        self._header = " " * start + header[start:].rstrip()
        for match in re.finditer(r"\S+(?: \S+)*", header[start:]):
            # `%  tma_retiring` is one name: a unit, two spaces, a name.
            gap = start + match.start() - self._ends[-1] if self.names else 0
            if gap == 2 and is_unit(self.names[-1]) and re.fullmatch(r"\w+", match[0]):
                self.names[-1] += "  " + match[0]
                self._ends[-1] = start + match.end()
            elif match[0] != "port":  # of --iostat
                self.names.append(match[0])
                self._ends.append(start + match.end())

    def counters(self, line: str, number_of_line: int, decimal: str) -> list[Counter] | None:
        """Read a line of values; None when it is none."""
        first = Counter(number_of_line)
        rest = line
        if match := _TIME.match(line):
            first.time_s, rest = number(match[1]), line[match.end() :]
        rest = _take_prefix(rest, first)
        cells = list(re.finditer(r"\S+", rest))
        if len(line) > MAX_LENGTH or not cells or not all(_CELL.fullmatch(cell[0]) for cell in cells):
            return None
        if len(cells) > len(self.names) and not self._split_at([cell.end() - cells[-1].end() for cell in cells]):
            return None
        if len(cells) == len(self.names):
            places = list(range(len(cells)))
        else:
            shift = len(line) - len(rest)
            places = [self._nearest(shift + cell.end()) for cell in cells]
        return [
            Counter(
                number_of_line, time_s=first.time_s, aggregate=first.aggregate, n_counters=first.n_counters,
                task=first.task, metric=metric_of(number(cell[0].rstrip("%"), decimal), self.names[place],
                                                  has_sign=cell[0].endswith("%")),
            )
            for cell, place in zip(cells, places, strict=True)
        ]  # fmt: skip

    def _split_at(self, ends: list[int]) -> bool:
        """Split the header where values end, from the last one on: names of 20 letters or more touch each other."""
        gaps = [match.start() for match in re.finditer(r"(?<=\S)(?= |$)", self._header)]
        if len(gaps) < len(ends):
            return False
        places = [min(gaps, key=lambda gap: abs(gap - len(self._header) - end)) for end in ends]
        names = [self._header[a:b].strip() for a, b in pairwise([0, *places])]
        if not all(names) or places != sorted(set(places)):
            return False
        self.names, self._ends = names, places
        return True

    def _nearest(self, end: int) -> int:
        return min(range(len(self._ends)), key=lambda i: abs(self._ends[i] - end))
