"""Numbers, units and metrics as perf stat prints them, in SI units: shared by its three readers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pipeline import units

STATUS = {"<not counted>": "not_counted", "<not supported>": "not_supported"}
_TIMES = frozenset({"ns", "nsec", "us", "usec", "ms", "msec", "s", "sec", "seconds"})
_BYTES = re.compile(r"([KMGTP]i?)?(?:B|Bytes?|bytes)(/s(?:ec)?)?")
_HERTZ = re.compile(r"([KMG]?)Hz")
_RATE = re.compile(r"([KMGT]?)/s(?:ec)?")
_EVENT_RATE = re.compile(r"[A-Za-z_]+/sec")
_CLOCK = re.compile(r"(?:\w+/)?(?:task-clock|cpu-clock|duration_time|user_time|system_time)(?![\w.-])")
# CSV and JSON print the number of a percentage without its sign.
_PERCENTAGE = re.compile(
    r"\bof all |cycles idle$|%$|^(?:retiring|bad speculation|frontend bound|backend bound|fetch latency"
    r"|fetch bandwidth|branch mispredicts?|machine clears|heavy operations|light operations|memory bound|core bound"
    r"|transactional cycles|aborted cycles)$",
    re.IGNORECASE,
)
_SPACES = str.maketrans("", "", "'’\u00a0\u202f\u2009 ")
# Not the time stamps of intervals: nine decimals after a dot in every locale.
_TOKEN = re.compile(r"(?<![\w.,:/+-])(?!\d+\.\d{9}(?!\d))\d+(?:[.,]\d+)+(?![\w.,:/-])")


MetricKind = tuple[str | None, float, str | None]  # name, factor, unit


class Metric(NamedTuple):
    """What perf derived from an event; ``name`` is None where perf prints a unit alone (``8.372 K/sec``)."""

    name: str | None
    value: float | None
    unit: str | None


def decimal_mark(lines: Iterable[str]) -> str:
    """Return the decimal mark of a whole file, ``.`` or ``,``: the locale groups digits by the other one.

    ``1.234`` alone says nothing; ``0.7``, ``12,345.67`` and ``1.234.567`` do. The majority decides, a dot wins a tie.
    """
    votes = {".": 0, ",": 0}
    for line in lines:
        if "Performance counter stats for" in line:
            continue
        for token in _TOKEN.findall(line):
            if mark := _mark_of(token):
                votes[mark] += 1
    return "," if votes[","] > votes["."] else "."


def _mark_of(token: str) -> str | None:
    """Return the decimal mark that a number gives away."""
    last = max(".,", key=token.rfind)
    other = "," if last == "." else "."
    if other in token:
        return last
    whole, *groups = token.split(last)
    if len(groups) > 1:
        return other
    return last if len(groups[0]) != 3 or len(whole) > 3 or whole == "0" else None


def number(text: str, decimal: str = ".") -> float | None:
    """Read a number that is grouped by the other mark, spaces or apostrophes; None when it is none or not finite."""
    text = text.translate(_SPACES)
    group = "," if decimal == "." else "."
    if group in text:
        whole, mark, fraction = text.partition(decimal)
        first, *groups = whole.split(group)
        # India groups by two digits, but for the last three.
        if not first or not groups or len(groups[-1]) != 3 or any(len(digits) not in (2, 3) for digits in groups):
            return None
        text = first + "".join(groups) + mark + fraction
    try:
        value = float(text.replace(decimal, "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def percentage(text: str, decimal: str = ".") -> float | None:
    """Read the number of a percentage as a ratio."""
    value = number(text.rstrip("% "), decimal)
    return None if value is None else value * units.PERCENT


@lru_cache(maxsize=256)
def factor_of(unit: str) -> tuple[float, str | None]:
    """Factor and SI unit of a unit as perf prints it; one that is not known stays as it is."""
    if unit in _TIMES:
        return units.seconds(1, unit), "s"
    if match := _BYTES.fullmatch(unit):
        return units.byte_size(f"1{match[1] or ''}B"), "B/s" if match[2] else "B"
    if match := _HERTZ.fullmatch(unit):
        return units.plain_number(f"1{match[1]}"), "Hz"
    if match := _RATE.fullmatch(unit):
        return units.plain_number(f"1{match[1]}"), "1/s"
    if _EVENT_RATE.fullmatch(unit):
        return 1.0, "1/s"
    return 1.0, {"": None, "(null)": None, "Joules": "J"}.get(unit, unit)


def is_unit(word: str) -> bool:
    """Whether a word is a unit that perf prints behind a count."""
    return word in ("Joules", "Watts", "C", "Celsius", "%") or factor_of(word)[1] not in (word, None)


@lru_cache(maxsize=4096)
def kind_of(event: str, unit: str, *, has_fraction: bool) -> tuple[str, float, str | None]:
    """Event, factor and SI unit of a counter.

    A clock without a unit is in ms where it has a fraction (perf up to 3.12, ``task-clock-msecs`` before that) and
    in raw ns where it has none (the newest): they differ by a factor of a million.
    """
    if event.endswith("-msecs") and not unit:
        event, unit = event.removesuffix("-msecs"), "msec"
    elif not unit and _CLOCK.match(event):
        unit = "msec" if has_fraction else "ns"
    return event, *factor_of(unit)


def metric_of(value: float | None, label: str, *, has_sign: bool = False, keeps_sign: bool = True) -> Metric:
    """Read a metric: its number, and what is printed behind it (see ``metric_kind``)."""
    name, factor, unit = metric_kind(label, has_sign=has_sign, keeps_sign=keeps_sign)
    scaled = None if value is None else value * factor
    return Metric(name, scaled if scaled is not None and math.isfinite(scaled) else None, unit)


@lru_cache(maxsize=4096)
def metric_kind(label: str, *, has_sign: bool = False, keeps_sign: bool = True) -> MetricKind:
    """Name, factor and SI unit of what is printed behind a metric's number: a name, a unit, or ``unit  name``.

    ``has_sign``: a percent sign follows the number; ``keeps_sign``: the format prints that sign (text does).
    """
    label = label.strip()
    unit, name = "", " ".join(label.split())
    if not has_sign and (match := re.fullmatch(r"(\S+) {2,}(\S.*)", label)):
        unit, name = match[1], match[2]
    elif not has_sign and is_unit(label):
        unit, name = label, ""
    if has_sign or unit == "%" or (not keeps_sign and not unit and _PERCENTAGE.search(name)):
        factor, si_unit = units.PERCENT, "1"
    else:
        factor, si_unit = factor_of(unit)  # type: ignore[assignment]
    return name or None, factor, si_unit
