"""Latency over time: histograms of windows, merged over jobs; percentiles of each window; heat maps.

The stamp of a window is its end. Percentiles of jobs or of windows must not be averaged; their counts can be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.distributions._cells import Cells, Floats, Integers, cells, ranks_of
from pipeline.analyse.distributions._latency_rows import (
    bins_of,
    of_one_tool,
    of_runs,
    refuse_windows,
    single_operations,
)
from pipeline.analyse.distributions._window_sums import WindowSums
from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.intervals import quantile_ranks
from pipeline.errors import AnalysisError
from pipeline.units import format_si

PERCENTILES = (50.0, 99.0, 99.9)
_EDGES = ["lower_s", "upper_s"]
_WINDOW = ["op", "phase", "time_s", "window_s"]
_LONG = 1.5  # windows: an interval longer than that is told
_ROWS_A_PIECE = 1 << 16  # whose numbers the processor's cache holds
_ROUNDING = 1e-9  # windows: a stamp so little behind an edge is on it


@dataclass(frozen=True, eq=False)
class OverTime:
    """Counts of windows of one run, op and phase, merged over its jobs.

    ``frame``: op, phase, time_s (the window's end), window_s, lower_s, upper_s (null: open above), count; a window
    without an operation has no row. ``source`` is "per-I/O log" or "bins of intervals".
    """

    run_id: str
    op: str
    phase: str
    window_s: float
    source: str
    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """The counts."""
        return self.frame

    def histogram(self) -> Histogram:
        """All windows in one."""
        return Histogram.of_bins(self.frame)

    def windows(self) -> pd.DataFrame:
        """time_s and n_ops of every window from the first to the last, those without an operation included."""
        counts = self.frame.groupby("time_s")["count"].sum()
        number = np.rint(counts.index.to_numpy() / self.window_s).astype(np.int64)
        every = np.arange(number.min(), number.max() + 1)
        n_ops = np.zeros(len(every), np.int64)
        n_ops[number - number.min()] = counts.to_numpy()
        return pd.DataFrame({"time_s": every * self.window_s, "n_ops": n_ops})

    def percentiles(self, wanted: Sequence[float] = PERCENTILES, confidence: float = 0.95) -> pd.DataFrame:
        """``percentiles`` of the windows, with intervals."""
        return percentiles(self.frame, wanted, confidence)

    def numbers(self) -> dict[str, Any]:
        """What it is of, and how many windows and operations there are."""
        windows = self.windows()
        return {
            "run_id": self.run_id, "op": self.op, "phase": self.phase, "source": self.source,
            "window_s": self.window_s, "n_windows": len(windows), "n_windows_empty": int((windows["n_ops"] == 0).sum()),
            "n_ops": int(windows["n_ops"].sum()), "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """Windows, operations, and the window with the largest p99."""
        worst = self.percentiles([99.0]).sort_values("lower_s").iloc[-1]
        largest = f"[{format_si(worst['lower_s'], 's')}, {format_si(worst['upper_s'], 's')})"
        if worst["lower_s"] == worst["upper_s"]:
            largest = format_si(worst["lower_s"], "s")
        numbers = self.numbers()
        return (
            f"{self.run_id}, {self.op}, {self.phase}: {numbers['n_ops']:,} operations in {numbers['n_windows']} "
            f"windows of {self.window_s:g} s, {numbers['n_windows_empty']} of them empty; the largest p99 of a window "
            f"is {largest}, in the one that ends at {worst['time_s']:g} s (n = {worst['n_ops']:,})."
        )


def over_time(
    tables: Mapping[str, pd.DataFrame],
    run_id: str,
    *,
    op: str,
    phase: str,
    window_s: float = 1.0,
    source: str | None = None,
) -> OverTime:
    """Windows of ``window_s`` seconds of one run: of per-I/O logs, else bins of intervals (histogram logs, ACT, HDR).

    ``source``: "per-I/O log" or "bins of intervals" asks for one of the two. AnalysisError: neither is there, or only
    means of windows, or ``window_s`` is not above 0. Intervals longer than a window and a half are told in a warning:
    their operations stand in the window of their end.
    """
    warnings: tuple[str, ...] = ()
    series = _of(single_operations(tables, {run_id}), op, phase)
    if len(series) and source in (None, "per-I/O log"):
        return OverTime(run_id, op, phase, window_s, "per-I/O log", merge_series(series, window_s))
    bins = _of(bins_of(tables, {run_id}, of_intervals=True), op, phase)
    if bins.empty or source == "per-I/O log":
        refuse_windows(_of(of_runs(tables["latency_series"], {run_id}), op, phase))
        raise AnalysisError(
            f"{run_id}, {op}, {phase}: expected {source or 'a log an operation or bins of intervals'}, found none; "
            "fio: write_lat_log with log_avg_msec=0, or write_hist_log; ACT and HDR logs have intervals"
        )
    merged = merge_jobs(bins, window_s)
    longest = float((bins["interval_end_s"] - bins["interval_start_s"]).max())
    if longest > _LONG * window_s:
        warnings = (
            f"an interval is {longest:g} s long: its operations count in the window of {window_s:g} s it ends in",
        )
    return OverTime(run_id, op, phase, window_s, "bins of intervals", merged, warnings)


def _of(rows: pd.DataFrame, op: str, phase: str) -> pd.DataFrame:
    return of_one_tool(rows[(rows["op"] == op) & (rows["phase"] == phase)])


def merge_jobs(bins: pd.DataFrame | Iterable[pd.DataFrame], window_s: float = 1.0) -> pd.DataFrame:
    """Add the bins of all jobs in windows of ``window_s`` seconds.

    ``bins``: rows of latency_bins of one run and scope, with intervals; of long logs many frames, one at a time, as the
    files or the batches of ``tidy.scan`` give them: where bins repeat, only the sums stay in memory. An interval counts
    to the window whose end is nearest to its own: stamps of jobs differ by some ms, and counts stay whole. Intervals
    much longer than ``window_s`` are not divided. Returns op, phase, time_s (end of the window), window_s, lower_s,
    upper_s (null: open above) and count; op and phase in the order of the rows, then by time and bin. AnalysisError
    where a row has no interval or ``window_s`` is not above 0.
    """
    _check_window(window_s)
    sums = WindowSums()
    for rows in _pieces([bins] if isinstance(bins, pd.DataFrame) else bins):
        ends = rows["interval_end_s"].to_numpy(np.float64, na_value=np.nan)
        if np.isnan(ends).any():
            raise AnalysisError("bins: expected intervals, found rows of a whole run")
        upper = rows["upper_s"].to_numpy(np.float64, na_value=np.nan)
        edges = rows["lower_s"], np.where(np.isnan(upper), np.inf, upper)
        sums.add(rows, np.rint(ends / window_s), edges, rows["count"])
    return sums.frame(window_s)


def _pieces(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The rows in views of some: what is made of one on the way to a sum takes the memory of the one before."""
    for rows in frames:
        for start in range(0, len(rows), _ROWS_A_PIECE):
            yield rows.iloc[start : start + _ROWS_A_PIECE]


def merge_series(series: pd.DataFrame, window_s: float = 1.0) -> pd.DataFrame:
    """Count single operations in windows of ``window_s`` seconds, each in (end − window_s, end] by its own stamp.

    ``series``: rows of latency_series of one run. Returns what ``merge_jobs`` returns, with lower_s = upper_s: the
    latencies themselves. AnalysisError: a row that is a window's mean, a null, or ``window_s`` not above 0.
    """
    _check_window(window_s)
    refuse_windows(series)
    stamps = series["time_s"].to_numpy(np.float64, na_value=np.nan)
    if np.isnan(stamps).any():
        raise AnalysisError(f"{int(np.isnan(stamps).sum())} of {len(stamps)} operations have no stamp")
    numbers = window_numbers(stamps, window_s)
    sums = WindowSums()
    sums.add(series, numbers, (series["latency_s"],) * 2, np.ones(len(series)))
    return sums.frame(window_s)


def window_numbers(stamps: Floats, window_s: float) -> Floats:
    """Which window (from 1) each stamp lies in: (end − window_s, end], the start of the run in the first."""
    _check_window(window_s)
    return np.maximum(np.ceil(stamps / window_s - _ROUNDING), 1)


def _check_window(window_s: float) -> None:
    if not 0 < window_s < np.inf:
        raise AnalysisError(f"window_s: expected more than 0, found {window_s}")


def percentiles(merged: pd.DataFrame, wanted: Sequence[float], confidence: float | None = None) -> pd.DataFrame:
    """Bounds of each percentile of each window: the latency is in [lower_s, upper_s), or is both where they are equal.

    ``merged``: from ``merge_jobs`` or ``merge_series``; ``wanted``: 0 … 100; the rule is ``Histogram.percentile``'s.
    Returns op, phase, time_s, window_s, n_ops, percentile, lower_s, upper_s (null: open); with ``confidence`` also
    interval_low_s and interval_high_s by order statistics, null where the window has too few operations (see
    ``Histogram.percentile_estimate`` for what it assumes).
    """
    columns = [*_WINDOW, "n_ops", "percentile", *_EDGES]
    columns += ["interval_low_s", "interval_high_s"] if confidence is not None else []
    group = merged.groupby(_WINDOW, sort=False).ngroup().to_numpy()
    upper = merged["upper_s"].to_numpy(np.float64)
    found = cells(group, merged["lower_s"], np.where(np.isnan(upper), np.inf, upper), merged["count"])
    n_ops = found.totals()
    ranks = ranks_of(n_ops, wanted)
    if not ranks.size:
        return pd.DataFrame(columns=columns)
    lower, upper = found.order_statistics(ranks)
    result = merged.loc[np.repeat(np.unique(group, return_index=True)[1], len(wanted)), _WINDOW].reset_index(drop=True)
    result["n_ops"] = np.repeat(n_ops, len(wanted))
    result["percentile"] = np.tile(np.asarray(wanted, np.float64), len(n_ops))
    result["lower_s"], result["upper_s"] = lower.ravel(), np.where(np.isfinite(upper), upper, np.nan).ravel()
    if confidence is not None:
        low, high = _intervals(found, n_ops, wanted, confidence)
        result["interval_low_s"], result["interval_high_s"] = low.ravel(), high.ravel()
    return result


def _intervals(found: Cells, n_ops: Integers, wanted: Sequence[float], confidence: float) -> tuple[Floats, Floats]:
    """Ends by order statistics, groups × percentiles; NaN where the ranks are not within the group."""
    sizes, place = np.unique(n_ops, return_inverse=True)
    ranks = np.zeros((2, len(sizes), len(wanted)), np.int64)
    for row, n in enumerate(sizes):
        for column, percentile in enumerate(wanted):
            if 0 < percentile < 100:
                pair = quantile_ranks(int(n), percentile / 100, confidence)
                ranks[:, row, column] = pair.low, pair.high
    low, high = ranks[0][place], ranks[1][place]
    is_low, is_high = low >= 1, (high >= 1) & (high <= n_ops[:, None])
    lower = found.order_statistics(np.where(is_low, low, 1))[0]
    upper = found.order_statistics(np.where(is_high, high, 1))[1]
    return np.where(is_low, lower, np.nan), np.where(is_high & np.isfinite(upper), upper, np.nan)
