"""The objects of perf stat's JSON: what stands in one, whatever braces and commas are missing."""

from __future__ import annotations

import json
import re
from typing import Any

from pipeline.parse.perf._perf_counter import Counter, Places, Recipe
from pipeline.parse.perf._perf_values import STATUS, Metric, kind_of, metric_kind, metric_of, number, percentage

Members = dict[str, Any]
MAX_LENGTH = 65536  # of a line
AGGREGATES = ("core", "die", "cluster", "cache", "socket", "node")
_MEMBER = re.compile(
    r'"([^"]{0,512})"\s*:\s*'
    r'(?:"((?:[^"]|"(?!\s*(?:[,}]|$|"[\w-]+"\s*:))){0,512})"|(-?(?:nan|inf|\d[\d.]*(?:,\d+(?=\s*[,}]))?)))'
)


def objects_of(text: str) -> list[Members] | None:
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


def counter_of(members: Members, i: int, metric: Metric | None) -> Counter:
    """Read the members that say what, when and for whom."""
    counter = Counter(i, metric=metric, time_s=number_of(members.get("interval")))
    if counter.time_s is not None and counter.time_s < 0:
        counter.time_s = None
    if "cpu" in members:
        counter.aggregate = f"CPU{members['cpu']}"
    for key in AGGREGATES:
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
        event, factor, counter.unit = kind_of(event, unit, has_fraction=False)
        value = number_of(text)
        counter.event, counter.value = event or None, None if value is None else value * factor
    running = number_of(members.get("pcnt-running"))
    has_run = counter.status in (None, "counted") or number_of(members.get("event-runtime")) != 0
    counter.running_ratio = percentage(str(running)) if running is not None and running >= 0 and has_run else None
    deviation = number_of(members.get("variance"))
    if deviation is not None and deviation >= 0 and counter.status in (None, "counted"):
        counter.stddev_ratio = percentage(str(deviation))
    return counter


def object_of(text: str) -> Members | None:
    """Members of a line that is one object of strings and numbers; None where it is anything else."""
    if len(text) > MAX_LENGTH or text[0] != "{":
        return None
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, dict) or any(isinstance(value, dict | list) for value in members.values()):
        return None
    return members


def recipe_of(members: Members, counter: Counter) -> Recipe | None:
    """Note where the numbers stand among the members."""
    places = {key: i for i, key in enumerate(members)}
    if "variance" in members or counter.status != "counted":
        return None
    has_metric = counter.metric is not None and counter.metric.value is not None
    kind = metric_kind(str(members["metric-unit"]), keeps_sign=False) if has_metric else None
    _, factor, _ = kind_of(str(members.get("event") or ""), _text(members.get("unit")) or "", has_fraction=False)
    ignored = (places["event-runtime"],) if "event-runtime" in places else ()
    return Recipe(
        Places(
            places.get("interval", -1), places["counter-value"], places.get("pcnt-running", -1),
            places["metric-value"] if kind else -1, ignored,
        ),
        factor, kind,
    )  # fmt: skip


def metric_in(members: Members) -> Metric | None:
    """Read the metric; None when there is none."""
    label = _text(members.get("metric-unit"))
    if "metric-value" not in members or label is None or label == "(null)":
        return None
    return metric_of(number_of(members["metric-value"]), label, keeps_sign=False)


def _text(value: object) -> str | None:
    return None if value is None or str(value) == "" else str(value)


def number_of(value: object) -> float | None:
    """Read a number of the C or another locale; None when it is none."""
    return None if isinstance(value, bool) or value is None else number(str(value).strip().replace(",", "."))
