"""Every repeat of a point as a series of windows: trend, warm-up, mean – and how far the runs lie apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.intervals import Estimate, median_estimate
from pipeline.analyse.steadiness.rounds import windows_of
from pipeline.analyse.steadiness.series_mean import series_mean, warm_up
from pipeline.analyse.steadiness.trend import trend
from pipeline.errors import AnalysisError
from pipeline.units import format_si


@dataclass(frozen=True)
class SeriesOfRuns:
    """A row a run, and how far the runs lie apart.

    ``frame``: n_windows, n_effective, trend_p_value, change_ratio with change_low_ratio and change_high_ratio (over the
    run, of its median), dropped_ratio by MSER-5, mean (by time) with low and high, and ``refused``: what the series
    could not support, in words. ``between``: the median of the means with its interval by order statistics (None below
    6 runs).
    """

    name: str
    variable: str
    unit: str
    frame: pd.DataFrame
    between: Estimate
    confidence: float

    def to_frame(self) -> pd.DataFrame:
        """The rows."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The rows and what they come to."""
        return {"runs": self.frame, "between": self.between}

    def sentence(self) -> str:
        """How many runs drift, were cut, and how the intervals within runs compare with the runs' own spread."""
        frame, e = self.frame, self.between
        judged = frame["trend_p_value"].notna()
        drifting = int((frame.loc[judged, "trend_p_value"] < 1 - self.confidence).sum())
        widths = ((frame["high"] - frame["low"]) / 2 / frame["mean"]).dropna()
        within = "no run has an interval"
        if len(widths):
            within = f"within a run the {self.confidence:.0%} interval is ± {widths.median():.0%} (median)"
        ends = "no interval: need ≥ 6 runs"
        if e.low is not None and e.high is not None:
            ends = f"{e.confidence:.0%} interval {format_si(e.low, self.unit)} … {format_si(e.high, self.unit)}"
        return (
            f"{self.name}: {drifting} of {int(judged.sum())} runs drift (Mann–Kendall at {1 - self.confidence:.0%}, "
            f"autocorrelation known; windows as a line plus a first-order autoregression); MSER-5 cuts "
            f"{int(frame['dropped_ratio'].gt(0).sum())} and refuses {int(frame['dropped_ratio'].isna().sum())} of "
            f"{len(frame)}; {within}, the median of the means of n = {e.n} runs is "
            f"{format_si(e.value, self.unit)} ({ends}; assumes independent runs)."
        )


def series_of_runs(
    tables: Mapping[str, pd.DataFrame], point: str, variable: str = "bytes_per_s", *, op: str | None = None,
    confidence: float = 0.95,
) -> SeriesOfRuns:  # fmt: skip
    """Judge the throughput windows of every repeat of ``point`` by ``trend``, ``warm_up`` and ``series_mean``.

    The mean is of the whole run, what MSER-5 would drop included. A refusal of one method is kept in words, the others
    still stand. AnalysisError: no such run, or one whose windows come from several workers.
    """
    runs = tables["runs"]
    ids = runs.loc[runs["point"] == point, "run_id"].drop_duplicates().tolist()
    if not ids:
        raise AnalysisError(f"expected runs of the point {point!r}, found none")
    rows = [_row(windows_of(tables, str(run_id), op=op), str(run_id), variable, confidence) for run_id in ids]
    unit = "B/s" if variable == "bytes_per_s" else "/s"
    frame = pd.DataFrame(rows).sort_values("run_id", ignore_index=True)
    return SeriesOfRuns(point, variable, unit, frame, median_estimate(frame["mean"], confidence), confidence)


def _row(windows: pd.DataFrame, run_id: str, variable: str, confidence: float) -> dict[str, Any]:
    if windows.groupby(["job", "target", "op"], dropna=False).ngroups > 1:
        raise AnalysisError(f"{run_id}: windows of several workers or directions: choose one, or make rounds")
    values, times, lengths = windows[variable], windows["time_s"], windows["window_s"]
    row: dict[str, Any] = {"run_id": run_id, "n_windows": len(windows), "n_effective": None, "trend_p_value": None,
                           "change_ratio": None, "change_low_ratio": None, "change_high_ratio": None,
                           "dropped_ratio": None, "mean": float((values * lengths).sum() / lengths.sum()),
                           "low": None, "high": None, "refused": ""}  # fmt: skip
    refused = []
    try:
        found = trend(values, times, confidence=confidence)
        row |= {"trend_p_value": found.p_value, "change_ratio": found.change_ratio, "n_effective": found.n_effective}
        if found.median:
            row["change_low_ratio"] = found.slope_low * found.span / found.median
            row["change_high_ratio"] = found.slope_high * found.span / found.median
    except AnalysisError as error:
        refused.append(f"trend: {error}")
    try:
        row["dropped_ratio"] = warm_up(values, lengths).dropped_ratio
    except AnalysisError as error:
        refused.append(f"warm-up: {error}")
    try:
        mean = series_mean(values, confidence, window_s=lengths)
        row |= {"low": mean.estimate.low, "high": mean.estimate.high, "n_effective": mean.n_effective}
        refused += mean.warnings
    except AnalysisError as error:
        refused.append(f"mean: {error}")
    return row | {"refused": "; ".join(refused)}
