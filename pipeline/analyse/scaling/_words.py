"""How numbers and columns are worded in the sentences on lines and scaling."""

from __future__ import annotations

import math


def figure(value: float) -> str:
    """Six significant digits, and whole numbers in full: 172714, 0.0371154, 2165.5."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    decimals = max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def proportion(value: float) -> str:
    """Five decimals, and more where they are needed for two figures of the distance from 1: never 1 for less than 1."""
    short_of_one = 1 - value
    return f"{value:.{max(5, 1 - math.floor(math.log10(short_of_one))) if short_of_one > 0 else 5}f}"


def percent(ratio: float) -> str:
    """Per cent with one decimal where it is not 0: 36.4, 98."""
    return f"{round(float(ratio) * 100, 1):g}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """1 run, 2 runs."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def at(x: str, value: float) -> str:
    """A value of a column in words: n_devices counts devices (4 devices), another is named (queue depth 4)."""
    return f"{value:.4g} {x.removeprefix('n_')}" if x.startswith("n_") else f"{x.replace('_', ' ')} {value:.4g}"


def values_of(x: str, *, many: bool = True) -> str:
    """What distinct values of a column are called: numbers of devices, values of queue depth."""
    if x.startswith("n_"):
        return f"number{'s' if many else ''} of {x.removeprefix('n_')}"
    return f"value{'s' if many else ''} of {x.replace('_', ' ')}"
