"""Has a drive reached its steady state? The rule of the SNIA test specification, on rounds.

SNIA, Solid State Storage Performance Test Specification (PTS) 2.0.2 (2020), definition 2.1.24 and the test flows: for
every tracked variable y, within a measurement window of five consecutive rounds, (a) the range Max(y) − Min(y) is no
more than 20 % of Ave(y), and (b) the largest and the smallest value of the best linear fit (least squares) within the
window differ by no more than 10 % of Ave(y). Rounds are repeated until that holds, or 25 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from pipeline.analyse.intervals import Estimate, Floats, mean_estimate
from pipeline.errors import AnalysisError
from pipeline.units import format_si

WINDOW, MAX_ROUNDS, RANGE_LIMIT, SLOPE_LIMIT = 5, 25, 0.20, 0.10
TRACKED = ("ops_per_s", "bytes_per_s", "latency_mean_s")
UNITS = {"ops_per_s": "/s", "bytes_per_s": "B/s", "latency_mean_s": "s"}
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SteadyState:
    """The rule applied to every window of five rounds, and what it came to.

    ``windows`` has a row a window and tracked variable: first_round, last_round, variable, mean, smallest, largest,
    range_ratio (of the mean), slope_per_round, line_first and line_last (the fitted line at the window's ends),
    excursion_ratio (their distance over the mean), is_steady. ``first_round`` and ``last_round`` are the measurement
    window, the first in which every variable is steady; None when not reached: then ``n_more`` is how many further
    rounds are needed at the least, whatever they bring. ``estimates``: mean over the measurement window by variable.
    """

    name: str
    rounds: pd.DataFrame
    windows: pd.DataFrame
    tracked: tuple[str, ...]
    first_round: int | None
    last_round: int | None
    n_more: int
    maximum: int
    estimates: dict[str, Estimate]
    warnings: tuple[str, ...]

    @property
    def is_reached(self) -> bool:
        """Whether every tracked variable was steady in one and the same window."""
        return self.first_round is not None

    def to_frame(self) -> pd.DataFrame:
        """The measurement window as the specification's report has it, or the last window when not reached."""
        last = self.windows["last_round"].max() if self.last_round is None else self.last_round
        return self.windows[self.windows["last_round"] == last].reset_index(drop=True)

    def numbers(self) -> dict[str, Any]:
        """Verdict, measurement window and estimates."""
        return {
            "is_reached": self.is_reached, "first_round": self.first_round, "last_round": self.last_round,
            "n_rounds": len(self.rounds), "n_more": self.n_more, "window": self.to_frame(),
            "estimates": self.estimates, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """The verdict with window, figures and what it rests on."""
        n, tracked = len(self.rounds), ", ".join(self.tracked)
        if self.is_reached:
            means = []
            for variable, e in self.estimates.items():
                low, value, high = (
                    format_si(float(v or 0), UNITS.get(variable, ""), 4) for v in (e.low, e.value, e.high)
                )
                means.append(f"{variable} {value} ({low} … {high})")
            worst_range, worst_slope = (self.to_frame()[c].max() for c in ("range_ratio", "excursion_ratio"))
            return (
                f"{self.name}: steady by SNIA PTS in rounds {self.first_round}–{self.last_round} of {n} (largest "
                f"range {worst_range:.1%} ≤ {RANGE_LIMIT:.0%}, largest excursion {worst_slope:.1%} ≤ {SLOPE_LIMIT:.0%} "
                f"over {tracked}); means with 95 % t intervals, n = {WINDOW} rounds taken as independent: "
                f"{', '.join(means)}."
            )
        why = "" if self.windows.empty else f"; last window: {self._misses()}"
        end = f"need ≥ {self.n_more} more rounds"
        if n + self.n_more > self.maximum:
            end += f", beyond the {self.maximum} that the specification allows"
        return f"{self.name}: steady state not reached in {n} rounds{why}; {end}."

    def _misses(self) -> str:
        failing = self.to_frame().query("not is_steady")
        return (
            ", ".join(
                f"{row['variable']} range {row['range_ratio']:.1%}, excursion {row['excursion_ratio']:.1%}"
                for row in failing.to_dict("records")
            )
            or "all variables steady"
        )


def combine(states: Sequence[SteadyState]) -> pd.DataFrame:
    """The windows that decided several series of rounds, a row a variable, with the series' name and verdict."""
    frames = [state.to_frame().assign(series=state.name) for state in states]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["series", *(name for name in frame.columns if name != "series")]]


def steady_state(
    rounds: pd.DataFrame, name: str = "rounds", tracked: Sequence[str] = TRACKED, maximum: int = MAX_ROUNDS
) -> SteadyState:
    """Apply the rule to ``rounds``: a row a round, the column ``round`` (1, 2, …), a column a tracked variable.

    Limits are inclusive, as the specification has them. Variables that no round states are left out with a warning;
    rounds beyond ``maximum`` are not used. The means are those that the specification reports; their t intervals take
    the five rounds as independent, and are the shorter for the window having been chosen as a calm one.

    Fewer than 5 rounds: not reached. Equal rounds: steady with range and slope 0. AnalysisError: no variable, rounds
    that are not consecutive, a null in a variable that other rounds state, a mean that is not positive.
    """
    _check_numbering(rounds)
    found = [name for name in tracked if name in rounds and rounds[name].notna().any()]
    warnings = [f"{variable} is stated by no round: not tracked" for variable in tracked if variable not in found]
    if not found:
        raise AnalysisError(f"expected rounds with one of {', '.join(tracked)}, found none")
    if len(rounds) > maximum:
        warnings.append(f"{len(rounds)} rounds: only the first {maximum} count")
    used = rounds.iloc[:maximum].reset_index(drop=True)
    values = {variable: _values(used, variable) for variable in found}
    rows = [_window(values[v], end, v) for end in range(WINDOW, len(used) + 1) for v in found]
    columns = ["first_round", "last_round", "variable", "mean", "smallest", "largest", "range_ratio",
               "slope_per_round", "line_first", "line_last", "excursion_ratio", "is_steady"]  # fmt: skip
    windows = pd.DataFrame(rows, columns=columns)
    steady = windows.groupby("last_round")["is_steady"].all() if len(windows) else pd.Series(dtype=bool)
    last = int(steady.index[steady][0]) if steady.any() else None
    if last is None:
        n_more = max(_rounds_needed(v) for v in values.values())
        return SteadyState(name, used, windows, tuple(found), None, None, n_more, maximum, {}, tuple(warnings))
    estimates = {variable: mean_estimate(v[last - WINDOW : last]) for variable, v in values.items()}
    return SteadyState(
        name, used, windows, tuple(found), last - WINDOW + 1, last, 0, maximum, estimates, tuple(warnings)
    )


def _check_numbering(rounds: pd.DataFrame) -> None:
    if "round" not in rounds or rounds.empty:
        raise AnalysisError("expected rounds with their number in a column round, found none")
    numbers = rounds["round"].astype("int64").tolist()
    if numbers != list(range(1, len(numbers) + 1)):
        raise AnalysisError(f"expected rounds 1, 2, 3 … in order, found {numbers[:30]}")


def _values(rounds: pd.DataFrame, variable: str) -> Floats:
    values: Floats = rounds[variable].to_numpy(dtype=float, na_value=np.nan)
    lacking = rounds.loc[~np.isfinite(values), "round"].tolist()
    if lacking:
        raise AnalysisError(f"{variable} is missing in the rounds {lacking}: the rule needs consecutive rounds")
    return values


def _line(y: Floats) -> tuple[float, float, float]:
    """Slope of the least-squares line a round, and its values at both ends."""
    x = np.arange(len(y)) - (len(y) - 1) / 2
    slope = float(x @ (y - y[0]) / (x @ x))
    mean = float(y[0] + (y - y[0]).mean())
    return slope, mean + slope * float(x[0]), mean + slope * float(x[-1])


def _window(values: Floats, end: int, variable: str) -> tuple[Any, ...]:
    y = values[end - WINDOW : end]
    mean = float(y[0] + (y - y[0]).mean())
    if not mean > 0:
        raise AnalysisError(
            f"{variable}: the mean of rounds {end - WINDOW + 1}–{end} is {mean:g}; limits are shares of it"
        )
    slope, first, last = _line(y)
    spread, excursion = float(y.max() - y.min()) / mean, abs(last - first) / mean
    is_steady = spread <= RANGE_LIMIT + _ROUNDING and excursion <= SLOPE_LIMIT + _ROUNDING
    return (end - WINDOW + 1, end, variable, mean, float(y.min()), float(y.max()), spread, slope, first, last,
            excursion, is_steady)  # fmt: skip


def _rounds_needed(values: Floats) -> int:
    """Fewest further rounds after which a window can be steady, were they as favourable as can be."""
    scaled = values / values.mean()
    few = max(1, WINDOW - len(values))
    return next(n for n in range(few, WINDOW + 1) if _can_be_steady(scaled[len(scaled) - (WINDOW - n) :], n))


def _can_be_steady(kept: Floats, n_more: int) -> bool:
    """Whether some further values make the window of ``kept`` and them steady: a linear programme, for both limits are.

    Unknown: the further values, the window's largest M and smallest m.
    """
    k = len(kept)
    n = k + n_more
    x = np.arange(n) - (n - 1) / 2
    reach = x * (n - 1) / float(x @ x)  # excursion = reach · y
    of_mean = np.full(n, 1 / n)
    constraints, bounds = [], []

    def demand(weights: Floats, largest: float = 0.0, smallest: float = 0.0) -> None:
        """Weights · y + largest · M + smallest · m ≤ 0."""
        constraints.append([*weights[k:], largest, smallest])
        bounds.append(-float(weights[:k] @ kept))

    for row in np.eye(n):
        demand(row, largest=-1.0)
        demand(-row, smallest=1.0)
    demand(-RANGE_LIMIT * of_mean, largest=1.0, smallest=-1.0)
    demand(reach - SLOPE_LIMIT * of_mean)
    demand(-reach - SLOPE_LIMIT * of_mean)
    found = linprog(np.zeros(n_more + 2), A_ub=np.array(constraints), b_ub=bounds, bounds=(0, None))
    return bool(found.success)
