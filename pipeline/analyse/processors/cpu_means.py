"""Means over repeats of what single processors did; the unit is the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.intervals import mean_estimate
from pipeline.analyse.processors.saturation import Saturation
from pipeline.errors import AnalysisError

MEASURES = ("busy_ratio", "irq_ratio", "softirq_ratio", "steal_ratio", "saturated_ratio")
COLUMNS = ["point", "cpu", "measure", "n_runs", "mean_ratio", "low_ratio", "high_ratio"]


@dataclass(frozen=True, eq=False)
class ProcessorMeans:
    """Mean shares by point, processor and measure (COLUMNS); low and high are null with one run."""

    frame: pd.DataFrame
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The means."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The means, and their confidence."""
        return {"means": self.frame, "confidence": self.confidence, "warnings": self.warnings}

    def sentence(self) -> str:
        """The busiest processor of each point, with interval and n."""
        busy = self.frame[self.frame["measure"] == "busy_ratio"]
        parts = []
        for point, part in busy.groupby("point", sort=False):
            top = part.loc[part["mean_ratio"].idxmax()]
            interval = "no interval: one run"
            if not pd.isna(top["low_ratio"]):
                interval = f"{top['low_ratio']:.0%} to {top['high_ratio']:.0%}, {self.confidence:.0%}"
            runs = f"{top['n_runs']} run{'s' if top['n_runs'] > 1 else ''}"
            parts.append(f"CPU {top['cpu']} on {point} {top['mean_ratio']:.0%} busy ({interval}, {runs})")
        return (
            f"The busiest processors: {'; '.join(parts)}; runs are assumed independent and about normal, and a share's "
            "interval is cut at 0 and 100 %."
        )


def processor_means(saturation: Saturation, sides: Mapping[str, Sequence[str]]) -> ProcessorMeans:
    """Mean over each point's runs of every processor's shares, with Student's t, cut at 0 and 1; null with one run.

    ``sides`` names the runs of each point. A processor's number means the same in all runs only where work or
    interrupts are bound to it. Runs without the measure are left out. AnalysisError: a point without processors.
    """
    rows, warnings = [], []
    for point, run_ids in sides.items():
        chosen = saturation.frame[saturation.frame["run_id"].isin(list(run_ids))]
        if chosen.empty:
            raise AnalysisError(f"expected single processors in the runs of {point}, found none")
        if n_without := len(set(run_ids) - set(chosen["run_id"])):
            warnings.append(f"{n_without} runs of {point} have no single processors.")
        for cpu, part in chosen.groupby("cpu", sort=False):
            for measure in MEASURES:
                values = part.dropna(subset=[measure]).groupby("run_id")[measure].mean().to_numpy(float)
                if len(values):
                    mean = mean_estimate(values, saturation.confidence)
                    ends = [None if end is None else min(max(end, 0.0), 1.0) for end in (mean.low, mean.high)]
                    rows.append((point, cpu, measure, mean.n, mean.value, *ends))
    frame = pd.DataFrame(rows, columns=COLUMNS).astype({"low_ratio": float, "high_ratio": float})
    return ProcessorMeans(frame, saturation.confidence, tuple(warnings))
