"""Counters of perf stat: totals of each run, ratios such as instructions a cycle, and what multiplexing costs.

perf has fewer counters than events: it takes turns, and scales a count by enabled / running time. ``perf stat -r``
prints ± the standard deviation *of the mean* over its repeats (tools/perf/util/stat.c, stddev_stats divides the
variance by n), which is a standard uncertainty as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from pipeline.analyse.intervals import Estimate, mean_estimate
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
MIN_RUNNING = 0.1  # share of the time on a counter below which a scaled count is no measurement
MIN_WINDOWS = 5  # from which their spread is known well enough: t(4) = 2.8
TOTAL_COLUMNS = [*KEYS, "event", "value", "unit", "status", "running_ratio", "stddev_ratio", "n_windows"]
RATIO_COLUMNS = [*KEYS, "numerator", "denominator", "ratio", "uncertainty", "low", "high", "running_ratio", "source"]


@dataclass(frozen=True, eq=False)
class CounterRatio:
    """A ratio of two events, a row a run (``frame``: RATIO_COLUMNS), and the mean over the runs.

    ``uncertainty`` is one standard uncertainty of a run's own ratio (from perf's repeats, or of multiplexing; 0 where
    all was counted all the time); ``low`` and ``high`` are its interval where the degrees of freedom are known.
    ``mean`` is over the runs, by Student's t: None without any.
    """

    frame: pd.DataFrame
    mean: Estimate | None
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The runs."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """Runs, mean and warnings."""
        return {"runs": self.frame, "mean": self.mean, "warnings": self.warnings}

    def sentence(self) -> str:
        """The mean ratio with interval, n and assumption, or why there is none."""
        if self.mean is None:
            reasons = dict.fromkeys(warning.partition(": ")[2] for warning in self.warnings)
            return f"No ratio in any of {len(self.warnings)} runs: {' '.join(reasons) or 'there are no counters.'}"
        name = f"{self.frame['numerator'].iloc[0]} / {self.frame['denominator'].iloc[0]}"
        mean = self.mean
        if mean.n == 1:
            row = self.frame.dropna(subset=["ratio"]).iloc[0]
            interval = "no interval" if pd.isna(row["low"]) else f"{row['low']:.4g} to {row['high']:.4g}"
            return f"{name}: {mean.value:.4g} in one run ({interval}; {row['source']}); other runs may differ."
        return (
            f"{name}: {mean.value:.4g} ({mean.low:.4g} to {mean.high:.4g}, {self.confidence:.0%}, {mean.n} runs, "
            "assumed independent and about normal)."
        )


def counter_totals(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Each run's count of each event: TOTAL_COLUMNS, from the whole run's line or else the sum of its windows.

    Counts of CPUs, cores, sockets or threads (``aggregate``) are added where no line is of all together; of cgroups and
    tasks nothing is added. Where a part was not counted or is not supported, so is the sum: ``value`` is null, never 0,
    and ``status`` says which. ``running_ratio`` is the smallest of the parts'. Empty where there are no counters.
    """
    counters = tables["perf_counters"]
    rows = counters[counters["event"].notna() & counters["cgroup"].isna() & counters["task"].isna()]
    together = _preferring(rows, rows["aggregate"].isna())
    chosen = _preferring(together, together["time_s"].isna())
    chosen = chosen.assign(is_bad=~(chosen["status"] == "counted").fillna(False) | chosen["value"].isna())
    found = []
    for key, part in chosen.groupby([*KEYS, "event"], sort=False):
        bad = part[part["is_bad"]]
        n_windows = part["time_s"].nunique()
        found.append((
            *key, np.nan if len(bad) else math.fsum(part["value"].astype(float)), part["unit"].iloc[0],
            "counted" if bad.empty else str(bad["status"].iloc[0]), part["running_ratio"].astype(float).min(),
            part["stddev_ratio"].astype(float).iloc[0] if len(part) == 1 else np.nan, n_windows,
        ))  # fmt: skip
    return pd.DataFrame(found, columns=TOTAL_COLUMNS)


def multiplexed(values: ArrayLike, running: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Sum of the scaled counts of W windows, with the interval of what multiplexing did not see.

    Model: each window is many equal slices of which the event was on a counter for the share r, and the slices' counts
    are independent with one variance. The scaled sum then has the variance W s² (1 − r), where s² is the variance
    between the scaled windows (slices drawn without replacement; the slice's length cancels out), and Student's t with
    W − 1 degrees of freedom applies. Where the rate changes slowly against perf's turns (each a few ms), both halves of
    a change are seen, and the interval is too wide; a rate that beats in time with the turns is not covered by it. With
    r = 1 the sum is exact. AnalysisError: a window below MIN_RUNNING, fewer than MIN_WINDOWS windows while r < 1.
    """
    counts, share = np.asarray(values, dtype=float).ravel(), np.asarray(running, dtype=float).ravel()
    return _sum_of_windows(counts, counts, share, 1.0, confidence)


def counter_ratio(
    tables: Mapping[str, pd.DataFrame],
    numerator: str = "instructions",
    denominator: str = "cycles",
    run_ids: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> CounterRatio:
    """``numerator`` a ``denominator`` of each run (instructions a cycle), Σ over the run by Σ, and the mean over runs.

    A run's own uncertainty is, the first that applies: of ``perf stat -r``, √(u_a² + u_b²) relative, which takes the
    two as uncorrelated (counts that rise together make it smaller); none where both were on a counter all the time; of
    windows (-I), that of ``multiplexed`` for the residuals a − R b, which keeps their correlation; else unknown, as
    where the share of time on a counter is not stated (perf's text, of an event that it did not scale).
    Refused (null, with a warning): not counted, not supported, a denominator of 0, a running share below MIN_RUNNING.
    """
    totals = counter_totals(tables)
    if run_ids is not None:
        totals = totals[totals["run_id"].isin(list(run_ids))]
    rows, warnings = [], []
    for key, run in totals.groupby(KEYS, sort=False):
        by_event = run.set_index("event")
        if missing := [event for event in (numerator, denominator) if event not in by_event.index]:
            warnings.append(f"{key[0]}: no {' and no '.join(missing)}.")
            continue
        row, warning = _ratio_of_run(tables["perf_counters"], by_event, (numerator, denominator), key, confidence)
        rows.append(dict(zip(RATIO_COLUMNS, (*key, numerator, denominator, *row), strict=True)))
        warnings += [warning] if warning else []
    frame = pd.DataFrame(rows, columns=RATIO_COLUMNS)
    known = frame["ratio"].dropna().to_numpy(float)
    mean = mean_estimate(known, confidence) if len(known) else None
    return CounterRatio(frame, mean, confidence, tuple(warnings))


def _ratio_of_run(
    counters: pd.DataFrame, by_event: pd.DataFrame, events: tuple[str, str], key: Any, confidence: float
) -> tuple[tuple[Any, ...], str]:
    """Ratio, uncertainty, ends, running share and source of one run; a warning where there is none."""
    a, b = by_event.loc[events[0]], by_event.loc[events[1]]
    running = float(np.nanmin([a["running_ratio"], b["running_ratio"], 1.0]))
    if refusal := _refusal(events, a, b, running):
        return (np.nan, np.nan, np.nan, np.nan, running, ""), f"{key[0]}: {refusal}: no ratio."
    ratio = float(a["value"] / b["value"])
    if not pd.isna(a["stddev_ratio"]) and not pd.isna(b["stddev_ratio"]):
        u = ratio * math.hypot(a["stddev_ratio"], b["stddev_ratio"])
        return (ratio, u, np.nan, np.nan, running, "perf's repeats"), ""
    if pd.isna(a["running_ratio"]) or pd.isna(b["running_ratio"]):
        return (ratio, np.nan, np.nan, np.nan, np.nan, "share of time on a counter not stated"), ""
    if running == 1.0:
        return (ratio, 0.0, ratio, ratio, running, "counted all the time"), ""
    windows = _windows(counters, events, key)
    try:
        found = _sum_of_windows(
            windows[events[0]].to_numpy(float) - ratio * windows[events[1]].to_numpy(float),
            windows[events[0]].to_numpy(float), windows["running"].to_numpy(float), float(b["value"]), confidence,
        )  # fmt: skip
    except AnalysisError as error:
        return (ratio, np.nan, np.nan, np.nan, running, "multiplexed, spread unknown"), f"{key[0]}: {error}."
    if found.low is None or found.high is None:
        return (ratio, np.nan, np.nan, np.nan, running, "multiplexed, spread unknown"), ""
    half = (found.high - found.low) / 2
    u = half / float(stdtrit(len(windows) - 1, (1 + confidence) / 2))
    return (ratio, u, ratio - half, ratio + half, running, "multiplexed, from windows"), ""


def _refusal(events: tuple[str, str], a: pd.Series, b: pd.Series, running: float) -> str:
    """Why a run has no ratio; empty where it has one."""
    for event, row in zip(events, (a, b), strict=True):
        if row["status"] != "counted":
            return f"{event} was {row['status'].replace('_', ' ')}"
    if running < MIN_RUNNING:
        return f"on a counter for {running:.1%} of the time, below {MIN_RUNNING:.0%}"
    return f"{events[1]} is 0" if b["value"] == 0 else ""


def _windows(counters: pd.DataFrame, events: tuple[str, str], key: Any) -> pd.DataFrame:
    """Counts of both events by window, and the smaller running share."""
    rows = counters[(counters[KEYS] == list(key)).all(axis=1) & counters["event"].isin(events)]
    rows = rows[rows["time_s"].notna() & rows[["cgroup", "task"]].isna().all(axis=1)]
    rows = _preferring(rows, rows["aggregate"].isna())
    table = rows.astype({"value": float}).pivot_table(index="time_s", columns="event", values="value", aggfunc="sum")
    running = rows.astype({"running_ratio": float}).groupby("time_s")["running_ratio"].min()
    return table.reindex(columns=list(events)).assign(running=running).dropna()


def _sum_of_windows(residuals: Floats, values: Floats, running: Floats, divisor: float, confidence: float) -> Estimate:
    """Σ values / divisor with the interval of ``multiplexed``, whose spread is that of the residuals."""
    if len(values) != len(running) or not len(values) or not np.isfinite([*values, *running]).all():
        raise AnalysisError(f"expected windows with their counts and running shares, found {len(values)}")
    if running.min() < MIN_RUNNING:
        raise AnalysisError(
            f"a window was on a counter for {running.min():.1%} of the time, below {MIN_RUNNING:.0%}; fewer events, or "
            "groups that fit the counters, are needed"
        )
    total, n = math.fsum(values) / divisor, len(values)
    unseen = float(1 - running.mean())
    if unseen <= 0:
        return Estimate(total, total, total, n, confidence, 1.0, "counted all the time")
    if n < MIN_WINDOWS:
        raise AnalysisError(
            f"multiplexed (on a counter for {1 - unseen:.1%} of the time) with {n} windows: the spread needs at least "
            f"{MIN_WINDOWS} (perf stat -I 1000)"
        )
    u = math.sqrt(n * float(residuals.var(ddof=1)) * unseen) / divisor
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * u
    return Estimate(total, total - half, total + half, n, confidence, confidence, "multiplexing, Student's t")


def _preferring(rows: pd.DataFrame, is_better: pd.Series) -> pd.DataFrame:
    """Rows that are better, and the others only where their run and event have no better one."""
    has_better = is_better.groupby([rows[name] for name in (*KEYS, "event")]).transform("any")
    return rows[is_better | ~has_better.astype(bool)]
