"""Whether a stated rate and latency were measured apart: only then does their product say anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.littles_law import queue_depth


@dataclass(frozen=True)
class StatedDepth:
    """N of a stated rate and latency, beside the rate that an independent count gives.

    ``is_circular``: the rate is one over the latency to the digits that were printed, so that N = 1 by construction.
    """

    ops_per_s: float
    latency_s: float
    counted_ops_per_s: float
    is_circular: bool

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
            "inverse_latency_per_s": 1 / self.latency_s, "is_circular": self.is_circular,
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
        text = f"{self.ops_per_s:,.1f}/s × {self.latency_s * 1e6:.0f} µs gives N = {self.queue_depth:.3f}"
        if not self.is_circular:
            return text + f"; the counted rate, {self.counted_ops_per_s:,.1f}/s, gives {self.counted_queue_depth:.3f}."
        return (
            f"{text}, which is partly circular: the stated rate is 1 / {self.latency_s * 1e6:.0f} µs = "
            f"{1 / self.latency_s:,.1f}/s, while operations over elapsed time are {self.counted_ops_per_s:,.1f}/s, "
            f"with which N = {self.counted_queue_depth:.3f}."
        )


def stated_depth(*, ops_per_s: float, latency_s: float, n_ops: float, elapsed_s: float, digits: int = 1) -> StatedDepth:
    """Hold a stated rate (printed with ``digits`` decimals) against 1 / latency and against n_ops / elapsed_s."""
    is_circular = round(1 / latency_s, digits) == round(ops_per_s, digits)
    return StatedDepth(ops_per_s, latency_s, n_ops / elapsed_s, is_circular)
