"""What histograms say: bounds of a figure, a percentile and a share with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.analyse.intervals import n_needed
from pipeline.units import format_si

INDEPENDENCE = "operations taken as independent: where slow ones come together, the interval is too narrow"


@dataclass(frozen=True)
class Bounds:
    """What is known of a figure in seconds: ``lower_s`` ≤ figure < ``upper_s``; equal: the figure itself.

    ``upper_s`` is infinity where an overflow bin leaves it open.
    """

    lower_s: float
    upper_s: float

    @property
    def is_exact(self) -> bool:
        """Whether the figure itself is known."""
        return self.lower_s == self.upper_s

    def __str__(self) -> str:
        low, high = format_si(self.lower_s, "s"), format_si(self.upper_s, "s")
        if self.is_exact:
            return low
        return f"≥ {low}" if not np.isfinite(self.upper_s) else f"[{low}, {high})"


@dataclass(frozen=True)
class Percentile:
    """A percentile of the operations that were measured, and of the process behind them.

    ``bounds`` is of the former. ``low_s`` … ``high_s`` holds the latter with at least ``confidence``; ``coverage`` is
    the exact probability before the width of the bins is added. An end is None where n does not reach it.
    """

    percentile: float
    bounds: Bounds
    low_s: float | None
    high_s: float | None
    n_ops: int
    confidence: float
    coverage: float | None
    assumption: str = INDEPENDENCE

    def sentence(self) -> str:
        """The percentile with n, interval and assumption."""
        ends = [None if s is None else format_si(s, "s") if np.isfinite(s) else "∞" for s in (self.low_s, self.high_s)]
        text = f"p{self.percentile:g} is {self.bounds} (n = {self.n_ops:,} operations; "
        if None in ends:
            needed = n_needed(self.percentile / 100, self.confidence) if 0 < self.percentile < 100 else None
            want = f", need ≥ {needed:,} operations" if needed and needed > self.n_ops else ""
            return f"{text}no {self.confidence * 100:g} % interval{want})."
        return f"{text}{self.confidence * 100:g} % interval {ends[0]} … {ends[1]}; {self.assumption})."


@dataclass(frozen=True)
class Share:
    """Share of the operations at or above a threshold: its bounds, and the interval of the probability behind it."""

    threshold_s: float
    share_low: float
    share_high: float
    interval_low: float
    interval_high: float
    n_ops: int
    confidence: float
    assumption: str = INDEPENDENCE

    def sentence(self) -> str:
        """The share with n, interval and assumption."""
        low, high = (f"{share * 100:.4g}" for share in (self.share_low, self.share_high))
        share = f"{low} %" if low == high else f"{low} to {high} %"
        return (
            f"{share} took {format_si(self.threshold_s, 's')} or longer (n = {self.n_ops:,} operations; "
            f"{self.confidence * 100:g} % interval {self.interval_low * 100:.4g} … {self.interval_high * 100:.4g} %; "
            f"{self.assumption})."
        )
