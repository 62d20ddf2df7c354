"""Estimates with their intervals, which all analyses share: a mean by Student's t, a quantile by order statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from scipy.stats import binom

from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value in the unit of the data, its interval, and what the interval is worth.

    ``low`` and ``high`` are None where n does not allow one at ``confidence``; ``coverage`` is then None too. Of order
    statistics it is the exact probability that the interval holds the quantile, at least ``confidence``; of Student's
    t it is ``confidence``. ``n`` counts what is independent: runs, not operations.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float
    coverage: float | None
    method: str

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Ranks:
    """Ranks from 1 of the order statistics that enclose a quantile; 0 and n + 1 stand for the open ends."""

    low: int
    high: int
    coverage: float


def quantile_ranks(n: int, quantile: float, confidence: float = 0.95) -> Ranks:
    """Equal-tailed ranks l < u with P(X(l) ≤ ξ < X(u)) ≥ ``confidence`` for any continuous distribution.

    The number of values below the quantile ξ is binomial(n, ``quantile``), so that the coverage is
    Σ C(n, i) qⁱ (1 − q)ⁿ⁻ⁱ over i = l … u − 1 (Conover, Practical Nonparametric Statistics, 3.2; Hahn and Meeker,
    Statistical Intervals, 5.2). Each tail holds at most (1 − confidence) / 2. A rank of 0 or n + 1 means that n
    values do not bound the quantile on that side. AnalysisError: n < 1, quantile or confidence outside 0 … 1.
    """
    if n < 1 or not 0 < quantile < 1 or not 0 < confidence < 1:
        raise AnalysisError(f"expected n ≥ 1 and shares within 0 … 1, found {n}, {quantile}, {confidence}")
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, n, quantile))  # smallest i with P(B ≤ i) ≥ tail
    low += binom.cdf(low, n, quantile) <= tail  # X(l) needs P(B ≤ l − 1) ≤ tail
    high = int(binom.ppf(1 - tail, n, quantile)) + 1
    return Ranks(low, high, float(binom.cdf(high - 1, n, quantile) - binom.cdf(low - 1, n, quantile)))


def n_needed(quantile: float, confidence: float = 0.95) -> int:
    """Fewest values whose smallest and largest enclose the quantile: 6 for a median at 95 %, 3,688 for p99.9."""
    tail = (1 - confidence) / 2
    return max(math.ceil(math.log(tail) / math.log(1 - quantile)), math.ceil(math.log(tail) / math.log(quantile)))


def median_estimate(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Median of independent values with its interval by order statistics; below ``n_needed`` without one.

    Nulls are not allowed: leave them out and say so. AnalysisError without values.
    """
    ordered = np.sort(_numbers(values))
    ranks = quantile_ranks(len(ordered), 0.5, confidence)
    ends: tuple[float | None, float | None, float | None] = (None, None, None)
    if ranks.low >= 1 and ranks.high <= len(ordered):
        ends = (float(ordered[ranks.low - 1]), float(ordered[ranks.high - 1]), ranks.coverage)
    return Estimate(float(np.median(ordered)), ends[0], ends[1], len(ordered), confidence, ends[2], "order statistics")


def mean_estimate(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Mean of independent values with Student's t interval, mean ± t(n − 1) · s / √n; of one value without one.

    Assumes that the values, or means of so many of them, are normal. AnalysisError without values or with nulls.
    """
    numbers = _numbers(values)
    n = len(numbers)
    offsets = numbers - numbers[0]  # equal values then have a spread of exactly 0
    mean = float(numbers[0] + offsets.mean())
    if n == 1:
        return Estimate(mean, None, None, n, confidence, None, "Student's t")
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(offsets.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, confidence, confidence, "Student's t")


def _numbers(values: ArrayLike) -> Floats:
    numbers = np.asarray(values, dtype=float).ravel()
    if not len(numbers):
        raise AnalysisError("expected values, found none")
    if not np.isfinite(numbers).all():
        raise AnalysisError(f"expected finite values, found {int((~np.isfinite(numbers)).sum())} that are not")
    return numbers
