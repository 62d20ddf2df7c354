"""What a scaling curve's fit says of itself: every parameter with its interval, AICc, and lack of fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from pipeline.analyse.intervals import Estimate
from pipeline.analyse.scaling import _fit as _scaling_fit
from pipeline.analyse.scaling._fit import MEAN_PARAMETERS, Fits, Model, Reduced

METHOD = "profile likelihood"
NAMES: dict[Model, str] = {"linear": "proportion", "amdahl": "Amdahl's law", "usl": "the Universal Scalability Law"}


@dataclass(frozen=True, eq=False)
class ScalingFit:
    """A curve C(n) = λ·n / (1 + α(n − 1) + β·n(n − 1)); α = β = 0 of proportion, β = 0 of Amdahl's law.

    ``rate`` is λ, in y's unit; α and β have none and are None where the model has not them. An end of an interval that
    lies at a bound (α: 0 … 1, β ≥ 0) is that bound. ``peak`` is n* = √((1 − α)/β) of the USL: ∞ where β is 0; its
    ``high`` is None where the data are no evidence of a peak. ``speedup_limit`` is 1/α of Amdahl's law. ``scatter`` is
    the standard deviation of a run about the curve: relative (of ln y), or in y's unit with absolute errors. ``aicc``,
    and ``delta`` to the best, are None of an exact fit. ``lack_of_fit_p`` compares the means' distance from the curve
    with the scatter of the repeats; None without repeats or further points.
    """

    model: Model
    rate: Estimate
    alpha: Estimate | None
    beta: Estimate | None
    peak: Estimate | None
    speedup_limit: Estimate | None
    scatter: float
    df: int
    aicc: float | None
    delta: float | None
    weight: float | None
    lack_of_fit_p: float | None
    at_bound: tuple[str, ...]

    def numbers(self) -> dict[str, Any]:
        """Every figure by name."""
        return dict(vars(self))


def described(data: Reduced, found: Fits, confidence: float) -> ScalingFit:
    def estimate(name: str, value: float, ends: tuple[float, float] | None = None) -> Estimate:
        low, high = ends or tuple(float(end[0]) for end in found.ends[name])
        return Estimate(value, _finite(low), _finite(high), data.n, confidence, confidence, METHOD)

    rate, alpha, beta, ss = (float(part[0]) for part in (found.level, found.alpha, found.beta, found.ss))
    has_alpha, has_beta = found.model != "linear", found.model == "usl"
    peak = limit = None
    if has_beta:
        low, high = (float(end[0]) for end in found.ends["inverse_square"])
        peak = estimate(
            "", math.sqrt((1 - alpha) / beta) if beta else math.inf, (_turned(high, 0.5), _turned(low, 0.5))
        )
    if found.model == "amdahl":
        low, high = (float(end[0]) for end in found.ends["alpha"])
        limit = estimate("", _turned(alpha, 1), (_turned(high, 1), _turned(low, 1)))
    is_bound = {"alpha": has_alpha and alpha in {0.0, 1.0}, "beta": has_beta and beta == 0}
    return ScalingFit(
        model=found.model,
        rate=estimate("rate", rate),
        alpha=estimate("alpha", alpha) if has_alpha else None,
        beta=estimate("beta", beta) if has_beta else None,
        peak=peak,
        speedup_limit=limit,
        scatter=math.sqrt(ss / found.df),
        df=found.df,
        aicc=_scaling_fit.aicc(ss, data.n, found.model) if not _is_exact(data, ss) else None,
        delta=None,
        weight=None,
        lack_of_fit_p=_lack_of_fit(data, found),
        at_bound=tuple(name for name, is_at in is_bound.items() if is_at),
    )


def _lack_of_fit(data: Reduced, found: Fits) -> float | None:
    pure = float(data.ss_pure[0])
    df_lack = len(data.points.n) - MEAN_PARAMETERS[found.model]
    df_pure = data.n - len(data.points.n)
    if df_lack < 1 or df_pure < 1 or pure == 0:
        return None
    return float(fdtrc(df_lack, df_pure, max(0.0, float(found.ss[0]) - pure) / df_lack / (pure / df_pure)))


def _is_exact(data: Reduced, ss: float) -> bool:
    size = float(np.abs(data.points.means).max())
    return bool(ss <= data.n * (4 * np.finfo(float).eps * max(size, 1.0)) ** 2)


def _turned(value: float, power: float) -> float:
    return math.inf if value == 0 else 0.0 if math.isinf(value) else value**-power


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
