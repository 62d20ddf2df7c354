"""How many repeats a verdict on linearity needs, from the spread that was observed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtr, stdtrit

from pipeline.analyse.intervals import tail_of
from pipeline.errors import AnalysisError

MOST = 10_000  # beyond, nobody repeats; the answer is then None
POWER = 0.8


@dataclass(frozen=True)
class RepeatsNeeded:
    """Repeats a point that decide with probability ``power``, if efficiencies and spread are as measured.

    ``fewest`` and ``most`` are those at the ends of the spread's interval; None stands for more than 10,000.
    """

    repeats: int | None
    fewest: int | None
    most: int | None
    power: float

    def sentence(self) -> str:
        """How many repeats decide with what power."""
        return (
            f"{_count(self.repeats)} repeats decide with a power of {self.power * 100:g} % "
            f"({_count(self.fewest)} … {_count(self.most)} over the spread's interval)"
        )


def decision_power(
    efficiencies: ArrayLike, spread: float, repeats: int, *, tolerance: float, confidence: float = 0.95
) -> float:
    """Least probability that the verdict on linearity decides, were these the true efficiencies (the first left out).

    With m = ``repeats`` runs at every point and a relative standard deviation ``spread`` of a run, ln of an efficiency
    has the standard error spread·√(2/m) on 2(m − 1) degrees of freedom; against an edge at the distance δ the
    one-sided t test at level (1 − confidence)/2 misses with the probability of the noncentral t at its quantile,
    noncentrality δ/(spread·√(2/m)) (Julious, Statistics in Medicine 23 (2004) 1921). All efficiencies inside:
    all tests on both edges must succeed, and their misses are added (Bonferroni's bound). One outside: the test of the
    farthest at the level divided by the number of points. AnalysisError: fewer than 2 repeats, a spread or an
    efficiency not above 0, a confidence outside 0 … 1.
    """
    ratios = np.asarray(efficiencies, dtype=float).ravel()
    if repeats < 2 or not spread > 0 or not len(ratios) or not (ratios > 0).all():
        raise AnalysisError("power needs ≥ 2 repeats, a spread and efficiencies above 0")
    df, error = 2 * (repeats - 1), spread * math.sqrt(2 / repeats)
    inside = np.minimum(np.log(ratios) - math.log(1 - tolerance), math.log(1 + tolerance) - np.log(ratios))
    tail = tail_of(confidence)
    if inside.min() < 0:
        critical = float(stdtrit(df, 1 - tail / len(ratios)))
        return 1 - float(nctdtr(df, -float(inside.min()) / error, critical))
    critical = float(stdtrit(df, 1 - tail))
    edges = np.concatenate([np.log(ratios) - math.log(1 - tolerance), math.log(1 + tolerance) - np.log(ratios)])
    return max(0.0, 1 - float(nctdtr(df, edges / error, critical).sum()))


def repeats_needed(
    efficiencies: ArrayLike,
    spread: float,
    spread_interval: tuple[float, float] | None = None,
    *,
    tolerance: float,
    confidence: float = 0.95,
    power: float = POWER,
) -> RepeatsNeeded:
    """Fewest repeats at every point with ``decision_power`` ≥ ``power``; None beyond 10,000 (a value at the edge)."""
    low, high = spread_interval or (spread, spread)
    counts = [_fewest(efficiencies, value, tolerance, confidence, power) for value in (spread, low, high)]
    return RepeatsNeeded(counts[0], counts[1], counts[2], power)


def _fewest(efficiencies: ArrayLike, spread: float, tolerance: float, confidence: float, power: float) -> int | None:
    def is_enough(repeats: int) -> bool:
        return decision_power(efficiencies, spread, repeats, tolerance=tolerance, confidence=confidence) >= power

    if not is_enough(MOST):
        return None
    low, high = 1, MOST  # the power grows with the repeats
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _count(number: int | None) -> str:
    return f"more than {MOST:,}" if number is None else f"{number:,}"
