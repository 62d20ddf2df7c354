"""Which call ran in which operation: the log of a client and the trace of a server, on two clocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipeline.analyse.budget.quantity import FloatArray
from pipeline.errors import AnalysisError
from pipeline.units import MICRO, microseconds

REST = "the rest of the operation"
MAX_WITHOUT = 0.01  # share of operations that contradict the trace, above which nothing is concluded
N_FIRST = 100  # operations that are matched by order, to find the clocks' offset
TOLERANCE_S = 20 * MICRO  # by which a call may lie outside its operation: two clocks' rounding and drift


@dataclass(frozen=True)
class Matched:
    """Operations of one run with their layers: ``layers_s`` has a column a layer, the last is the rest.

    ``end_s`` and ``latency_s`` have one entry an operation; ``slack_s`` is the range of clock offsets that put every
    call of the aligning layer inside its operation (negative: short of it by so much, within the tolerance);
    ``n_unassigned`` counts calls of other layers outside all operations; ``n_without`` operations that were left out:
    no call of the aligning layer is inside what their log says.
    """

    end_s: FloatArray
    latency_s: FloatArray
    layers: tuple[str, ...]
    layers_s: FloatArray
    slack_s: float
    n_unassigned: int
    n_without: int = 0


def match_operations(
    outer: pd.DataFrame, inner: Mapping[str, pd.DataFrame], align: str, tolerance_s: float = TOLERANCE_S
) -> Matched:
    """Put the calls of each layer into the operations they ran in.

    ``outer``: ``time_s`` (end) and ``latency_s`` of operations that do not overlap (one client). ``inner``:
    ``issued_s``, ``time_s`` and ``latency_s`` of a layer's calls on another clock; of ``align`` there is one call an
    operation. One constant clock offset must put every call of ``align`` inside its operation: it lies between
    max(start of operation − start of call) and min(end of operation − end of call), first over the first operations,
    matched by order, then over all. A call belongs to the operation that holds its middle; times in one operation are
    summed. An operation that holds no call of ``align`` contradicts the trace (pgbench logs some as 0 µs, having taken
    their start too late): it is left out and counted. AnalysisError: numbers of operations and calls, or operations
    without a call, that differ by more than ``MAX_WITHOUT``; operations that overlap; no such offset within
    ``tolerance_s``; nulls.
    """
    outer = outer.sort_values("time_s", kind="stable")
    end, latency = outer["time_s"].to_numpy("float64"), outer["latency_s"].to_numpy("float64")
    start, n = end - latency, len(outer)
    calls = {name: _calls(frame, name) for name, frame in inner.items()}
    if not n or not np.isfinite(latency).all():
        raise AnalysisError(f"expected operations with a latency, found {n} of which some have none")
    if abs(len(calls[align]) - n) > MAX_WITHOUT * n:
        raise AnalysisError(f"expected one call of {align!r} an operation ({n:,}), found {len(calls[align]):,}")
    overlap = float(np.max(end[:-1] - start[1:], initial=-math.inf))
    if overlap > tolerance_s:
        raise AnalysisError(f"expected operations one after the other, found two that overlap by {_text(overlap)}")
    first = slice(0, min(n, len(calls[align]), N_FIRST))
    low, high = _offsets(start[first], end[first], calls[align][first], tolerance_s, align)
    placed = _place(start, end, calls[align], (low + high) / 2, tolerance_s)
    is_in = placed >= 0
    low, high = _offsets(start[placed[is_in]], end[placed[is_in]], calls[align][is_in], tolerance_s, align)
    columns, n_unassigned = [], 0
    for name, times in calls.items():
        at = _place(start, end, times, (low + high) / 2, tolerance_s)
        n_unassigned += int((at < 0).sum()) if name != align else 0
        columns.append(np.bincount(at[at >= 0], times[at >= 0, 2], n))
    is_held = np.isin(np.arange(n), placed)
    if n - is_held.sum() > MAX_WITHOUT * n:
        raise AnalysisError(f"expected a call of {align!r} in each operation, found {n - is_held.sum():,} without")
    layers_s = np.column_stack([*columns, latency - np.sum(columns, axis=0)])[is_held]
    return Matched(
        end[is_held], latency[is_held], (*inner, REST), layers_s, high - low, n_unassigned, int(n - is_held.sum())
    )


def _offsets(
    start: FloatArray, end: FloatArray, calls: FloatArray, tolerance_s: float, name: str
) -> tuple[float, float]:
    """The range of clock offsets that puts each call inside its operation; calls longer than theirs do not count."""
    is_whole = calls[:, 2] <= end - start + tolerance_s
    low = float(np.max((start - calls[:, 0])[is_whole], initial=-math.inf))
    high = float(np.min((end - calls[:, 1])[is_whole], initial=math.inf))
    if low - high > 2 * tolerance_s or not is_whole.any():
        raise AnalysisError(
            f"expected one clock offset that puts every call of {name!r} inside its operation, found none: the calls "
            f"would have to be {_text(low - high)} shorter"
        )
    return low, high


def _place(
    start: FloatArray, end: FloatArray, calls: FloatArray, offset: float, tolerance_s: float
) -> NDArray[np.int64]:
    """The operation that holds each call's middle, -1 for none."""
    middle = (calls[:, 0] + calls[:, 1]) / 2 + offset
    at = np.searchsorted(start, middle, side="right") - 1
    # A call may be longer than its operation by the tolerance, not more.
    is_inside = (
        (at >= 0) & (middle <= end[np.maximum(at, 0)]) & (calls[:, 2] <= (end - start)[np.maximum(at, 0)] + tolerance_s)
    )
    return np.where(is_inside, at, -1)


def _calls(calls: pd.DataFrame, name: str) -> FloatArray:
    """Start, end and duration of each call, in the order of their starts."""
    columns = calls[["issued_s", "time_s", "latency_s"]]
    if columns.isna().any(axis=None):
        raise AnalysisError(f"layer {name!r}: expected a start, an end and a duration of every call, found nulls")
    return np.asarray(columns.sort_values("issued_s", kind="stable"), dtype=np.float64)


def _text(time_s: float) -> str:
    return f"{microseconds(time_s):.0f} µs"
