"""Private to the distributions: rows of latency tables that are of different operations, so that they may be added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.analyse.select import KEYS, whole_run
from pipeline.errors import AnalysisError

LATENCY = [*KEYS, "op", "phase"]
_SCOPES = {"total": 0, "job": 1, "device": 2, "log": 3}
_SUMS = ["total", "mixed"]


def of_runs(frame: pd.DataFrame, runs: set[str] | None) -> pd.DataFrame:
    """The rows of these runs; None: of all."""
    return frame if runs is None else frame[frame["run_id"].isin(runs)]


def one_level(rows: pd.DataFrame) -> pd.DataFrame:
    """For each run, op and phase the rows of one scope, and no sums over directions beside the directions.

    Rows of several scopes count the same operations. A tag's rows (HDR) go where rows without a tag stand for all.
    """
    return without_sums(_of_one_scope(rows, LATENCY), [*KEYS, "phase"])


def single_operations(tables: Mapping[str, pd.DataFrame], runs: set[str] | None) -> pd.DataFrame:
    """Rows of ``latency_series`` of runs, ops and phases that have no mean of a window among them."""
    series = of_runs(tables["latency_series"], runs)
    if series.empty:
        return series
    is_window = series["window_s"].notna()
    if not is_window.any():
        return series
    return series[~is_window.groupby([series[name] for name in LATENCY], sort=False).transform("any")]


def bins_of(tables: Mapping[str, pd.DataFrame], runs: set[str] | None, *, of_intervals: bool) -> pd.DataFrame:
    """Rows of ``latency_bins`` that may be added: of whole runs or of intervals, of one scope."""
    bins = of_runs(tables["latency_bins"], runs)
    return one_level(bins[whole_run(bins) ^ of_intervals])


def stated_operations(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[Any, ...], int]:
    """Operations that a report states, by run, tool, op and phase; phase None: as ``operations`` has them."""
    found: dict[tuple[Any, ...], int] = {}
    for name, keys in (("operations", [*KEYS, "op"]), ("latency_summary", LATENCY)):
        rows = tables[name]
        rows = rows[rows["n_ops"].notna() & (rows["scope"] != "log")]
        if rows.empty:
            continue
        is_whole = whole_run(rows)
        rows = rows[is_whole | ~is_whole.groupby([rows[key] for key in keys], sort=False).transform("any")]
        for key, n in _of_one_scope(rows, keys).groupby(keys, sort=False)["n_ops"].sum().items():
            found[key if name == "latency_summary" else (*key, None)] = int(n)
    return found


def _of_one_scope(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    order = rows["scope"].map(_SCOPES).fillna(len(_SCOPES))
    return rows[order == order.groupby([rows[key] for key in keys], sort=False).transform("min")]


def of_one_tool(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows; AnalysisError where several tools measured in one run, whose operations must not be added."""
    tools = sorted(rows["tool"].dropna().unique())
    if len(tools) > 1:
        raise AnalysisError(
            f"expected the operations of one tool, found {', '.join(tools)} in one run: choose their rows"
        )
    return rows


def without_sums(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows without those of ``total`` or ``mixed`` where a combination of ``keys`` has the directions."""
    is_sum = rows["op"].isin(_SUMS)
    has_parts = (~is_sum).groupby([rows[name] for name in keys], sort=False, dropna=False).transform("any")
    return rows[~(is_sum & has_parts)]


def refuse_windows(series: pd.DataFrame) -> None:
    """AnalysisError where rows of ``latency_series`` are means of windows: no percentile can be had from those."""
    is_window = series["window_s"].notna()
    if is_window.any():
        raise AnalysisError(
            f"{int(is_window.sum())} of {len(series)} latencies are means of windows of "
            f"{series.loc[is_window, 'window_s'].median():g} s: their percentiles are not those of the operations. "
            "What would serve: fio: --output-format=json+ (bins), write_hist_log, write_lat_log with log_avg_msec=0; "
            "pgbench: --log without --aggregate-interval; DISKSPD: -L without intervals; else a histogram log"
        )
