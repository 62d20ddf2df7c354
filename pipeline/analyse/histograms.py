"""Histograms of latency over time: jobs merged, percentiles of each window. Frames in, frames out.

``latency_bins`` with intervals (fio's histogram logs, ACT) has bins of each job in intervals of its own. Percentiles of
jobs must not be averaged; their bins can be added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_MOST_CELLS = 1 << 20  # of a table of all combinations, whatever the number of rows
_KEYS = ["op", "phase"]
_EDGES = ["lower_s", "upper_s"]


def merge_jobs(bins: pd.DataFrame, window_s: float = 1.0) -> pd.DataFrame:
    """Add the bins of all jobs in windows of ``window_s`` seconds.

    ``bins``: rows of latency_bins of one run and scope, with intervals. An interval counts to the window whose end is
    nearest to its own: stamps of jobs differ by some ms, and counts stay whole. Intervals much longer than ``window_s``
    are not divided. Returns op, phase, time_s (end of the window), window_s, lower_s, upper_s (null: open above) and
    count; op and phase in the order of the rows, then by time and bin. ValueError where a row has no interval or
    ``window_s`` is not above 0.
    """
    if not window_s > 0:
        raise ValueError(f"window_s: expected more than 0, found {window_s}")
    ends = bins["interval_end_s"].to_numpy(np.float64)
    if np.isnan(ends).any():
        raise ValueError("bins: expected intervals, found rows of a whole run")
    window, windows = pd.factorize(np.maximum(np.rint(ends / window_s), 1), sort=True)
    keys, _ = _numbered([pd.factorize(bins[name])[0] for name in _KEYS])
    edges, edge_rows = _numbered([pd.factorize(bins[name], use_na_sentinel=False)[0] for name in _EDGES])
    order = np.lexsort([bins["lower_s"].to_numpy(np.float64)[edge_rows]])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    cell, cell_rows = _numbered([keys, window, rank[edges]])
    merged = bins[[*_KEYS, *_EDGES]].iloc[cell_rows].reset_index(drop=True)
    merged.insert(len(_KEYS), "time_s", windows[window[cell_rows]] * window_s)
    merged.insert(len(_KEYS) + 1, "window_s", window_s)
    counts = np.zeros(len(cell_rows), np.int64)
    np.add.at(counts, cell, bins["count"].to_numpy(np.int64))
    return merged.assign(count=counts)


def _numbered(columns: list[Integers]) -> tuple[Integers, Integers]:
    """Number the different combinations of whole numbers, in their order: each row's number, and a row of each."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        code = code * (int(column.max(initial=0)) - low + 1) + (column - low)
    size = int(code.max(initial=0)) + 1
    if size > _MOST_CELLS + 16 * len(code):
        _, rows, number = np.unique(code, return_index=True, return_inverse=True)
        return number, rows
    row_of = np.full(size, -1, np.int64)
    row_of[code[::-1]] = np.arange(len(code))[::-1]
    used = np.flatnonzero(row_of >= 0)
    number_of = np.empty(size, np.int64)
    number_of[used] = np.arange(len(used))
    return number_of[code], row_of[used]


def percentiles(merged: pd.DataFrame, wanted: Sequence[float]) -> pd.DataFrame:
    """The bin that holds each percentile of each window: the latency is in [lower_s, upper_s).

    ``merged``: from ``merge_jobs``; ``wanted``: 0 … 100. The bin is the first in which the count reaches this share of
    the window's operations. Returns op, phase, time_s, window_s, n_ops, percentile, lower_s, upper_s (null: open).
    """
    if any(not 0 <= percentile <= 100 for percentile in wanted):
        raise ValueError(f"percentiles: expected 0 to 100, found {list(wanted)}")
    keys = [*_KEYS, "time_s", "window_s"]
    if merged.empty or not wanted:
        return pd.DataFrame(columns=[*keys, "n_ops", "percentile", *_EDGES])
    is_first = np.zeros(len(merged), bool)
    is_first[0] = True
    for key in keys:
        codes = pd.factorize(merged[key])[0]
        is_first[1:] |= codes[1:] != codes[:-1]
    starts = np.flatnonzero(is_first)
    counts = merged["count"].to_numpy(np.int64)
    reached = np.cumsum(counts)
    before = reached[starts] - counts[starts]
    n_ops = np.add.reduceat(counts, starts)
    # In whole numbers: 99.9 % of 1000 is 999. The counts of all windows run on, so that one search finds all.
    shares = np.array([round(percentile * 1000) for percentile in wanted], np.int64)
    ranks = np.maximum(-(-n_ops[:, None] * shares // 100_000), 1)
    index = np.searchsorted(reached, before[:, None] + ranks)
    result = merged.loc[np.repeat(starts, len(wanted)), keys].reset_index(drop=True)
    result["n_ops"] = np.repeat(n_ops, len(wanted))
    result["percentile"] = np.tile(np.asarray(wanted, np.float64), len(starts))
    for edge in _EDGES:
        result[edge] = merged[edge].to_numpy(np.float64)[index.ravel()]
    return result
