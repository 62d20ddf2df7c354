"""Figures of latte's JSON, which may be anything that JSON can hold."""

from __future__ import annotations

import math
from datetime import datetime

from pipeline import units


def finite(value: object) -> float | None:
    """A finite number that is not negative."""
    number = signed(value)
    return number if number is not None and number >= 0 else None


def signed(value: object) -> float | None:
    """A finite number, also ``{"value": …, "std_err": …}``."""
    value = value.get("value") if isinstance(value, dict) else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e300 < value < 1e300:
        return None
    return float(value) if math.isfinite(value) else None


def count_of(value: object) -> int | None:
    """A count that fits 64 bits."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def seconds_of(value: object) -> float | None:
    """A latency in ms in s."""
    number = finite(value)
    return None if number is None else number * units.MILLI


def unit_of(name: str) -> str:
    """The unit of a figure, by its name."""
    if name.endswith("throughput"):
        return "1/s"
    return "s" if name.endswith("_s") else "1"


def stamp_of(text: object) -> str | None:
    """The start as written, where it is a time with a zone."""
    try:
        stamp = datetime.fromisoformat(str(text)[:40])
        return stamp.astimezone().isoformat() if stamp.tzinfo else None
    except (ValueError, OverflowError):
        return None
