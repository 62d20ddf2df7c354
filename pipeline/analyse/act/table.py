"""act_latency.py's table recomputed, and beside its unweighted means the pooled shares.

act_latency.py (github.com/aerospike/act, analysis/; 5.0 to 6.6) prints, of each whole slice, the share in % of the
operations over 1, 2, 4, … ms (or µs), rounded to two digits; ``avg`` is the plain mean of these rounded figures, and
``max`` the largest. The mean is right where slices hold equally many operations. Where they do not, a slice of few
operations weighs as much as one of many, and a slice without any counts as 0.00 %: then the pooled share, Σ over / Σ
all, is what an operation met. ``max`` is the certification's rule for a slice and stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.act._runs import act_runs
from pipeline.analyse.act._slices import read_bins, slice_counts
from pipeline.analyse.intervals import clopper_pearson
from pipeline.errors import AnalysisError

DISPLAYED = 7  # thresholds that the script shows unless told
TOLERANCE = 0.005e-2  # half a unit of its last digit


@dataclass(frozen=True)
class LatencyTable:
    """The table of one run: ``slices`` as the script prints them, ``summary`` a row a threshold.

    ``slices``: slice, n_ops, threshold_s, share_percent (rounded as printed). ``summary``: threshold_s,
    tool_average_ratio, tool_max_ratio (as printed), pooled_ratio with its exact binomial interval
    pooled_low_ratio … pooled_high_ratio, difference_ratio (average − pooled). ``spread`` is the largest number of
    operations of a slice over the smallest, infinite with an empty slice.
    """

    run_id: str
    slice_s: float
    slices: pd.DataFrame
    summary: pd.DataFrame
    spread: float
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The summary."""
        return self.summary

    def printed(self) -> dict[str, list[str]]:
        """Rows as the script prints them, by slice number, avg and max: a text of two digits a threshold."""
        wide = self.slices.pivot(index="slice", columns="threshold_s", values="share_percent")
        rows = {
            str(number): [f"{value:.2f}" for value in row] for number, row in zip(wide.index, wide.values, strict=True)
        }
        rows["avg"] = [f"{value * 100:.2f}" for value in self.summary["tool_average_ratio"]]
        rows["max"] = [f"{value * 100:.2f}" for value in self.summary["tool_max_ratio"]]
        return rows

    def numbers(self) -> dict[str, Any]:
        """Summary, spread, warnings."""
        return {"run_id": self.run_id, "slice_s": self.slice_s, "summary": self.summary, "spread": self.spread,
                "confidence": self.confidence, "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """Where the script's average and the pooled share differ most, and why."""
        n, n_ops = self.slices["slice"].nunique(), int(self.slices.groupby("slice")["n_ops"].first().sum())
        worst = self.summary.loc[self.summary["difference_ratio"].abs().idxmax()]
        average, pooled = worst["tool_average_ratio"], worst["pooled_ratio"]
        text = (
            f"{self.run_id}: over {n} whole slices of {self.slice_s:g} s (n = {n_ops:,} operations) act_latency.py's "
            f"average and the pooled share differ by at most {abs(average - pooled) * 100:.3g} percentage points "
            f"(over {worst['threshold_s'] * 1000:g} ms: {average * 100:.2f} % and {pooled * 100:.3g} %"
        )
        low, high = worst["pooled_low_ratio"] * 100, worst["pooled_high_ratio"] * 100
        interval = f", {self.confidence:.0%} interval {low:.3g} – {high:.3g} %"
        if abs(average - pooled) <= TOLERANCE:
            return f"{text}{interval}): its rounding, as the slices hold equally many operations."
        return f"{text}{interval}): it averages slices whose numbers of operations differ {self.spread:.3g}-fold."


def latency_table(
    tables: Mapping[str, pd.DataFrame],
    run_id: str,
    *,
    slice_s: float = 3600.0,
    op: str = "read",
    n_thresholds: int = DISPLAYED,
    confidence: float = 0.95,
) -> LatencyTable:
    """The table that ``act_latency.py -t slice_s -n n_thresholds`` prints for a run of ACT 5.0 or later.

    As the script, the length of a slice is rounded up to a multiple of the reporting interval, and a last slice that is
    not whole is left out. Where a report is missing at a slice's end the script stops there; here the slices on both
    sides are left out, with a warning. Before 5.0 the script adds up rounded-down buckets and Python 2 rounds halves
    away from zero: its last digit may differ. The binomial interval takes operations as independent.
    AnalysisError: no such run, no whole slice, no operation in any.
    """
    runs = act_runs(tables)
    run = runs[runs["run_id"] == run_id]
    if run.empty:
        raise AnalysisError(f"expected a run of act named {run_id!r}, found {list(runs['run_id'])[:5]}")
    settings = tables["parameters"]
    settings = settings[(settings["run_id"] == run_id) & (settings["tool"] == "act")].set_index("name")["value"]
    unit_s = 1e-6 if str(settings.get("microsecond-histograms", "no")).startswith("y") else 1e-3
    interval = float(settings.get("report-interval-sec", 1))
    slice_s = math.ceil(slice_s / interval) * interval
    thresholds = [math.ldexp(unit_s, power) for power in range(n_thresholds)]
    bins = read_bins(tables["latency_bins"], op)
    counted = slice_counts(bins[bins["run_id"] == run_id], run, thresholds, slice_s, confidence)
    n_whole = int(float(run["duration_s"].iloc[0]) // slice_s)
    whole = counted[counted["is_whole"]]
    warnings = []
    if whole["slice"].nunique() < n_whole:
        warnings.append(f"{n_whole - whole['slice'].nunique()} slices have no report at their end and are left out")
    if whole.empty or not whole["n_ops"].any():
        raise AnalysisError(f"{run_id}: expected a whole slice of {slice_s:g} s with operations, found none")
    return _table(run_id, slice_s, whole, confidence, warnings)


def _table(run_id: str, slice_s: float, whole: pd.DataFrame, confidence: float, warnings: list[str]) -> LatencyTable:
    percent = [
        round(over * 100.0 / n, 2) if n else 0.0 for over, n in zip(whole["n_over_low"], whole["n_ops"], strict=True)
    ]
    slices = whole[["slice", "n_ops", "threshold_s", "n_over_low"]].assign(share_percent=percent)
    rows = []
    for threshold, part in slices.groupby("threshold_s", sort=True):
        n, over = float(part["n_ops"].sum()), float(part["n_over_low"].sum())
        bounds = clopper_pearson(over, n, confidence)
        average = sum(part["share_percent"].tolist()) / len(part)
        rows.append(
            {"threshold_s": threshold, "tool_average_ratio": average / 100,
             "tool_max_ratio": part["share_percent"].max() / 100, "pooled_ratio": over / n,
             "pooled_low_ratio": float(bounds.low), "pooled_high_ratio": float(bounds.high),
             "difference_ratio": average / 100 - over / n}
        )  # fmt: skip
    sizes = slices.groupby("slice")["n_ops"].first()
    spread = float(sizes.max() / sizes.min()) if sizes.min() else math.inf
    if not sizes.min():
        warnings.append(f"{int((sizes == 0).sum())} slices hold no operation: act_latency.py counts them as 0.00 %")
    return LatencyTable(
        run_id, slice_s, slices.drop(columns="n_over_low"), pd.DataFrame(rows), spread, confidence, tuple(warnings)
    )
