"""Efficiencies with their standard errors, the lack of fit of a line, and the relative spread of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, fdtrc, stdtrit

from pipeline.analyse.intervals import tail_of

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.analyse.scaling.linest import Linest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LackOfFit:
    """F test of the line with a constant: scatter of the means about the line against scatter of the repeats."""

    f_statistic: float
    p_value: float
    df_lack: int
    df_pure: int
    ss_lack: float
    ss_pure: float


@dataclass(frozen=True)
class Spread:
    """Relative standard deviation of a run, its interval (χ², None without a degree of freedom), and where from."""

    value: float
    low: float
    high: float
    df: int
    source: str


@dataclass(frozen=True, eq=False)
class Efficiencies:
    """A row a distinct x, the smallest first: all arrays (points,).

    ``log_error`` is the standard error of ln(``ratio``) and ``df`` its degrees of freedom; both NaN where an interval
    cannot be given, at the smallest x and where it or the point itself has fewer than two runs that differ.
    """

    x: Floats
    runs: NDArray[np.int64]
    mean: Floats
    stddev: Floats
    ratio: Floats
    log_error: Floats
    df: Floats

    @property
    def lacks_interval(self) -> NDArray[np.bool_]:
        """Which points beside the first have no interval."""
        lacks = np.isnan(self.log_error)
        lacks[0] = False
        return lacks

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Ends at ``confidence``, NaN where there is none: ratio · exp(± t(df) · log_error)."""
        reach = np.exp(stdtrit(self.df, (1 + confidence) / 2) * self.log_error)
        return self.ratio / reach, self.ratio * reach

    def frame(self, x: str, y: str, confidence: float) -> pd.DataFrame:
        """Columns: x, n_runs, y (the mean), stddev, efficiency, interval_low, interval_high."""
        import pandas as pd

        low, high = self.interval(confidence)
        columns = {x: self.x, "n_runs": self.runs, y: self.mean, "stddev": self.stddev, "efficiency": self.ratio}
        return pd.DataFrame({**columns, "interval_low": low, "interval_high": high})


def efficiencies(xs: Floats, ys: Floats) -> Efficiencies:
    """Efficiency (ȳ/x)/(ȳ₁/x₁) of each distinct x relative to the smallest, x₁; xs > 0 and ys (n,), ȳ₁ > 0."""
    distinct, index = np.unique(xs, return_inverse=True)
    count = np.bincount(index)
    first = np.full(len(distinct), 0.0)
    first[index[::-1]] = ys[::-1]  # offsets from one of the runs: identical runs then have a spread of exactly 0
    offsets = ys - first[index]
    shift = np.bincount(index, offsets) / count
    mean = first + shift
    squares = np.bincount(index, (offsets - shift[index]) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(count > 1, squares / (count - 1), np.nan)
        relative = np.where(mean > 0, variance / count / mean**2, np.nan)  # squared relative error of the mean
        total = relative + relative[0]
        df = total**2 / (relative**2 / (count - 1) + relative[0] ** 2 / (count[0] - 1))
        log_error = np.where(total > 0, np.sqrt(total), np.nan)
    log_error[0] = np.nan
    ratio = (mean / distinct) / (mean[0] / distinct[0])
    return Efficiencies(distinct, count, mean, np.sqrt(variance), ratio, log_error, np.where(total > 0, df, np.nan))


def lack_of_fit(xs: Floats, ys: Floats, fit: Linest) -> LackOfFit | None:
    """e-Handbook 4.4.4.6 and 4.6.1.5; None without repeats, with identical ones, or with fewer than 3 distinct x."""
    ss_pure = ss_lack = 0.0
    distinct = np.unique(xs)
    for value in distinct:
        is_here = xs == value
        offsets = ys[is_here] - ys[is_here][0]
        ss_pure += float(((offsets - offsets.mean()) ** 2).sum())
        ss_lack += float(is_here.sum() * fit.residuals[is_here].mean() ** 2)
    df_lack, df_pure = len(distinct) - 2, len(xs) - len(distinct)
    if df_lack < 1 or df_pure < 1 or ss_pure == 0:
        return None
    f_statistic = (ss_lack / df_lack) / (ss_pure / df_pure)
    return LackOfFit(f_statistic, float(fdtrc(df_lack, df_pure, f_statistic)), df_lack, df_pure, ss_lack, ss_pure)


def run_spread(found: Efficiencies, fit: Linest, confidence: float) -> Spread | None:
    """Relative standard deviation of a run: pooled over the repeats or, for want of them, of the line's residuals.

    Pooling: Σ(nᵢ − 1)(sᵢ/ȳᵢ)² over Σ(nᵢ − 1) (e-Handbook 1.3.5.3, on relative deviations, so that rates of different
    size have the same spread). Without repeats Σ(residual/fitted)² over the line's ``df``, which holds any bend of the
    points too. None without either, or where nothing scatters. AnalysisError: a confidence outside 0 … 1.
    """
    is_repeated = (found.runs > 1) & (found.mean > 0)
    df = int((found.runs[is_repeated] - 1).sum())
    if df:
        shares = (found.stddev[is_repeated] / found.mean[is_repeated]) ** 2
        value = math.sqrt(float(((found.runs[is_repeated] - 1) * shares).sum()) / df)
        source = "pooled over the repeats"
    elif fit.df and (fit.fitted > 0).all():
        df = fit.df
        value = math.sqrt(float(((fit.residuals / fit.fitted) ** 2).sum()) / df)
        source = "about the line, for want of repeats"
    else:
        return None
    if not value:
        return None
    tail = tail_of(confidence)
    low, high = (value * math.sqrt(df / float(chdtri(df, part))) for part in (tail, 1 - tail))
    return Spread(value, low, high, df, source)
