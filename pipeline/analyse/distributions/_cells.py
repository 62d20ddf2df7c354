"""Private to the histograms: counts of operations whose latency lies in a cell, added and ranked, many groups at once.

A cell is [lower, upper), or the value itself where both are equal; upper is infinity in an overflow bin. Cells may
overlap: each says of its own operations where their latencies lie, so that cells of any layouts can be put together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells by group, then lower, then upper edge, none twice and none empty; ``group`` counts from 0."""

    group: Integers
    lower: Floats
    upper: Floats
    count: Integers

    @property
    def starts(self) -> Integers:
        """The place of each group's first cell."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    def totals(self) -> Integers:
        """Operations of each group."""
        return np.add.reduceat(self.count, self.starts) if len(self.count) else np.zeros(0, np.int64)

    def order_statistics(self, ranks: Integers) -> tuple[Floats, Floats]:
        """Bounds of the operation of each rank (from 1), ``ranks`` being groups × ranks.

        With n latencies xᵢ in [aᵢ, bᵢ), the k-th smallest x lies from the k-th smallest a to below the k-th smallest
        b, and nothing better can be said. Of disjoint bins that is the bin in which the count reaches k.
        """
        starts = self.starts
        by_upper = np.lexsort((self.upper, self.group))
        found = []
        for order, edges in ((slice(None), self.lower), (by_upper, self.upper)):
            reached = np.cumsum(self.count[order])
            before = (reached - self.count[order])[starts]
            # The counts of all groups run on, so that one search finds all.
            found.append(edges[order][np.searchsorted(reached, before[:, None] + ranks)])
        return found[0], found[1]


def cells(group: ArrayLike, lower: ArrayLike, upper: ArrayLike, count: ArrayLike) -> Cells:
    """Put cells in order and add the counts of equal ones; AnalysisError where a cell cannot be."""
    groups, counts = np.asarray(group, np.int64), np.asarray(count, np.int64)
    lowers, uppers = np.asarray(lower, np.float64) + 0.0, np.asarray(upper, np.float64) + 0.0  # -0.0 becomes 0.0
    _check(lowers, uppers, counts)
    order = np.lexsort((uppers, lowers, groups))
    order = order[counts[order] > 0]
    groups, lowers, uppers, counts = groups[order], lowers[order], uppers[order], counts[order]
    if not len(order):
        return Cells(groups, lowers, uppers, counts)
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(groups) != 0) | (lowers[1:] != lowers[:-1]) | (uppers[1:] != uppers[:-1])
    first = np.flatnonzero(is_new)
    return Cells(groups[first], lowers[first], uppers[first], np.add.reduceat(counts, first))


def _check(lower: Floats, upper: Floats, count: Integers) -> None:
    # A comparison with NaN is false, so that nulls are found, too.
    is_wrong = ~((lower >= 0) & np.isfinite(lower) & (upper >= lower) & (count >= 0))
    if is_wrong.any():
        place = int(np.argmax(is_wrong))
        raise AnalysisError(
            "a bin must have 0 ≤ lower ≤ upper and a count ≥ 0, "
            f"found {lower[place]:g} … {upper[place]:g} with {count[place]} ({int(is_wrong.sum())} such bins)"
        )


def ranks_of(n_ops: Integers, percentiles: ArrayLike) -> Integers:
    """The smallest rank k ≥ 1 with k ≥ p/100 · n, groups × percentiles, without rounding: 99.9 % of 1000 is 999."""
    wanted = [float(p) for p in np.asarray(percentiles, np.float64).ravel()]
    if any(not 0 <= p <= 100 for p in wanted):
        raise AnalysisError(f"percentiles: expected 0 to 100, found {wanted}")
    exact = n_ops.astype(object)[:, None]  # whole numbers of any size
    shares = [Fraction(repr(p)) / 100 for p in wanted]
    ranks = [-(-exact * share.numerator // share.denominator) for share in shares]
    columns = [np.maximum(column.astype(np.int64), 1) for column in ranks]
    return np.hstack(columns) if columns else np.zeros((len(n_ops), 0), np.int64)


def crossing(cut: Floats, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    """Whether some cell begins below a cut and ends above it, so that its count cannot be divided there."""
    is_wide = upper > lower
    lowers, uppers = np.sort(lower[is_wide]), np.sort(upper[is_wide])
    begun = np.searchsorted(lowers, cut, "left")
    ended = np.searchsorted(uppers, cut, "right")
    return np.asarray(begun > ended)
