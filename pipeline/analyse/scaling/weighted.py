"""Lines through the means of repeats, weighted by how well each mean is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from pipeline.analyse.intervals import Estimate
from pipeline.analyse.scaling._words import figure
from pipeline.analyse.scaling.linest import Linest, linest
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
METHOD = "weights 1/s², Kenward–Roger"
MIN_REPEATS = 8  # from here on simulated coverage of 95 % intervals is 93.9 to 94.9 %; with 5 runs 92, with 3 runs 85


@dataclass(frozen=True, eq=False)
class WeightedLine:
    """A line with a constant, each mean weighted by the inverse of its estimated variance.

    ``points`` has a row a distinct x: x, n_runs, the mean, its standard error, its weight's share, residual. ``n``
    counts runs; the estimates' ``n`` too. A coefficient's t has the degrees of freedom ``slope_df``, ``intercept_df``.
    """

    x: str
    y: str
    slope: Estimate
    intercept: Estimate
    slope_standard_error: float
    intercept_standard_error: float
    slope_df: float
    intercept_df: float
    points: pd.DataFrame
    n: int
    confidence: float
    lack_of_fit_p: float | None
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row a coefficient: name, value, standard_error, interval_low, interval_high, df."""
        import pandas as pd

        parts = [("intercept", self.intercept, self.intercept_standard_error, self.intercept_df),
                 ("x", self.slope, self.slope_standard_error, self.slope_df)]  # fmt: skip
        return pd.DataFrame(
            [{"name": name, "value": value.value, "standard_error": error, "interval_low": value.low,
              "interval_high": value.high, "df": df} for name, value, error, df in parts]
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """Every figure by name."""
        return dict(vars(self))

    def sentence(self) -> str:
        """The line in one sentence with n, intervals and assumption."""
        slope, constant = (
            f"{figure(part.value)} ({figure(part.low or 0)} … {figure(part.high or 0)})"
            for part in (self.slope, self.intercept)
        )
        return (
            f"Line weighted by the inverse variance of the means: slope {slope}, intercept {constant}; n = {self.n} "
            f"runs at {len(self.points)} points, {self.confidence * 100:g} % intervals (Kenward–Roger), independent "
            "normal runs, a variance of its own at each point, means on a line."
        )


def count_weighted_line(
    frame: pd.DataFrame, *, x: str, y: str, with_constant: bool = True, confidence: float = 0.95
) -> Linest:
    """A line through the means of the repeats, weighted by their number.

    The coefficients are those of all runs. The standard errors are not: they come from the scatter of the *means*
    about the line, on points less coefficients degrees of freedom, and so hold where runs at one point share
    something (a day, a layout of files) that makes them resemble each other. ``s_y`` is a single run's standard
    deviation were they independent. Equal variance of the runs is assumed. AnalysisError as of ``linest``.
    """
    points = _points(frame, x, y)
    return linest(points[y], points[x], weights=points["n_runs"], with_constant=with_constant, confidence=confidence)


def variance_weighted_line(frame: pd.DataFrame, *, x: str, y: str, confidence: float = 0.95) -> WeightedLine:
    """A line through the means, weighted by nᵢ/sᵢ² from each point's own repeats, of which there are at least 8.

    The weights are estimates, and taking them as known gives intervals that are too short: (XᵀWX)⁻¹ = Φ becomes
    Φ + Φ·[Σ 4(1 − hᵢ)/fᵢ · wᵢxᵢxᵢᵀ]·Φ, fᵢ = nᵢ − 1, h the leverage, and t has the degrees of freedom
    (Σ cᵢ)²/Σ(cᵢ²/fᵢ), cᵢ = wᵢ(eᵀΦxᵢ)². That is Kenward and Roger, Biometrics 53 (1997) 983, for variances by point;
    for a mean it is Meier's, Biometrics 9 (1953) 59, with Welch–Satterthwaite degrees of freedom. Simulated coverage of
    95 % intervals with spreads 1 to 5: ``tests/analyse/test_weighted.py``.

    The scatter of the means about the line does not enter: where they are off it, which a warning says, the intervals
    are too short. That test of Σ wᵢ·residualᵢ² is Welch's on points − 2 degrees of freedom (Johansen, Biometrika 67
    (1980) 85). AnalysisError: fewer than 2 points, or a point with fewer than 8 runs or equal ones:
    weights from so few are noise, and ``count_weighted_line`` serves.
    """
    points = _points(frame, x, y)
    lacking = points.loc[~(points["stddev"] > 0) | (points["n_runs"] < MIN_REPEATS), x]
    if len(points) < 2 or len(lacking):
        where = f": {x} = {', '.join(f'{value:g}' for value in lacking)}" if len(lacking) else ""
        raise AnalysisError(
            f"weights by variance need ≥ 2 points with ≥ {MIN_REPEATS} runs that differ at each{where}; weigh by the "
            "number of runs instead"
        )
    runs, means = points["n_runs"].to_numpy(dtype=float), points[y].to_numpy(dtype=float)
    squares = points["stddev"].to_numpy(dtype=float) ** 2 / runs
    fit = linest(means, points[x], weights=1 / squares, confidence=confidence)
    design = np.column_stack([np.ones(len(points)), points[x].to_numpy(dtype=float)])
    errors, dfs = kenward_roger(design, fit.factor @ fit.factor.T, 1 / squares, runs - 1)
    quantiles = stdtrit(dfs, (1 + confidence) / 2)
    n = int(runs.sum())
    constant, slope = (
        Estimate(value, float(value - t * error), float(value + t * error), n, confidence, confidence, METHOD)
        for value, t, error in zip((fit.intercept, fit.slope), quantiles, errors, strict=True)
    )
    table = points.drop(columns="stddev").assign(
        standard_error=np.sqrt(squares), weight_ratio=1 / squares / (1 / squares).sum(), residual=fit.residuals
    )
    off, warnings = None, []
    if len(points) > 2:
        off = float(lack_of_fit(fit.residuals**2 / squares, fit.leverages, runs - 1))
    if off is not None and off < 1 - confidence:
        warnings.append(f"the means miss the line by more than the runs scatter (p = {off:.2g}): intervals too short")
    return WeightedLine(
        x, y, slope, constant, float(errors[1]), float(errors[0]), float(dfs[1]), float(dfs[0]), table, n, confidence,
        off, tuple(warnings)
    )  # fmt: skip


def kenward_roger(design: Floats, phi: Floats, weights: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Standard errors and degrees of freedom (…, coefficients) where ``weights`` (…, points) are estimated.

    ``design`` (points, coefficients), ``phi`` (…, coefficients, coefficients) is (XᵀWX)⁻¹, ``freedom`` (points,) those
    of each variance.
    """
    along = design @ phi  # (…, points, coefficients)
    leverages = weights * (along * design).sum(axis=-1)
    inflation = 4 * (1 - leverages) / freedom * weights
    added = np.swapaxes(along, -1, -2) @ (along * inflation[..., None])
    parts = weights[..., None] * along**2
    dfs = parts.sum(axis=-2) ** 2 / (parts**2 / freedom[:, None]).sum(axis=-2)
    return np.sqrt(np.diagonal(phi + added, axis1=-2, axis2=-1)), dfs


def lack_of_fit(squares: Floats, leverages: Floats, freedom: Floats) -> Floats:
    """P of weighted squared residuals (…, points) with ``leverages`` (…, points), for 2 coefficients."""
    q = squares.shape[-1] - 2
    a = ((1 - leverages) ** 2 / freedom).sum(axis=-1)
    statistic = squares.sum(axis=-1) / (q + 2 * a - 6 * a / (q + 2))
    return np.asarray(fdtrc(q, q * (q + 2) / (3 * a), statistic))


def _points(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """A row a distinct x: x, n_runs, the mean of y, stddev; rows without x or y are an error."""
    absent = [name for name in (x, y) if name not in frame]
    if absent:
        raise AnalysisError(f"expected the columns {', '.join(absent)}, found {', '.join(map(str, frame.columns))}")
    if frame[[x, y]].isna().any(axis=None):
        raise AnalysisError(f"{x} or {y} holds gaps: leave such rows out and say so")
    grouped = frame.groupby(x)[y]
    return grouped.agg(n_runs="size", mean="mean", stddev="std").rename(columns={"mean": y}).reset_index()
