"""Repeats of a fill put together: the run is the unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.intervals import Estimate, median_estimate
from pipeline.analyse.steadiness.fill import CHANGE_COLUMNS, Fill, fill, rate_text
from pipeline.errors import AnalysisError
from pipeline.units import format_si


@dataclass(frozen=True)
class FillRepeats:
    """Repeats of a fill: ``sustained`` the median of the runs', ``binned`` median and interval by share of capacity.

    ``n_bins``: into how many bins the capacity was divided; only those that every run wrote in full are there.
    """

    fills: tuple[Fill, ...]
    n_bins: int
    sustained: Estimate
    binned: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """A row a run: its bytes, sustained bandwidth, number of changes and the first one's place."""
        rows = []
        for one in self.fills:
            first = one.changes.iloc[0] if len(one.changes) else {}
            rows.append({"run_id": one.run_id, "fill_ratio": one.windows["fill_ratio"].iloc[-1],
                         "sustained_bytes_per_s": one.sustained_bytes_per_s, "n_changes": len(one.changes),
                         "first_change_ratio": first.get("fill_ratio", np.nan),
                         "change_low_ratio": first.get("fill_low", np.nan),
                         "change_high_ratio": first.get("fill_high", np.nan)})  # fmt: skip
        return pd.DataFrame(rows)

    def changes(self) -> pd.DataFrame:
        """All changes of level, a row a change, with the run."""
        found = [fill.changes.assign(run_id=fill.run_id) for fill in self.fills if len(fill.changes)]
        frame = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*CHANGE_COLUMNS, "run_id"])
        return frame[["run_id", *CHANGE_COLUMNS]]

    def warnings(self) -> tuple[str, ...]:
        """What the runs' warnings say, in order."""
        return tuple(warning for fill in self.fills for warning in fill.warnings)

    def against(self, known_ratio: float) -> str:
        """One sentence: in how many runs a change was found whose interval holds where it is known to have been."""
        changes = self.changes()
        holds = (changes["fill_low"] <= known_ratio) & (known_ratio <= changes["fill_high"])
        n_hits, n_others = changes.loc[holds, "run_id"].nunique(), int((~holds).sum())
        return (
            f"The change provoked at {known_ratio:.1%} of the capacity lies in the interval of a change found in "
            f"{n_hits} of n = {len(self.fills)} runs; {n_others} other changes were found (95 % intervals by Bai; "
            f"assumes steps between steady levels with a first-order autoregression)."
        )

    def numbers(self) -> dict[str, Any]:
        """Runs, sustained bandwidth, bandwidth by fill."""
        return {"runs": self.to_frame(), "sustained": self.sustained, "binned": self.binned}

    def sentence(self, name: str) -> str:
        """The median over the runs, n and interval."""
        e = self.sustained
        ends = "no interval: need ≥ 6 runs"
        if e.has_interval:
            ends = f"{e.confidence:.0%} interval {rate_text(e.low)} … {rate_text(e.high)} by order statistics"
        places = self.to_frame()["first_change_ratio"].dropna()
        where = "none changes level"
        if len(places):
            where = f"{len(places)} change level, first at {places.min():.1%} to {places.max():.1%} of the capacity"
        return (
            f"{name}: sustained write bandwidth {format_si(e.value, 'B/s')}, median of n = {e.n} runs ({ends}; assumes "
            f"independent runs); {where}."
        )


def fill_repeats(fills: Iterable[Fill], n_bins: int = 20) -> FillRepeats:
    """Put repeats together: the run is the unit; medians with intervals by order statistics (from 6 runs on).

    Only bins that every run wrote in full. AnalysisError: no runs.
    """
    kept = tuple(fills)
    if not kept:
        raise AnalysisError("expected fills to put together, found none")
    rows = []
    for (low, high), part in pd.concat(f.binned(n_bins) for f in kept).groupby(["fill_low", "fill_high"]):
        e = median_estimate(part["bytes_per_s"].dropna())
        if e.n < len(kept):
            continue  # a bin that some runs did not write in full would be another set of runs
        rows.append({"fill_low": low, "fill_high": high, "bytes_per_s": e.value, "interval_low_bytes_per_s": e.low,
                     "interval_high_bytes_per_s": e.high, "n_runs": e.n})  # fmt: skip
    return FillRepeats(kept, n_bins, median_estimate([f.sustained_bytes_per_s for f in kept]), pd.DataFrame(rows))


def fill_of_point(tables: Mapping[str, pd.DataFrame], point: str, capacity_bytes: float | None = None) -> FillRepeats:
    """All repeats of a point; AnalysisError where there is none."""
    runs = tables["runs"]
    ids = sorted(runs.loc[runs["point"] == point, "run_id"].unique())
    return fill_repeats(fill(tables, str(run_id), capacity_bytes) for run_id in ids)
