"""perf stat, JSON: ``perf stat -j [-I MS] [-r N] [-a …] CMD`` on standard error or in ``-o FILE``.

Grammar
    A line an object: ``interval``; ``cpu``, ``core``, ``die``, ``cluster``, ``cache``, ``socket``, ``node`` (with
    ``aggregate-number``, newer ``counters``) or ``thread``; ``counter-value`` (a string), ``unit``, ``event``,
    ``cgroup``, ``variance``, ``event-runtime`` (ns), ``pcnt-running``, ``metric-value``, ``metric-unit``,
    ``metric-threshold``, ``metricgroup``. ``--metric-only``: ``{"unit" : NAME}…`` over ``{"metric-value" : …}…``, newer
    ``{NAME : VALUE, …}``. Before that, with ``-o``, ``# started on <date>`` and an empty line.
Versions
    5.19, 6.1, 6.4, 6.19.
Traps
    Numbers are strings, or bare with the locale's decimal comma, or ``nan``; ``(null)`` and an empty unit mean that
    there is no metric. Objects lack a brace or a comma between members (6.1), or stand side by side on a line.
    Percentages have no sign. An event that never ran has 100.00. Clocks without a unit are raw ns (the newest).
Sample
    tests/parse/perf_stat_json/repeats/
Gives
    perf_counters, as the text's reader does; CPU 0 is the aggregate ``CPU0``. The run time in ns and the threshold
    are left out. ``runs.duration_s`` is the end of the last interval. There is no closing line: a file is incomplete
    when no line feed ends it (a torn object is left out), or when its last interval, aggregate or event has fewer
    lines than the one before; a cut between two lines of a run without intervals cannot be told.
"""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_counters import STARTED, Feed
from pipeline.parse.perf._perf_json_line import (
    AGGREGATES,
    MAX_LENGTH,
    Members,
    counter_of,
    metric_in,
    number_of,
    object_of,
    objects_of,
    recipe_of,
)
from pipeline.parse.perf._perf_lines import Lines
from pipeline.parse.perf._perf_memo import Memo
from pipeline.parse.perf._perf_values import metric_of

EXPECTED = 'perf stat\'s JSON lines, such as {"counter-value" : "1.0", "unit" : "msec", "event" : "task-clock", …}'
FORM = "perf stat -j"
VERSIONS = "5.19 – 6.19"
NOT_READ = "the run time in ns (its share is), thresholds of metrics"
UNSEEN_CUTS = "between two lines of a run without intervals, between two intervals: nothing closes them"

_KNOWN = frozenset(
    {"interval", "cpu", "thread", "aggregate-number", "counters", "counter-value", "unit", "event", "cgroup",
     "variance", "event-runtime", "pcnt-running", "metric-value", "metric-unit", "metric-threshold", "metricgroup",
     *AGGREGATES}
)  # fmt: skip
_BEGIN = re.compile(
    r'^[\[ \t]*+\{?[ \t]*+"(?:interval|cpu|thread|counter-value|event-runtime|metric-value|unit|core|die|cluster'
    r'|cache|socket|node)" *: *(?:"|[\d.]+,? *")',
    re.MULTILINE,
)
_COUNTER = re.compile(r'"counter-value"\s*:|"metric-value"\s*:.*"metric-unit"\s*:|"event-runtime"\s*:\s*\d+')


def recognise(head: str) -> bool:
    """Whether a line begins with a member of perf stat's, and counters or metrics follow."""
    if _BEGIN.search(head) and _COUNTER.search(head):
        return True
    lines = head.split("\n")
    return bool(STARTED.match(lines[0])) and any(re.match(r'\{\s*(?:\}|")', line) for line in lines[1:4])


def parse(source: Source) -> list[Report]:
    """Return a report a run; ParseError when no line is a counter or a metric."""
    reader = _Reader(source)
    lines = Lines(source)
    for i, line in lines:
        reader.take(line, i)
    torn_line = None
    if lines.torn and (text := lines.torn[1].strip()):
        # A closing brace ends an object, but more may have followed it.
        torn_line = lines.torn[0]
        reader.take(text[: text.rfind("}") + 1], lines.torn[0])
    if not reader.feed.all:
        head = enumerate(source.head.split("\n"), 1)
        found = next((item for item in head if item[1].strip() and not STARTED.match(item[1])), (1, "an empty file"))
        raise source.error(found[0], EXPECTED, "no counters, no metrics: " + found[1])
    return reader.feed.finish(torn_line)


class _Reader:
    """Goes through the lines; remembers the metric group, and the names of ``--metric-only`` up to 6.2."""

    def __init__(self, source: Source) -> None:
        self.feed = Feed(source)
        self._names: list[str] = []
        self._group: str | None = None
        self._group_ratio: float | None = None  # of the group's first metric
        self._time_s: float | None = None
        self._memo = Memo()

    def take(self, line: str, i: int) -> None:
        """Read a line; an object that is like an earlier one in the short way."""
        text = line.strip()
        if not text or (text[0] == "#" and self.feed.take_marker(line)):
            return
        members = object_of(text)
        if members is None:
            if not self.feed.take_marker(line):
                self._read(text, i)
            return
        keys, values = tuple(members), list(members.values())
        counter = self._memo.find(keys, values, i)
        if counter is None:
            self._read(text, i)
            return
        self._group, self._time_s = None, counter.time_s
        self.feed.add(counter)

    def _read(self, text: str, i: int) -> None:
        """Read the objects of a line."""
        objects = objects_of(text) if len(text) <= MAX_LENGTH and '"' in text else None
        if objects is None:
            if text not in ("{}", "[", "]", ""):
                self.feed.skip(i, text)
        elif all(members.keys() == {"unit"} for members in objects):
            self._names = [str(members["unit"]) for members in objects if members["unit"] != "sec"]
        elif any(members.keys() == {"metric-value"} for members in objects):
            self._read_old_metrics(objects, i)
        else:
            for members in objects:
                self._read_members(members, i)

    def _read_old_metrics(self, objects: list[Members], i: int) -> None:
        """Read values whose names stand on an earlier line."""
        common: Members = {}
        values: list[str] = []
        for members in objects:
            if members.keys() == {"metric-value"}:
                values.append(str(members["metric-value"]))
            else:
                common |= members
        if len(values) != len(self._names):
            if any(values):
                self.feed.skip(i, json.dumps(objects))
            return
        for name, value in zip(self._names, values, strict=True):
            if value:
                metric = metric_of(number_of(value), name, keeps_sign=False)
                self.feed.add(counter_of(common, i, metric))

    def _read_members(self, members: Members, i: int) -> None:
        metric = metric_in(members)
        counter = counter_of(members, i, metric)
        if "counter-value" in members:
            if counter.event is None:
                self.feed.skip(i, json.dumps(members))
                return
            self._group, self._time_s = None, counter.time_s
            if "metricgroup" not in members and all(isinstance(value, str | float | int) for value in members.values()):
                counter.recipe = recipe_of(members, counter)
                self._memo.learn(tuple(members), list(members.values()), counter)
            self.feed.add(counter)
            return
        if counter.time_s is None:
            counter.time_s = self._time_s
        if "metricgroup" in members:
            self._group, self._group_ratio = str(members["metricgroup"]), counter.running_ratio
        if metric is not None:
            counter.event = self._group
            if counter.running_ratio is None:
                counter.running_ratio, self._group_ratio = self._group_ratio, None
            self.feed.add(counter)
        for name, value in members.items():  # --metric-only since 6.3
            if name not in _KNOWN and value != "none":
                self.feed.add(counter_of(members, i, metric_of(number_of(value), name, keeps_sign=False)))
