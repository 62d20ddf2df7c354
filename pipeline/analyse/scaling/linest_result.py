"""The result of a linear fit: LINEST's figures and the sentence."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pipeline.analyse.scaling._least_squares import Floats
from pipeline.analyse.scaling._words import figure, proportion
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]
_INNER = {"predictors", "weights", "leverages", "factor"}  # what bands and diagnostics are made of, no figures


@dataclass(frozen=True, eq=False)
class Linest:
    """What LINEST returns, and what a reader needs beside it; y's unit throughout, slopes in y's unit per x's.

    Predictors stand in the order in which they came (a spreadsheet prints them backwards). A predictor that is a
    linear combination of the constant and those before it has coefficient 0, standard error 0, no interval and no p.
    Without a residual degree of freedom (``df`` = 0) every standard error, interval, p, ``s_y`` and F is None.

    ``standard_errors``, ``intervals`` and ``p_values`` assume independent errors of equal variance, and the latter
    two normal ones. ``r_squared`` is 1 − ss_resid/ss_total, where ss_total is about the mean of y with a constant
    ("centred") and about 0 through the origin ("uncentred"); the two kinds cannot be compared, so
    ``r_squared_centred`` gives the former for both (through the origin it may be negative). It is None where y does
    not vary. ``f_statistic`` tests all predictors together, on ``df_regression`` and ``df`` degrees of freedom; an
    exact fit has F = ∞.

    With ``weights`` (n,) the variance of an error is ``s_y``²/weight: ``s_y`` is that of an observation of weight 1,
    the sums of squares are weighted, the mean is the weighted one. ``residuals`` and ``fitted`` (n,) are in y's unit.
    ``predictors`` (n, k), ``leverages`` (n,) and ``factor`` (constant and predictors × the columns kept), with
    (XᵀWX)⁻¹ = factor·factorᵀ, are what ``fit_checks`` makes bands and diagnostics of.
    """

    coefficients: tuple[float, ...]
    standard_errors: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...]
    p_values: tuple[float | None, ...]
    intercept: float
    intercept_standard_error: float | None
    intercept_interval: Interval | None
    intercept_p_value: float | None
    r_squared: float | None
    r_squared_kind: Literal["centred", "uncentred"]
    r_squared_centred: float | None
    s_y: float | None
    f_statistic: float | None
    f_p_value: float | None
    df: int
    df_regression: int
    ss_reg: float
    ss_resid: float
    residuals: Floats
    fitted: Floats
    n: int
    confidence: float
    with_constant: bool
    warnings: tuple[str, ...]
    predictors: Floats
    weights: Floats | None
    leverages: Floats
    factor: Floats

    @property
    def slope(self) -> float:
        """The coefficient of the only predictor; AnalysisError where there are several."""
        return self.coefficients[self._only()]

    @property
    def slope_standard_error(self) -> float | None:
        """The standard error of the only predictor's coefficient."""
        return self.standard_errors[self._only()]

    @property
    def slope_interval(self) -> Interval | None:
        """The confidence interval (t, ``df``) of the only predictor's coefficient."""
        return self.intervals[self._only()]

    @property
    def names(self) -> tuple[str, ...]:
        """The predictors' names: ``x``, or ``x1``, ``x2`` and so on."""
        count = len(self.coefficients)
        return ("x",) if count == 1 else tuple(f"x{number}" for number in range(1, count + 1))

    def to_frame(self) -> pd.DataFrame:
        """One row a coefficient, the constant first: name, value, standard_error, interval_low, interval_high, t, p."""
        import pandas as pd

        names, values = list(self.names), list(self.coefficients)
        errors, intervals, p_values = list(self.standard_errors), list(self.intervals), list(self.p_values)
        if self.with_constant:
            names, values = ["intercept", *names], [self.intercept, *values]
            errors, intervals = [self.intercept_standard_error, *errors], [self.intercept_interval, *intervals]
            p_values = [self.intercept_p_value, *p_values]
        numbers = {
            "value": values,
            "standard_error": errors,
            "interval_low": [None if interval is None else interval[0] for interval in intervals],
            "interval_high": [None if interval is None else interval[1] for interval in intervals],
            "t": [value / error if error else None for value, error in zip(values, errors, strict=True)],
            "p": p_values,
        }
        return pd.DataFrame({"name": names, **{key: np.array(column, dtype=float) for key, column in numbers.items()}})

    def numbers(self) -> dict[str, Any]:
        """Every figure by name; of a single predictor also ``slope`` and its standard error and interval."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _INNER}
        if len(self.coefficients) == 1:
            slope = {"slope": self.slope, "slope_standard_error": self.slope_standard_error}
            figures = {**slope, "slope_interval": self.slope_interval, **figures}
        return figures

    def sentence(self) -> str:
        """The fit in one sentence, with n, the degrees of freedom and the kind of R²."""
        terms = [
            _term("slope" if name == "x" else f"coefficient of {name}", value, interval)
            for name, value, interval in zip(self.names, self.coefficients, self.intervals, strict=True)
        ]
        if self.with_constant:
            terms.append(_term("intercept", self.intercept, self.intercept_interval))
        line = "with a constant" if self.with_constant else "through the origin"
        line += "" if self.weights is None else ", weighted"
        spread = [] if self.s_y is None else [f"residual standard deviation {figure(self.s_y)}"]
        squared = [] if self.r_squared is None else [f"R² {proportion(self.r_squared)} ({self.r_squared_kind})"]
        if self.r_squared is not None and self.r_squared_centred is not None and not self.with_constant:
            squared = [f"R² {proportion(self.r_squared)} (uncentred; centred {proportion(self.r_squared_centred)})"]
        test = []
        if self.f_statistic is not None:
            test = [f"F {figure(self.f_statistic)} on {self.df_regression} and {self.df} (p = {self.f_p_value:.2g})"]
        freedom = f"{self.df} degree{'' if self.df == 1 else 's'} of freedom"
        level = f"{self.confidence * 100:g} % intervals" if self.df else "no intervals"
        return f"Line {line}: {', '.join(terms + squared + spread + test)}; n = {self.n}, {freedom}, {level}."

    def _only(self) -> int:
        if len(self.coefficients) != 1:
            raise AnalysisError(f"{len(self.coefficients)} predictors have no single slope: use coefficients")
        return 0


def _term(name: str, value: float, interval: Interval | None) -> str:
    if interval is None:
        return f"{name} {figure(value)}"
    return f"{name} {figure(value)} ({figure(interval[0])} … {figure(interval[1])})"
