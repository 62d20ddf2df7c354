"""Reads lines of perf stat that are like earlier ones: the same fields but for the numbers, interval after interval.

A line is read once with care; after that only its numbers are. Where anything else differs, or a number is not a plain
one, the line is not alike, and is read with care again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from pipeline.parse.perf._perf_counter import Counter, Places, Recipe
from pipeline.parse.perf._perf_values import Metric, number
from pipeline.units import PERCENT

_MAX_KNOWN = 200_000  # kinds of lines: CPUs × events, or tasks × events
_MAX_LAYOUTS = 8  # of one number of fields
_MAX_DIGITS = 24
_TIME = re.compile(r" *[0-9]+\.[0-9]{9}")
_SHARE = re.compile(r"\(?([0-9]{1,3}[.,][0-9]{2})%?\)?")

Fields = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Layout:
    number: int
    places: Places
    fixed: Callable[[Fields], Hashable]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What lines that are alike have in common."""

    first: Counter
    recipe: Recipe
    has_fraction: bool
    has_sign: bool


class Memo:
    """Remembers the kinds of lines of one file.

    ``decimal`` is the locale's mark, the other one groups digits; None: both are decimal marks, nothing groups.
    """

    def __init__(self, decimal: str | None = None) -> None:
        self._decimal = decimal
        self._layouts: dict[Hashable, list[_Layout]] = {}
        self._known: dict[Hashable, _Kind] = {}
        self._time: tuple[object, float] = ("", 0.0)
        self._n_layouts = 0

    def find(self, layout: Hashable, fields: Fields, line: int) -> Counter | None:
        """Read a line that is like an earlier one; None where it is not, or not plainly."""
        for known in self._layouts.get(layout, ()):
            kind = self._known.get((known.number, known.fixed(fields)))
            if kind is not None:
                return self._read(kind, fields, line)
        return None

    def learn(self, layout: Hashable, fields: Fields, counter: Counter) -> None:
        """Remember a line that was read with care, if the short way gives the same of it."""
        recipe = counter.recipe
        if recipe is None or len(self._known) >= _MAX_KNOWN:
            return
        places = recipe.places
        layouts = self._layouts.setdefault(layout, [])
        known = next((known for known in layouts if known.places == places), None)
        if known is None:
            rest = [i for i in range(len(fields)) if i not in places.variable]
            if len(layouts) >= _MAX_LAYOUTS or not rest:
                return
            known = _Layout(self._n_layouts, places, itemgetter(*rest))
        has_fraction = places.value >= 0 and self._has_fraction(str(fields[places.value]))
        has_sign = places.metric >= 0 and str(fields[places.metric]).endswith("%")
        kind = _Kind(replace(counter), recipe, has_fraction, has_sign)
        if self._read(kind, fields, counter.line) != counter:
            return
        if known.number == self._n_layouts:
            self._n_layouts += 1
            layouts.append(known)
        self._known[known.number, known.fixed(fields)] = kind

    def _read(self, kind: _Kind, fields: Fields, line: int) -> Counter | None:
        first, places = kind.first, kind.recipe.places
        time_s, value, share, metric = first.time_s, first.value, first.running_ratio, first.metric
        if places.time >= 0:
            time_s = self._time_of(fields[places.time])
            if time_s is None:
                return None
        if places.value >= 0:
            text = str(fields[places.value])
            value = self._plain(text)
            if value is None or self._has_fraction(text) != kind.has_fraction:
                return None
            value *= kind.recipe.factor
        if places.share >= 0:
            share = _share(fields[places.share])
            if share is None:
                return None
        if places.metric >= 0:
            metric = self._metric(kind, str(fields[places.metric]))
            if metric is None:
                return None
        for i in places.ignored:
            if not str(fields[i]).isdigit():
                return None
        return Counter(
            line, first.event, value, first.unit, first.status, time_s, first.aggregate, first.n_counters,
            first.task, first.cgroup, share, first.stddev_ratio, metric,
        )  # fmt: skip

    def _time_of(self, text: object) -> float | None:
        if text == self._time[0]:
            return self._time[1]
        if isinstance(text, str) and (len(text) > _MAX_DIGITS or not _TIME.fullmatch(text)):
            return None
        if not isinstance(text, str | float):
            return None
        self._time = text, float(text)
        return self._time[1]

    def _metric(self, kind: _Kind, text: str) -> Metric | None:
        if kind.recipe.metric is None or text.endswith("%") != kind.has_sign:
            return None
        value = self._plain(text[:-1] if kind.has_sign else text)
        name, factor, unit = kind.recipe.metric
        return None if value is None else Metric(name, value * factor, unit)

    def _has_fraction(self, text: str) -> bool:
        return self._decimal in text if self._decimal else "." in text or "," in text

    def _plain(self, text: str) -> float | None:
        """Read a number without a sign; None where it is none, or one that needs care."""
        if len(text) > _MAX_DIGITS or not text.isascii():
            return None
        if text.isdigit():
            return float(text)
        if self._decimal is None:
            text = text.replace(",", ".")
        whole, mark, fraction = text.partition(self._decimal or ".")
        if mark and whole.isdigit() and fraction.isdigit():
            return float(f"{whole}.{fraction}")
        return number(text, self._decimal) if self._decimal and text[:1].isdigit() else None


def _share(text: object) -> float | None:
    """Read a share in per cent, as text or as JSON's number."""
    if isinstance(text, float):
        return text * PERCENT if text >= 0 else None
    match = _SHARE.fullmatch(str(text))
    return float(match[1].replace(",", ".")) * PERCENT if match else None
