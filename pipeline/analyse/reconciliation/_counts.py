"""Reconciliation of counts: log rows, histogram bins, windows, workers and directions against the operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.reconciliation._pairs import IDENTITY, numbers, pairs
from pipeline.analyse.reconciliation._rounding import half_latency_digit, latency_pool
from pipeline.analyse.select import KEYS, summable_operations, whole_run, whole_run_or_intervals

BY_OP = [*KEYS, "op"]
WHOLE = 1e-6  # seconds by which stamps that are meant to be equal may differ
_DIRECTIONS = ("read", "write", "trim")
_CUT = "log: it was cut or sampled, or it holds operations that the summary leaves out, as those of a ramp"
_CUT_EXCUSE = "incomplete run: its parts need not cover the same time"


def incomplete(frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """The excuse of rows of runs that did not end by themselves, whose files may cover different times; else null."""
    runs = tables["runs"].set_index(KEYS)["is_complete"]
    cut = set(runs[~runs.fillna(False).astype(bool)].index)
    keys = pd.MultiIndex.from_frame(frame[KEYS])
    return pd.Series([_CUT_EXCUSE if key in cut else None for key in keys], frame.index, dtype=object)


def log_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Rows of a per-I/O log against the operations of their op, and of a log's report against its tool's own report."""
    series = tables["latency_series"]
    rows = series[series["window_s"].isna()]
    if len(rows):
        counted = rows.groupby([*BY_OP, "phase"], dropna=False, sort=False).size().rename("n_rows").reset_index()
        totals = _by_op(tables, "n_ops")
        merged = counted.merge(totals, on=BY_OP, how="left")
        yield pairs(
            merged, "log-rows", left=merged["n_rows"], left_from="latency_series rows", right=merged["n_ops"],
            right_from="operations.n_ops", unit="1", excuse=incomplete(merged, tables), likely=_CUT,
        )  # fmt: skip
    totals = _by_op(tables, "n_ops")
    logs = totals[totals["tool"].str.endswith("_log")]
    tools = totals.assign(tool=totals["tool"].astype(object) + "_log").rename(columns={"n_ops": "n_ops_tool"})
    merged = logs.merge(tools, on=BY_OP, how="inner")
    merged = merged.merge(_last_window(tables), on=KEYS, how="left")
    yield pairs(
        merged, "log-report", left=merged["n_ops"], left_from="operations.n_ops of the log", right=merged["n_ops_tool"],
        right_from="operations.n_ops of the tool", unit="1", excuse=incomplete(merged, tables), likely=_CUT,
        right_tool=merged["tool"].str.removesuffix("_log"), slack=merged["n_window"],
        slack_from="edges: a log of windows lacks the last, which it never ended, and that may",
    )  # fmt: skip


def _last_window(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Operations of the largest window of each log that has windows alone, no row an operation."""
    windows, rows = tables["throughput_series"], tables["latency_series"]
    single = pd.MultiIndex.from_frame(rows.loc[rows["window_s"].isna(), KEYS].drop_duplicates())
    windows = windows[~pd.MultiIndex.from_frame(windows[KEYS]).isin(single)]
    sizes = (windows["ops_per_s"] * windows["window_s"]).groupby([windows[key] for key in KEYS]).max()
    return sizes.rename("n_window").reset_index()


def series_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Σ rate × window of a rate log against the operations of the same time; what the windows leave out is slack."""
    windows = tables["throughput_series"]
    windows = windows[windows["window_s"].notna() & windows["ops_per_s"].notna()]
    if windows.empty:
        return
    interval = ["interval_start_s", "interval_end_s"]
    operations = summable_operations(tables)
    stated = operations.groupby([*BY_OP, *interval], dropna=False, sort=False)
    stated = stated.agg(n_ops=("n_ops", _sum), duration_s=("duration_s", "mean")).reset_index()
    # A window counts for the whole run, or for the interval in which it ends.
    ends = _finest_series(windows).merge(stated, on=BY_OP, how="left")
    start, end = ends["interval_start_s"], ends["interval_end_s"]
    ends = ends[start.isna() | (ends["time_s"].gt(start + WHOLE) & ends["time_s"].le(end + WHOLE))]
    ends = ends.assign(n=ends["ops_per_s"] * ends["window_s"])
    keys = [*BY_OP, *interval]
    workers = ends.groupby([*keys, "job", "target"], dropna=False, sort=False)
    sums = workers.agg(n=("n", "sum"), covered_s=("window_s", "sum"), highest=("ops_per_s", "max"),
                       n_ops=("n_ops", "first"), duration_s=("duration_s", "first")).reset_index()  # fmt: skip
    merged = sums.groupby(keys, dropna=False, sort=False).agg(
        n=("n", "sum"), covered_s=("covered_s", "mean"), highest=("highest", "sum"), n_ops=("n_ops", "first"),
        duration_s=("duration_s", "first"),
    ).reset_index()  # fmt: skip
    out_s = (merged["duration_s"].astype("float64") - merged["covered_s"]).abs()
    yield pairs(
        merged, "rate-series", left=merged["n"], left_from="throughput_series.Σ ops_per_s × window_s",
        right=merged["n_ops"], right_from="operations.n_ops", unit="1", slack=out_s * merged["highest"],
        slack_from="edges: seconds outside the windows", excuse=incomplete(merged, tables),
        likely="windows: their lengths or stamps are not the tool's",
    )  # fmt: skip


def _finest_series(windows: pd.DataFrame) -> pd.DataFrame:
    """Windows whose rates add up: no sum over directions beside them, and a total in place of the workers."""
    is_sum = windows["op"].isin(["total", "mixed"])
    windows = windows[~(is_sum & (~is_sum).groupby([windows[key] for key in KEYS]).transform("any"))]
    is_total = windows["job"].isna() & windows["target"].isna()
    has_total = is_total.groupby([windows[key] for key in BY_OP]).transform("any")
    return windows[is_total | ~has_total]


def bin_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Σ bins of a histogram against the operations whose latency it holds, and the mean that its bins allow.

    The count is that of the histogram's own phase where the report gives one, else of the operations of its job, else
    of all of its op. A histogram of intervals that end before the run does lacks what came after them (slack, at the
    mean rate). Each operation of a bin [lower, upper) took at least lower and less than upper, which bounds the mean;
    an overflow bin leaves it unbounded above, and the check of the mean then rests on the lower bound alone.
    """
    keys = [*KEYS, "job", "target", "op", "scope", "phase"]
    bins = tables["latency_bins"]
    if bins.empty:
        return
    sums = _bin_sums(whole_run_or_intervals(bins, keys), keys)
    merged = sums.merge(_latencies(tables), on=keys, how="left")
    operations = summable_operations(tables)
    of_job = operations.groupby([*BY_OP, "job"], sort=False)["n_ops"].agg(_sum).rename("n_of_job").reset_index()
    merged = merged.merge(of_job, on=[*BY_OP, "job"], how="left")
    of_op = _by_op(tables, "n_ops", "duration_s").rename(columns={"n_ops": "n_of_op"})
    merged = merged.merge(of_op, on=BY_OP, how="left")
    own, n_of_job, n_of_op, duration = numbers(merged, "n_ops", "n_of_job", "n_of_op", "duration_s")
    right = own.where(merged["scope"].ne("log")).fillna(n_of_job).fillna(n_of_op)
    out_s = (duration - merged["end_s"]).clip(lower=0).fillna(0)
    yield pairs(
        merged, "bins", left=merged["n"], left_from="latency_bins.Σ count", right=right, unit="1",
        right_from="n_ops of the same latencies", excuse=incomplete(merged, tables), slack=out_s / duration * right,
        slack_from="edges: seconds after the last interval",
        likely="histogram: bins are cumulative, doubled or cut, or hold operations that the summary leaves out",
    )  # fmt: skip
    with_mean = merged[merged["mean_s"].notna()]
    low, high, mean = numbers(with_mean, "low", "high", "mean_s")
    outside = np.fmax(0, np.fmax(low - mean, mean - high.fillna(np.inf)))
    edge = low.where((mean < low) | high.isna(), high.where(mean > high, low))
    yield pairs(
        with_mean, "bins-mean", left=mean, left_from="latency_summary.mean_s", right=edge, unit="s",
        right_from="mean that latency_bins allow, its nearer bound", rounding=with_mean["half_s"],
        distance_ratio=outside / edge.where(edge > 0, mean.where(mean > 0, 1.0)),
        likely="histogram: its edges are not the tool's, or the mean is of other operations",
    )  # fmt: skip


def total_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """A tool's total against the sum of its workers or devices, and a sum over directions against the directions."""
    rows = tables["operations"]
    interval = ["interval_start_s", "interval_end_s"]
    keys = [*BY_OP, *interval]
    totals = rows[rows["scope"] == "total"]
    for scope in ("job", "device"):
        parts = rows[(rows["scope"] == scope) & rows["n_ops"].notna()]
        sums = parts.groupby(keys, dropna=False, sort=False)["n_ops"].sum().rename("n_parts").reset_index()
        merged = totals.merge(sums, on=keys, how="inner")
        yield pairs(
            merged, f"{scope}s-total", left=merged["n_ops"], left_from="operations.n_ops (total)",
            right=merged["n_parts"], right_from=f"operations.Σ n_ops ({scope}s)", unit="1",
            excuse=incomplete(merged, tables), likely=f"total: {scope}s are missing or counted twice",
        )  # fmt: skip
    keys = [name for name in IDENTITY if name != "op"]
    for name, of_it in (("mixed", _DIRECTIONS), ("total", (*_DIRECTIONS, "other"))):  # other: sysbench's syncs
        parts = rows[rows["op"].isin(of_it) & rows["n_ops"].notna()]
        sums = parts.groupby(keys, dropna=False, sort=False)["n_ops"].sum().rename("n_parts").reset_index()
        merged = rows[rows["op"] == name].merge(sums, on=keys, how="inner")
        yield pairs(
            merged, "directions-total", left=merged["n_ops"], left_from=f"operations.n_ops ({name})",
            right=merged["n_parts"], right_from="operations.Σ n_ops of its parts", unit="1",
            excuse=incomplete(merged, tables), likely="total: a direction is missing, or counted twice",
        )  # fmt: skip


def _by_op(tables: Mapping[str, pd.DataFrame], *names: str) -> pd.DataFrame:
    """Sums of n_ops (the mean of duration_s) over the summable operations of each run and op; null if one is null."""
    grouped = summable_operations(tables).groupby(BY_OP, sort=False)
    made = {name: grouped[name].agg(_sum if name == "n_ops" else "mean") for name in names}
    return pd.DataFrame(made).reset_index()


def _sum(values: pd.Series) -> float:
    return float("nan") if values.isna().any() else float(values.sum())


def _bin_sums(bins: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Count and bounds of the mean of each histogram; the upper one is null where an overflow bin has operations."""
    count, lower, upper = numbers(bins, "count", "lower_s", "upper_s")
    weighted = bins[keys].assign(
        n=count, low=count * lower, high=count * upper, n_open=count.where(upper.isna() & (count > 0), 0.0)
    )
    grouped = weighted.assign(end_s=bins["interval_end_s"]).groupby(keys, dropna=False, sort=False)
    sums = grouped[["n", "low", "high", "n_open"]].sum().assign(end_s=grouped["end_s"].max()).reset_index()
    n = sums["n"].where(sums["n"] > 0)
    return sums.assign(low=sums["low"] / n, high=(sums["high"] / n).where(sums["n_open"] == 0))


def _latencies(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """n_ops and mean of each latency of the whole run: of its phase, or of the operations, whose phase is the total."""
    keys = [*KEYS, "job", "target", "op", "scope", "phase"]
    summary = tables["latency_summary"]
    summary = summary[whole_run(summary)][[*keys, "n_ops", "mean_s"]]
    rows = tables["operations"]
    rows = rows[whole_run(rows)].assign(phase="total", mean_s=rows["latency_mean_s"])[[*keys, "n_ops", "mean_s"]]
    both = pd.concat([part for part in (summary, rows) if len(part)] or [summary])
    both = both.groupby(keys, dropna=False, sort=False)[["n_ops", "mean_s"]].first().reset_index()
    return both.assign(half_s=half_latency_digit(both, "mean_s", latency_pool(tables)))
