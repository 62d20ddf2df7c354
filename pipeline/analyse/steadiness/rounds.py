"""Rounds for the steady-state rule: runs that were measured one after another, or one run's windows put together."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.intervals import Floats
from pipeline.analyse.select import KEYS, summable_operations
from pipeline.errors import AnalysisError


def rounds_from_runs(tables: Mapping[str, pd.DataFrame], points: str) -> pd.DataFrame:
    """A row a run whose point matches ``points`` in full; its group ``round``, else the repeat, is the round's number.

    Columns: round, run_id, ops_per_s and bytes_per_s (sums over workers and directions), latency_mean_s (weighted by
    operations; a sync's time counts, its number does not, as in Little's law). What a run does not state is null.
    AnalysisError: no run, a number twice, or jobs of a run one after another, whose rates must not be added.
    """
    runs = tables["runs"][[*KEYS, "point", "repeat"]].dropna(subset=["point"])
    pattern = re.compile(points)
    matches = [pattern.fullmatch(point) for point in runs["point"]]
    runs = runs[[match is not None for match in matches]]
    found = [match for match in matches if match is not None]
    if not found:
        raise AnalysisError(f"expected runs whose point matches {points!r}, found none")
    has_group = "round" in pattern.groupindex
    numbers = [int(match["round"]) for match in found] if has_group else runs["repeat"].astype("int64").tolist()
    runs = runs.assign(round=numbers)
    if runs["round"].duplicated().any():
        again = sorted(set(runs.loc[runs["round"].duplicated(), "round"]))
        raise AnalysisError(f"{points!r}: expected one run a round, found several of round {again}")
    operations = summable_operations(tables).merge(runs, on=KEYS, how="inner")
    if operations["group"].notna().any():
        raise AnalysisError(f"{points!r}: jobs or intervals of a run came one after another: their rates do not add up")
    sums = operations.groupby(["round", "run_id"]).apply(_sums_of_run).reset_index()
    return sums.sort_values("round", ignore_index=True)


def _sums_of_run(run: pd.DataFrame) -> pd.Series:
    is_own = run["op"] != "sync"
    rate = run["ops_per_s"].astype("float64")
    own = float(rate[is_own].sum(min_count=1))
    in_flight = rate * run["latency_mean_s"].astype("float64")
    has_all = in_flight.notna().all() and own > 0
    return pd.Series(
        {"ops_per_s": own, "bytes_per_s": float(run["bytes_per_s"].astype("float64")[is_own].sum(min_count=1)),
         "latency_mean_s": float(in_flight.sum()) / own if has_all else np.nan}
    )  # fmt: skip


def rounds_from_windows(
    tables: Mapping[str, pd.DataFrame], run_id: str, round_s: float, *, tool: str | None = None, op: str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Rounds of ``round_s`` seconds out of one run's throughput windows, and warnings.

    The rates of a round are its operations and bytes over its length; a window across an edge is split in proportion,
    its rate being taken as constant. What is left at the end, shorter than a round, is dropped with a warning. Workers
    are added up. AnalysisError: no windows, or windows longer than a round.
    """
    windows = windows_of(tables, run_id, tool=tool, op=op)
    if windows["window_s"].max() > round_s:
        raise AnalysisError(
            f"{run_id}: windows of up to {windows['window_s'].max():g} s do not fit rounds of {round_s:g} s"
        )
    end = float(windows.groupby(["job", "target"], dropna=False)["time_s"].max().min())
    n_rounds = int(end / round_s + 1e-6)
    edges: Floats = np.arange(n_rounds + 1, dtype=np.float64) * round_s
    rounds = pd.DataFrame({"round": np.arange(1, n_rounds + 1), "run_id": run_id})
    for name in ("ops_per_s", "bytes_per_s"):
        if windows[name].notna().all():
            rounds[name] = np.diff(cumulative(windows, name, edges)) / round_s
    left = end - n_rounds * round_s
    warnings = (f"{run_id}: the last {left:.3g} s fill no round and are left out",) if left > 0.01 * round_s else ()
    return rounds, warnings


def windows_of(
    tables: Mapping[str, pd.DataFrame], run_id: str, *, tool: str | None = None, op: str | None = None
) -> pd.DataFrame:
    """A run's throughput windows in order of time; of ``tool`` and ``op`` where given. AnalysisError: none, or several.

    One tool's windows, and no sum over directions beside the directions.
    """
    series = tables["throughput_series"]
    found = series[(series["run_id"] == run_id) & series["window_s"].notna()]
    found = found[found["tool"] == tool] if tool else found
    found = found[found["op"] == op] if op else found
    if found.empty:
        raise AnalysisError(f"{run_id}: expected throughput windows{f' of {op}' if op else ''}, found none")
    if found["tool"].nunique() > 1:
        raise AnalysisError(f"{run_id}: windows of several tools ({', '.join(found['tool'].unique())}): choose one")
    is_sum = found["op"].isin(["total", "mixed"])
    if is_sum.any() and not is_sum.all():
        found = found[~is_sum]
    return found.sort_values("time_s", kind="stable", ignore_index=True)


def cumulative(windows: pd.DataFrame, name: str, at_s: Floats) -> Floats:
    """What had been done by each time: the integral of the rate ``name`` over all workers' windows, from 0.

    Exact at the windows' ends; inside a window the rate is constant, between windows it is 0.
    """
    start = (windows["time_s"] - windows["window_s"]).to_numpy(dtype=float)
    length = windows["window_s"].to_numpy(dtype=float)
    amount = windows[name].to_numpy(dtype=float) * length
    # Each window is a ramp; sorted by start and by end, its two halves add up to one pass over all.
    slope = np.divide(amount, length, out=np.zeros_like(amount), where=length > 0)
    ends = start + length
    done: Floats = _ramps(start, slope, at_s) - _ramps(ends, slope, at_s)
    return done


def _ramps(begin: Floats, slope: Floats, at_s: Floats) -> Floats:
    """Σ slope · max(0, t − begin) for every t."""
    order = np.argsort(begin)
    total = np.concatenate([[0.0], np.cumsum(slope[order])])
    moment = np.concatenate([[0.0], np.cumsum((slope * begin)[order])])
    n_before = np.searchsorted(begin[order], at_s, side="right")
    summed: Floats = total[n_before] * at_s - moment[n_before]
    return summed
