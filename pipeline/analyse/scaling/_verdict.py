"""The verdict on linearity: an equivalence test over the efficiencies, and its words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtr

from pipeline.analyse.intervals import tail_of
from pipeline.analyse.scaling._efficiency import Efficiencies, Spread
from pipeline.analyse.scaling._words import at, percent, values_of
from pipeline.analyse.scaling.linest import Linest
from pipeline.analyse.scaling.sample_size import MOST, RepeatsNeeded

Outcome = Literal["offered load", "too few points", "too few repeats", "linear", "not linear", "undecided"]

# Two values of x make a line and a third shows a bend; only with a fourth can a bend be told from one odd point. With
# 3 degrees of freedom the t quantile of a 95 % interval is 3.2; with 2 it is 4.3 and with 1 it is 12.7.
MIN_DISTINCT, MIN_DF = 4, 3


@dataclass(frozen=True)
class Judged:
    """The outcome, and the number of the efficiency that decides it or, undecided, reaches farthest."""

    outcome: Outcome
    worst: int


def judge(found: Efficiencies, df: int, *, tolerance: float, confidence: float) -> Judged:
    """The rule that ``linearity.linearity`` documents, on ``df`` residual degrees of freedom of the line.

    *linear*: for every efficiency two one-sided t tests reject, at level (1 − confidence)/2 each, that it is below
    1 − tolerance or above 1 + tolerance (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657), which is
    the same as its interval lying inside. All must, so the level holds for the verdict as a whole whatever their number
    and dependence (Berger's intersection–union test, Technometrics 24 (1982) 295). *not linear*: one of them is proved
    outside at that level divided by the number of points (Bonferroni); this needs no further points.
    AnalysisError: a confidence outside 0 … 1.
    """
    level = tail_of(confidence)
    has_interval = ~np.isnan(found.log_error)
    logs = np.log(np.where(has_interval, found.ratio, 1.0))
    below, above = math.log(1 - tolerance), math.log(1 + tolerance)
    with np.errstate(invalid="ignore"):
        outside = stdtr(found.df, -np.maximum(below - logs, logs - above) / found.log_error)
        inside = np.maximum(stdtr(found.df, (below - logs) / found.log_error),
                            stdtr(found.df, (logs - above) / found.log_error))  # fmt: skip
    if has_interval.any() and np.nanmin(outside) < level / (len(found.x) - 1):
        return Judged("not linear", int(np.nanargmin(outside)))
    if len(found.x) < MIN_DISTINCT or df < MIN_DF:
        return Judged("too few points", 0)
    if found.lacks_interval.any():
        return Judged("too few repeats", int(np.argmax(found.lacks_interval)))
    return Judged("linear" if np.nanmax(inside) <= level else "undecided", int(np.nanargmax(inside)))


def words(
    judged: Judged,
    found: Efficiencies,
    fit: Linest,
    x: str,
    *,
    tolerance: float,
    confidence: float,
    spread: Spread | None,
    needed: RepeatsNeeded | None,
) -> str:
    """The verdict in words, with the figures that make it, and what more would be needed."""
    low, high = found.interval(confidence)
    band = f"100 ± {tolerance * 100:g} %"
    more = _more(found, spread, needed, confidence)
    worst = _point(found, judged.worst, x, float(low[judged.worst]), float(high[judged.worst]))
    if judged.outcome == "too few points":
        return _too_few(len(found.x), fit, x, more)
    if judged.outcome == "too few repeats":
        points = ", ".join(f"{value:g}" for value in found.x[found.lacks_interval])
        return (
            f"too few repeats: no interval of the efficiency at {x} = {points} for want of runs that differ, there or "
            f"at {found.x[0]:g}, so nothing is proved; need {more}"
        )
    if judged.outcome == "not linear":
        return f"not linear: {worst}, outside {band} (one of {len(found.x) - 1} tested, Bonferroni)"
    if judged.outcome == "linear":
        reach = max(float((high[1:] - 1).max()), float((1 - low[1:]).max()))
        within = math.ceil(round(reach * 1000, 6)) / 10
        return (
            f"linear within {within:g} %: every efficiency lies, with its {confidence * 100:g} % interval, between "
            f"{percent(low[1:].min())} and {percent(high[1:].max())} %, inside {band}"
        )
    return f"undecided: {worst}, across the edge of {band}; need {more}"


def _more(found: Efficiencies, spread: Spread | None, needed: RepeatsNeeded | None, confidence: float) -> str:
    if spread is None or needed is None:
        return "≥ 3 repeats a point to learn how far runs scatter, which is not known"
    now = int(found.runs.min())
    more = f"{MOST:,}" if needed.repeats is None else f"{max(1, needed.repeats - now):,}"
    return (
        f"≥ {more} more repeats a point ({now} now): {needed.sentence()}, were the efficiencies as measured; a run's "
        f"relative standard deviation is {percent(spread.value)} % ({spread.source}, df {spread.df}; "
        f"{confidence * 100:g} % interval {percent(spread.low)} … {percent(spread.high)} %)"
    )


def _too_few(distinct: int, fit: Linest, x: str, more: str) -> str:
    interval = "the slope has no interval"
    if fit.slope_interval is not None and fit.slope:
        half = (fit.slope_interval[1] - fit.slope_interval[0]) / 2 / abs(fit.slope) * 100
        interval = f"the slope's {fit.confidence * 100:g} % interval is ± {half:.{0 if half >= 10 else 1}f} %"
    return (
        f"too few points: n = {fit.n} over {distinct} distinct {values_of(x)} leaves {freedom(fit)}; "
        f"{interval}; need ≥ {MIN_DISTINCT} distinct {values_of(x)}, ≥ {MIN_DF} degrees of freedom and {more}"
    )


def freedom(fit: Linest) -> str:
    """The degrees of freedom in words."""
    return f"{fit.df} degree{'' if fit.df == 1 else 's'} of freedom"


def _point(found: Efficiencies, number: int, x: str, low: float, high: float) -> str:
    interval = "" if math.isnan(low) else f" ({percent(low)} … {percent(high)} %)"
    return f"efficiency at {at(x, found.x[number])} is {percent(found.ratio[number])} %{interval}"
