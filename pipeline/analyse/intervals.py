"""Intervals that all analyses share: of means (Student's t), quantiles (order statistics) and shares (exact).

``dispersion`` tells whether the samples behind a share were independent, as its interval assumes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, stdtrit

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
class Bounds:
    """Arrays of lower and upper ends; NaN where there is no interval."""

    low: Floats
    high: Floats


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
    if n < 1 or not 0 < quantile < 1:
        raise AnalysisError(f"expected n ≥ 1 and a quantile within 0 … 1, found {n}, {quantile}")
    from scipy.stats import binom  # slow to load, and nothing else here needs it

    tail = tail_of(confidence)
    low = int(binom.ppf(tail, n, quantile))  # smallest i with P(B ≤ i) ≥ tail
    low += binom.cdf(low, n, quantile) <= tail  # X(l) needs P(B ≤ l − 1) ≤ tail
    high = int(binom.ppf(1 - tail, n, quantile)) + 1
    return Ranks(low, high, float(binom.cdf(high - 1, n, quantile) - binom.cdf(low - 1, n, quantile)))


def n_needed(quantile: float, confidence: float = 0.95) -> int:
    """Fewest values whose smallest and largest enclose the quantile: 6 for a median at 95 %, 3,688 for p99.9."""
    tail = tail_of(confidence)
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


def clopper_pearson(k: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Bounds:
    """Exact interval of a share from ``k`` hits in ``n`` independent samples (Clopper and Pearson, 1934).

    The ends are the beta quantiles B(α/2; k, n − k + 1) and B(1 − α/2; k + 1, n − k) (Biometrika 26, 404–413): covers
    with at least ``confidence`` for every true share, hence is wider than need be. k = 0 has the lower end 0, k = n the
    upper end 1; n = 0 has no interval (NaN). k and n may be fractions (an effective number). AnalysisError: k < 0,
    k > n, nulls.
    """
    hits, total = hits_of(k, n)
    tail, misses = tail_of(confidence), total - hits
    low = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1.0), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1.0), 1 - tail), 1.0)
    return Bounds(np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan))


def hits_of(k: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Hits and samples as arrays of one shape; AnalysisError: k < 0, k > n, nulls."""
    hits, total = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    if not ((hits >= 0) & (hits <= total)).all():
        raise AnalysisError("expected hits from 0 to the number of samples, found others or nulls")
    return hits, total


def dispersion(counts: Floats, totals: Floats) -> Floats:
    """How much more the shares of runs or windows vary than independent samples would: χ² / (r − 1), no unit.

    ``counts`` (…, r) hits among ``totals`` (r,) samples give shape (…). χ² = Σ (kᵢ − nᵢ p)² / (nᵢ p (1 − p)) with the
    pooled p (Pearson's test of homogeneity). About 1: the samples were as good as independent; 4: an interval from
    sample counts would be half as wide as it should. NaN: r < 2, p = 0, p = 1, or a total of 0: leave such columns out.
    """
    r = counts.shape[-1]
    if r < 2:
        return np.full(counts.shape[:-1], np.nan)
    pooled = counts.sum(axis=-1, keepdims=True) / totals.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = (counts - totals * pooled) ** 2 / (totals * pooled * (1 - pooled))
    return np.asarray(terms.sum(axis=-1) / (r - 1))


def tail_of(confidence: float) -> float:
    """What an equal-tailed interval leaves out on each side; AnalysisError: a confidence outside 0 … 1."""
    if not 0 < confidence < 1:
        raise AnalysisError(f"expected a confidence within 0 … 1, found {confidence}")
    return (1 - confidence) / 2


def _numbers(values: ArrayLike) -> Floats:
    numbers = np.asarray(values, dtype=float).ravel()
    if not len(numbers):
        raise AnalysisError("expected values, found none")
    if not np.isfinite(numbers).all():
        raise AnalysisError(f"expected finite values, found {int((~np.isfinite(numbers)).sum())} that are not")
    return numbers
