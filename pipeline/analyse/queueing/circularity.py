"""Whether a stated rate and latency were measured apart: only then does their product say anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.queueing.littles_law import queue_depth
from pipeline.errors import AnalysisError


@dataclass(frozen=True)
class StatedDepth:
    """N of a stated rate and latency, beside the rate that an independent count gives.

    ``rounding`` is what the rounding of the printed rate and latency leaves of N (±). ``is_circular``: the rate is one
    over the latency to the digits that were printed, so that N = 1 by construction.
    """

    ops_per_s: float
    latency_s: float
    counted_ops_per_s: float
    is_circular: bool
    rounding: float

    @property
    def queue_depth(self) -> float:
        """N of the stated figures."""
        return queue_depth(self.ops_per_s, self.latency_s)

    @property
    def counted_queue_depth(self) -> float:
        """N of the counted rate and the stated latency."""
        return queue_depth(self.counted_ops_per_s, self.latency_s)

    def numbers(self) -> dict[str, Any]:
        """All figures by name."""
        return {
            "ops_per_s": self.ops_per_s, "latency_s": self.latency_s, "queue_depth": self.queue_depth,
            "queue_depth_rounding": self.rounding, "inverse_latency_per_s": 1 / self.latency_s,
            "is_circular": self.is_circular,
            "counted_ops_per_s": self.counted_ops_per_s, "counted_queue_depth": self.counted_queue_depth,
        }  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Two rows: as stated, and with the counted rate."""
        return pd.DataFrame(
            {"rate": ["as stated", "operations / elapsed time"], "ops_per_s": [self.ops_per_s, self.counted_ops_per_s],
             "latency_mean_s": [self.latency_s] * 2, "queue_depth": [self.queue_depth, self.counted_queue_depth]}
        )  # fmt: skip

    def sentence(self) -> str:
        """What N is, and whether the product is circular."""
        text = (
            f"{self.ops_per_s:,.1f}/s × {self.latency_s * 1e6:.0f} µs gives N = {self.queue_depth:.3f} ± "
            f"{self.rounding:.3f} (the rounding of the printed digits; one run, n = 1, so that it has no interval)"
        )
        if not self.is_circular:
            return text + f"; the counted rate, {self.counted_ops_per_s:,.1f}/s, gives {self.counted_queue_depth:.3f}."
        return (
            f"{text}, which is partly circular: the stated rate is 1 / {self.latency_s * 1e6:.0f} µs = "
            f"{1 / self.latency_s:,.1f}/s, while operations over elapsed time are {self.counted_ops_per_s:,.1f}/s, "
            f"with which N = {self.counted_queue_depth:.3f}."
        )


def stated_depth(*, ops_per_s: float, latency_s: float, n_ops: float, elapsed_s: float, digits: int = 1,
                 latency_digits: int = 6) -> StatedDepth:  # fmt: skip
    """Hold a stated rate (printed with ``digits`` decimals) against 1 / latency and against n_ops / elapsed_s.

    ``latency_digits`` are the decimals of the printed latency in seconds: 6 for whole µs. N = X · W by Little's law
    (Operations Research 9, 1961); its rounding is half a unit of either figure's last digit, to first order:
    W · 0.5 · 10^−digits + X · 0.5 · 10^−latency_digits. AnalysisError unless all four figures are above 0.
    """
    if not min(ops_per_s, latency_s, n_ops, elapsed_s) > 0:
        raise AnalysisError(f"expected figures above 0, found {ops_per_s}, {latency_s}, {n_ops} and {elapsed_s}")
    is_circular = round(1 / latency_s, digits) == round(ops_per_s, digits)
    rounding = latency_s * 0.5 * 10.0**-digits + ops_per_s * 0.5 * 10.0**-latency_digits
    return StatedDepth(ops_per_s, latency_s, n_ops / elapsed_s, is_circular, rounding)
