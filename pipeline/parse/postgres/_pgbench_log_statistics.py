"""Private to ``pgbench_log``: exact statistics of latencies in µs that are never in memory together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline import units
from pipeline.parse.postgres._pgbench_log_kernel import COARSE_BITS, COARSE_US, FINE_US, N_BINS, Integers

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass
class Moments:
    """Count, sum, extremes and Σ (value - mean)² of integers."""

    n: int = 0
    total: int = 0
    minimum: int = 0
    maximum: int = 0
    spread: float = 0.0

    def add(self, other: Moments) -> None:
        """Add those of other values (Chan, Golub and LeVeque 1979)."""
        if not other.n:
            return
        if self.n:
            distance = other.total / other.n - self.total / self.n
            self.spread += other.spread + distance * distance * self.n * other.n / (self.n + other.n)
        else:
            self.minimum, self.spread = other.minimum, other.spread
        self.n, self.total = self.n + other.n, self.total + other.total
        self.minimum, self.maximum = min(self.minimum, other.minimum), max(self.maximum, other.maximum)

    def seconds(self, prefix: str = "") -> dict[str, float | None]:
        """Mean, standard deviation of the sample (n - 1), smallest and largest in s; nothing of no values."""
        if not self.n:
            return {}
        stddev = math.sqrt(self.spread / (self.n - 1)) * units.MICRO if self.n > 1 else None
        extremes = {"min_s": self.minimum * units.MICRO, "max_s": self.maximum * units.MICRO}
        values = {"mean_s": self.total / self.n * units.MICRO, "stddev_s": stddev, **extremes}
        return {f"{prefix}{name}": value for name, value in values.items()}


@dataclass
class Ranks:
    """Exact percentiles in bounded memory: counts of values, and where a count is of several values, of these again.

    ``bins`` counts single values up to a second and ranges of 1.024 ms up to 36 minutes; longer ones are kept as they
    are. A rank that falls into a range is looked up there by ``refine``, in a second reading.
    """

    bins: Integers = field(default_factory=lambda: np.zeros(N_BINS, np.int64))
    huge: list[Integers] = field(default_factory=list)
    ranges: dict[int, Integers] = field(default_factory=dict)  # by their first value, counts of their values

    def add_huge(self, values: Integers) -> None:
        """Keep the values that no bin takes."""
        above = values[values >= COARSE_US]
        if len(above):
            self.huge.append(above.copy())

    def find_ranges(self, n: int) -> None:
        """Say which ranges the percentiles of ``n`` values need."""
        sums = self._sums()
        for rank in _ranks(n):
            index = int(np.searchsorted(sums, rank))
            if FINE_US <= index < len(sums):
                first = FINE_US + ((index - FINE_US) << COARSE_BITS)
                self.ranges.setdefault(first, np.zeros(1 << COARSE_BITS, np.int64))

    def refine(self, values: Integers) -> None:
        """Count the values of the ranges that are needed."""
        for first, counts in self.ranges.items():
            inside = values[(values >= first) & (values < first + len(counts))]
            self.ranges[first] = counts + np.bincount(inside - first, minlength=len(counts))

    def _sums(self) -> Integers:
        """How many values are in a bin or below, up to the last bin that is not empty."""
        filled = FINE_US if not self.bins[FINE_US:].any() else N_BINS
        sums: Integers = np.cumsum(self.bins[:filled])
        return sums

    def percentiles(self, n: int) -> list[tuple[float, int]]:
        """Percentile and the smallest value that this share of ``n`` values does not exceed."""
        sums = self._sums()
        huge = np.sort(np.concatenate(self.huge)) if self.huge else np.zeros(0, np.int64)
        found = []
        for percentile, rank in zip(PERCENTILES, _ranks(n), strict=True):
            index = int(np.searchsorted(sums, rank))
            if index >= len(sums):
                value = int(huge[rank - int(sums[-1]) - 1])
            elif index >= FINE_US:
                value = FINE_US + ((index - FINE_US) << COARSE_BITS)
                value += int(np.searchsorted(np.cumsum(self.ranges[value]), rank - int(sums[index - 1])))
            else:
                value = index
            found.append((percentile, value))
        return found


def _ranks(n: int) -> Sequence[int]:
    """Ranks from 1, in integers: 99.9 % of 1000 is rank 999, not 1000."""
    return [-(-n * round(percentile * 100) // 10_000) for percentile in PERCENTILES]
