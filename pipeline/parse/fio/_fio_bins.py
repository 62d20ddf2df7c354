"""Private to fio's logs: the bins of fio's latency histograms (``plat_val_to_idx`` and ``plat_idx_to_val`` in stat.c).

Values below 128 have a bin each, above that each power of two has 64; the last bin takes all that is above, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
N_BINS = {1000: 29 * 64, 1: 19 * 64}  # by units of latency a µs: ns from 3.0 (2.99), µs before
MAX_COARSENESS = 6


def lower_edges(n_bins: int, coarseness: int = 0) -> Integers:
    """Lower edges of all bins in the unit of the values, and behind them the edge where the last one would end."""
    index = np.arange(0, n_bins + 1, 1 << coarseness, dtype=np.int64)
    error_bits = np.maximum((index >> 6) - 1, 0)
    return np.where(index < 128, index, ((index & 63) + 64) << error_bits)


def layout_of(n_cells: int) -> tuple[int, int] | None:
    """(units a µs, coarseness) of a histogram log with so many counts a line; None: fio writes no such line."""
    for per_us, n_bins in N_BINS.items():
        for coarseness in range(MAX_COARSENESS + 1):
            if n_cells == n_bins >> coarseness:
                return per_us, coarseness
    return None


def middles(index: Integers) -> Integers:
    """What fio takes for the values of the bins: their middles, cut to whole numbers."""
    error_bits = np.maximum((index >> 6) - 1, 0)
    lower = np.where(index < 128, index, ((index & 63) + 64) << error_bits)
    return lower + np.where(index < 128, 0, (1 << error_bits) >> 1)
