"""Private to the distributions over time: cells of many windows added up piece by piece, without sorting them.

A histogram log repeats few bins in every window for every job: its counts are added into a table of windows × bins that
stays in the processor's cache. Sorting all rows needs several times their memory, whose first touch costs more than
all the arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.analyse.distributions._cells import Floats, Integers

Columns = tuple[Floats, Floats, Floats, Integers]  # number of the window, lower and upper edge, count; of one length
_FEW = 1 << 12  # rows, for which a table is not begun: sorting them takes no time
_CELLS_A_ROW = 4  # of the table, at most: it must not grow with gaps between windows, or with sparse bins
_LARGEST = 2.0**53  # numbers of windows up to that are whole


class CellTable:
    """The sums of one op and phase: a table, and beside it what has no place in one.

    A bin is told by its lower edge; a piece in which one lower edge has several upper ones, in which a bin has no
    width or cannot be, or for which the table would be too large goes to ``rest`` as it is.
    """

    def __init__(self) -> None:
        self.rest: list[Columns] = []
        # Bins by their lower edge, each with its column: these are in the order in which they came. The last bin is
        # behind all others, and stays empty.
        self._lowers, self._uppers, self._column = np.array([np.inf]), np.array([np.inf]), np.zeros(1, np.int64)
        self._low, self._high = np.inf, -np.inf  # numbers of the windows that were met
        self._first = 1.0  # number of the table's first row
        self._counts = np.zeros((0, 1), np.int64)  # window × bin, with room for more of both
        self._n_rows = 0  # that were to be added

    def add(self, columns: Columns) -> None:
        """Add the counts of a piece's cells; the arrays are kept where they go to ``rest``."""
        self._n_rows += len(columns[0])
        if not self._takes(*columns):
            self.rest.append(columns)

    def columns(self) -> Columns:
        """The cells of the table that are not empty, by window, then by lower edge."""
        counts = self._counts[:, self._column].ravel()
        place = np.flatnonzero(counts)
        window, code = np.divmod(place, len(self._lowers))
        return window + self._first, self._lowers[code], self._uppers[code], counts[place]

    def _takes(self, number: Floats, lower: Floats, upper: Floats, count: Integers) -> bool:
        """Add a piece to the table; False, and nothing added, where it has no place there."""
        is_few = len(number) < _FEW and not len(self._counts)
        if is_few or not len(number) or not _are_bins(lower, upper, count):
            return False
        ends = float(number.min()), float(number.max())
        old = self._lowers
        code = old.searchsorted(lower)
        is_new = old[code] != lower
        new, at = np.unique(lower[is_new], return_index=True)
        if not self._admits(*ends, len(new)):
            return False
        if len(new):
            self._add_bins(new + 0.0, upper[is_new][at])  # -0.0 becomes 0.0
            code = self._lowers.searchsorted(old)[code]
            code[is_new] = self._lowers.searchsorted(lower[is_new])
        self._make_room()
        if (self._uppers[code] != upper).any():
            return False
        place = (number - self._first).astype(np.int64) * self._counts.shape[1]
        place += self._column[code]
        np.add.at(self._counts.reshape(-1), place, count)
        return True

    def _admits(self, low: float, high: float, n_new: int) -> bool:
        """Whether the table may have windows from one number to another and so many new bins."""
        low, high = min(low, self._low), max(high, self._high)
        n_cells = (high - low + 1) * (len(self._lowers) + n_new)
        if not (high < _LARGEST and n_cells <= _CELLS_A_ROW * self._n_rows):
            return False
        self._low, self._high = low, high
        return True

    def _add_bins(self, lowers: Floats, uppers: Floats) -> None:
        n_old = len(self._lowers)
        merged = np.concatenate([self._lowers, lowers])
        order = np.argsort(merged)
        self._lowers, self._uppers = merged[order], np.concatenate([self._uppers, uppers])[order]
        self._column = np.concatenate([self._column, np.arange(n_old, len(merged))])[order]

    def _make_room(self) -> None:
        """Let the table grow where it must, and then by half: copies of a growing one stay few."""
        n_rows, n_columns = self._counts.shape
        n_bins = len(self._lowers)
        first = self._first if n_rows else self._low
        end = first + n_rows
        if self._low >= first and self._high < end and n_bins <= n_columns:
            return
        low = first if self._low >= first else max(self._low - n_rows // 2, 1.0)
        high = end if self._high < end else self._high + 1 + n_rows // 2
        counts = np.zeros((int(high - low), n_columns if n_bins <= n_columns else n_bins + n_bins // 2), np.int64)
        skipped = int(first - low)
        counts[skipped : skipped + n_rows, :n_columns] = self._counts
        self._first, self._counts = low, counts


def _are_bins(lower: Floats, upper: Floats, count: Integers) -> bool:
    """Whether all have a width, and can be: comparisons with NaN are false."""
    is_right: NDArray[np.bool_] = (lower >= 0) & (upper > lower) & (count >= 0)
    return bool(is_right.all())
