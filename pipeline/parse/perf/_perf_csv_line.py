"""The lines of perf stat's CSV: counters, metrics on lines of their own, and the table of ``--metric-only``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from pipeline.parse.perf._perf_counter import Counter, Places, Recipe
from pipeline.parse.perf._perf_values import STATUS, is_unit, kind_of, metric_kind, metric_of, number, percentage

_VALUE = re.compile(r"[-+]?\d+(?:[.,]\d+)?|<not (?:counted|supported)>")
_UNIT = re.compile(r"[A-Za-z%°][A-Za-z%°/]{0,9}")
_EVENT = re.compile(r"[A-Za-z_{]")
_TIME = re.compile(r"\s*(\d+\.\d{9})")
_AGGREGATE = re.compile(r"CPU\d+|S-?\d+(?:-D-?\d+)?(?:-(?:C|CLS|L\d+-ID)-?\d+)?|D\d+|N-?\d+")
_RUNTIME = re.compile(r"\d+ \d{1,3}[.,]\d\d")
_GROUP = re.compile(r"\w+(?: \(\w+\))?")  # TopdownL1 (cpu_core)
_HEADER_PREFIX = re.compile(r"(?:(?:time|core|cache|cluster|die|socket|node|cpus?|ctrs|comm-pid)(?:,|%s))*")


class Runtime(NamedTuple):
    """Where the event's run time stands in the fields behind the value, and its share of the time."""

    start: int
    end: int
    percent: str


def counter_of(line: str, number_of_line: int, separator: str) -> Counter | None:
    """Read a line with a counter; None when it is none."""
    fields = line.split(separator)
    at = _value_at(fields)
    if at is None:
        return None
    text, unit, tail = fields[at].strip(), fields[at + 1], fields[at + 2 :]
    if not tail or tail[0].endswith("%"):  # perf up to 3.12 has no unit
        unit, tail = "", fields[at + 1 :]
    runtime = _runtime_of(tail, separator)
    head = tail[: runtime.start] if runtime else tail
    is_split = runtime is not None and separator == "," and "," in runtime.percent  # 100,00 and 1,10 at their commas
    counter = Counter(number_of_line, status=STATUS.get(text, "counted"))
    if _take_prefix(fields[:at], counter, separator):
        whole = fields[at - 1].strip()
        if not is_split or not whole.isdigit() or _take_prefix(fields[: at - 1], counter, separator):
            return None
        text = f"{whole},{text}"
    if head[1:] and head[-1].endswith("%"):
        deviation = head.pop()
        if is_split and head[1:] and head[-1].isdigit():
            deviation = f"{head.pop()},{deviation}"
        counter.stddev_ratio = percentage(deviation.replace(",", "."))
    event = _take_event(head, counter, separator)
    value = None if text in STATUS else number(text.replace(",", "."))
    has_fraction = bool(re.search(r"[.,]", text))
    counter.event, factor, counter.unit = kind_of(event, unit, has_fraction=has_fraction)
    counter.value = None if value is None else value * factor
    if counter.status != "counted":
        counter.stddev_ratio = None
    label = ""
    if runtime:
        # perf prints 100.00 for an event that never ran.
        if counter.status == "counted" or tail[runtime.start] != "0":
            counter.running_ratio = percentage(runtime.percent.replace(",", "."))
        label = separator.join(tail[runtime.end + 1 :]).strip()
        if label:
            # With a decimal comma perf cuts the metric off there.
            counter.is_metric_cut = "," in runtime.percent
            text = "" if counter.is_metric_cut else tail[runtime.end]
            counter.metric = metric_of(number(text), label, keeps_sign=False)
    if not is_split and counter.stddev_ratio is None:
        first = len(fields) - len(tail)
        places = _places(counter, at, first, runtime)
        counter.recipe = Recipe(places, factor, metric_kind(label, keeps_sign=False) if places.metric >= 0 else None)
    return counter


def _places(counter: Counter, at: int, first: int, runtime: Runtime | None) -> Places:
    """Where the numbers of a line stand; ``at``: its value, ``first``: what follows value and unit."""
    time = 0 if counter.time_s is not None else -1
    if counter.status != "counted":  # the whole line is the same in every interval but for the time
        return Places(time)
    if runtime is None:
        return Places(time, at)
    has_metric = counter.metric is not None and counter.metric.value is not None
    start, end = first + runtime.start, first + runtime.end
    return Places(time, at, start + 1, end if has_metric else -1, (start,))


def metric_alone(line: str, number_of_line: int, separator: str) -> Counter | None:
    """Read a line with a metric, or the name of a metric group (as the event), and no counter; None: neither."""
    fields = line.split(separator)
    counter = Counter(number_of_line)
    n_before = next((i for i, field in enumerate(fields) if not field.strip()), len(fields))
    label = fields[-1].strip()
    if n_before > len(fields) - 3 or not (_EVENT.match(label) or label.startswith("%")):
        return None
    # A metric group has a run time and a share, too.
    first, middle = fields[:n_before], [field for field in fields[n_before:-2] if field]
    if _RUNTIME.fullmatch(" ".join(first[-2:])):
        first, middle = first[:-2], first[-2:] + middle
    if _take_prefix(first, counter, separator) or not (not middle or _RUNTIME.fullmatch(" ".join(middle))):
        return None
    if middle:
        counter.running_ratio = percentage(middle[1].replace(",", "."))
    text = fields[-2].strip()
    if not text and _GROUP.fullmatch(label):
        counter.event = label
    elif text and number(text) is None:
        return None
    else:
        counter.metric = metric_of(number(text), label, keeps_sign=False)  # perf cuts `nan` to nothing
        if not middle and counter.metric.value is not None:
            places = Places(0 if counter.time_s is not None else -1, metric=len(fields) - 2)
            counter.recipe = Recipe(places, 1.0, metric_kind(label, keeps_sign=False))
    return counter


def names_of(line: str, separator: str) -> list[str] | None:
    """Names of the metrics in the header of ``--metric-only``; None when the line is no such header."""
    prefix = re.compile(_HEADER_PREFIX.pattern % re.escape(separator)).match(line)
    start = prefix.end() if prefix else 0
    names = [name.strip() for name in line[start:].split(separator)]
    if not names[-1]:
        names.pop()
    elif not start:
        return None
    return names if names and all(_EVENT.match(name) or name.startswith("%") for name in names) else None


def metrics_of(line: str, number_of_line: int, separator: str, names: list[str]) -> list[Counter] | None:
    """Read a line of values under ``names``; None when it is none."""
    fields = line.split(separator)
    first = Counter(number_of_line)
    values = fields[-len(names) - 1 : -1]
    if fields[-1].strip() or len(values) < len(names) or _take_prefix(fields[: -len(names) - 1], first, separator):
        return None
    if any(value and number(value) is None for value in values):
        return None
    return [
        Counter(
            number_of_line, time_s=first.time_s, aggregate=first.aggregate, n_counters=first.n_counters,
            task=first.task, metric=metric_of(number(value), name, keeps_sign=False),
        )
        for name, value in zip(names, values, strict=True)
    ]  # fmt: skip


def _value_at(fields: list[str]) -> int | None:
    """Index of the value: a number before a unit (or none) and an event, or before an event alone."""
    for i, field in enumerate(fields[:-1]):
        if _VALUE.fullmatch(field.strip()):
            unit, event = fields[i + 1], fields[i + 2] if i + 2 < len(fields) else ""
            if (not unit or _UNIT.fullmatch(unit)) and _EVENT.match(event):
                return i
            if _EVENT.match(unit) and not is_unit(unit) and (not event or event.endswith("%")) and len(fields) <= i + 3:
                return i
    return None


def _runtime_of(tail: list[str], separator: str) -> Runtime | None:
    for i, (runtime, percent) in enumerate(pairwise(tail[1:]), 1):
        if runtime.isdigit() and re.fullmatch(r"\d{1,3}[.,]\d\d", percent):
            return Runtime(i, i + 2, percent)
        fraction = tail[i + 2] if i + 2 < len(tail) else ""
        if separator == "," and runtime.isdigit() and re.fullmatch(r"\d{1,3},\d\d", f"{percent},{fraction}"):
            return Runtime(i, i + 3, f"{percent},{fraction}")
    return None


def _take_prefix(fields: list[str], counter: Counter, separator: str) -> list[str]:
    """Take time, aggregate with its count, or task; return the fields that are left over."""
    if fields and (match := _TIME.fullmatch(fields[0])):
        counter.time_s = number(match[1])
        fields = fields[1:]
    if fields and fields[0].strip() == "summary":
        fields = fields[1:]
    if fields and _AGGREGATE.fullmatch(fields[0].strip()):
        counter.aggregate = fields[0].strip()
        fields = fields[1:]
        if fields and fields[0].strip().isdigit() and not counter.aggregate.startswith("CPU"):
            counter.n_counters = fields[0].strip()
            fields = fields[1:]
    elif re.fullmatch(r".+-\d+\s*", task := separator.join(fields)):
        counter.task, fields = task.strip(), []
    return fields


def _take_event(head: list[str], counter: Counter, separator: str) -> str:
    """Join the parts of an event that holds the separator; what is left is the control group."""
    n_parts = 1
    if separator == ":":  # block:block_rq_issue
        n_parts = len(head)
    while n_parts < len(head) and separator.join(head[:n_parts]).count("/") % 2:
        n_parts += 1
    counter.cgroup = separator.join(head[n_parts:]) or None
    return separator.join(head[:n_parts]).strip()
