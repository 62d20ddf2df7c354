"""Remarks on scaling curves and their words."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc

from pipeline.analyse.intervals import Estimate
from pipeline.analyse.scaling._fit import MEAN_PARAMETERS, Model
from pipeline.analyse.scaling._model import METHOD, NAMES, ScalingFit
from pipeline.analyse.scaling._usl import Errors, Floats
from pipeline.analyse.scaling._words import at, counted, figure, values_of
from pipeline.analyse.scaling.linearity import Linearity

UNDECIDED = 2.0  # AICc units within which models have much the same support (Burnham and Anderson 2002, 2.6)


def remarks(fits: tuple[ScalingFit, ...], best: Model | None, judged: Linearity, confidence: float) -> list[str]:
    """What a reader of the curves must know: models alike, a shape that misses, the peak, unequal scatter."""
    found = []
    if fits and best is None and any(fit.aicc is None for fit in fits):
        found.append("a curve meets the runs exactly: AICc is not defined; measurements that repeat would scatter")
    for fit in fits:
        if fit.delta is not None and fit.model != best and fit.delta < UNDECIDED:
            found.append(f"{NAMES[fit.model]} cannot be told from the best (AICc difference {fit.delta:.2g} < 2)")
        if fit.model == best and fit.lack_of_fit_p is not None and fit.lack_of_fit_p < 1 - confidence:
            found.append(f"the means miss {NAMES[fit.model]} by more than runs scatter (p = {fit.lack_of_fit_p:.2g})")
        if fit.peak is not None:
            found += _about_peak(fit, fit.peak, judged, is_best=fit.model == best)
    if (judged.efficiency["interval_low"] > 1).any():
        found.append("an efficiency is proved above 1: such growth is outside these models (α, β ≥ 0)")
    if judged.outcome == "offered load":
        found.append("the offered load set the rates: the curve describes the load, not the devices")
    return found


def unequal_scatter(variances: Floats, runs: Floats, confidence: float) -> list[str]:
    """Bartlett's test of equal variances (e-Handbook 1.3.5.7) over the points that have at least two runs."""
    df = runs - 1
    variances, df = variances[df > 0], df[df > 0]
    if len(df) < 2 or not (variances > 0).all():
        return []
    pooled = float((df * variances).sum() / df.sum())
    correction = 1 + (float((1 / df).sum()) - 1 / float(df.sum())) / 3 / (len(df) - 1)
    statistic = (float(df.sum()) * math.log(pooled) - float((df * np.log(variances)).sum())) / correction
    p_value = float(chdtrc(len(df) - 1, max(0.0, statistic)))
    if p_value >= 1 - confidence:
        return []
    return [f"runs scatter unequally over the points (Bartlett's test, p = {p_value:.2g}), which the intervals ignore"]


def refusal(model: Model, n: int, n_distinct: int, x: str) -> str | None:
    """What is lacking: AICc needs n ≥ k + 2, and the shape one distinct x more than parameters."""
    runs, distinct = MEAN_PARAMETERS[model] + 3, MEAN_PARAMETERS[model] + 1
    if n >= runs and n_distinct >= distinct:
        return None
    lacking = [f"≥ {counted(runs - n, 'more run')}"] if n < runs else []
    more = distinct - n_distinct
    lacking += [f"≥ {more} more distinct {values_of(x, many=more > 1)}"] if more > 0 else []
    return f"needs ≥ {runs} runs over ≥ {distinct} distinct {values_of(x)}: {' and '.join(lacking)}"


def sentence(
    chosen: ScalingFit, *, x: str, y: str, design: str, errors: Errors, n_models: int, confidence: float
) -> str:
    """The chosen curve in one sentence."""
    scatter = f"{figure(float(f'{chosen.scatter:.2g}'))}" if errors == "absolute" else f"{chosen.scatter * 100:.2g} %"
    return (
        f"{y} against {x} follows {NAMES[chosen.model]} best (AICc weight {chosen.weight:.2f} among {n_models} models; "
        f"{design}; a run scatters by {scatter}, assumed {'the same share' if errors == 'relative' else 'the same'} "
        f"everywhere and independent): {', '.join(_terms(chosen))}; {confidence * 100:g} % intervals by {METHOD}, "
        "given the model."
    )


def _about_peak(fit: ScalingFit, peak: Estimate, judged: Linearity, *, is_best: bool) -> list[str]:
    x = judged.x
    if "beta" in fit.at_bound:
        low = "" if not peak.low else f", and one below {at(x, peak.low)} is excluded"
        return [f"the Universal Scalability Law's β lies at its bound 0: no peak is seen{low}"]
    largest = float(judged.efficiency[x].max())
    found = [] if peak.high is not None else ["a peak is not proved: β = 0 lies within its interval"]
    if peak.high is not None and not is_best:
        found.append("β's interval excludes 0, yet AICc asks for more runs before it takes the extra parameter")
    if peak.value > largest:
        found.append(f"the peak, {at(x, peak.value)}, lies beyond the largest measured, {at(x, largest)}")
    return found


def _terms(fit: ScalingFit) -> list[str]:
    terms = [f"λ {_valued(fit.rate)}"]
    for sign, value in (("α", fit.alpha), ("β", fit.beta)):
        terms += [] if value is None else [f"{sign} {_valued(value)}"]
    if fit.speedup_limit is not None and math.isfinite(fit.speedup_limit.value):
        terms.append(f"speed-up at most 1/α = {_valued(fit.speedup_limit)}")
    if fit.peak is not None and math.isfinite(fit.peak.value):
        terms.append(f"peak at n* = {_valued(fit.peak)}")
    return terms


def _valued(value: Estimate) -> str:
    low, high = (("∞" if end is None else figure(float(f"{end:.4g}"))) for end in (value.low, value.high))
    return f"{figure(float(f'{value.value:.4g}'))} ({low} … {high})"
