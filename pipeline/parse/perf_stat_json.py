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
    when its last object is torn (it is left out), or when its last interval, aggregate or event has fewer lines than
    the one before; a cut between two lines of a run without intervals cannot be told.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pipeline.parse._perf_counters import STARTED, Counter, Feed
from pipeline.parse._perf_values import STATUS, Metric, metric_of, number, percentage, si_value
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = 'perf stat\'s JSON lines, such as {"counter-value" : "1.0", "unit" : "msec", "event" : "task-clock", …}'

Members = dict[str, Any]
_AGGREGATES = ("core", "die", "cluster", "cache", "socket", "node")
_KNOWN = frozenset(
    {"interval", "cpu", "thread", "aggregate-number", "counters", "counter-value", "unit", "event", "cgroup",
     "variance", "event-runtime", "pcnt-running", "metric-value", "metric-unit", "metric-threshold", "metricgroup",
     *_AGGREGATES}
)  # fmt: skip
_BEGIN = re.compile(
    r'^[\[ \t]*+\{?[ \t]*+"(?:interval|cpu|thread|counter-value|event-runtime|metric-value|unit|core|die|cluster'
    r'|cache|socket|node)" *: *(?:"|[\d.]+,? *")',
    re.MULTILINE,
)
_COUNTER = re.compile(r'"counter-value"\s*:|"metric-value"\s*:.*"metric-unit"\s*:|"event-runtime"\s*:\s*\d+')
_MEMBER = re.compile(
    r'"([^"]{0,512})"\s*:\s*'
    r'(?:"((?:[^"]|"(?!\s*(?:[,}]|$|"[\w-]+"\s*:))){0,512})"|(-?(?:nan|inf|\d[\d.]*(?:,\d+(?=\s*[,}]))?)))'
)
_MAX_LENGTH = 65536  # of a line


def recognise(head: str) -> bool:
    """Whether a line begins with a member of perf stat's, and counters or metrics follow."""
    if _BEGIN.search(head) and _COUNTER.search(head):
        return True
    lines = head.split("\n")
    return bool(STARTED.match(lines[0])) and any(re.match(r'\{\s*(?:\}|")', line) for line in lines[1:4])


def parse(source: Source) -> list[Report]:
    """Return a report a run; ParseError when no line is a counter or a metric."""
    reader = _Reader(source)
    lines = source.lines
    torn_line = None
    for i, line in enumerate(lines, 1):
        text = line.strip()
        if not text or reader.feed.take_marker(line):
            continue
        # A closing brace ends an object, with or without a line feed.
        if i == len(lines) and not text.rstrip(",] ").endswith("}"):
            torn_line = i
            text = text[: text.rfind("}") + 1]
        reader.read(text, i)
    if not reader.feed.all:
        found = next((line for line in lines if line.strip() and not STARTED.match(line)), "an empty file")
        raise source.error(
            lines.index(found) + 1 if found in lines else 1, EXPECTED, "no counters, no metrics: " + found
        )
    return reader.feed.finish(torn_line)


class _Reader:
    """Goes through the lines; remembers the metric group, and the names of ``--metric-only`` up to 6.2."""

    def __init__(self, source: Source) -> None:
        self.feed = Feed(source)
        self._names: list[str] = []
        self._group: str | None = None
        self._group_ratio: float | None = None  # of the group's first metric
        self._time_s: float | None = None

    def read(self, text: str, i: int) -> None:
        """Read the objects of a line."""
        objects = _objects(text) if len(text) <= _MAX_LENGTH and '"' in text else None
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
                metric = metric_of(_number(value), name, keeps_sign=False)
                self.feed.add(_counter(common, i, metric))

    def _read_members(self, members: Members, i: int) -> None:
        metric = _metric(members)
        counter = _counter(members, i, metric)
        if "counter-value" in members:
            if counter.event is None:
                self.feed.skip(i, json.dumps(members))
                return
            self._group, self._time_s = None, counter.time_s
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
                self.feed.add(_counter(members, i, metric_of(_number(value), name, keeps_sign=False)))


def _objects(text: str) -> list[Members] | None:
    """Members of the objects on a line, whatever braces and commas are missing; None when there are none."""
    parts = re.split(r"(?<=\})[\s,]*+(?=\{)", text.lstrip("[").rstrip(",] "))
    objects = []
    for part in parts:
        try:
            members = json.loads(part)
        except (ValueError, RecursionError):
            members = {match[1]: match[2] if match[2] is not None else match[3] for match in _MEMBER.finditer(part)}
        if isinstance(members, dict) and members:
            objects.append(members)
    return objects or None


def _counter(members: Members, i: int, metric: Metric | None) -> Counter:
    """Read the members that say what, when and for whom."""
    counter = Counter(i, metric=metric, time_s=_number(members.get("interval")))
    if counter.time_s is not None and counter.time_s < 0:
        counter.time_s = None
    if "cpu" in members:
        counter.aggregate = f"CPU{members['cpu']}"
    for key in _AGGREGATES:
        if key in members:
            counter.aggregate = str(members[key])
    n_counters = str(members.get("aggregate-number", members.get("counters", "")))
    counter.n_counters = n_counters if n_counters.isdecimal() else None
    counter.task = _text(members.get("thread"))
    counter.cgroup = _text(members.get("cgroup"))
    text = _text(members.get("counter-value"))
    if text is not None:
        event = _text(members.get("event")) or ""
        counter.status = STATUS.get(text, "counted")
        unit = _text(members.get("unit")) or ""
        event, counter.value, counter.unit = si_value(event, _number(text), unit, has_fraction=False)
        counter.event = event or None
    running = _number(members.get("pcnt-running"))
    has_run = counter.status in (None, "counted") or _number(members.get("event-runtime")) != 0
    counter.running_ratio = percentage(str(running)) if running is not None and running >= 0 and has_run else None
    deviation = _number(members.get("variance"))
    if deviation is not None and deviation >= 0 and counter.status in (None, "counted"):
        counter.stddev_ratio = percentage(str(deviation))
    return counter


def _metric(members: Members) -> Metric | None:
    """Read the metric; None when there is none."""
    label = _text(members.get("metric-unit"))
    if "metric-value" not in members or label is None or label == "(null)":
        return None
    return metric_of(_number(members["metric-value"]), label, keeps_sign=False)


def _text(value: object) -> str | None:
    return None if value is None or str(value) == "" else str(value)


def _number(value: object) -> float | None:
    """Read a number of the C or another locale; None when it is none."""
    return None if isinstance(value, bool) or value is None else number(str(value).strip().replace(",", "."))
