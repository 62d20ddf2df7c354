"""Figures as fio's normal output rounds them: the value, and the interval in which the true one lies.

Source: ``num2str`` in fio's lib/num2str.c. To 2.19 the digits after the point are not decimals (a remainder of 1024
is printed as it stands), so only the whole part counts; to 3.25 a fraction that rounds up to 1 is printed as ``.0``
without the carry, so ``14.0MB`` may be 14.97 MB; to 2.16 ``KB`` is 1024 B, and T is missing: P stands for T.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pipeline import units

MAX_INTEGER = 2**63 - 1
_BITS = 8
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kKMGTPE]?)(i?)(B|bit)?(?:/s)?$")
_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kKMGTPE]?)$")
_PAIR = re.compile(r"(\d{1,15}(?:\.\d{1,9})?[kKMGTP]?i?B?)-(\d{1,15}(?:\.\d{1,9})?[kKMGTP]?i?B?)(?![\w.])")
_OLD_PREFIX = {"P": "T", "E": "P"}


@dataclass(frozen=True)
class Printed:
    """A rounded figure: the value as it reads, and the interval that holds the true one."""

    value: float
    low: float
    high: float
    may_lack_carry: bool = False

    def holds(self, exact: float) -> bool:
        """Whether ``exact`` would be printed like this."""
        return self.low <= exact <= self.high


@dataclass(frozen=True)
class Style:
    """How a version prints: ``io=, bw=, iops=, runt=`` (to 2.16), with decimal fractions, with a carry."""

    is_old: bool
    has_decimals: bool
    has_carry: bool = False
    kb_base: int = units.KIBI


def number(text: str | None) -> float | None:
    """A plain number with an optional k, M or G; None for ``nan``, negative and unreadable ones."""
    if text is None or len(text) > 40:
        return None
    try:
        value = units.plain_number(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def integer(text: str | None) -> int | None:
    """A count that fits the tables; None otherwise."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def seconds(text: str | None, unit: str) -> float | None:
    """A latency of a line whose unit is ``nsec``, ``usec`` or ``msec``."""
    value = number(text)
    return None if value is None else units.seconds(value, unit)


def of_milliseconds(value: float) -> float:
    """Milliseconds in seconds, rounded once."""
    return value / round(1 / units.MILLI)


def ratio(text: str | None) -> float | None:
    """A share that is printed in percent."""
    value = number(text)
    return None if value is None else value * units.PERCENT


def count(text: str, style: Style) -> Printed | None:
    """Operations (a second), such as ``6552``, ``18.6k`` or, to 2.16, ``2519.1K``."""
    match = _COUNT.match(text.strip())
    if match is None:
        return None
    prefix = _OLD_PREFIX.get(match[2], match[2]) if style.is_old else match[2]
    factor = number(f"1{prefix}")
    return None if factor is None else _rounded(match[1], factor, bool(prefix), style)


def size(text: str, style: Style) -> Printed | None:
    """Bytes (a second), such as ``857MiB``, ``14.0MB/s``, ``872Mibit/s``, ``24380KB/s`` or a client's bare ``153M``."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    prefix = match[2].upper()
    if style.is_old:
        prefix = _OLD_PREFIX.get(prefix, prefix)
    is_binary = bool(match[3]) or (style.is_old and style.kb_base == units.KIBI)
    try:
        factor = units.byte_size(f"1{prefix}{'i' if is_binary and prefix else ''}B")
    except ValueError:  # exabytes
        return None
    return _rounded(match[1], factor / _BITS if match[4] == "bit" else factor, bool(prefix), style)


def _rounded(digits: str, factor: float, has_prefix: bool, style: Style) -> Printed:
    value = float(digits) * factor
    if not has_prefix:
        return Printed(value, value, value + 1)  # rates are cut to whole numbers
    whole, _, fraction = digits.partition(".")
    if not style.has_decimals:
        return Printed(value, (int(whole) - 0.5) * factor, (int(whole) + 1) * factor + 1)
    may_lack_carry = bool(fraction) and not int(fraction) and not style.has_carry
    half = factor * 10.0 ** -len(fraction) / 2
    # What was cut off in an earlier division adds up to a thousandth.
    high = value + (factor if may_lack_carry else half) + factor / 1000 + 1
    return Printed(value, value - half, high, may_lack_carry)


def block_sizes(text: str) -> list[int | None]:
    """The sizes of a header's ``bs``, for reads, writes and trims; None for a range and for what rounding hides."""
    sizes = [_exact_size(low) if low == high else None for low, high in _PAIR.findall(text)]
    if "seq" in text:  # sequential and random I/O instead of reads and writes
        return [sizes[0]] * 3 if sizes and len(set(sizes)) == 1 else []
    return sizes


def _exact_size(text: str) -> int | None:
    """The size behind ``64.0KiB`` or ``65.5kB``: the power of two that prints so, else a multiple of a sector."""
    match = _SIZE.match(text)
    if match is None:
        return None
    if not match[4] or not match[2]:  # 4K is exact, and so is 12345B
        return round(units.byte_size(text)) if match[2] != "E" else None
    printed = size(text, Style(is_old=False, has_decimals=True))
    if printed is None or printed.value < 1:
        return None
    power: int = 2 ** round(math.log2(printed.value))
    if printed.holds(power):
        return power
    return round(printed.value) if printed.value % units.SECTOR_BYTES == 0 else None
