"""A spreadsheet's LINEST in full: least squares with everything that says how far the line can be trusted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc, stdtr, stdtrit

from pipeline.analyse.scaling import _least_squares
from pipeline.analyse.scaling._least_squares import Floats, Solution
from pipeline.analyse.scaling.linest_result import Interval, Linest
from pipeline.errors import AnalysisError

__all__ = ["Linest", "linest"]

FEW_DF = 3  # below, the t quantile of a 95 % interval is 4.3 or 12.7 standard errors
ILL_CONDITIONED = 1e7  # half of the digits of a double are gone


def linest(
    y: ArrayLike,
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    with_constant: bool = True,
    confidence: float = 0.95,
) -> Linest:
    """Fit y = x·b (+ a constant) by least squares; ``x`` is (n,) or (n, k), one column a predictor.

    Fields and the treatment of collinear predictors (coefficient 0, standard error 0, df counts them out): Microsoft,
    "LINEST function" and [MS-OI29500] 2.1.985; R² and F through the origin as since Excel 2003 (KB 828533). Model,
    standard errors and t intervals: NIST/SEMATECH e-Handbook 4.1.4.1 and 4.4.3.1. Numerics: ``_least_squares.py``.
    Certified values of NIST StRD hold to 12 digits or more where long double is extended (Wampler4 and 5: 11; Filip,
    whose powers of x are rounded before any fit: 7, or 10 where x comes as long double), see
    ``tests/analyse/test_linest.py``.

    ``weights`` (n,) > 0 say by what part an observation's variance is smaller than that of weight 1 (e-Handbook
    4.1.4.3, 4.4.5.2): for means of runs, the number of runs. Their scale changes ``s_y`` and the sums of squares alone.
    They count as known; weights estimated from the scatter of few repeats are for ``weighted.variance_weighted_line``.

    AnalysisError: shapes that do not fit, numbers that are not finite, weights not above 0, fewer points than
    parameters.
    """
    ys, xs = _checked(y, x, with_constant=with_constant, confidence=confidence)
    n = len(ys)
    design = np.column_stack([np.ones(n), xs]) if with_constant else xs
    ws = None if weights is None else _checked_weights(weights, n)
    solution = _least_squares.solve(design, ys, ws)
    if not np.isfinite([solution.coefficients, solution.error_factors]).all():
        raise AnalysisError("the coefficients are too large for a number: give x and y in other units")
    df, df_regression = n - len(solution.kept), len(solution.kept) - with_constant
    residuals = np.zeros(n, dtype=_least_squares.WIDE) if solution.is_exact or not df else solution.residuals
    ss_resid, centred, uncentred = _sums_of_squares(ys, residuals, ws)
    total = centred if with_constant else uncentred
    ss_reg = max(total - ss_resid, 0 * total)
    s_y = float(np.sqrt(ss_resid / df)) if df else None
    f_statistic = _f_statistic(float(ss_reg), float(ss_resid), df_regression, df)
    errors, intervals, p_values = _inference(solution, s_y, df, confidence)
    if ws is not None:
        residuals = residuals / np.sqrt(ws.astype(_least_squares.WIDE))
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
        predictors=_read_only(np.array(xs, dtype=float)),
        weights=None if ws is None else _read_only(ws),
        leverages=_read_only(solution.leverages),
        factor=_read_only(solution.factor),
    )


def _checked(y: ArrayLike, x: ArrayLike, *, with_constant: bool, confidence: float) -> tuple[Floats, Floats]:
    if not 0 < confidence < 1:
        raise AnalysisError(f"confidence must lie between 0 and 1, such as 0.95, found {confidence!r}")
    try:
        ys, xs = (np.asarray(part, dtype=_kept_type(part)) for part in (y, x))
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


def _kept_type(values: ArrayLike) -> type[np.floating[Any]]:
    """Long double stays what it is, anything else becomes double."""
    return _least_squares.WIDE if getattr(values, "dtype", None) == np.longdouble else np.float64


def _checked_weights(weights: ArrayLike, n: int) -> Floats:
    try:
        ws = np.array(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise AnalysisError(f"weights must be numbers without gaps ({error})") from error
    if ws.shape != (n,) or not np.isfinite(ws).all() or not (ws > 0).all():
        raise AnalysisError(
            f"weights must be {n} finite numbers above 0, found the shape {ws.shape}"
            + (f" and values from {ws.min():g}" if ws.size else "")
            + ": leave out the rows that shall not count"
        )
    return ws


def _sums_of_squares(y: Floats, residuals: NDArray[Any], weights: Floats | None) -> tuple[Any, Any, Any]:
    """Σ residual², Σ w(y − mean)² and Σ wy² in the extended type; AnalysisError where a double cannot hold them.

    ``residuals`` are weighted already, the mean is the weighted one.
    """
    wide = y.astype(_least_squares.WIDE)
    w = np.ones_like(wide) if weights is None else weights.astype(_least_squares.WIDE)
    centred = _least_squares.WIDE(0) if np.ptp(y) == 0 else (w * (wide - (w * wide).sum() / w.sum()) ** 2).sum()
    sums = ((residuals**2).sum(), centred, (w * wide**2).sum())
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


def _read_only(values: Floats) -> Floats:
    values.setflags(write=False)
    return values
