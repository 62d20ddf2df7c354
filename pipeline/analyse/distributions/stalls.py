"""Stalls: times when a run completed nothing or hardly anything, and operations that took as long as such a time.

The rate is a step function: the mean rate of each window or interval, all jobs added. A stall is where it falls below a
fraction of its median, or while an operation takes longer than ``latency_s``; what touches is one stall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import pdtr

from pipeline.analyse.distributions._cells import Floats
from pipeline.analyse.distributions._latency_rows import bins_of, of_one_tool, of_runs, single_operations, without_sums
from pipeline.analyse.distributions._rate_steps import (
    joined,
    median_rate,
    overlaps,
    quiet_spans,
    rate_steps,
    slow_spans,
)
from pipeline.errors import AnalysisError
from pipeline.units import format_si

WINDOWS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FALSE_ALARMS = 0.01  # expected in a run whose completions are random at a constant rate
EMPTY, SLOW, LONG = "no completion", "slow", "long latency"
COLUMNS = ["start_s", "end_s", "length_s", "kind", "n_completed", "n_ops", "worst_lower_s", "worst_upper_s"]


@dataclass(frozen=True, eq=False)
class Stalls:
    """The stalls of a run and how they were looked for.

    ``frame`` has COLUMNS: kind joins what was seen at some time of it; n_completed is the operations completed inside;
    n_ops those that it touched: outstanding at some time of it and at least ``latency_s`` long; worst_lower_s and
    worst_upper_s bound the largest latency among them (null: not known). ``window_s`` is the resolution: what is
    shorter, or lies in parts of two windows, may be missed.
    """

    run_id: str
    source: str
    frame: pd.DataFrame
    window_s: float
    fraction: float
    median_per_s: float
    latency_s: float
    duration_s: float
    n_ops: int
    chosen: str
    warnings: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A row a stall."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The stalls, their number and time in all, and the thresholds."""
        return {
            "run_id": self.run_id, "source": self.source, "n_stalls": len(self.frame),
            "stalled_s": float(self.frame["length_s"].sum()), "duration_s": self.duration_s, "n_ops": self.n_ops,
            "window_s": self.window_s, "fraction": self.fraction, "median_per_s": self.median_per_s,
            "latency_s": self.latency_s, "chosen": self.chosen, "stalls": self.frame, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """How many, how long, and by which thresholds."""
        n = len(self.frame)
        text = (
            f"{self.run_id}: {n} stall{'' if n == 1 else 's'} in {self.duration_s:.4g} s and {self.n_ops:,} operations"
        )
        if n:
            worst = self.frame.sort_values("length_s").iloc[-1]
            total = format_si(float(self.frame["length_s"].sum()), "s")
            text += (
                f", {total} in all, the longest {format_si(worst['length_s'], 's')} from {worst['start_s']:.4g} s on, "
                f"{int(worst['n_ops']) if pd.notna(worst['n_ops']) else 'an unknown number of'} operations in it"
            )
        return f"{text} ({self.chosen})."


def stalls(
    tables: Mapping[str, pd.DataFrame],
    run_id: str,
    *,
    phase: str = "total",
    fraction: float = 0.1,
    window_s: float | None = None,
    latency_s: float | None = None,
    source: str | None = None,
) -> Stalls:
    """Find the stalls of one run, all its jobs and directions together.

    From per-I/O logs of ``phase``, else bins of intervals, else throughput_series, or the ``source`` of that name.
    ``window_s``, of per-I/O logs: by default the shortest of WINDOWS_S for which completions at random (Poisson) at the
    median rate would give less than FALSE_ALARMS windows below ``fraction`` of the median in the whole run; intervals
    have their own length.
    ``latency_s``: by default the window: while a single operation takes so long, others should complete by the dozen.
    An operation is outstanding from its stamp less its latency to its stamp; stamps of fio are in ms. A stall without
    a completion reaches from the completion before it to the one behind it where operations are logged, else from edge
    to edge of windows. Time before the first and behind the last completion is not looked at.

    AnalysisError: none of the sources, no operation, fraction outside 0 … 1, or too few operations for any window.
    """
    if not 0 < fraction < 1:
        raise AnalysisError(f"fraction: expected a share within 0 … 1, found {fraction}")
    series = single_operations(tables, {run_id})
    series = of_one_tool(series[series["phase"] == phase])
    if len(series) and source in (None, "per-I/O log"):
        return _of_operations(run_id, series, fraction, window_s, latency_s)
    bins = bins_of(tables, {run_id}, of_intervals=True)
    bins = of_one_tool(bins[bins["phase"] == phase])
    if len(bins) and source in (None, "bins of intervals"):
        return _of_bins(run_id, bins, fraction, latency_s)
    if source not in (None, "throughput_series"):
        raise AnalysisError(f"{run_id}, {phase}: expected {source}, found none")
    return _of_rates(run_id, of_runs(tables["throughput_series"], {run_id}), fraction)


def _of_operations(
    run_id: str, series: pd.DataFrame, fraction: float, window_s: float | None, latency_s: float | None
) -> Stalls:
    stamps = series["time_s"].to_numpy(np.float64)
    latencies = series["latency_s"].to_numpy(np.float64)
    window, how = (window_s, "given") if window_s is not None else _window(stamps, fraction)
    threshold = window if latency_s is None else latency_s
    empty, slow, median = quiet_spans(stamps, window, fraction)
    is_long = latencies >= threshold
    long = list(zip(stamps[is_long] - latencies[is_long], stamps[is_long], strict=True))
    rows = []
    for start, end in joined([*empty, *slow, *long]):
        touched = is_long & (stamps >= start) & (stamps - latencies <= end)
        seen = ((EMPTY, overlaps(empty, start, end)), (SLOW, overlaps(slow, start, end)), (LONG, touched.any()))
        kind = ", ".join(name for name, is_seen in seen if is_seen)
        worst = latencies[touched].max() if touched.any() else np.nan
        n_inside = int(((stamps > start) & (stamps < end)).sum())
        rows.append((start, end, end - start, kind, n_inside, int(touched.sum()), worst, worst))
    chosen = (
        f"windows of {format_si(window, 's')} below {fraction:.0%} of their median of {median:g} operations, or an "
        f"operation of {format_si(threshold, 's')} and longer; window {how}"
    )
    return Stalls(run_id, "per-I/O log", _frame(rows), window, fraction, median / window, threshold,
                  float(stamps.max() - stamps.min()), len(series), chosen)  # fmt: skip


def _window(stamps: Floats, fraction: float) -> tuple[float, str]:
    """The shortest window with so few false alarms, and how it was chosen."""
    span = float(stamps.max() - stamps.min())
    for window in WINDOWS_S:
        n_windows = math.ceil(span / window)
        if n_windows < 3:
            break
        counts = np.bincount(np.ceil((stamps - stamps.min()) / window).astype(np.int64))
        median = float(np.median(counts))
        # pdtr(k, m): P(at most k of a Poisson variable of mean m); below f·m means at most ⌈f·m⌉ − 1.
        if median > 0 and n_windows * float(pdtr(math.ceil(fraction * median) - 1, median)) < FALSE_ALARMS:
            return window, f"chosen so that random completions at that rate give < {FALSE_ALARMS:g} such windows a run"
    raise AnalysisError(
        f"{len(stamps)} operations in {span:g} s are too few to tell a stall from chance: no window of "
        f"{WINDOWS_S[0]:g} to {WINDOWS_S[-1]:g} s would do; need a longer run or a higher rate, or give window_s"
    )


def _of_bins(run_id: str, bins: pd.DataFrame, fraction: float, latency_s: float | None) -> Stalls:
    keys = ["job", "target", "op", "interval_start_s", "interval_end_s"]
    intervals = bins.groupby(keys, dropna=False)["count"].sum().reset_index()
    intervals = intervals[intervals["interval_end_s"] > intervals["interval_start_s"]]
    start, end = (intervals[name].to_numpy(np.float64) for name in keys[3:])
    edges, rates = rate_steps(start, end, intervals["count"].to_numpy(np.float64) / (end - start))
    usual = float(np.median(end - start))
    found = slow_spans(edges, rates, fraction, usual)
    threshold = usual if latency_s is None else latency_s
    lower = bins["lower_s"].to_numpy(np.float64)
    upper = bins["upper_s"].to_numpy(np.float64, na_value=np.nan)
    ends, begins = (bins[name].to_numpy(np.float64) for name in ("interval_end_s", "interval_start_s"))
    is_long = (lower >= threshold) & (bins["count"].to_numpy(np.int64) > 0)
    # It completed somewhere in its interval, and was there before that if it took longer than the interval.
    spans = [
        (max(min(e - low, b), float(edges[0])), e)
        for b, e, low in zip(begins[is_long], ends[is_long], lower[is_long], strict=True)
    ]
    rows = []
    for first, last in joined([*found, *spans]):
        touched = is_long & (ends >= first) & (begins - lower <= last)
        n_touched = int(bins["count"].to_numpy(np.int64)[touched].sum())
        kind = ", ".join([SLOW] * overlaps(found, first, last) + [LONG] * bool(n_touched))
        worst = (lower[touched].max(), upper[touched].max()) if n_touched else (np.nan, np.nan)
        rows.append((first, last, last - first, kind, pd.NA, n_touched, *worst))
    median = median_rate(edges, rates)
    chosen = (
        f"mean rate of an interval (median {format_si(usual, 's')}) below {fraction:.0%} of its median of "
        f"{median:.4g}/s, or a bin from {format_si(threshold, 's')} on"
    )
    warning = "ends are those of intervals: a stall may look longer, and one shorter than two may be missed"
    return Stalls(run_id, "bins of intervals", _frame(rows), usual, fraction, median, threshold,
                  float(edges[-1] - edges[0]), int(bins["count"].sum()), chosen, (warning,))  # fmt: skip


def _of_rates(run_id: str, series: pd.DataFrame, fraction: float) -> Stalls:
    rows = of_one_tool(series[series["ops_per_s"].notna() & (series["window_s"] > 0)])
    if rows.empty:
        raise AnalysisError(
            f"{run_id}: expected a log of operations, of histograms or of rates over time, found none; "
            "fio: write_lat_log, write_hist_log or write_iops_log with log_avg_msec"
        )
    rows = without_sums(rows, ["job", "target"])
    end = rows["time_s"].to_numpy(np.float64)
    window = rows["window_s"].to_numpy(np.float64)
    edges, rates = rate_steps(end - window, end, rows["ops_per_s"].to_numpy(np.float64))
    median, usual = median_rate(edges, rates), float(np.median(window))
    found = [(a, b, b - a, SLOW, pd.NA, pd.NA, np.nan, np.nan) for a, b in slow_spans(edges, rates, fraction, usual)]
    n_ops = round(float((rates * np.diff(edges)).sum()))
    chosen = f"mean rate of a window ({format_si(usual, 's')}) below {fraction:.0%} of its median of {median:.4g}/s"
    return Stalls(run_id, "throughput_series", _frame(found), usual, fraction, median, math.nan,
                  float(edges[-1] - edges[0]), n_ops, chosen,
                  ("rates alone: what operations a stall touched is not known",))  # fmt: skip


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=COLUMNS)
    whole = dict.fromkeys(["n_completed", "n_ops"], "Int64")
    numbers = dict.fromkeys(["start_s", "end_s", "length_s", "worst_lower_s", "worst_upper_s"], "float64")
    return frame.astype({**whole, **numbers})
