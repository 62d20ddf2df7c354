"""How a rate grows with n: proportion, Amdahl's law or the Universal Scalability Law, with intervals and the peak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from pipeline.analyse.intervals import Estimate
from pipeline.analyse.scaling import _fit as _scaling_fit
from pipeline.analyse.scaling._curve_words import refusal, remarks, sentence, unequal_scatter
from pipeline.analyse.scaling._fit import MEAN_PARAMETERS, Model, Reduced
from pipeline.analyse.scaling._model import METHOD, NAMES, ScalingFit, described
from pipeline.analyse.scaling._usl import Errors
from pipeline.analyse.scaling._words import values_of
from pipeline.analyse.scaling.linearity import Linearity, linearity
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Scaling:
    """Curves that the runs allow, those that they do not with the reason, and the verdict on linearity.

    ``best`` has the least AICc, None where no two models can be compared. ``linearity`` holds the efficiencies and the
    one verdict, by equivalence test.
    """

    x: str
    y: str
    fits: tuple[ScalingFit, ...]
    refused: dict[Model, str]
    best: Model | None
    linearity: Linearity
    n: int
    n_distinct: int
    errors: Errors
    confidence: float
    data: Reduced
    warnings: tuple[str, ...]

    def fit(self, model: Model) -> ScalingFit:
        """The fit of a model; AnalysisError with the reason where it was refused."""
        for found in self.fits:
            if found.model == model:
                return found
        raise AnalysisError(f"{NAMES[model]}: {self.refused[model]}")

    def to_frame(self) -> pd.DataFrame:
        """A row a parameter of each model, with its interval, and the model's df, scatter, AICc and weight.

        A refused model has one row, with ``note`` saying why.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for found in self.fits:
            shared = {"df": found.df, "scatter": found.scatter, "aicc": found.aicc, "delta_aicc": found.delta,
                      "weight": found.weight, "lack_of_fit_p": found.lack_of_fit_p}  # fmt: skip
            for name in ("rate", "alpha", "beta", "peak", "speedup_limit"):
                value: Estimate | None = getattr(found, name)
                if value is not None:
                    note = "at its bound" if name in found.at_bound else ""
                    note = "none proved" if name == "peak" and value.high is None else note
                    rows.append({"model": found.model, "parameter": name, "value": value.value,
                                 "interval_low": value.low, "interval_high": value.high, **shared,
                                 "note": note})  # fmt: skip
        rows += [{"model": model, "note": f"refused: {reason}"} for model, reason in self.refused.items()]
        columns = ["model", "parameter", "value", "interval_low", "interval_high", "df", "scatter", "aicc",
                   "delta_aicc", "weight", "lack_of_fit_p", "note"]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def curve(self, n: ArrayLike, model: Model | None = None) -> pd.DataFrame:
        """The curve at ``n`` > 0: x, fitted, confidence_low, confidence_high, prediction_low, prediction_high.

        Delta method on ln C (on C with absolute errors): ± t(df)·√(g'(X'X)⁻¹g·s²), and s² more for a single run (Seber
        and Wild, Nonlinear Regression (1989), 5.1); each n at ``confidence``, not the band as a whole. Parameters at a
        bound count as given, so that the band is then too narrow where they matter, beyond the measured n above all.
        """
        import pandas as pd

        chosen = self.fit(model or self.best or "linear")
        at = np.asarray(n, dtype=float).ravel()
        if not (at > 0).all():
            raise AnalysisError("a curve is defined at n > 0")
        rate = chosen.rate.value
        alpha, beta = (0.0 if part is None else part.value for part in (chosen.alpha, chosen.beta))
        unit, is_free = _scaling_fit.covariance(self.data.points, chosen.model, rate, alpha, beta)
        slopes = _scaling_fit.gradient(at, self.errors, rate, alpha, beta)[:, is_free]
        variance = np.einsum("kp,pq,kq->k", slopes, unit, slopes) * chosen.scatter**2
        fitted = _scaling_fit.rates(at, rate, alpha, beta)
        quantile = float(stdtrit(chosen.df, (1 + self.confidence) / 2))
        columns = {self.x: at, "fitted": fitted}
        for name, reach in (("confidence", variance), ("prediction", variance + chosen.scatter**2)):
            half = quantile * np.sqrt(reach)
            ends = (fitted * np.exp(-half), fitted * np.exp(half))
            low, high = ends if self.errors == "relative" else (fitted - half, fitted + half)
            columns |= {f"{name}_low": low, f"{name}_high": high}
        return pd.DataFrame(columns)

    def numbers(self) -> dict[str, Any]:
        """Figures by model, and what was chosen."""
        return {
            "best": self.best, "n": self.n, "n_distinct": self.n_distinct, "errors": self.errors,
            "confidence": self.confidence, "interval_method": METHOD,
            **{found.model: found.numbers() for found in self.fits},
            "refused": self.refused, "linearity": self.linearity.outcome, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """The curve that was chosen with its figures, n, intervals and assumption; or why there is none."""
        design = f"n = {self.n} runs over {self.n_distinct} distinct {values_of(self.x)}"
        if self.best is None:
            reasons = [f"{NAMES[model]} {reason}" for model, reason in self.refused.items()] or self.warnings[:1]
            return f"No scaling curve is chosen: {design}; {'; '.join(reasons)}."
        return sentence(self.fit(self.best), x=self.x, y=self.y, design=design, errors=self.errors,
                        n_models=len(self.fits), confidence=self.confidence)  # fmt: skip


def scaling(
    frame: pd.DataFrame,
    *,
    x: str = "n_devices",
    y: str = "ops_per_s",
    errors: Errors = "relative",
    offered: str | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.05,
) -> Scaling:
    """Fit proportion, Amdahl's law and the USL to y > 0 over x > 0; one row a run, several rows an x are repeats.

    C(n) = λ·n / (1 + α(n − 1) + β·n(n − 1)): contention α within 0 … 1, coherency β ≥ 0, peak n* = √((1 − α)/β)
    (Gunther, Guerrilla Capacity Planning (2007), chapter 4, the peak equation 4.33; Amdahl, AFIPS 30 (1967) 483, is
    β = 0). Least squares within the bounds: with ``errors="relative"`` of ln y, as fits runs that scatter by the same
    share at every n (C(n) is then the median rate), with "absolute" of y, as R's ``usl`` package does.

    Intervals: the parameter's values where the least sum of squares over the others is below S·(1 + t²(df)/df), df = n
    less 1, 2 or 3 parameters (Bates and Watts 1988, 6.1). They respect the bounds: an end at 0 says that 0 is not
    excluded, and where the truth is 0 they cover more than they claim (97.5 % for 95 %); no upper end of the peak, that
    none is proved. Simulated coverage in ``tests/analyse/test_scaling.py``.

    Choice: least AICc = n·ln(S/n) + 2k + 2k(k+1)/(n − k − 1), k counting the scatter too (Hurvich and Tsai, Biometrika
    76 (1989) 297). A model is refused where n − k − 1 ≤ 0 or there are no more distinct x than it has parameters, for
    nothing would then judge its shape. Exact fits have no AICc.

    Whether the rate is linear within ``tolerance`` is judged by ``linearity``, with the repeats that it would need;
    ``offered`` as there. Equal rates give α = 1; an efficiency above 1 gives α = β = 0 and a warning, as these models
    know none. AnalysisError: what ``linearity`` refuses (a single run among it), and y = 0 with relative errors.
    """
    judged = linearity(frame, x=x, y=y, offered=offered, confidence=confidence, tolerance=tolerance)
    rows = frame[[x, y]].dropna()
    xs, ys = rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float)
    if errors == "relative" and not (ys > 0).all():
        raise AnalysisError(
            f"{y} must be > 0 where errors are relative: found {int((ys <= 0).sum())} of {len(ys)} at 0"
        )
    data = _scaling_fit.reduced(xs, ys[None, :], errors)
    n_distinct = len(data.points.n)
    refused: dict[Model, str] = {}
    found: list[ScalingFit] = []
    for model in MEAN_PARAMETERS:
        if reason := refusal(model, len(xs), n_distinct, x):
            refused[model] = reason
        else:
            found.append(described(data, _scaling_fit.fit(data, model, confidence), confidence))
    fits, best = _compared(found)
    warnings = remarks(fits, best, judged, confidence)
    warnings += unequal_scatter(data.variances, data.points.runs, confidence)
    return Scaling(x, y, fits, refused, best, judged, len(xs), n_distinct, errors, confidence, data, tuple(warnings))


def _compared(found: list[ScalingFit]) -> tuple[tuple[ScalingFit, ...], Model | None]:
    """Add AICc differences and weights exp(−Δ/2)/Σ; the best, where two or more can be compared."""
    values = [fit.aicc for fit in found if fit.aicc is not None]
    if len(found) < 2 or len(values) < len(found):
        return tuple(found), None
    deltas = np.array(values) - min(values)
    weights = np.exp(-deltas / 2) / np.exp(-deltas / 2).sum()
    fits = [
        replace(fit, delta=float(delta), weight=float(weight))
        for fit, delta, weight in zip(found, deltas, weights, strict=True)
    ]
    return tuple(fits), found[int(np.argmin(deltas))].model
