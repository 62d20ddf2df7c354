"""The only home of 1e-6 and 1024: units as tools print them to SI, and SI to what a person reads."""

from __future__ import annotations

import math
import re

SECONDS = {
    "ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "µs": 1e-6, "μs": 1e-6,
    "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
NANO, MICRO, MILLI, PERCENT = 1e-9, 1e-6, 1e-3, 1e-2
MEGA = 1e6
KIBI, MEBI = 1024, 1024**2
SECTOR_BYTES = 512
BITS_A_BYTE = 8

_DECIMAL = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµμ/]*)\s*$")


def seconds(value: float, unit: str) -> float:
    """Return ``value`` (in ``unit``: ns … d, as tools write them) in seconds; KeyError on an unknown unit."""
    return value * SECONDS[unit]


def plain_number(text: str) -> float:
    """Read ``28.3k`` or ``1.2M`` (decimal prefixes, as fio prints rates and counts); ValueError otherwise."""
    match = _QUANTITY.match(text)
    if match is None or match[2] not in _DECIMAL:
        raise ValueError(f"expected a number with an optional k, M, G, T or P, found {text!r}")
    return float(match[1]) * _DECIMAL[match[2]]


def byte_size(text: str, *, bare_k_is_binary: bool = True) -> float:
    """Read a size or a rate such as ``14.3MiB/s``, ``857MB``, ``4k``, ``32GiB`` in bytes (a second).

    ``KiB`` is 1024 B and ``kB`` or ``MB`` is a power of ten. A bare ``4k``, ``32G`` or ``2g`` is binary, as fio and
    DISKSPD mean it, unless ``bare_k_is_binary`` is false. ValueError on anything else.
    """
    match = _QUANTITY.match(text)
    unit = match[2].removesuffix("/s") if match else ""
    prefix = unit.removesuffix("iB").removesuffix("B").removesuffix("i")
    if match is None or prefix.upper() not in _BINARY or (unit and unit[-1] not in "BiKkMmGgTtPp"):
        raise ValueError(f"expected a size such as 4k, 14.3MiB or 857MB, found {text!r}")
    is_binary = "i" in unit or (bare_k_is_binary and not unit.endswith("B"))
    return float(match[1]) * (_BINARY[prefix.upper()] if is_binary else _DECIMAL[prefix.upper()])


def share(text: str) -> float:
    """Read ``5%`` or ``0.05``; ValueError on anything else, also on a bare ``5``, which may mean either."""
    value = float(text.strip().removesuffix("%")) * (PERCENT if text.strip().endswith("%") else 1)
    if not 0 <= value < 1:
        raise ValueError(f"expected a share such as 5% or 0.05, found {text!r}")
    return value


def format_si(value: float, unit: str = "", digits: int = 3) -> str:
    """Scale for display: ``format_si(385e-6, "s")`` is ``385 µs``, ``format_si(708000)`` is ``708 k``."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return f"0 {unit}".rstrip()
    prefixes = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}
    rounded = float(f"{value:.{digits - 1}e}")  # first, so that 999.96 becomes 1.00 k and not 1000
    exponent = min(max(math.floor(math.log10(abs(rounded)) / 3) * 3, -9), 12)
    scaled = rounded / 10.0**exponent
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(scaled)) + 1e-9))
    return f"{scaled:.{decimals}f} {prefixes[exponent]}{unit}".rstrip()


def microseconds(value_s: float) -> float:
    """Seconds to µs, for display."""
    return value_s / MICRO
