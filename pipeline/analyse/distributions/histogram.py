"""Latencies of operations as exact counts: added over jobs, hosts and time, read as bounds, never interpolated.

A histogram is a number of operations for each of its bins. Of an operation in the bin [lower, upper) nothing else is
known, so that every figure read from it is a pair of bounds; of per-I/O logs the bounds are equal. Percentiles of parts
cannot be combined, their counts can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pipeline.analyse.distributions._cells import Cells, Floats, Integers, cells, ranks_of
from pipeline.analyse.distributions._latency_rows import refuse_windows
from pipeline.analyse.distributions.bounds import INDEPENDENCE, Bounds, Percentile, Share
from pipeline.analyse.intervals import clopper_pearson, quantile_ranks
from pipeline.errors import AnalysisError

_WHOLE = 1e-6  # a rank so near to a whole number may have been rounded either way
LADDER = (0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts a cell [lower_s, upper_s); upper_s = lower_s: the value itself; infinite: overflow. It never changes.

    Sources put their rows in by ``of_bins``, ``of_values``, ``of_series`` and ``of_percentiles``. Histograms are added
    with ``+``, whatever their layouts: cells that are equal are one, others stand side by side, which keeps all that
    is known and nothing more. Adding is exact, associative and commutative; an empty histogram changes nothing.
    """

    lower_s: Floats
    upper_s: Floats
    count: Integers

    def __post_init__(self) -> None:
        arrays = [np.asarray(a).ravel() for a in (self.lower_s, self.upper_s, self.count)]
        if len({len(array) for array in arrays}) != 1:
            raise AnalysisError(f"expected as many edges as counts, found {[len(array) for array in arrays]}")
        found = cells(np.zeros(len(arrays[0]), np.int64), *arrays)
        for name, array in (("lower_s", found.lower), ("upper_s", found.upper), ("count", found.count)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @staticmethod
    def of_bins(bins: pd.DataFrame) -> Histogram:
        """From rows of ``latency_bins``; all are added, so that the rows must be of different operations.

        AnalysisError: a null lower edge or count, edges in the wrong order, a negative count.
        """
        if bins["count"].isna().any():
            raise AnalysisError(f"bins without a count: {int(bins['count'].isna().sum())} of {len(bins)}")
        upper = bins["upper_s"].to_numpy(np.float64, na_value=np.nan)
        lower = bins["lower_s"].to_numpy(np.float64, na_value=np.nan)
        return Histogram(lower, np.where(np.isnan(upper), np.inf, upper), bins["count"].to_numpy(np.int64))

    @staticmethod
    def of_values(values_s: ArrayLike) -> Histogram:
        """From the operations' own latencies in seconds; AnalysisError with a null, an infinity, or one below 0."""
        values, count = np.unique(np.asarray(values_s, np.float64).ravel(), return_counts=True)
        return Histogram(values, values, count)

    @staticmethod
    def of_series(series: pd.DataFrame) -> Histogram:
        """From rows of ``latency_series`` of single operations. AnalysisError: a row that is a window's mean."""
        refuse_windows(series)
        return Histogram.of_values(series["latency_s"].to_numpy(np.float64, na_value=np.nan))

    @staticmethod
    def of_percentiles(
        percentiles: Sequence[float], latencies_s: Sequence[float], n_ops: int, resolution_s: float
    ) -> Histogram:
        """Bounds from a table of percentiles that a tool took from exact values, rounded to ``resolution_s``.

        Where p₁ and p₂ are neighbours with the latencies v₁ ≤ v₂, the operations of ranks ⌈p₁n⌉ + 1 … ⌈p₂n⌉ lie in
        [v₁, v₂], the last of them at v₂ unless p₂n is whole, where rounding in the tool may have meant the next one.
        Half the resolution is added at both ends. The table must begin with 0 and end with 100, and the tool's rule
        must be the one of ``percentile``. AnalysisError otherwise.
        """
        order = np.argsort(np.asarray(percentiles, np.float64), kind="stable")
        shares = np.asarray(percentiles, np.float64)[order]
        values = np.asarray(latencies_s, np.float64)[order]
        if n_ops < 1 or len(shares) < 2 or shares[0] != 0 or shares[-1] != 100 or not (np.diff(values) >= 0).all():
            raise AnalysisError("expected n_ops ≥ 1 and rising latencies of percentiles from 0 to 100, both included")
        ranks = ranks_of(np.array([n_ops], np.int64), shares)[0]
        half = resolution_s / 2
        lower, upper = np.maximum(values - half, 0.0), np.nextafter(values + half, np.inf)
        exact = shares / 100 * n_ops
        is_known = (np.abs(exact - np.rint(exact)) > _WHOLE) | (shares == 0) | (shares == 100)
        new = np.diff(ranks, prepend=0)
        at = ((new > 0) & is_known).astype(np.int64)  # operations of which the value itself is printed
        before = np.concatenate([lower[:1], lower[:-1]])
        joined = [np.concatenate(pair) for pair in ((before, lower), (upper, upper), (new - at, at))]
        return Histogram(joined[0], joined[1], joined[2])

    def __add__(self, other: Histogram) -> Histogram:
        return sum_of((self, other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        pairs = ((self.lower_s, other.lower_s), (self.upper_s, other.upper_s), (self.count, other.count))
        return all(np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.lower_s.tobytes(), self.upper_s.tobytes(), self.count.tobytes()))

    @property
    def n_ops(self) -> int:
        """Number of operations."""
        return int(self.count.sum())

    @property
    def is_exact(self) -> bool:
        """Whether each operation's own latency is known."""
        return bool((self.lower_s == self.upper_s).all())

    def mean(self) -> Bounds:
        """Bounds of the mean, Σ count · lower / n to Σ count · upper / n; open above with an overflow bin."""
        n = self._needs_operations()
        return Bounds(float(self.lower_s @ self.count) / n, float(self.upper_s @ self.count) / n)

    def minimum(self) -> Bounds:
        """Bounds of the smallest latency."""
        return self.percentile(0)

    def maximum(self) -> Bounds:
        """Bounds of the largest latency."""
        return self.percentile(100)

    def percentile(self, percentile: float) -> Bounds:
        """Bounds of the smallest latency that at least ``percentile`` per cent of the operations do not exceed.

        That is the operation of rank max(⌈p/100 · n⌉, 1) (the inverse of the empirical distribution, type 1 of Hyndman
        and Fan 1996); p is taken as the decimal number that is written. AnalysisError: no operation, p outside 0 … 100.
        """
        lower, upper = self.percentile_bounds([percentile])
        return Bounds(float(lower[0]), float(upper[0]))

    def percentile_bounds(self, percentiles: Sequence[float]) -> tuple[Floats, Floats]:
        """Lower and upper bounds of many percentiles at once, by the rule of ``percentile``."""
        ranks = ranks_of(np.array([self._needs_operations()], np.int64), percentiles)
        lower, upper = self._cells.order_statistics(ranks)
        return lower[0], upper[0]

    def percentile_estimate(self, percentile: float, confidence: float = 0.95) -> Percentile:
        """The percentile with an interval by order statistics: from X(l) to X(u) of ``intervals.quantile_ranks``.

        It holds the process's percentile with at least ``confidence`` for any distribution, if the operations are
        independent and of one distribution; with bins it reaches to the outer edges, and its coverage can only grow.
        Operations of a run are rarely independent: autocorrelation makes the interval too narrow, and repeats
        (``between_runs``) are the remedy. p0 and p100 have none. n = 1: bounds without an interval.
        """
        bounds, n = self.percentile(percentile), self.n_ops
        low = high = coverage = None
        if 0 < percentile < 100:
            ranks = quantile_ranks(n, percentile / 100, confidence)
            low = self._ranked(ranks.low).lower_s if ranks.low >= 1 else None
            high = self._ranked(ranks.high).upper_s if ranks.high <= n else None
            coverage = ranks.coverage if low is not None and high is not None else None
        return Percentile(percentile, bounds, low, high, n, confidence, coverage)

    def share_above(self, threshold_s: float, confidence: float = 0.95) -> Share:
        """Share of the operations that took ``threshold_s`` or longer, with a Clopper–Pearson interval.

        Operations of a bin that holds the threshold may be on either side: they make the difference of the bounds, and
        the interval goes from the lower bound's lower end to the upper bound's upper end. Independence as above.
        """
        n = self._needs_operations()
        is_above = self.lower_s >= threshold_s
        surely = int(self.count[is_above].sum())
        at_most = int(self.count[is_above | (self.upper_s > threshold_s)].sum())
        ends = clopper_pearson([surely, at_most], [n, n], confidence)
        return Share(threshold_s, surely / n, at_most / n, float(ends.low[0]), float(ends.high[1]), n, confidence)

    def cdf(self) -> pd.DataFrame:
        """The distribution function's bounds at every edge: latency_s, n and share that do not exceed it.

        Both are steps that hold up to the next row: the lower one counts the cells that end there or before, the upper
        one those that begin there or before. Infinite edges are left out, so that overflow keeps the lower one below 1.
        """
        edges = np.unique(np.concatenate([self.lower_s, self.upper_s[np.isfinite(self.upper_s)]]))
        by_upper = np.argsort(self.upper_s, kind="stable")
        found = {"latency_s": edges}
        for name, ends, counts in (("low", self.upper_s[by_upper], self.count[by_upper]),
                                   ("high", self.lower_s, self.count)):  # fmt: skip
            reached = np.concatenate([[0], np.cumsum(counts)])
            found[f"n_at_most_{name}"] = reached[np.searchsorted(ends, edges, "right")]
        frame = pd.DataFrame(found)
        n = max(self.n_ops, 1)
        return frame.assign(
            share_at_most_low=frame["n_at_most_low"] / n, share_at_most_high=frame["n_at_most_high"] / n
        )

    def ladder(self, percentiles: Sequence[float] = LADDER, confidence: float = 0.95) -> pd.DataFrame:
        """A row a percentile: lower_s, upper_s (null: open), interval_low_s, interval_high_s (null: none), n_ops."""
        rows = []
        for wanted in percentiles:
            found = self.percentile_estimate(wanted, confidence)
            rows.append((wanted, found.bounds.lower_s, found.bounds.upper_s, found.low_s, found.high_s, found.n_ops))
        names = ["percentile", "lower_s", "upper_s", "interval_low_s", "interval_high_s", "n_ops"]
        frame = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(names[:-1], "float64"))
        return frame.replace([np.inf], np.nan)

    def to_frame(self) -> pd.DataFrame:
        """lower_s, upper_s (null: open above), count: as the columns of ``latency_bins``."""
        upper = np.where(np.isfinite(self.upper_s), self.upper_s, np.nan)
        return pd.DataFrame({"lower_s": self.lower_s, "upper_s": upper, "count": self.count})

    def numbers(self, percentiles: Sequence[float] = LADDER, confidence: float = 0.95) -> dict[str, Any]:
        """Number, mean, extremes and the ladder."""
        return {
            "n_ops": self.n_ops, "mean": self.mean(), "minimum": self.minimum(), "maximum": self.maximum(),
            "percentiles": self.ladder(percentiles, confidence), "confidence": confidence, "assumption": INDEPENDENCE,
        }  # fmt: skip

    @property
    def _cells(self) -> Cells:
        return Cells(np.zeros(len(self.count), np.int64), self.lower_s, self.upper_s, self.count)

    def _ranked(self, rank: int) -> Bounds:
        lower, upper = self._cells.order_statistics(np.array([[rank]], np.int64))
        return Bounds(float(lower[0, 0]), float(upper[0, 0]))

    def _needs_operations(self) -> int:
        if not len(self.count):
            raise AnalysisError("a histogram without operations has no latency")
        return self.n_ops


def sum_of(parts: Iterable[Histogram]) -> Histogram:
    """Put histograms together; of none, an empty one."""
    histograms = list(parts)
    if not histograms:
        return Histogram(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    joined = [np.concatenate([getattr(h, name) for h in histograms]) for name in ("lower_s", "upper_s", "count")]
    return Histogram(joined[0], joined[1], joined[2].astype(np.int64))
