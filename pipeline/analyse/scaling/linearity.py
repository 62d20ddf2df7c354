"""Does throughput grow in proportion to the number of devices? Two lines, efficiencies, and a verdict with its rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pipeline.analyse.scaling import _verdict
from pipeline.analyse.scaling._efficiency import Efficiencies, LackOfFit, Spread, efficiencies, lack_of_fit, run_spread
from pipeline.analyse.scaling._verdict import Outcome
from pipeline.analyse.scaling._words import figure, proportion
from pipeline.analyse.scaling.linest import Linest, linest
from pipeline.analyse.scaling.sample_size import RepeatsNeeded, repeats_needed
from pipeline.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
OFFERED_TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class Linearity:
    """Both fits, the efficiencies, and what they allow to be said; ``outcome`` is the verdict in a word or two.

    ``efficiency`` has a row a distinct x: x, ``n_runs``, the mean of y, ``stddev`` of its runs, ``efficiency``
    (ȳ/x)/(ȳ₁/x₁), where x₁ is the smallest x, and ``interval_low``, ``interval_high`` where both points have at least
    two differing runs. ``lack_of_fit`` is None without repeats, with identical ones, or with fewer than 3 distinct x.
    ``spread`` is a run's relative standard deviation, ``repeats_needed`` what would decide the verdict with a power of
    80 % were the efficiencies as measured; None where nothing scatters.
    """

    x: str
    y: str
    with_constant: Linest
    through_origin: Linest
    efficiency: pd.DataFrame
    lack_of_fit: LackOfFit | None
    spread: Spread | None
    repeats_needed: RepeatsNeeded | None
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
            "efficiency": self.efficiency, "lack_of_fit": self.lack_of_fit, "spread": self.spread,
            "repeats_needed": self.repeats_needed, "outcome": self.outcome, "verdict": self.verdict,
            "tolerance": self.tolerance, "warnings": self.warnings,
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
            parts[-1] += f", n = {fit.n}, {_verdict.freedom(fit)}"
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
    2. *not linear*: an efficiency is proved to lie outside 1 ± ``tolerance``;
    3. *too few points*: fewer than 4 distinct x, or fewer than 3 residual degrees of freedom;
    4. *too few repeats*: an efficiency has no interval, so that nothing is proved of it;
    5. *linear*: every efficiency lies with its whole interval inside, which is an equivalence test;
    6. *undecided* otherwise.

    2 and 5 are tests at level (1 − ``confidence``)/2 for the verdict as a whole: see ``_verdict.judge``. 3, 4 and 6
    say how many repeats would decide: ``sample_size``. Intervals are each at ``confidence``, not jointly. They are
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
    found = efficiencies(xs, ys)
    lack = lack_of_fit(xs, ys, fits[0])
    warnings += _remarks(found, lack, x, confidence)
    outcome, verdict, spread, needed = _decided(found, fits[0], x, tolerance, confidence)
    if asked is not None:
        is_set_by_load, remarks = _against_offered(ys, asked, str(offered))
        warnings += remarks
        if is_set_by_load:
            outcome, verdict = "offered load", _offered_verdict(ys, asked)
    return Linearity(
        x, y, fits[0], fits[1], found.frame(x, y, confidence), lack, spread, needed, outcome, verdict,
        confidence, tolerance, tuple(warnings)
    )  # fmt: skip


def _decided(
    found: Efficiencies, fit: Linest, x: str, tolerance: float, confidence: float
) -> tuple[Outcome, str, Spread | None, RepeatsNeeded | None]:
    spread = run_spread(found, fit, confidence)
    needed = None
    if spread is not None and len(found.x) > 1 and (found.ratio > 0).all():
        ends = (spread.low, spread.high)
        needed = repeats_needed(found.ratio[1:], spread.value, ends, tolerance=tolerance, confidence=confidence)
    judged = _verdict.judge(found, fit.df, tolerance=tolerance, confidence=confidence)
    text = _verdict.words(
        judged, found, fit, x, tolerance=tolerance, confidence=confidence, spread=spread, needed=needed
    )
    return judged.outcome, text, spread, needed


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


def _remarks(table: Efficiencies, lack: LackOfFit | None, x: str, confidence: float) -> list[str]:
    found = []
    if table.lacks_interval.any():
        points = ", ".join(f"{value:g}" for value in table.x[table.lacks_interval])
        found.append(
            f"efficiency without an interval at {x} = {points}: "
            f"need ≥ 2 runs that differ, there and at the smallest {x}"
        )
    if table.x[0] != 1:
        found.append(f"efficiency is relative to {x} = {table.x[0]:g}, not to 1")
    if lack is not None and lack.p_value < 1 - confidence:
        found.append(
            "the means miss the line by more than the repeats scatter "
            f"(lack of fit: F {figure(lack.f_statistic)}"
            f" on {lack.df_lack} and {lack.df_pure}, p = {lack.p_value:.2g})"
        )
    return found


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
