"""Private to ``prometheus``: the loop over samples ``[1700000000.1,"123.4"]``, in the part of Python numba compiles."""

# numba compiles one function best.
# ruff: noqa: PLR0912, PLR0915

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.parse._compiled import Bytes

FINITE, NAN, PLUS_INF, MINUS_INF, SLOW = range(5)  # kinds of values
_EXACT = 1 << 53  # whole numbers below it are doubles
_POWERS = np.array([10.0**i for i in range(23)])  # exact, so that one operation rounds right (Clinger 1990)


def parse_samples(
    text: Bytes, times_us: NDArray[np.int64], values: NDArray[np.float64], kinds: NDArray[np.int8],
    places: NDArray[np.int64],
) -> int:  # fmt: skip
    """Read samples that commas part, without spaces; returns their number, or minus one where the text is another.

    Times are in µs since 1970. A value that this loop cannot round right is left to Python: its kind is SLOW and
    ``places`` (sample × begin, end) tells where it stands.
    """
    n = i = 0
    end = len(text)
    while i < end:
        if text[i] != 91:
            return -1
        i += 1
        first = i
        whole = fraction = 0
        decimals = -1
        while i < end:
            byte = int(text[i])
            if byte == 46 and decimals < 0:
                decimals = 0
            elif byte < 48 or byte > 57:
                break
            elif decimals < 0:
                whole = whole * 10 + byte - 48
            else:
                decimals += 1
                if decimals <= 6:
                    fraction = fraction * 10 + byte - 48
            i += 1
        if i - first > 17 or i == first or decimals == 0 or decimals > 6 or whole > 99999999999:
            return -1
        for _ in range(6 - max(decimals, 0)):
            fraction *= 10
        times_us[n] = whole * 1000000 + fraction
        if i + 2 >= end or text[i] != 44 or text[i + 1] != 34:
            return -1
        i += 2
        first = i
        sign = 1.0
        if text[i] == 45 or text[i] == 43:
            sign = -1.0 if text[i] == 45 else 1.0
            i += 1
        kind = 0
        mantissa = exponent = 0
        n_digits = 0
        is_fraction = False
        start = i
        while i < end and text[i] != 34:
            byte = int(text[i])
            if byte >= 48 and byte <= 57:
                if mantissa < 900000000000000000:
                    mantissa = mantissa * 10 + byte - 48
                    exponent -= 1 if is_fraction else 0
                else:
                    kind = 4
                n_digits += 1
            elif byte == 46 and not is_fraction:
                is_fraction = True
            else:
                kind = 4
            i += 1
        if i >= end or i == start:
            return -1
        if kind == 4 and i - start == 3 and text[start] == 78 and text[start + 1] == 97 and text[start + 2] == 78:
            kind = 1
        elif kind == 4 and i - start == 3 and text[start] == 73 and text[start + 1] == 110 and text[start + 2] == 102:
            kind = 2 if sign > 0 else 3
        elif kind == 4 or n_digits == 0 or mantissa > _EXACT or exponent < -22:
            kind = 4
            places[n, 0], places[n, 1] = first, i
        else:
            values[n] = sign * (mantissa / _POWERS[-exponent])
        kinds[n] = kind
        n += 1
        i += 1
        if i >= end or text[i] != 93:
            return -1
        i += 1
        if i < end:
            if text[i] != 44:
                return -1
            i += 1
            if i >= end:
                return -1
    return n
