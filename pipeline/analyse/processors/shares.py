"""Shares of samples and differences of two shares, with intervals: of one recording each, or of repeated runs.

Two units of replication. *Samples*: with one recording a side, what is counted is binomial, if the samples were
independent. They are hardly ever quite so (a profiler samples a program that has phases), which is why, with two or
more runs a side, the *runs* are the unit and the interval is of the mean of their shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr, stdtrit
from scipy.stats import hypergeom

from pipeline.analyse.intervals import Bounds, hits_of, tail_of
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Differences:
    """Second share minus first: its interval, and the p-value of no difference; NaN where there is none."""

    difference: Floats
    low: Floats
    high: Floats
    p_value: Floats


def wilson(k: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Bounds:
    """Score interval of a share (Wilson, 1927): (2np + z² ± z √(z² + 4np(1 − p))) / 2(n + z²) with p = k / n.

    Journal of the American Statistical Association 22, 209–212. Covers ``confidence`` on average over shares, not for
    each (down to 0.84 at 95 % near 1/n); here it serves Newcombe's difference. n = 0: NaN.
    """
    hits, total, tail = *hits_of(k, n), tail_of(confidence)
    z = -float(ndtri(tail))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (hits + z * z / 2) / (total + z * z)
        half = z * np.sqrt(z * z / 4 + hits * (total - hits) / total) / (total + z * z)
    low = np.where(hits == 0, 0.0, centre - half)
    high = np.where(hits == total, 1.0, centre + half)
    return Bounds(np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan))


def newcombe(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Differences:
    """Difference p₂ − p₁ of the shares of two independent recordings, each of independent samples.

    The interval is Newcombe's hybrid score (method 10; Statistics in Medicine 17, 1998, 873–890) from the ``wilson``
    ends (l, u): d − √((p₂ − l₂)² + (u₁ − p₁)²) … d + √((u₂ − p₂)² + (p₁ − l₁)²). p is Fisher's exact test, the smaller
    hypergeometric tail doubled: never below its level, so that Holm's correction holds. The two are not inversions of
    each other: at the edge the interval may leave out 0 while p does not reject. A side without samples: NaN, p = 1.
    """
    (a, na), (b, nb) = hits_of(k1, n1), hits_of(k2, n2)
    first, second = wilson(a, na, confidence), wilson(b, nb, confidence)
    with np.errstate(invalid="ignore", divide="ignore"):
        p1, p2 = a / na, b / nb
    difference = p2 - p1
    low = difference - np.hypot(p2 - second.low, first.high - p1)
    high = difference + np.hypot(second.high - p2, p1 - first.low)
    return Differences(difference, low, high, _fisher(a, na, b, nb))


def between_runs(shares1: Floats, shares2: Floats, confidence: float = 0.95) -> Differences:
    """Difference of the mean shares of two sets of runs, shapes (m, r₁) and (m, r₂), r ≥ 2 each; the runs are the unit.

    Welch's t (Biometrika 34, 1947, 28–35): d ± t(ν) √(s₁²/r₁ + s₂²/r₂), ν by Satterthwaite. Assumes that the runs are
    independent and their shares about normal. Where neither side's shares vary at all, the runs tell nothing of the
    spread: NaN. AnalysisError with fewer than two runs on a side.
    """
    r1, r2 = shares1.shape[-1], shares2.shape[-1]
    if min(r1, r2) < 2:
        raise AnalysisError(f"an interval between runs needs at least 2 runs a side, found {r1} and {r2}")
    v1, v2 = _variance(shares1) / r1, _variance(shares2) / r2
    difference = shares2.mean(axis=-1) - shares1.mean(axis=-1)
    variance = np.where(v1 + v2 > 0, v1 + v2, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        df = variance**2 / (v1**2 / (r1 - 1) + v2**2 / (r2 - 1))
        half = stdtrit(df, 1 - tail_of(confidence)) * np.sqrt(variance)
        p_value = 2 * stdtr(df, -np.abs(difference) / np.sqrt(variance))
    return Differences(difference, difference - half, difference + half, p_value)


def mean_bounds(shares: Floats, confidence: float = 0.95) -> Bounds:
    """Ends of Student's t interval of the mean share of runs, shape (m, r), cut at 0 and 1; NaN with r < 2 or s = 0."""
    r = shares.shape[-1]
    if r < 2:
        nothing = np.full(shares.shape[:-1], np.nan)
        return Bounds(nothing, nothing.copy())
    spread = np.sqrt(_variance(shares))
    half = float(stdtrit(r - 1, 1 - tail_of(confidence))) * np.where(spread > 0, spread, np.nan) / math.sqrt(r)
    mean = shares.mean(axis=-1)
    return Bounds(np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0))


def _variance(shares: Floats) -> Floats:
    """Sample variance over the last axis; of equal values exactly 0."""
    return np.asarray((shares - shares[..., :1]).var(axis=-1, ddof=1))


def _fisher(a: Floats, na: Floats, b: Floats, nb: Floats) -> Floats:
    """Two-sided p by doubling the smaller tail of the hypergeometric distribution of ``b`` given a + b."""
    hits = a + b
    tails = np.minimum(hypergeom.cdf(b, na + nb, hits, nb), hypergeom.sf(b - 1, na + nb, hits, nb))
    return np.where((na > 0) & (nb > 0), np.minimum(1.0, 2 * tails), 1.0)
