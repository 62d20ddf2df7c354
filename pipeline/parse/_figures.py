"""Figures and names as database benchmarks print them, read so that no text can raise or overflow."""

from __future__ import annotations

import math
import re

from pipeline import units

_INTEGER = re.compile(r"[0-9]{1,18}", re.ASCII)  # fits an int64
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_GO_PART = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?)(h|ms|m|s|us|µs|μs|ns)", re.ASCII)
_NOT_A_NAME = re.compile(r"[^0-9a-z]+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def integer(text: str | None) -> int | None:
    """A count as printed, without separators; None when the text is none that fits 64 bits."""
    return int(text) if text is not None and _INTEGER.fullmatch(text) else None


def number(text: str | None) -> float | None:
    """A finite number as printed; None for ``NaN``, ``Infinity`` and whatever is no number."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def positive(text: str | None) -> float | None:
    """A finite number that is not negative; else None."""
    value = number(text)
    return value if value is not None and value >= 0 else None


def scaled(text: str | None, factor: float) -> float | None:
    """A figure that is not negative in its unit's SI base; None when there is none."""
    value = positive(text)
    return None if value is None or not math.isfinite(value * factor) else value * factor


def clock_seconds(text: str | None) -> float | None:
    """``HH:MM:SS`` in seconds; hours may exceed 24, seconds may have a fraction."""
    parts = (text or "").split(":")
    if len(parts) != 3:
        return None
    hours, minutes, seconds = integer(parts[0]), integer(parts[1]), positive(parts[2])
    if hours is None or minutes is None or seconds is None:
        return None
    return hours * units.SECONDS["h"] + minutes * units.SECONDS["m"] + seconds


def go_duration(text: str) -> float | None:
    """A duration as Go prints it (``1m2.5s``, ``655µs``, ``0s``) in seconds; None when it is none."""
    position, total = 0, 0.0
    for match in _GO_PART.finditer(text, 0, 100):
        if match.start() != position:
            return None
        total += units.seconds(float(match[1]), match[2])
        position = match.end()
    return round(total, 12) if text and position == len(text) else None  # 12: no noise from adding 60 and 0.1


def snake(name: str) -> str:
    """A tool's name for an operation in snake_case; ``unnamed`` where nothing is left of it."""
    return _NOT_A_NAME.sub("_", name.strip().lower()).strip("_") or "unnamed"


def without_colour(line: str) -> str:
    """A line without terminal escapes."""
    return _COLOUR.sub("", line) if "\x1b" in line else line
