"""How far off averaged percentiles are: the usual short cuts beside the percentile of all operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.distributions._latency_rows import bins_of, single_operations
from pipeline.analyse.distributions.histogram import Histogram, sum_of
from pipeline.analyse.distributions.over_time import merge_series, percentiles
from pipeline.errors import AnalysisError
from pipeline.units import format_si

WAYS = {
    "merged_bins": "bins of all jobs added",
    "mean_of_jobs": "mean of the jobs' percentiles",
    "mean_of_windows": "mean of the windows' percentiles",
    "of_window_means": "percentile of the windows' means",
}


@dataclass(frozen=True, eq=False)
class Averaging:
    """Percentiles of the same operations in several ways, and how far off each is.

    ``frame``, a row a percentile and way: percentile, pooled_s (of all operations, exact), way (a key of WAYS),
    lower_s, upper_s (bounds of merged bins; else equal), ratio (to pooled_s; of bounds, the nearer one, 1 inside).
    """

    frame: pd.DataFrame
    n_ops: int
    n_jobs: int
    window_s: float
    warnings: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """The frame."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The frame, and of how many operations, jobs and which windows it is."""
        return {"n_ops": self.n_ops, "n_jobs": self.n_jobs, "window_s": self.window_s, "ways": self.frame}

    def sentence(self) -> str:
        """The worst of the short cuts, and whether the merged bins hold."""
        merged = self.frame[self.frame["way"] == "merged_bins"]
        n_right = int((merged["ratio"] == 1).sum())
        others = self.frame[self.frame["way"] != "merged_bins"]
        worst = others.loc[np.log(others["ratio"]).abs().idxmax()]
        return (
            f"Of {self.n_ops:,} operations of {self.n_jobs} jobs, merged bins hold {n_right} of {len(merged)} exact "
            f"percentiles; the worst short cut (windows of {self.window_s:g} s), the {WAYS[worst['way']]}, gives "
            f"{format_si(worst['lower_s'], 's')} for p{worst['percentile']:g} where "
            f"{format_si(worst['pooled_s'], 's')} is right, a factor of {worst['ratio']:.2g}."
        )


def averaging_of_run(
    tables: Mapping[str, pd.DataFrame], run_id: str, *, op: str, phase: str, window_s: float = 1.0
) -> Averaging:
    """``averaging`` of a run that has a line an operation and bins of the whole run (fio: write_lat_log and json+)."""
    series = single_operations(tables, {run_id})
    bins = bins_of(tables, {run_id}, of_intervals=False)
    chosen = [rows[(rows["op"] == op) & (rows["phase"] == phase)] for rows in (series, bins)]
    return averaging(chosen[0], chosen[1], window_s=window_s)


def averaging(
    series: pd.DataFrame, bins: pd.DataFrame, percentiles_wanted: Sequence[float] = (50.0, 95.0, 99.0, 99.9),
    window_s: float = 1.0,
) -> Averaging:  # fmt: skip
    """Compare short cuts with the percentile of the pooled operations; both frames of one run, op and phase.

    ``series``: rows of latency_series, an operation each, with the jobs; ``bins``: rows of latency_bins of the same
    operations. mean_of_jobs and mean_of_windows are unweighted, as dashboards take them; of_window_means is what a log
    of averages (log_avg_msec) allows: each window of each job is one value. Windows without an operation are left out.
    AnalysisError: fewer than two jobs, means of windows, or bins of another number of operations.
    """
    jobs = {str(name): rows for name, rows in series.groupby("job", dropna=False)}
    pooled, merged = Histogram.of_series(series), Histogram.of_bins(bins)
    if len(jobs) < 2 or pooled.n_ops != merged.n_ops:
        raise AnalysisError(
            "expected two or more jobs whose bins count the operations of the log, "
            f"found {len(jobs)} jobs, {pooled.n_ops:,} operations in the log, {merged.n_ops:,} in the bins"
        )
    of_jobs = [Histogram.of_series(rows) for rows in jobs.values()]
    if sum_of(of_jobs) != pooled:
        raise AnalysisError("the operations of the jobs are not those of the run")
    windows = pd.concat([merge_series(rows, window_s).assign(job=name) for name, rows in jobs.items()])
    means = windows.groupby(["job", "time_s"]).apply(lambda w: np.average(w["lower_s"], weights=w["count"]))
    by_window = percentiles(merge_series(series, window_s), percentiles_wanted)
    rows = []
    for wanted in percentiles_wanted:
        right, bounds = pooled.percentile(wanted).lower_s, merged.percentile(wanted)
        values = {
            "mean_of_jobs": float(np.mean([h.percentile(wanted).lower_s for h in of_jobs])),
            "mean_of_windows": float(by_window.loc[by_window["percentile"] == wanted, "lower_s"].mean()),
            "of_window_means": Histogram.of_values(means).percentile(wanted).lower_s,
        }
        nearest = min(max(right, bounds.lower_s), np.nextafter(bounds.upper_s, 0))
        rows.append((wanted, right, "merged_bins", bounds.lower_s, bounds.upper_s, nearest / right))
        rows += [(wanted, right, way, value, value, value / right) for way, value in values.items()]
    frame = pd.DataFrame(rows, columns=["percentile", "pooled_s", "way", "lower_s", "upper_s", "ratio"])
    return Averaging(frame, pooled.n_ops, len(jobs), window_s)
