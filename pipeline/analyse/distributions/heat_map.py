"""Heat maps of latency over time: counts by window and latency, on edges that divide no bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pipeline.analyse.distributions._cells import Floats, Integers, crossing
from pipeline.analyse.distributions.over_time import OverTime
from pipeline.errors import AnalysisError

ROWS_PER_DECADE = 10


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Operations by window and row of latency.

    ``count`` is rows × windows. Row i holds latencies in [edges_s[i], edges_s[i + 1]); the last edge is infinite where
    the data have an overflow bin. ``time_s`` are the ends of the windows, each ``window_s`` long; none is left out.
    """

    time_s: Floats
    window_s: float
    edges_s: Floats
    count: Integers

    def to_frame(self) -> pd.DataFrame:
        """A row a cell with operations: time_s, window_s, lower_s, upper_s (null: open above), count."""
        row, column = np.nonzero(self.count)
        upper = self.edges_s[row + 1]
        return pd.DataFrame(
            {"time_s": self.time_s[column], "window_s": self.window_s, "lower_s": self.edges_s[row],
             "upper_s": np.where(np.isfinite(upper), upper, np.nan), "count": self.count[row, column]}
        )  # fmt: skip


def heat_map(over: OverTime, rows_per_decade: int = ROWS_PER_DECADE) -> HeatMap:
    """Counts by window and latency; every operation of ``over`` is in exactly one cell.

    Rows are wished for at 10^(i / ``rows_per_decade``) s. Where a bin of the data lies across such an edge, the nearest
    edge that divides none is taken instead, so that rows may be fewer and wider than asked for, never interpolated.
    Latencies of 0 are in the lowest row, which begins with 0. AnalysisError: no operations.
    """
    frame = over.frame
    if frame.empty:
        raise AnalysisError("a heat map needs operations, found none")
    lower = frame["lower_s"].to_numpy(np.float64)
    upper = frame["upper_s"].to_numpy(np.float64)
    upper = np.where(np.isnan(upper), np.inf, upper)
    edges = _edges(lower, upper, rows_per_decade)
    windows = over.windows()["time_s"].to_numpy()
    column = np.rint((frame["time_s"].to_numpy() - windows[0]) / over.window_s).astype(np.int64)
    count = np.zeros((len(edges) - 1, len(windows)), np.int64)
    np.add.at(count, (np.searchsorted(edges, lower, "right") - 1, column), frame["count"].to_numpy(np.int64))
    return HeatMap(windows, over.window_s, edges, count)


def _edges(lower: Floats, upper: Floats, rows_per_decade: int) -> Floats:
    finite = np.concatenate([lower, upper[np.isfinite(upper)]])
    finite = np.unique(finite[finite > 0])
    if not len(finite):  # all of them 0, or one bin that begins with 0 and has no end
        return np.array([0.0, np.inf])
    first, last = (math.floor(math.log10(end) * rows_per_decade) for end in (finite[0], finite[-1]))
    wished = 10.0 ** (np.arange(first, last + 2) / rows_per_decade)
    is_across = crossing(wished, lower, upper)
    whole = finite[~crossing(finite, lower, upper)]
    edges = wished[~is_across]
    if len(whole):
        edges = np.concatenate([edges, [whole[np.abs(np.log(whole / edge)).argmin()] for edge in wished[is_across]]])
    low = [0.0] if not len(edges) or lower.min() < edges.min() else []
    high = [np.inf] if not len(edges) or not np.isfinite(upper).all() or upper.max() > edges.max() else []
    return np.unique(np.concatenate([low, edges, high]))
