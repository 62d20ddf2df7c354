"""A percentile over repeats: the run is the unit, for operations of a run are hardly ever independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.analyse.distributions.bounds import Bounds
from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.intervals import n_needed, quantile_ranks
from pipeline.errors import AnalysisError
from pipeline.units import format_si


@dataclass(frozen=True)
class BetweenRuns:
    """A percentile over repeats: bounds of the median run's, and where the median of all such runs lies.

    ``low_s`` and ``high_s`` are None with too few runs.
    """

    percentile: float
    bounds: Bounds
    low_s: float | None
    high_s: float | None
    n_runs: int
    confidence: float

    def sentence(self) -> str:
        """The percentile with the number of runs, interval and assumption."""
        text = f"p{self.percentile:g} of the median run is {self.bounds} (n = {self.n_runs} runs"
        if self.low_s is None or self.high_s is None:
            return f"{text}; no {self.confidence * 100:g} % interval, need ≥ {n_needed(0.5, self.confidence)} runs)."
        ends = f"{format_si(self.low_s, 's')} … {format_si(self.high_s, 's') if np.isfinite(self.high_s) else '∞'}"
        return f"{text}; {self.confidence * 100:g} % interval {ends}, runs taken as independent)."


def between_runs(histograms: Sequence[Histogram], percentile: float, confidence: float = 0.95) -> BetweenRuns:
    """The percentile of the median run, with its interval over runs: the run is the unit, not the operation.

    Each run gives bounds of its own percentile; the median of the lower and of the upper bounds enclose the median
    (the middle of two runs where n is even), and order statistics of the lower bounds (below) and upper bounds (above)
    its interval. Assumes that runs are independent and alike; operations need not be. AnalysisError without runs.
    """
    bounds = [histogram.percentile(percentile) for histogram in histograms]
    if not bounds:
        raise AnalysisError("expected runs, found none")
    n = len(bounds)
    lower, upper = np.sort([b.lower_s for b in bounds]), np.sort([b.upper_s for b in bounds])
    middle = [float(ends[(n - 1) // 2] + ends[n // 2]) / 2 for ends in (lower, upper)]
    low = high = None
    ranks = quantile_ranks(n, 0.5, confidence)
    if ranks.low >= 1 and ranks.high <= n:
        low, high = float(lower[ranks.low - 1]), float(upper[ranks.high - 1])
    return BetweenRuns(percentile, Bounds(middle[0], middle[1]), low, high, n, confidence)
