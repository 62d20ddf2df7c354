"""A spreadsheet's LINEST in full: least squares with everything that says how far the line can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc, stdtr, stdtrit

from pipeline.analyse import _least_squares
from pipeline.analyse._least_squares import Floats, Solution
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]
FEW_DF = 3  # below, the t quantile of a 95 % interval is 4.3 or 12.7 standard errors
ILL_CONDITIONED = 1e7  # half of the digits of a double are gone


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
        figures = {field.name: getattr(self, field.name) for field in fields(self)}
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


def linest(y: ArrayLike, x: ArrayLike, *, with_constant: bool = True, confidence: float = 0.95) -> Linest:
    """Fit y = x·b (+ a constant) by ordinary least squares; ``x`` is (n,) or (n, k), one column a predictor.

    Fields and the treatment of collinear predictors (coefficient 0, standard error 0, df counts them out): Microsoft,
    "LINEST function" and [MS-OI29500] 2.1.985; R² and F through the origin as since Excel 2003 (KB 828533). Model,
    standard errors and t intervals: NIST/SEMATECH e-Handbook 4.1.4.1 and 4.4.3.1. Numerics: ``_least_squares.py``.
    Certified values of NIST StRD hold to 12 digits or more where long double is extended (Wampler4: 11, Wampler5: 9;
    Filip, whose powers of x are rounded before any fit: 7), see ``tests/analyse/test_linest.py``.

    AnalysisError: shapes that do not fit, numbers that are not finite, fewer points than parameters.
    """
    ys, xs = _checked(y, x, with_constant=with_constant, confidence=confidence)
    n = len(ys)
    design = np.column_stack([np.ones(n), xs]) if with_constant else xs
    solution = _least_squares.solve(design, ys)
    if not np.isfinite([solution.coefficients, solution.error_factors]).all():
        raise AnalysisError("the coefficients are too large for a number: give x and y in other units")
    df, df_regression = n - len(solution.kept), len(solution.kept) - with_constant
    residuals = np.zeros(n, dtype=_least_squares.WIDE) if solution.is_exact or not df else solution.residuals
    ss_resid, centred, uncentred = _sums_of_squares(ys, residuals)
    total = centred if with_constant else uncentred
    ss_reg = max(total - ss_resid, 0 * total)
    s_y = float(np.sqrt(ss_resid / df)) if df else None
    f_statistic = _f_statistic(float(ss_reg), float(ss_resid), df_regression, df)
    errors, intervals, p_values = _inference(solution, s_y, df, confidence)
    skip = int(with_constant)
    return Linest(
        coefficients=tuple(solution.coefficients[skip:].tolist()),
        standard_errors=errors[skip:],
        intervals=intervals[skip:],
        p_values=p_values[skip:],
        intercept=float(solution.coefficients[0]) if with_constant else 0.0,
        intercept_standard_error=errors[0] if with_constant else None,
        intercept_interval=intervals[0] if with_constant else None,
        intercept_p_value=p_values[0] if with_constant else None,
        r_squared=float(ss_reg / total) if total else None,
        r_squared_kind="centred" if with_constant else "uncentred",
        r_squared_centred=float(1 - ss_resid / centred) if centred else None,
        s_y=s_y,
        f_statistic=f_statistic,
        f_p_value=None if f_statistic is None else float(fdtrc(df_regression, df, f_statistic)),
        df=df,
        df_regression=df_regression,
        ss_reg=float(ss_reg),
        ss_resid=float(ss_resid),
        residuals=_read_only(residuals.astype(float)),
        fitted=_read_only((ys - residuals).astype(float)),
        n=n,
        confidence=confidence,
        with_constant=with_constant,
        warnings=_warnings(solution, n, df, confidence, with_constant=with_constant, has_spread=bool(total)),
    )


def _checked(y: ArrayLike, x: ArrayLike, *, with_constant: bool, confidence: float) -> tuple[Floats, Floats]:
    if not 0 < confidence < 1:
        raise AnalysisError(f"confidence must lie between 0 and 1, such as 0.95, found {confidence!r}")
    try:
        ys, xs = np.asarray(y, dtype=float), np.asarray(x, dtype=float)
    except (TypeError, ValueError) as error:
        raise AnalysisError(f"x and y must be numbers without gaps: drop or fill the missing rows ({error})") from error
    if ys.ndim != 1 or xs.ndim not in {1, 2} or (xs.ndim == 2 and not xs.shape[1]):
        raise AnalysisError(
            f"y must have the shape (n,) and x (n,) or (n, predictors), found {ys.shape} and {xs.shape}: "
            "pass y as one column"
        )
    if len(xs) != len(ys):
        raise AnalysisError(f"x has {len(xs)} rows and y {len(ys)}: pair them before the fit")
    xs = xs.reshape(len(ys), -1) if len(ys) else xs.reshape(0, xs.shape[1] if xs.ndim == 2 else 1)
    bad = np.flatnonzero(~(np.isfinite(ys) & np.isfinite(xs).all(axis=1)))
    if bad.size:
        more = f" and {bad.size - 1} more" if bad.size > 1 else ""
        raise AnalysisError(
            f"row {bad[0]}{more} (from 0) holds NaN or infinity: drop or repair such rows before the fit"
        )
    needed = xs.shape[1] + with_constant
    if len(ys) < needed:
        raise AnalysisError(
            f"{len(ys)} points cannot give {needed} parameters: need ≥ {needed}, and ≥ {needed + FEW_DF} "
            "for intervals of use"
        )
    return ys, xs


def _sums_of_squares(y: Floats, residuals: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Σ residual², Σ (y − mean)² and Σ y² in the extended type; AnalysisError where a double cannot hold them."""
    wide = y.astype(_least_squares.WIDE)
    centred = _least_squares.WIDE(0) if np.ptp(y) == 0 else ((wide - wide.mean()) ** 2).sum()
    sums = ((residuals**2).sum(), centred, (wide**2).sum())
    with np.errstate(over="ignore", under="ignore"):
        narrow = [float(value) for value in sums]
    if any(not math.isfinite(small) or (small == 0) != (value == 0) for small, value in zip(narrow, sums, strict=True)):
        raise AnalysisError("y is too large or too small to be squared: give it in another unit")
    return sums


def _f_statistic(ss_reg: float, ss_resid: float, df_regression: int, df: int) -> float | None:
    if not df or not df_regression or not (ss_reg or ss_resid):
        return None
    return math.inf if ss_resid == 0 else (ss_reg / df_regression) / (ss_resid / df)


def _inference(
    solution: Solution, s_y: float | None, df: int, confidence: float
) -> tuple[tuple[float | None, ...], tuple[Interval | None, ...], tuple[float | None, ...]]:
    """Standard errors, t intervals and two-sided p of all columns; None for all without a degree of freedom."""
    if s_y is None:
        nothing = (None,) * len(solution.coefficients)
        return nothing, nothing, nothing
    quantile = float(stdtrit(df, (1 + confidence) / 2))
    errors: list[float | None] = []
    intervals: list[Interval | None] = []
    p_values: list[float | None] = []
    for column, value in enumerate(solution.coefficients.tolist()):
        error = s_y * float(solution.error_factors[column])
        is_kept = column in solution.kept
        errors.append(error)
        intervals.append((value - quantile * error, value + quantile * error) if is_kept else None)
        p_values.append(float(2 * stdtr(df, -abs(value) / error)) if error else (0.0 if is_kept and value else None))
    return tuple(errors), tuple(intervals), tuple(p_values)


def _warnings(
    solution: Solution, n: int, df: int, confidence: float, *, with_constant: bool, has_spread: bool
) -> tuple[str, ...]:
    found = []
    parameters = len(solution.kept)
    enough = parameters + FEW_DF
    for column in sorted(set(range(len(solution.coefficients))) - set(solution.kept)):
        number = column if with_constant else column + 1
        found.append(f"collinear predictor {number} set to 0: it says nothing that the constant and the others do not")
    if df == 0:
        found.append(
            f"n = {n}: {parameters} points give {parameters} parameters exactly, so nothing is left to judge them by: "
            f"no standard errors, intervals or F; need ≥ {enough} points"
        )
    elif df < FEW_DF:
        quantile = float(stdtrit(df, (1 + confidence) / 2))
        freedom = "one degree" if df == 1 else f"{df} degrees"
        found.append(
            f"n = {n}: {freedom} of freedom; a {confidence * 100:g} % interval reaches {quantile:.1f} standard errors "
            f"to either side; need ≥ {enough} points"
        )
    if solution.is_exact and df:
        found.append("exact fit: the residuals are rounding and taken as 0; measurements that repeat would scatter")
    if not has_spread:
        found.append("y does not vary: R² and F are not defined")
    if solution.condition > ILL_CONDITIONED:
        found.append(
            f"nearly collinear predictors (condition number {solution.condition:.1g}): trust "
            f"{max(1, 15 - math.ceil(math.log10(solution.condition)))} digits; subtract the means of the predictors"
        )
    return tuple(found)


def figure(value: float) -> str:
    """Six significant digits, and whole numbers in full: 172714, 0.0371154, 2165.5."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.6g}"
    decimals = max(0, 5 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def proportion(value: float) -> str:
    """Five decimals, and more where they are needed for two figures of the distance from 1: never 1 for less than 1."""
    short_of_one = 1 - value
    return f"{value:.{max(5, 1 - math.floor(math.log10(short_of_one))) if short_of_one > 0 else 5}f}"


def _term(name: str, value: float, interval: Interval | None) -> str:
    if interval is None:
        return f"{name} {figure(value)}"
    return f"{name} {figure(value)} ({figure(interval[0])} … {figure(interval[1])})"


def _read_only(values: Floats) -> Floats:
    values.setflags(write=False)
    return values
