"""Reconciliation of latencies: a log's mean, the parts of a latency, the order of its quantiles, and their bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.reconciliation._counts import BY_OP, incomplete
from pipeline.analyse.reconciliation._pairs import numbers, pairs
from pipeline.analyse.reconciliation._rounding import half_latency_digit, latency_pool
from pipeline.analyse.select import KEYS, whole_run
from pipeline.units import MICRO

LATENCY = [*KEYS, "job", "target", "op", "scope", "interval_start_s", "interval_end_s", "phase"]
_SUMMARY = ["n_ops", "mean_s", "min_s", "max_s"]
WHOLE_TICK = 1e-4  # µs within which a latency counts as whole
_OTHER = "other operations: the two are of different operations, or a unit differs"


def latency_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """All checks of latencies; each summary once, that of the operations where latency_summary has none."""
    pool = latency_pool(tables)
    summaries = _summaries(tables)
    for column in ("mean_s", "min_s", "max_s"):
        summaries[f"half_{column}"] = half_latency_digit(summaries, column, pool)
    yield from _log_means(tables, summaries)
    yield from _parts(summaries)
    yield from _means_in_range(summaries)
    yield from _orders(tables, summaries, pool)
    yield from _percentiles_in_bins(tables, pool)


def _summaries(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Summaries of all phases; those of the operations stand in for a total phase that has none."""
    names = {f"latency_{name}": name for name in ("mean_s", "min_s", "max_s")}
    rows = tables["operations"].rename(columns=names).assign(phase="total")[[*LATENCY, *_SUMMARY]]
    parts = [part for part in (tables["latency_summary"][[*LATENCY, *_SUMMARY]], rows) if len(part)]
    both = pd.concat(parts, ignore_index=True) if parts else rows
    both = both[both[["mean_s", "min_s", "max_s"]].notna().any(axis=1)]
    return both.drop_duplicates(LATENCY).astype(dict.fromkeys(_SUMMARY, "float64"))


def _log_means(tables: Mapping[str, pd.DataFrame], summaries: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Mean over the rows of a per-I/O log against the summary's mean, weighted by operations over the workers."""
    series = tables["latency_series"]
    rows = series[series["window_s"].isna() & series["latency_s"].notna()]
    if rows.empty:
        return
    keys = [*BY_OP, "phase"]
    logged = rows.groupby(keys, dropna=False, sort=False)["latency_s"].mean().rename("log_mean_s").reset_index()
    stated = summaries[whole_run(summaries) & summaries["scope"].ne("log") & summaries["mean_s"].notna()]
    has_total = stated["scope"].eq("total").groupby([stated[key] for key in keys]).transform("any")
    stated = stated[stated["scope"].eq("total") | ~has_total]
    weighted = stated.assign(sum_s=stated["mean_s"] * stated["n_ops"], half=stated["half_mean_s"])
    grouped = weighted.groupby(keys, sort=False)
    means = (grouped["sum_s"].sum(min_count=1) / grouped["n_ops"].sum()).rename("mean_s")
    means = means.where(grouped.size() > 1, grouped["mean_s"].first())  # one worker needs no weight
    merged = logged.merge(
        pd.DataFrame({"mean_s": means, "half": grouped["half"].max()}).reset_index(), on=keys, how="left"
    )
    yield pairs(
        merged, "log-mean", left=merged["log_mean_s"], left_from="latency_series.latency_s, its mean",
        right=merged["mean_s"], right_from="latency_summary.mean_s", unit="s", rounding=merged["half"],
        excuse=incomplete(merged, tables), likely=_OTHER,
    )  # fmt: skip


def _parts(summaries: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Mean submission + mean completion = mean total, as fio defines them (slat + clat = lat)."""
    keys = [name for name in LATENCY if name != "phase"]
    tick = _ticks(summaries)
    found = summaries[summaries["phase"].isin(["submission", "completion", "total"])]
    if found.empty:
        return
    means = found.set_index([*keys, "phase"])[["mean_s", "half_mean_s"]].unstack("phase")
    wide = means.index.to_frame(index=False)
    for phase in ("submission", "completion", "total"):
        for column in ("mean_s", "half_mean_s"):
            has_it = (column, phase) in means
            wide[f"{column} {phase}"] = means[(column, phase)].to_numpy() if has_it else np.nan
    wide = wide[wide["mean_s submission"].notna()]  # without one there is nothing to add up
    yield pairs(
        wide, "latency-parts", left=wide["mean_s submission"] + wide["mean_s completion"],
        left_from="latency_summary.mean_s (submission + completion)", right=wide["mean_s total"],
        right_from="latency_summary.mean_s (total)", unit="s",
        rounding=sum(wide[f"half_mean_s {phase}"].fillna(0) for phase in ("submission", "completion", "total")),
        slack=2 * wide.set_index(KEYS).index.map(tick).to_numpy(dtype=float),
        slack_from="clock: parts cut to whole µs each",
        likely="parts: they were taken of different operations, or one of them is of another unit",
    )  # fmt: skip


def _ticks(summaries: pd.DataFrame) -> dict[tuple[str, str], float]:
    """1 µs for reports whose smallest and largest latencies all are whole µs, to which each time was cut; else 0."""
    ends = summaries.melt(id_vars=KEYS, value_vars=["min_s", "max_s"], value_name="end_s").dropna(subset="end_s")
    in_ticks = ends["end_s"] / MICRO
    is_whole = (in_ticks - in_ticks.round()).abs() < WHOLE_TICK
    whole = is_whole.groupby([ends[key] for key in KEYS]).all()
    held = {key: MICRO if is_all else 0.0 for key, is_all in whole.items()}
    return {key: held.get(key, 0.0) for key in summaries[KEYS].itertuples(index=False, name=None)}


def _means_in_range(summaries: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Smallest ≤ mean ≤ largest; right is the bound that is nearer to being broken."""
    rows = summaries[summaries["mean_s"].notna() & (summaries["min_s"].notna() | summaries["max_s"].notna())]
    mean, low, high = rows["mean_s"], rows["min_s"], rows["max_s"]
    below, above = (low - mean).fillna(-np.inf), (mean - high).fillna(-np.inf)
    bound = low.where(below >= above, high)
    outside = np.fmax(0, np.fmax(below, above))
    rounding = rows["half_mean_s"] + np.fmax(rows["half_min_s"].fillna(0), rows["half_max_s"].fillna(0))
    yield pairs(
        rows, "mean-in-range", left=mean, left_from="latency_summary.mean_s", right=bound, unit="s",
        right_from="latency_summary.min_s … max_s, the nearer", rounding=rounding, likely=_OTHER,
        distance_ratio=outside / bound.where(bound > 0, mean.where(mean > 0, 1.0)),
    )  # fmt: skip


def _orders(tables: Mapping[str, pd.DataFrame], summaries: pd.DataFrame, pool: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Smallest ≤ p50 ≤ p99 ≤ … ≤ largest: the largest step down of each sequence, or the narrowest step up."""
    percentiles = tables["latency_percentiles"]
    if percentiles.empty:
        return
    steps = [percentiles[[*LATENCY, "percentile", "latency_s"]]]
    for column, at in (("min_s", -1.0), ("max_s", 101.0)):
        ends = summaries[summaries[column].notna()].assign(percentile=at, latency_s=summaries[column])
        steps.append(ends[[*LATENCY, "percentile", "latency_s"]])
    rows = pd.concat([part for part in steps if len(part)], ignore_index=True)
    rows = rows.merge(percentiles[LATENCY].drop_duplicates(), on=LATENCY, how="inner")
    rows = rows[rows["latency_s"].notna()].sort_values("percentile", kind="stable")
    rows["half"] = half_latency_digit(rows, "latency_s", pool)
    groups = rows.groupby(LATENCY, dropna=False, sort=False)
    rows["before"], rows["half_before"] = groups["latency_s"].shift(), groups["half"].shift()
    rows["drop"] = (rows["before"] - rows["latency_s"]) / rows["latency_s"].where(rows["latency_s"] > 0, rows["before"])
    rows = rows[rows["before"].notna()].sort_values("drop", ascending=False, kind="stable")
    worst = rows.drop_duplicates(LATENCY)
    yield pairs(
        worst, "quantile-order", left=worst["before"], left_from="the quantile below", right=worst["latency_s"],
        right_from="the next of min_s, latency_percentiles, max_s", unit="s",
        rounding=worst["half"] + worst["half_before"],
        distance_ratio=worst["drop"].clip(lower=0), likely="quantiles: they are of different operations, or misread",
    )  # fmt: skip


def _percentiles_in_bins(tables: Mapping[str, pd.DataFrame], pool: pd.DataFrame) -> Iterable[pd.DataFrame]:
    """Each percentile inside the bin of its rank; the one farthest outside stands for its latency.

    The rank of percentile p of n operations is between ⌊n·p⌋ and ⌊n·p⌋ + 1, whichever definition a tool follows.
    """
    keys = [name for name in LATENCY if not name.startswith("interval")]
    bins, percentiles = tables["latency_bins"], tables["latency_percentiles"]
    bins, percentiles = bins[whole_run(bins)], percentiles[whole_run(percentiles) & percentiles["latency_s"].notna()]
    if bins.empty or percentiles.empty:
        return
    held = {key: part for key, part in bins.groupby(keys, dropna=False, sort=False)}  # noqa: C416
    percentiles = percentiles.assign(half=half_latency_digit(percentiles, "latency_s", pool))
    found = []
    for key, part in percentiles.groupby(keys, dropna=False, sort=False):
        of_key = held.get(key)
        if of_key is not None and float(of_key["count"].sum()) > 0:
            found.append(_worst_in_bins(part, of_key))
    if not found:
        return
    rows = pd.concat(found)
    yield pairs(
        rows, "percentile-bins", left=rows["latency_s"], left_from="latency_percentiles.latency_s", right=rows["edge"],
        right_from="latency_bins, nearer edge of the rank's bin", unit="s", rounding=rows["half"],
        distance_ratio=rows["distance"], likely="histogram: the percentile was read from other bins or operations",
    )  # fmt: skip


def _worst_in_bins(percentiles: pd.DataFrame, bins: pd.DataFrame) -> pd.DataFrame:
    """The percentile farthest outside its bin, with ``edge`` and ``distance`` relative to the edge."""
    ordered = bins.sort_values("lower_s", kind="stable")
    count, lower, upper = (values.to_numpy() for values in numbers(ordered, "count", "lower_s", "upper_s"))
    ends = np.cumsum(count)
    share = percentiles["percentile"].to_numpy(dtype=float) / 100 * ends[-1]
    last = len(ends) - 1
    first_bin = np.minimum(np.searchsorted(ends, np.maximum(np.floor(share), 1), side="left"), last)
    last_bin = np.minimum(np.searchsorted(ends, np.minimum(np.floor(share) + 1, ends[-1]), side="left"), last)
    low, high = lower[first_bin], np.where(np.isnan(upper[last_bin]), np.inf, upper[last_bin])
    value = percentiles["latency_s"].to_numpy(dtype=float)
    outside = np.fmax(0, np.fmax(low - value, value - high))
    edge = np.where((low - value >= value - high) | np.isinf(high), low, high)
    distance = outside / np.where(edge > 0, edge, np.where(value > 0, value, 1.0))
    at = int(np.argmax(distance))
    return percentiles.iloc[[at]].assign(edge=edge[at], distance=distance[at])
