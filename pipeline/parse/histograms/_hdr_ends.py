"""Private to ``hdr_log``: whether the second field of a line is the interval's end, not its length."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

_NEAR_S = 0.01  # between the end of an interval and the next one's start
_CLEAR_S = 10 * _NEAR_S  # from here on a start is no rounded zero, with which an end and a length are the same
_DAY_S = 24 * 3600.0  # no interval is longer

Times = tuple[str | None, float, float]  # tag, first and second field


def are_ends(times: list[Times], start_s: float | None, *, is_legend: bool, is_writer: bool) -> bool:
    """Whether the lines' second fields are ends: by what they hold, else by the legend or the writer's habit.

    The legend says ``EndTimestamp`` in logs of HdrHistogram_c, whose stamps are absolute, and in old ones of Java,
    which hold lengths since the run's start. ``start_s`` is StartTime.
    """
    if not times or any(second < first for _, first, second in times):
        return False
    first = times[0][1]
    is_absolute = start_s is not None and first >= start_s - _NEAR_S
    return is_writer or first > _DAY_S or (is_legend and is_absolute) or _touch(times)


def _touch(times: Iterable[Times]) -> bool:
    """Whether each interval ends where its tag's next one begins, and one of them does so clearly."""
    tags: dict[str | None, list[tuple[float, float]]] = {}
    for tag, first, second in times:
        tags.setdefault(tag, []).append((first, second))
    pairs = [pair for lines in tags.values() for pair in pairwise(lines)]
    is_clear = any(first >= _CLEAR_S for (first, _), _ in pairs)
    return is_clear and all(abs(second - after) <= _NEAR_S for (_, second), (after, _) in pairs)
