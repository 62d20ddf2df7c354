"""What a linear fit leaves open: bands about the line, residuals, leverage, and rows that pull it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtri, stdtr, stdtrit

from pipeline.analyse.scaling._words import counted
from pipeline.analyse.scaling.linest import Linest
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

FULL = 1 - 1e-10  # a leverage from here on is 1: the row alone determines a coefficient
INFLUENTIAL = 1.0  # Cook's distance at which the row moves the fit to the edge of its own 50 % region


@dataclass(frozen=True, eq=False)
class FitChecks:
    """Rows of a fit: x1 … (or x), y, fitted, residual, leverage, standardised, studentised, cooks_distance.

    ``outlier_p`` is that of the largest studentised residual, times n (Bonferroni); None without one.
    """

    rows: pd.DataFrame
    outlier_p: float | None
    n: int
    df: int
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row an observation."""
        return self.rows

    def numbers(self) -> dict[str, Any]:
        """The extremes over the rows, with n and the degrees of freedom."""
        extremes = {
            "leverage_max": self.rows["leverage"].max(),
            "studentised_max": self.rows["studentised"].abs().max(),
            "cooks_distance_max": self.rows["cooks_distance"].max(),
        }
        return {**extremes, "outlier_p": self.outlier_p, "n": self.n, "df": self.df, "warnings": self.warnings}

    def sentence(self) -> str:
        """The rows that stand out, or that none does."""
        if self.outlier_p is None:
            freedom = counted(self.df, "degree")
            return f"Residuals cannot be judged: n = {self.n}, {freedom} of freedom, nothing to compare them with."
        found = self.numbers()
        return (
            f"Largest studentised residual {found['studentised_max']:.2f} (p = {self.outlier_p:.2g} among "
            f"n = {self.n}, Bonferroni, normal errors), largest leverage {found['leverage_max']:.2f}, largest "
            f"Cook's distance {found['cooks_distance_max']:.2g}."
        )


def band(
    fit: Linest, x: ArrayLike, *, confidence: float | None = None, simultaneous: bool = False, weight: float = 1.0
) -> pd.DataFrame:
    """The line at ``x`` with its bands: fitted, confidence_low, confidence_high, prediction_low, prediction_high.

    ``x`` is (m,) or (m, k) as in the fit. Mean of y at x: ŷ ± t(df)·s·√h, h = xᵀ(XᵀWX)⁻¹x; one further observation of
    ``weight``: ŷ ± t(df)·s·√(h + 1/weight) (e-Handbook 4.5.1.1 and 4.5.1.2, Draper and Smith, Applied Regression
    Analysis (1998)). Each x holds by itself at ``confidence`` (that of the fit unless told); with
    ``simultaneous`` the confidence band holds for all x together, √(p·F(p, df)) in the place of t (Working and
    Hotelling 1929). Assumes the line's form, independent normal errors of equal variance. Ends are NaN where ``df`` is
    0. AnalysisError: another number of predictors, values that are not finite, weight ≤ 0.
    """
    import pandas as pd

    level = fit.confidence if confidence is None else confidence
    if not 0 < level < 1 or not weight > 0:
        raise AnalysisError(f"confidence must lie between 0 and 1 and weight above 0, found {level!r} and {weight!r}")
    at = np.asarray(x, dtype=float)
    count = fit.predictors.shape[1]
    at = at.reshape(-1, 1) if at.ndim < 2 and count == 1 else at
    if at.ndim != 2 or at.shape[1] != count or not np.isfinite(at).all():
        raise AnalysisError(f"expected finite x of the shape (m, {count}), found {np.shape(x)}")
    design = np.column_stack([np.ones(len(at)), at]) if fit.with_constant else at
    coefficients = np.array([*([fit.intercept] if fit.with_constant else []), *fit.coefficients])
    fitted = design @ coefficients
    unit = ((design @ fit.factor) ** 2).sum(axis=1)
    p = fit.factor.shape[1]
    t = float(stdtrit(fit.df, (1 + level) / 2)) if fit.df else math.nan
    wide = math.sqrt(p * float(fdtri(p, fit.df, level))) if simultaneous and fit.df else t
    s = math.nan if fit.s_y is None else fit.s_y
    columns = {name: at[:, number] for number, name in enumerate(fit.names)} | {"fitted": fitted}
    for name, half in (("confidence", wide * s * np.sqrt(unit)), ("prediction", t * s * np.sqrt(unit + 1 / weight))):
        columns |= {f"{name}_low": fitted - half, f"{name}_high": fitted + half}
    return pd.DataFrame(columns)


def fit_checks(fit: Linest) -> FitChecks:
    """Residuals, leverage and influence of every row of a fit.

    ``leverage`` h is the diagonal of the hat matrix (its sum is the number of coefficients), ``standardised``
    e√w/(s√(1 − h)), ``studentised`` the same with s from the fit without the row, e√w·√((df − 1)/(S(1 − h) − we²)),
    which follows t(df − 1), and ``cooks_distance`` standardised²/p · h/(1 − h) (Cook and Weisberg, Residuals and
    Influence in Regression (1982), 2.2 and 3.5; Cook, Technometrics 19 (1977) 15). NaN where h is 1, where the fit is
    exact, or without the degrees of freedom (1 for standardised, 2 for studentised).

    Warnings: an outlier (p below 1 − confidence after Bonferroni), Cook's distance above 1, leverage 1.
    """
    import pandas as pd

    w = np.ones(fit.n) if fit.weights is None else fit.weights
    h, weighted = fit.leverages, fit.residuals * np.sqrt(w)
    left = np.where(h < FULL, 1 - h, np.nan)
    p = fit.factor.shape[1]
    s = fit.s_y or math.nan  # 0 of an exact fit says nothing either
    standardised = weighted / (s * np.sqrt(left))
    without = fit.ss_resid * left - weighted**2
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(without > 1e-12 * fit.ss_resid, (fit.df - 1) / without, np.nan)
        studentised = weighted * np.sqrt(share) if fit.df > 1 else np.full(fit.n, np.nan)
    rows = pd.DataFrame(
        {name: fit.predictors[:, number] for number, name in enumerate(fit.names)}
        | {"y": fit.fitted + fit.residuals, "fitted": fit.fitted, "residual": fit.residuals, "leverage": h,
           "standardised": standardised, "studentised": studentised,
           "cooks_distance": standardised**2 / p * h / left}
    )  # fmt: skip
    outlier_p = None
    if np.isfinite(studentised).any():
        outlier_p = min(1.0, fit.n * 2 * float(stdtr(fit.df - 1, -np.nanmax(np.abs(studentised)))))
    return FitChecks(rows, outlier_p, fit.n, fit.df, _warnings(fit, rows, outlier_p))


def _warnings(fit: Linest, rows: pd.DataFrame, outlier_p: float | None) -> tuple[str, ...]:
    found = []
    if outlier_p is not None and outlier_p < 1 - fit.confidence:
        row = rows["studentised"].abs().idxmax()
        found.append(f"row {row} (from 0) is an outlier: studentised residual {rows['studentised'][row]:.1f}, "
                     f"p = {outlier_p:.2g} after Bonferroni")  # fmt: skip
    strong = rows.index[rows["cooks_distance"] > INFLUENTIAL]
    if len(strong):
        found.append(f"rows {', '.join(map(str, strong))} (from 0) move the line by themselves: Cook's distance > 1")
    alone = rows.index[rows["leverage"] >= FULL]
    if len(alone) and fit.df:
        found.append(
            f"rows {', '.join(map(str, alone))} (from 0) determine a coefficient alone: leverage 1, no residual"
        )
    return tuple(found)
