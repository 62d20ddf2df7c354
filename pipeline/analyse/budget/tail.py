"""The slowest operations of a latency budget: what each layer took in them, on average.

Percentiles do not add, but conditional means do: E[X | X > x_p] = Σ E[layer | X > x_p], X the outer latency. It needs
the layers' times in the same operations; without them only bounds can be stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from uncertainties import UFloat

from pipeline.analyse.budget.matching import Matched
from pipeline.analyse.budget.quantity import Expanded, FloatArray, Sources
from pipeline.errors import AnalysisError
from pipeline.units import microseconds

MIN_TAIL = 20  # operations above the quantile in each run, fewer hold too few batches


@dataclass(frozen=True)
class TailMeans:
    """Means over all operations and over those above the quantile, and the influence of each operation on both.

    Columns: the outer latency, then the layers. ``threshold_s`` is the quantile itself.
    """

    threshold_s: float
    n_tail: int
    means_s: FloatArray
    tail_means_s: FloatArray
    influence_s: FloatArray
    tail_influence_s: FloatArray


def tail_means(latency_s: FloatArray, layers_s: FloatArray, quantile: float) -> TailMeans:
    """Conditional means of the outer latency X and of its layers Y above X's quantile x_p.

    x_p is the smallest latency that a share p of the operations does not exceed; m = mean of Y over X > x_p. The
    influence of operation i on m is [1(Xᵢ > x_p)(Yᵢ − m) − (1(Xᵢ > x_p) − π)(E[Y | X = x_p] − m)] / π, π the share
    above x_p: the second term is what estimating x_p adds. For Y = X its variance is
    [Var(X | X > x_p) + p (m − x_p)²] / π (Manistre and Hancock, North American Actuarial Journal 9(2), 2005).
    E[Y | X = x_p] is the mean of Y over the operations whose ranks are next to the quantile's. ``latency_s`` has shape
    (n,), ``layers_s`` (n, layers); seconds. AnalysisError: fewer than ``MIN_TAIL`` operations above x_p (few of them,
    or all latencies equal).
    """
    n = len(latency_s)
    ordered = np.argsort(latency_s, kind="stable")
    rank = max(math.ceil(quantile * n - 1e-9), 1) if n else 0
    threshold = float(latency_s[ordered[rank - 1]]) if n else math.nan
    is_tail = latency_s > threshold
    n_tail = int(is_tail.sum())
    if n_tail < MIN_TAIL:
        needed = math.ceil(MIN_TAIL / (1 - quantile) - 1e-9)
        raise AnalysisError(
            f"expected at least {MIN_TAIL} operations above the {quantile:.4g} quantile, found {n_tail} of {n:,}; "
            f"need ≥ {needed:,} operations, or latencies with more digits"
        )
    values = np.column_stack([latency_s, layers_s])
    near = math.ceil(math.sqrt(n_tail))
    at_threshold = values[ordered[max(rank - near, 0) : rank + near]].mean(axis=0)
    at_threshold[0] = threshold
    means, tail = values.mean(axis=0), values[is_tail].mean(axis=0)
    share = n_tail / n
    influence = is_tail[:, None] * (values - tail) - (is_tail[:, None] - share) * (at_threshold - tail)
    return TailMeans(threshold, n_tail, means, tail, values - means, influence / share)


@dataclass(frozen=True)
class TailLayer:
    """A layer's mean over all operations, over the slowest ones, the difference, and its share of the whole one's.

    ``share`` is None where the whole difference is 0.
    """

    layer: str
    mean: Expanded
    tail: Expanded
    excess: Expanded
    share: Expanded | None


@dataclass(frozen=True)
class TailBudget:
    """Layers of the slowest operations; the first row is the whole operation, which the others sum to."""

    quantile: float
    confidence: float
    layers: tuple[TailLayer, ...]
    n_ops: int
    n_tail: int
    thresholds_s: tuple[float, ...]
    batches: str
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row a layer: mean of all, of the slowest and the difference, each with U; share of the whole difference."""
        return pd.DataFrame(
            [{"layer": row.layer, "mean_s": row.mean.value, "mean_expanded_uncertainty_s": row.mean.half_width,
              "tail_mean_s": row.tail.value, "tail_expanded_uncertainty_s": row.tail.half_width,
              "excess_s": row.excess.value, "excess_expanded_uncertainty_s": row.excess.half_width,
              "share_of_excess_ratio": row.share and row.share.value,
              "share_expanded_uncertainty_ratio": row.share and row.share.half_width} for row in self.layers]
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """The rows, the counts and the thresholds, by name."""
        return {
            "layers": self.to_frame(), "quantile": self.quantile, "n_ops": self.n_ops, "n_tail": self.n_tail,
            "thresholds_s": self.thresholds_s, "batches": self.batches, "confidence": self.confidence,
            "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """What the slowest operations take longer, and which layer holds most of it."""
        whole, parts = self.layers[0], self.layers[1:]
        largest = max(parts, key=lambda row: row.excess.value)
        share = f" ({largest.share.percent()})" if largest.share else ""
        return (
            f"The slowest {100 * (1 - self.quantile):.3g} % of the operations (n = {self.n_tail:,} of {self.n_ops:,}; "
            f"{self.batches}) take {whole.tail.text()} on average, {whole.excess.text()} more than all; "
            f"{largest.excess.text()} of that is in “{largest.layer}”{share}. ± is the expanded uncertainty at "
            f"{self.confidence:.0%}; conditional means over the same operations, which add up (percentiles do not)."
        )


def tail_budget(
    runs: Mapping[str, Matched], quantile: float, confidence: float = 0.95, window_s: float = 0.5
) -> TailBudget:
    """Conditional means of the layers above each run's own quantile, over all operations beside them.

    Of R ≥ 2 runs each figure is the mean of the runs' figures with s / √R and R − 1 degrees of freedom; of one run the
    influence of its operations, summed over windows of ``window_s``, gives the uncertainty (neighbours are correlated).
    Of several runs those with fewer than ``MIN_TAIL`` operations above the quantile are left out with a warning.
    AnalysisError: no runs, layers that differ between runs, one run of a single window, and as ``tail_means``.
    """
    if not runs or len({matched.layers for matched in runs.values()}) != 1:
        raise AnalysisError(f"expected runs with the same layers, found {sorted({m.layers for m in runs.values()})}")
    runs, short = _long_enough(runs, quantile)
    found = {run: tail_means(matched.latency_s, matched.layers_s, quantile) for run, matched in runs.items()}
    first = next(iter(runs.values()))
    if len(runs) > 1:
        centres = [np.mean([getattr(one, name) for one in found.values()], axis=0) for name in _MEANS]
        scores = [np.array([getattr(one, name) for one in found.values()]) - centre
                  for name, centre in zip(_MEANS, centres, strict=True)]  # fmt: skip
        scores, batches = [each / len(runs) for each in scores], f"{len(runs)} runs"
    else:
        (only,) = found.values()
        window = np.floor(first.end_s / window_s).astype("int64")
        _, group = np.unique(window, return_inverse=True)
        centres = [only.means_s, only.tail_means_s]
        scores = [_batched(each, group) / len(group) for each in (only.influence_s, only.tail_influence_s)]
        batches = f"{group.max() + 1} windows of {window_s:g} s of one run"
    sources = Sources()
    rows, whole = [], None
    for column, layer in enumerate(("the whole operation", *first.layers)):
        mean, tail = (_quantity(sources, centre[column], score[:, column])
                      for centre, score in zip(centres, scores, strict=True))  # fmt: skip
        whole = tail - mean if whole is None else whole
        share = sources.expanded((tail - mean) / whole, confidence) if whole.nominal_value else None
        every, slowest, excess = (sources.expanded(value, confidence) for value in (mean, tail, tail - mean))
        rows.append(TailLayer(layer, every, slowest, excess, share))
    unassigned = sum(matched.n_unassigned for matched in runs.values())
    warnings = [f"{unassigned:,} calls lie outside all operations and were left out"] if unassigned else []
    warnings += [f"left out, {text}" for text in short]
    if without := sum(matched.n_without for matched in runs.values()):
        warnings.append(
            f"contradiction: {without:,} operations are logged as too short or too late for the call that the trace "
            "has for them; they were left out"
        )
    counts = sum(len(matched.latency_s) for matched in runs.values()), sum(one.n_tail for one in found.values())
    thresholds = tuple(one.threshold_s for one in found.values())
    return TailBudget(quantile, confidence, tuple(rows), *counts, thresholds, batches, tuple(warnings))


def _long_enough(runs: Mapping[str, Matched], quantile: float) -> tuple[Mapping[str, Matched], list[str]]:
    """The runs with operations enough, and what is said of the others; all, where that leaves none."""
    needed = math.ceil(MIN_TAIL / (1 - quantile) - 1e-9)
    kept = {run: matched for run, matched in runs.items() if len(matched.latency_s) >= needed}
    texts = [
        f"{run}: {len(matched.latency_s):,} operations, need ≥ {needed:,}"
        for run, matched in runs.items()
        if run not in kept
    ]
    return (kept, texts) if kept else (runs, [])


_MEANS = ("means_s", "tail_means_s")


def _quantity(sources: Sources, value: float, scores: FloatArray) -> UFloat:
    return sources.scattered("batches", float(value), scores)


def _batched(influence: FloatArray, group: Any) -> FloatArray:
    return np.column_stack([np.bincount(group, column) for column in influence.T])


@dataclass(frozen=True)
class TailBounds:
    """Bounds of the layers' means in the slowest operations, and why there is no more than that."""

    quantile: float
    n_ops: int
    n_tail: int
    frame: pd.DataFrame
    reason: str

    def to_frame(self) -> pd.DataFrame:
        """A row a layer: its mean, and the lowest and highest mean it can have in the slowest operations."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The rows, the counts and the reason, by name."""
        return {"bounds": self.frame, "quantile": self.quantile, "n_ops": self.n_ops, "n_tail": self.n_tail,
                "reason": self.reason}  # fmt: skip

    def sentence(self) -> str:
        """The refusal and the bounds."""
        tail = self.frame["tail_mean_s"].iloc[0]
        bounds = ", ".join(f"{row.layer}: {microseconds(row.tail_low_s):.0f} … {microseconds(row.tail_high_s):.0f} µs"
                           for row in self.frame.itertuples())  # fmt: skip
        return (
            f"The slowest {100 * (1 - self.quantile):.3g} % (n = {self.n_tail:,} of {self.n_ops:,} operations) take "
            f"{microseconds(tail):.0f} µs on average; how much of it is in a layer is refused: {self.reason}. "
            f"Bounds for any dependence between the two: {bounds}."
        )


def tail_bounds(latency_s: FloatArray, means_s: Mapping[str, float], quantile: float, reason: str) -> TailBounds:
    """What the mean of a layer in the slowest operations can be, when only its mean over all operations is known.

    For 0 ≤ Y ≤ X with mean m, E[Y | X > x_p] lies between max(0, (m − Σ of X over the others / n) / π) and
    min(E[X | X > x_p], m / π), π the share of operations above x_p: at worst all the layer's time is in them, at best
    the others hold as much of it as they can. ``latency_s``: shape (n,), seconds. AnalysisError as ``tail_means``, or
    for a mean that is below 0 or above that of X (the layer is not inside).
    """
    found = tail_means(latency_s, np.empty((len(latency_s), 0)), quantile)
    mean, tail, share = float(found.means_s[0]), float(found.tail_means_s[0]), found.n_tail / len(latency_s)
    rows = []
    for layer, m in means_s.items():
        if not 0 <= m <= mean:
            raise AnalysisError(
                f"{layer!r}: expected a mean between 0 and that of the operation, found {m:.6g} s, {mean:.6g} s"
            )
        low = max(0.0, (m - (mean - share * tail)) / share)
        rows.append(
            {"layer": layer, "mean_s": m, "tail_low_s": low, "tail_high_s": min(tail, m / share), "tail_mean_s": tail}
        )
    return TailBounds(quantile, len(latency_s), found.n_tail, pd.DataFrame(rows), reason)
