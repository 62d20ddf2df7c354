"""Does throughput grow in proportion to the number of devices? Two lines, efficiencies, and a verdict with its rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from pipeline.analyse.linest import Linest, figure, linest, proportion
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Outcome = Literal["offered load", "too few points", "linear", "not linear", "undecided"]

# Two values of x make a line and a third shows a bend; only with a fourth can a bend be told from one odd point. With
# 3 degrees of freedom the t quantile of a 95 % interval is 3.2; with 2 it is 4.3 and with 1 it is 12.7.
MIN_DISTINCT, MIN_DF = 4, 3
OFFERED_TOLERANCE = 0.01
ACT_OPS_PER_S = 3000  # "1x" in Aerospike ACT: 2000 reads/s + 1000 writes/s a device


@dataclass(frozen=True)
class LackOfFit:
    """F test of the line with a constant: scatter of the means about the line against scatter of the repeats."""

    f_statistic: float
    p_value: float
    df_lack: int
    df_pure: int
    ss_lack: float
    ss_pure: float


@dataclass(frozen=True, eq=False)
class Linearity:
    """Both fits, the efficiencies, and what they allow to be said; ``outcome`` is the verdict in a word or two.

    ``efficiency`` has a row a distinct x: x, ``n_runs``, the mean of y, ``stddev`` of its runs, ``efficiency``
    (ȳ/x)/(ȳ₁/x₁), where x₁ is the smallest x, and ``interval_low``, ``interval_high`` where both points have at least
    two differing runs. ``lack_of_fit`` is None without repeats, with identical ones, or with fewer than 3 distinct x.
    """

    x: str
    y: str
    with_constant: Linest
    through_origin: Linest
    efficiency: pd.DataFrame
    lack_of_fit: LackOfFit | None
    outcome: Outcome
    verdict: str
    confidence: float
    tolerance: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The coefficients of both lines: ``fit`` before the columns of ``Linest.to_frame``."""
        import pandas as pd

        frames = {"with constant": self.with_constant.to_frame(), "through origin": self.through_origin.to_frame()}
        return pd.concat(frames, names=["fit"]).reset_index("fit").reset_index(drop=True)

    def statistics_frame(self) -> pd.DataFrame:
        """LINEST's other figures, a row a line: R² and of which kind, s_y, F with its p, df, sums of squares."""
        import pandas as pd

        names = ("n", "df", "r_squared", "r_squared_kind", "s_y", "f_statistic", "f_p_value", "ss_reg", "ss_resid")
        fits = {"with constant": self.with_constant, "through origin": self.through_origin}
        return pd.DataFrame(
            [{"fit": fit, **{name: getattr(line, name) for name in names}} for fit, line in fits.items()]
        )

    def numbers(self) -> dict[str, Any]:
        """The line with a constant, figure by figure; then the one through the origin, efficiencies and verdict."""
        return {
            **self.with_constant.numbers(), "through_origin": self.through_origin.numbers(),
            "efficiency": self.efficiency, "lack_of_fit": self.lack_of_fit, "outcome": self.outcome,
            "verdict": self.verdict, "tolerance": self.tolerance, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """The verdict in one sentence, with the figures of the line behind it."""
        fit = self.with_constant
        parts = [self.verdict, f"slope {figure(fit.slope)}"]
        if fit.slope_interval is not None:
            parts[-1] += f" ({figure(fit.slope_interval[0])} … {figure(fit.slope_interval[1])})"
        if fit.r_squared is not None:
            parts[-1] += f", R² {proportion(fit.r_squared)} (centred)"
        if self.outcome != "too few points":  # that verdict has them
            parts[-1] += f", n = {fit.n}, {_freedom(fit)}"
        return f"{self.y} against {self.x}: {'; '.join(parts)}."


def linearity(
    frame: pd.DataFrame,
    *,
    x: str = "n_devices",
    y: str = "ops_per_s",
    offered: str | None = None,
    confidence: float = 0.95,
    tolerance: float = 0.05,
) -> Linearity:
    """Judge whether y is proportional to x; one row a run, several rows an x are repeats.

    The verdict's rule, first match wins:

    1. *offered load*: ``offered`` names a column, and every run achieved it within 1 %;
    2. *too few points*: fewer than 4 distinct x, or fewer than 3 residual degrees of freedom;
    3. *not linear*: some efficiency with its whole interval lies outside 1 ± ``tolerance``;
    4. *linear*: every efficiency with its whole interval lies inside;
    5. *undecided* otherwise: more repeats would decide.

    Without an interval the efficiency itself is compared. Intervals are each at ``confidence``, not jointly. They are
    of a ratio of independent means by the delta method on its logarithm, with Welch–Satterthwaite degrees of freedom
    (e-Handbook 2.5.5.2 propagation of error, 7.3.1 for the degrees of freedom): unlike Fieller's they need no common
    variance. Simulated coverage of 95 % intervals: 94–98 % with 2 to 10 repeats, whether the spreads are equal or 5 to
    1. Lack of fit: e-Handbook 4.4.4.6 and 4.6.1.5.

    Rows without x or y are left out with a warning. AnalysisError: absent columns, x ≤ 0, y < 0, nothing to fit.
    """
    if not 0 < tolerance < 1:
        raise AnalysisError(f"tolerance must lie between 0 and 1, such as 0.05, found {tolerance!r}")
    xs, ys, asked = _columns(frame, x, y, offered)
    warnings: list[str] = []
    is_given = ~(np.isnan(xs) | np.isnan(ys))
    if not is_given.all():
        warnings.append(f"{int((~is_given).sum())} of {len(xs)} rows lack {x} or {y} and are left out")
    xs, ys, asked = xs[is_given], ys[is_given], None if asked is None else asked[is_given]
    _check_range(xs, ys, x, y)
    fits = [linest(ys, xs, with_constant=constant, confidence=confidence) for constant in (True, False)]
    for name, fit in zip(("with constant", "through origin"), fits, strict=True):
        warnings += [f"{name}: {warning}" for warning in fit.warnings]
    efficiency = _efficiency(xs, ys, x, y, confidence)
    lack_of_fit = _lack_of_fit(xs, ys, fits[0])
    warnings += _remarks(efficiency, lack_of_fit, x, confidence)
    outcome, verdict = _verdict(efficiency, fits[0], x, tolerance)
    if asked is not None:
        is_set_by_load, remarks = _against_offered(ys, asked, str(offered))
        warnings += remarks
        if is_set_by_load:
            outcome, verdict = "offered load", _offered_verdict(ys, asked)
    return Linearity(
        x, y, fits[0], fits[1], efficiency, lack_of_fit, outcome, verdict, confidence, tolerance, tuple(warnings)
    )


def x_rating(ops_per_s: float, n_devices: float) -> float:
    """The "x" of an Aerospike ACT load: ops_per_s / (3000 · n_devices), at the tool's read:write ratio of 2:1.

    1x is 2000 reads/s and 1000 writes/s a device (github.com/aerospike/act, README and act_config_helper.py). The
    large-block reads and writes are no part of ``ops_per_s``.
    """
    if not n_devices > 0:
        raise AnalysisError(f"a rating needs at least one device, found {n_devices!r}")
    return ops_per_s / (ACT_OPS_PER_S * n_devices)


def _columns(frame: pd.DataFrame, x: str, y: str, offered: str | None) -> tuple[Floats, Floats, Floats | None]:
    wanted = [x, y] if offered is None else [x, y, offered]
    absent = [name for name in wanted if name not in frame]
    if absent:
        raise AnalysisError(f"expected the columns {', '.join(absent)}, found {', '.join(map(str, frame.columns))}")
    try:
        arrays = [frame[name].to_numpy(dtype=float, na_value=np.nan) for name in wanted]
    except (TypeError, ValueError) as error:
        raise AnalysisError(f"{', '.join(wanted)} must be numbers: {error}") from error
    return arrays[0], arrays[1], arrays[2] if offered is not None else None


def _check_range(xs: Floats, ys: Floats, x: str, y: str) -> None:
    if not (np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise AnalysisError(f"{x} or {y} holds infinity: drop or repair such rows")
    if (xs <= 0).any() or (ys < 0).any():
        raise AnalysisError(f"an efficiency needs {x} > 0 and {y} ≥ 0, found down to {xs.min():g} and {ys.min():g}")
    if not len(xs) or not ys[xs == xs.min()].any():
        raise AnalysisError(f"expected runs with {y} > 0 at the smallest {x}: every efficiency is relative to them")


def _efficiency(xs: Floats, ys: Floats, x: str, y: str, confidence: float) -> pd.DataFrame:
    import pandas as pd

    rows: list[tuple[float, ...]] = []
    first_x = xs.min()
    first_mean, first_relative, first_runs = _spread(ys[xs == first_x])
    for value in np.unique(xs):
        runs = ys[xs == value]
        mean, relative, n_runs = _spread(runs)
        ratio = (mean / value) / (first_mean / first_x)
        low = high = math.nan
        if value != first_x and n_runs > 1 and first_runs > 1 and mean > 0 and relative + first_relative > 0:
            variance = relative + first_relative
            df = variance**2 / (relative**2 / (n_runs - 1) + first_relative**2 / (first_runs - 1))
            reach = math.exp(float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(variance))
            low, high = ratio / reach, ratio * reach
        stddev = math.sqrt(relative * n_runs) * mean if n_runs > 1 else math.nan
        rows.append((value, n_runs, mean, stddev, ratio, low, high))
    frame = pd.DataFrame(rows, columns=[x, "n_runs", y, "stddev", "efficiency", "interval_low", "interval_high"])
    return frame.astype({"n_runs": "int64"})


def _spread(runs: Floats) -> tuple[float, float, int]:
    """Mean, squared relative standard error of the mean (0 for a single run), and number of runs."""
    offsets = runs - runs[0]  # identical runs then have a spread of exactly 0
    mean = float(runs[0] + offsets.mean())
    if len(runs) == 1 or mean == 0:
        return mean, 0.0, len(runs)
    return mean, float(offsets.var(ddof=1)) / len(runs) / mean**2, len(runs)


def _lack_of_fit(xs: Floats, ys: Floats, fit: Linest) -> LackOfFit | None:
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
    p_value = float(fdtrc(df_lack, df_pure, f_statistic))
    return LackOfFit(f_statistic, p_value, df_lack, df_pure, ss_lack, ss_pure)


def _remarks(efficiency: pd.DataFrame, lack_of_fit: LackOfFit | None, x: str, confidence: float) -> list[str]:
    found = []
    lacking = efficiency.iloc[1:].loc[efficiency["interval_low"].isna()]
    if len(lacking):
        points = ", ".join(f"{value:g}" for value in lacking[x])
        found.append(
            f"efficiency without an interval at {x} = {points}: "
            f"need ≥ 2 runs that differ, there and at the smallest {x}"
        )
    if efficiency[x].iloc[0] != 1:
        found.append(f"efficiency is relative to {x} = {efficiency[x].iloc[0]:g}, not to 1")
    if lack_of_fit is not None and lack_of_fit.p_value < 1 - confidence:
        found.append(
            "the means miss the line by more than the repeats scatter "
            f"(lack of fit: F {figure(lack_of_fit.f_statistic)}"
            f" on {lack_of_fit.df_lack} and {lack_of_fit.df_pure}, p = {lack_of_fit.p_value:.2g})"
        )
    return found


def _verdict(efficiency: pd.DataFrame, fit: Linest, x: str, tolerance: float) -> tuple[Outcome, str]:
    distinct = len(efficiency)
    if distinct < MIN_DISTINCT or fit.df < MIN_DF:
        return "too few points", _too_few(distinct, fit, x)
    value = efficiency["efficiency"].to_numpy(dtype=float)
    low = efficiency["interval_low"].to_numpy(dtype=float)
    high = efficiency["interval_high"].to_numpy(dtype=float)
    low, high = np.where(np.isnan(low), value, low), np.where(np.isnan(high), value, high)
    band = f"100 ± {tolerance * 100:g} %"
    outside = np.maximum(low - 1, 1 - high)  # how far the nearer end is from 1; ≤ 0 where the interval holds 1
    reach = np.maximum(high - 1, 1 - low)
    if outside.max() > tolerance:
        worst = int(np.argmax(outside))
        return "not linear", f"not linear: {_point(efficiency, worst, x)}, outside {band}"
    if reach.max() <= tolerance:
        within = math.ceil(round(reach.max() * 1000, 6)) / 10
        return "linear", (
            f"linear within {within:g} %: every efficiency lies between {_percent(low.min())} and "
            f"{_percent(high.max())} % (intervals included where runs repeat), inside {band}"
        )
    worst = int(np.argmax(reach))
    return (
        "undecided",
        f"undecided: {_point(efficiency, worst, x)}, across the edge of {band}; more repeats would decide",
    )


def _too_few(distinct: int, fit: Linest, x: str) -> str:
    interval = "the slope has no interval"
    if fit.slope_interval is not None and fit.slope:
        half = (fit.slope_interval[1] - fit.slope_interval[0]) / 2 / abs(fit.slope) * 100
        interval = f"the slope's {fit.confidence * 100:g} % interval is ± {half:.{0 if half >= 10 else 1}f} %"
    return (
        f"too few points: n = {fit.n} over {distinct} distinct numbers of {_noun(x)} leaves {_freedom(fit)}; "
        f"{interval}; "
        f"need ≥ {MIN_DISTINCT} distinct numbers and ≥ {MIN_DF} degrees of freedom"
    )


def _freedom(fit: Linest) -> str:
    return f"{fit.df} degree{'' if fit.df == 1 else 's'} of freedom"


def _point(efficiency: pd.DataFrame, number: int, x: str) -> str:
    row = efficiency.iloc[number]
    interval = ""
    if not math.isnan(row["interval_low"]):
        interval = f" ({_percent(row['interval_low'])} … {_percent(row['interval_high'])} %)"
    return f"efficiency at {row[x]:g} {_noun(x)} is {_percent(row['efficiency'])} %{interval}"


def _against_offered(ys: Floats, asked: Floats, offered: str) -> tuple[bool, list[str]]:
    """Whether every run achieved its offered rate, and what is to be said where only some did."""
    is_reached = np.abs(ys - asked) <= OFFERED_TOLERANCE * asked
    found = []
    if is_reached.any() and not is_reached.all():
        found.append(
            f"{int(is_reached.sum())} of {len(ys)} runs achieved the offered rate within "
            f"{OFFERED_TOLERANCE * 100:g} %: in those the offered load, not the devices, set the rate"
        )
    if np.isnan(asked).any():
        found.append(f"{int(np.isnan(asked).sum())} of {len(ys)} runs have no {offered}")
    return bool(is_reached.all()), found


def _offered_verdict(ys: Floats, asked: Floats) -> str:
    worst = float(np.max(np.abs(ys / asked - 1)))
    return (
        f"the offered load, not the devices, set the rate: all {len(ys)} runs achieved what was offered "
        f"(within {worst * 100:.2g} %), so the line says nothing about the devices' limit"
    )


def _noun(x: str) -> str:
    """What a column counts: n_devices counts devices."""
    return x.removeprefix("n_")


def _percent(ratio: float) -> str:
    return f"{round(ratio * 100, 1):g}"
