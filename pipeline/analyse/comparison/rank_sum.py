"""Mann and Whitney's test with its exact distribution, the shift that belongs to it, and Holm's correction.

Mann and Whitney (1947), "On a test of whether one of two random variables is stochastically larger than the other",
Annals of Mathematical Statistics 18, 50-60; Hodges and Lehmann (1963), "Estimates of location based on rank tests",
ibid. 34, 598-611; Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6, 65-70. One table of the null distribution serves the test, the interval and the smallest p possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from pipeline.analyse.intervals import Estimate, tail_of
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]

EXACT_UP_TO = 100  # values of both sides together; beyond, the normal approximation is closer than 0.001


@dataclass(frozen=True)
class RankSum:
    """Result of the test: U of the second sample, the two-sided p, the smallest p of such sizes, and the method."""

    u: float
    p: float
    p_least: float
    method: str


def rank_sum(a: ArrayLike, b: ArrayLike) -> RankSum:
    """Mann-Whitney test, two-sided, of whether values of ``b`` tend to be larger, or smaller, than those of ``a``.

    U is the number of pairs with b > a, equal pairs counted half. Under the hypothesis that both samples come from one
    distribution, each split of the pooled values into two samples of these sizes is equally likely; p is twice the
    smaller tail of U over all splits, at most 1 (as benchstat and scipy have it; StatXact adds what is as far on the
    other side, which with ties can be less): exact with and without ties, up to EXACT_UP_TO values together.
    Beyond, the normal approximation with the variance corrected for ties and a continuity correction of 1/2.
    ``p_least`` is 2 / C(n_a + n_b, n_a), of samples without ties that do not overlap. Assumes independent values.
    Degenerate: one value a side gives p = 1, equal values p = 1. AnalysisError where a side is empty or not finite.
    """
    first, second = _finite(a), _finite(b)
    n_a, n_b = len(first), len(second)
    ranks = rankdata(np.concatenate([first, second]))
    w = float(ranks[n_a:].sum())
    u = w - n_b * (n_b + 1) / 2
    p_least = least_p(n_a, n_b)
    if n_a + n_b > EXACT_UP_TO:
        return RankSum(u, _normal_p(u, ranks, n_a, n_b), p_least, "normal approximation")
    doubled = np.rint(2 * ranks).astype(np.int64)
    at_most, at_least = _tails(n_b, tuple(np.sort(doubled).tolist()))
    tail = min(at_most[round(2 * w)], at_least[round(2 * w)])
    has_ties = len(np.unique(ranks)) < len(ranks)
    return RankSum(u, min(1.0, 2 * float(tail)), p_least, "exact, with ties" if has_ties else "exact")


def least_p(n_a: int, n_b: int) -> float:
    """The smallest two-sided p that samples of these sizes can give: 2 / C(n_a + n_b, n_a), at most 1."""
    return min(1.0, 2 / math.comb(n_a + n_b, n_a))


def repeats_needed(n_tests: int, alpha: float) -> int:
    """Fewest repeats a side with which one of ``n_tests`` comparisons can be significant after Holm: n_tests · p ≤ α.

    4 for one comparison at 5 %, as benchstat has it; 5 for up to 6 comparisons.
    """
    if n_tests < 1 or not 0 < alpha < 1:
        raise AnalysisError(f"expected at least one test and alpha within 0 … 1, found {n_tests}, {alpha}")
    n = 1
    while n_tests * least_p(n, n) > alpha:
        n += 1
    return n


def shift_estimate(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Hodges-Lehmann shift from ``a`` to ``b`` in the unit of the data, with the interval that inverts the test.

    The median of all n_a · n_b differences b − a. Of the sorted differences D, the interval goes from D(k) to
    D(n_a · n_b + 1 − k) with the largest k for which P(U ≤ k − 1) ≤ (1 − confidence) / 2; without ties it leaves out 0
    just when the uncorrected test rejects. ``coverage`` is 1 − 2 P(U ≤ k − 1), exact for continuous values, at least
    so with ties (Noether 1967, Journal of the American Statistical Association 62, 184-188). Assumes that the two
    distributions have the same shape and differ by a shift. Without interval where the sizes allow none (fewer than 4
    and 4 at 95 %). ``n`` is the size of the smaller sample. AnalysisError where a side is empty or not finite, or a
    confidence outside 0 … 1.
    """
    first, second = _finite(a), _finite(b)
    differences = np.sort((second[:, None] - first[None, :]).ravel())
    return _pairs_estimate(differences, float(np.median(differences)), len(first), len(second), confidence)


def ratio_estimate(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Hodges-Lehmann ratio b / a: ``shift_estimate`` on logarithms, from the sorted ratios themselves.

    The median of all n_a · n_b ratios (of an even number, the geometric mean of the two in the middle); each end of the
    interval is the ratio of two runs. AnalysisError where a value is not above 0, or a confidence outside 0 … 1.
    """
    first, second = _finite(a), _finite(b)
    if min(first.min(), second.min()) <= 0:
        raise AnalysisError("expected values above 0 for a ratio, found others")
    ratios = np.sort((second[:, None] / first[None, :]).ravel())
    low, high = float(ratios[(len(ratios) - 1) // 2]), float(ratios[len(ratios) // 2])
    middle = low if low == high else math.sqrt(low) * math.sqrt(high)
    return _pairs_estimate(ratios, middle, len(first), len(second), confidence)


def _pairs_estimate(ordered: Floats, middle: float, n_a: int, n_b: int, confidence: float) -> Estimate:
    k, coverage = _shift_rank(n_a, n_b, confidence)
    low = high = reached = None
    if k >= 1:
        low, high, reached = float(ordered[k - 1]), float(ordered[len(ordered) - k]), coverage
    return Estimate(middle, low, high, min(n_a, n_b), confidence, reached, "Hodges-Lehmann, Mann-Whitney ordering")


def alpha_of(confidence: float) -> float:
    """1 − ``confidence``, as decimals have it: 0.1 of 0.9, where a p of just 0.1 must count as significant."""
    return round(1 - confidence, 12)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p, in the order given: max over ranks j ≤ i of (m − j + 1) · p(j), at most 1.

    Rejecting what is at most α keeps the probability of any false rejection at most α, whatever the dependence of the
    tests. Vectorised over leading axes; the last axis is the family.
    """
    values = np.asarray(p_values, dtype=float)
    m = values.shape[-1]
    order = np.argsort(values, axis=-1, kind="stable")
    scaled = np.take_along_axis(values, order, axis=-1) * np.arange(m, 0, -1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(scaled, axis=-1), 1), axis=-1)
    return adjusted


@lru_cache(maxsize=512)
def _tails(n: int, doubled_ranks: tuple[int, ...]) -> tuple[Floats, Floats]:
    """P(sum ≤ s) and P(sum ≥ s), s = 0, 1, …, of ``n`` of the doubled ranks drawn without replacement, by counting."""
    largest = sum(doubled_ranks)
    counts = np.zeros((n + 1, largest + 1))
    counts[0, 0] = 1
    for rank in doubled_ranks:
        counts[1:, rank:] += counts[:-1, : largest + 1 - rank].copy()
    n_splits = math.comb(len(doubled_ranks), n)
    return np.cumsum(counts[n]) / n_splits, np.cumsum(counts[n][::-1])[::-1] / n_splits


def _shift_rank(n_a: int, n_b: int, confidence: float) -> tuple[int, float]:
    """The rank k of the interval's lower end and its exact coverage; 0 where there is no interval."""
    tail = tail_of(confidence)
    n_total = n_a + n_b
    if n_total > EXACT_UP_TO:
        half = float(ndtri(1 - tail)) * math.sqrt(n_a * n_b * (n_total + 1) / 12)
        return max(0, math.floor(n_a * n_b / 2 - half)), confidence
    sums, _ = _tails(n_b, tuple(range(2, 2 * n_total + 1, 2)))
    below = sums[n_b * (n_b + 1) :: 2]  # P(U ≤ 0), P(U ≤ 1), …
    k = int(np.searchsorted(below, tail * (1 + 1e-12), side="right"))
    return k, 1 - 2 * float(below[k - 1]) if k else 0.0


def _normal_p(u: float, ranks: Floats, n_a: int, n_b: int) -> float:
    n_total = n_a + n_b
    _, ties = np.unique(ranks, return_counts=True)
    correction = float((ties.astype(float) ** 3 - ties).sum()) / (n_total * (n_total - 1))
    variance = n_a * n_b / 12 * (n_total + 1 - correction)
    if variance <= 0:  # all values are equal
        return 1.0
    z = max(0.0, abs(u - n_a * n_b / 2) - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * float(ndtr(-z)))


def _finite(values: ArrayLike) -> Floats:
    numbers = np.asarray(values, dtype=float).ravel()
    if not len(numbers) or not np.isfinite(numbers).all():
        raise AnalysisError(f"expected finite values on both sides, found {numbers.tolist()[:5]}")
    return numbers
