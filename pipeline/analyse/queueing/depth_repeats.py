"""N = X · W over the repeats of a point, with an interval, beside the configured depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.intervals import mean_estimate
from pipeline.analyse.queueing.littles_law import LittlesLaw
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

COLUMNS = ["campaign", "point", "tool", "n", "queue_depth", "interval_low", "interval_high", "queue_depth_configured",
           "is_within_tolerance", "cause"]  # fmt: skip
CIRCULAR = "a throughput computed from the latency makes N circular"


@dataclass(frozen=True)
class RepeatedDepths:
    """Mean N over the repeats of each point with its t interval; ``frame`` has the columns COLUMNS, a row a point.

    ``is_within_tolerance``: the whole interval lies within ``tolerance`` of the configured depth (an equivalence test
    at half of 1 − confidence); null without a depth or an interval. ``n_single`` points have one run and no interval.
    """

    frame: pd.DataFrame
    tolerance: float
    confidence: float
    n_single: int
    n_circular: int
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The frame."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """Points, their intervals, and what has none."""
        return {"points": self.frame, "tolerance_ratio": self.tolerance, "confidence": self.confidence,
                "n_single": self.n_single, "n_circular": self.n_circular, "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """One sentence: at how many points N is the configured depth, how wide the intervals are, what they assume."""
        if self.frame.empty:
            return f"No point has two runs or more, so that N has no interval at any of {self.n_single}; {CIRCULAR}."
        low, high = int(self.frame["n"].min()), int(self.frame["n"].max())
        judged = self.frame[self.frame["is_within_tolerance"].notna()]
        is_within = judged["is_within_tolerance"].astype(bool)
        half = ((self.frame["interval_high"] - self.frame["interval_low"]) / 2 / self.frame["queue_depth"]).median()
        causes = ", ".join(
            f"{n} {cause}" for cause, n in judged.loc[~is_within, "cause"].value_counts().items() if cause
        )
        return (
            f"Over the repeats (n = {low} to {high} runs) of {len(self.frame)} points, the {self.confidence:.0%} "
            f"interval of N lies within {self.tolerance:.0%} of the configured depth at {int(is_within.sum())} of the "
            f"{len(judged)} that have one{f' (of the others: {causes})' if causes else ''}; its median half-width is "
            f"{half:.2%} of N. It is Student's t over runs, taken as independent, with N normal; {self.n_single} "
            f"points of one run have no interval, and {self.n_circular} runs no N of their own: {CIRCULAR}."
        )


def repeated_depths(law: LittlesLaw, confidence: float = 0.95) -> RepeatedDepths:
    """Mean N of the repeats of each campaign, point and tool with mean ± t(n − 1) · s / √n over the runs.

    N is dimensionless; the run, not the operation, is the unit of replication. Left out: runs without N or without a
    point, circular ones (counted), and those of which parts ran one after the other. A point with n = 1 has no interval
    and is only counted; equal values give an interval of no width. AnalysisError: confidence outside 0 … 1.
    """
    if not 0 < confidence < 1:
        raise AnalysisError(f"expected a confidence within 0 … 1, found {confidence}")
    frame = law.frame
    is_circular = frame["verdict"].eq("circular").astype(bool)
    usable = frame[~is_circular & frame["group"].isna() & frame["point"].notna() & frame["queue_depth"].notna()]
    rows, n_single = [], 0
    for (campaign, point, tool), runs in usable.groupby(["campaign", "point", "tool"], sort=False):
        if len(runs) < 2:
            n_single += 1
            continue
        found = mean_estimate(runs["queue_depth"], confidence)
        configured = float(runs["queue_depth_configured"].iloc[0]) if _one(runs["queue_depth_configured"]) else np.nan
        ends = (found.low, found.high)
        is_within = None
        if not np.isnan(configured):
            is_within = all(abs(end / configured - 1) <= law.tolerance for end in ends if end is not None)
        cause = runs["cause"].str.split(":").str[0].mode()
        rows.append((campaign, point, tool, found.n, found.value, *ends, configured, is_within, cause.iloc[0]))
    warnings = (f"Without interval, for they have one run: {n_single} points.",) if n_single else ()
    n_circular = frame.loc[is_circular, ["campaign", *KEYS]].drop_duplicates().shape[0]
    found_frame = pd.DataFrame(rows, columns=COLUMNS)
    return RepeatedDepths(found_frame, law.tolerance, confidence, n_single, n_circular, warnings)


def _one(depths: pd.Series) -> bool:
    """Whether all repeats have one and the same configured depth."""
    return bool(depths.notna().all() and depths.nunique() == 1)
