"""Where the level of a series of windows changes: CUSUM with autocorrelation known, and an interval for the place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pipeline.analyse.steadiness._autocorrelation import Floats
from pipeline.errors import AnalysisError

MIN_SEGMENT = 10
LARGEST, CAUTION = 0.95, 8.0
_ROUNDING = 1e-24
# Bai (Review of Economics and Statistics 79, 1997): 95 % quantile of |argmax| of W(v) − |v|/2.
_BAI = {0.90: 7.0, 0.95: 11.0, 0.99: 20.0}


@dataclass(frozen=True)
class ChangePoint:
    """A change of level: window ``index`` (from 0) is the first of the new level; low … high is where it may be."""

    index: int
    low: int
    high: int
    before: float
    after: float
    p_value: float


def change_points(values: ArrayLike, *, confidence: float = 0.95, min_ratio: float = 0.0) -> tuple[ChangePoint, ...]:
    """Changes of the mean level, in order; found one by one by binary segmentation, then placed between neighbours.

    In a segment of n values the largest |Σ (yᵢ − ȳ)| over i ≤ k, over σ √n, is under no change the supremum of a
    Brownian bridge: p = 2 Σ (−1)^(j+1) exp(−2 j² x²) (Kolmogorov; Ploberger and Krämer, Econometrica 60, 1992). σ² is
    the long-run variance of an autoregression with φ ≥ 0, the smaller of two estimates (``_long_run_sigma``),
    for which p is doubled.
    A change counts below (1 − ``confidence``) over the number of segments looked at so far, with at least 10 windows on
    either side, and where the levels differ by at least ``min_ratio`` of the larger. The interval of the place is
    Bai's (1997): k ± (⌊11 σ²/δ²⌋ + 1) for 95 %, δ the change. A level that drifts is reported as several steps.

    Equal values: none. AnalysisError: fewer than 20 values, nulls, or a confidence without a quantile.
    """
    y = np.asarray(values, dtype=float).ravel()
    if confidence not in _BAI:
        raise AnalysisError(f"expected a confidence of {', '.join(map(str, _BAI))}, found {confidence}")
    if len(y) < 2 * MIN_SEGMENT or not np.isfinite(y).all():
        raise AnalysisError(f"a change of level needs ≥ {2 * MIN_SEGMENT} windows without nulls, found {len(y)}")
    edges, n_looked, waiting = [0, len(y)], 0, [(0, len(y))]
    p_of: dict[int, float] = {}
    while waiting:
        first, end = waiting.pop(0)
        if end - first < 2 * MIN_SEGMENT:
            continue
        n_looked += 1
        split, p = _split(y[first:end])
        means = y[first : first + split].mean(), y[first + split : end].mean()
        differs = abs(means[1] - means[0]) >= min_ratio * max(abs(means[0]), abs(means[1]))
        if p < (1 - confidence) / n_looked and differs:
            p_of[first + split] = p
            edges.append(first + split)
            waiting += [(first, first + split), (first + split, end)]
    edges.sort()
    return tuple(
        _placed(y, (first, end), p_of[at], confidence)
        for first, at, end in zip(edges, edges[1:], edges[2:], strict=False)
    )


def _split(y: Floats) -> tuple[int, float]:
    """Best place of one change (the least sum of squares about two levels), and the p-value that there is one."""
    n = len(y)
    offsets = y - y.mean()
    sums = np.cumsum(offsets)[:-1]
    if not np.ptp(y) > 0:
        return n // 2, 1.0
    k = np.arange(1, n)
    gain = sums**2 / (k * (n - k))
    inside = slice(MIN_SEGMENT - 1, n - MIN_SEGMENT)
    split = MIN_SEGMENT + int(np.argmax(gain[inside]))
    sigma = _long_run_sigma(y, split)
    if sigma == 0:
        return split, 0.0
    x = float(np.abs(sums).max()) / sigma / math.sqrt(n)
    j = np.arange(1, 101)
    p = 2 * float(((-1.0) ** (j + 1) * np.exp(-2 * (j * x) ** 2)).sum()) if x > 0.2 else 1.0
    return split, min(max(2 * p, 0.0), 1.0)  # twice: the smaller of two σ


def _long_run_sigma(y: Floats, split: int) -> float:
    """Long-run standard deviation of an AR(1) with φ ≥ 0, the smaller of two estimates: s √((1 + φ)/(1 − φ)).

    From the residuals about the two levels (too large where there is a second change), and from differences, which a
    few steps hardly change: d₁ = mean (yₜ₊₁ − yₜ)² is 2γ(1 − φ) and d₂ over two windows 2γ(1 − φ²), so that
    φ = d₂/d₁ − 1 (too large where the steps are nearly all there is). Both φ are raised by about 8/n: so the simulated
    false positives of a series without a change stay below 5 % (φ up to 0.6, 40 to 300 windows).
    """
    n = len(y)
    left = np.concatenate([y[:split] - y[:split].mean(), y[split:] - y[split:].mean()])
    first, power = float(np.mean(np.diff(y) ** 2)), float(left @ left)
    if first == 0 or power <= _ROUNDING * float(y @ y):
        return 0.0
    phi = _kept((n * float(left[1:] @ left[:-1]) / power + CAUTION) / (n - CAUTION))
    of_residuals = math.sqrt(power / (n - 3) * (1 + phi) / (1 - phi))
    ratio = float(np.mean((y[2:] - y[:-2]) ** 2)) / first
    phi = _kept(ratio - 1 + CAUTION * ratio / n)
    return min(of_residuals, math.sqrt(first * (1 + phi) / 2) / (1 - phi))


def _kept(phi: float) -> float:
    return min(max(phi, 0.0), LARGEST)


def _placed(y: Floats, between: tuple[int, int], p: float, confidence: float) -> ChangePoint:
    """The change between two neighbours, placed anew between them, with its interval."""
    first, end = between
    part = y[first:end]
    split = _split(part)[0]
    before, after = float(part[:split].mean()), float(part[split:].mean())
    ratio = (_long_run_sigma(part, split) / (after - before)) ** 2 if after != before else math.inf
    reach = min(math.floor(min(_BAI[confidence] * ratio, 1e9)) + 1, len(y))
    place = first + split
    return ChangePoint(place, max(place - reach, first), min(place + reach, end), before, after, p)
