"""Response time of an open loop estimated from service times: what a schedule would have waited (coordinated omission).

A closed loop starts an operation when the one before has ended, so that a stall is seen by one operation a worker,
where users who come on a schedule would have queued behind it. The names: *service time* from the actual start,
*response time* from the scheduled one (Schroeder, Wierman and Harchol-Balter, NSDI 2006; Tene, "How NOT to measure
latency", 2013). Everything that this file computes is an estimate of what was not measured, and is to be labelled so.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
Process = Literal["constant", "poisson"]


def schedule(n: int, rate_per_s: float, process: Process = "constant", seed: int = 0) -> Floats:
    """Intended starts in s of ``n`` operations: i/rate, or a Poisson process of that rate; the first is at 0.

    AnalysisError without a rate above 0: without one there is no schedule to be late for.
    """
    if not (rate_per_s > 0 and math.isfinite(rate_per_s)):
        raise AnalysisError(f"a response time needs the rate at which operations were to start, found {rate_per_s!r}")
    if process == "constant":
        return np.arange(n) / rate_per_s
    gaps = np.random.default_rng(seed).exponential(1 / rate_per_s, max(n - 1, 0))
    return np.concatenate([[0.0], np.cumsum(gaps)])[:n]


def queue(arrivals_s: ArrayLike, service_s: ArrayLike, n_workers: int = 1) -> Floats:
    """Response times in s: the operations, in the order given, start when scheduled or when a worker is free.

    One worker: Lindley's recursion (1952), D(i) = max(A(i), D(i−1)) + S(i), response D − A, here as a running maximum:
    D(i) = C(i) + max over k ≤ i of (A(k) − C(k−1)) with C the sums of S. Several: first come, first served (Kiefer and
    Wolfowitz 1955). Arrays of shape (n,), or one worker's schedules of shape (m, n) for the same services.

    Assumes that a service takes as long on the schedule as it did when measured, whatever waits behind it. Zero
    services give zero responses. AnalysisError: nulls, negative services, arrivals out of order, no operation.
    """
    arrivals, services = np.asarray(arrivals_s, dtype=float), np.asarray(service_s, dtype=float)
    if not services.size or arrivals.shape[-1:] != services.shape:
        raise AnalysisError(f"expected an arrival for each service, found {arrivals.shape} and {services.shape}")
    if not (np.isfinite(arrivals).all() and np.isfinite(services).all() and (services >= 0).all()):
        raise AnalysisError("expected arrivals and services without nulls, services ≥ 0")
    if (np.diff(arrivals) < 0).any():
        raise AnalysisError("expected arrivals in order")
    if n_workers < 1:
        raise AnalysisError(f"expected at least one worker, found {n_workers}")
    if n_workers == 1:
        done = np.cumsum(services)
        latest = np.maximum.accumulate(arrivals - (done - services), axis=-1)
        response: Floats = np.maximum(done + latest - arrivals, services)
        return response
    if arrivals.ndim != 1:
        raise AnalysisError("several workers take one schedule at a time")
    free, responses = [-math.inf] * n_workers, np.empty(len(services))
    for i, (at, takes) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        end = max(heapq.heappop(free), at) + takes
        heapq.heappush(free, end)
        responses[i] = end - at
    return responses


def percentile(values: ArrayLike, percent: ArrayLike) -> Floats:
    """Smallest value that ``percent`` % of the values do not exceed: order statistic number ⌈n · percent/100⌉."""
    ordered = np.sort(np.asarray(values, dtype=float), axis=-1)
    n = ordered.shape[-1]
    if not n:
        raise AnalysisError("a percentile needs values, found none")
    rank = np.ceil(np.round(np.asarray(percent, dtype=float) / 100 * n, 9)).astype(int)
    found: Floats = ordered[..., np.clip(rank, 1, n) - 1]
    return found


@dataclass(frozen=True, eq=False)
class CorrectedHistogram:
    """A histogram with the operations added that a stall kept from starting: an ESTIMATE, twice.

    Once with every operation at its bin's lower edge, once at its upper edge: values and counts, in order of the
    values. ``n_added_low`` and ``n_added_high`` say how many operations that adds.
    """

    lower: tuple[Floats, Floats]
    upper: tuple[Floats, Floats]
    n_recorded: int
    n_added_low: int
    n_added_high: int
    interval_s: float

    def percentile_bounds(self, percent: float) -> tuple[float, float]:
        """The percentile of recorded and added operations, with all at the lower and with all at the upper edges."""
        low, high = (_weighted_percentile(values, counts, percent) for values, counts in (self.lower, self.upper))
        return low, high


def corrected_histogram(
    lower_s: ArrayLike, upper_s: ArrayLike, counts: ArrayLike, interval_s: float, max_added: int = 10_000_000
) -> CorrectedHistogram:
    """Add to a histogram what a worker that was to start every ``interval_s`` did not start while it waited.

    As HdrHistogram's copyCorrectedForCoordinatedOmission: each latency v > interval also counts at v − interval,
    v − 2 · interval, … as long as that is at least the interval. HdrHistogram takes one value a bin; here both edges.

    Assumes: one worker an interval, a constant schedule, every stall seen by one operation, and no queue left when it
    ends: the wait of those that came next while the backlog was worked off is not in it, so that it errs to the low
    side where services take a large part of the interval. Closed loops only: what was measured from its schedule must
    not be corrected again. Empty bins and latencies up to the interval add nothing; exact values: equal edges.

    AnalysisError: no interval, negative counts, no operations, more than ``max_added`` to add, an overflow bin that
    holds operations (how long they took is not known).
    """
    lower, upper, n = (np.asarray(values, dtype=float).ravel() for values in (lower_s, upper_s, counts))
    if not (interval_s > 0 and math.isfinite(interval_s)):
        raise AnalysisError(f"a correction needs the intended interval of a worker, found {interval_s!r}")
    if not len(lower) == len(upper) == len(n) or not n.sum() > 0 or (n < 0).any():
        raise AnalysisError("expected bins with counts ≥ 0 and at least one operation")
    lower, upper, n = lower[n > 0], upper[n > 0], n[n > 0]
    if not np.isfinite(upper).all():
        raise AnalysisError("operations lie in the overflow bin: how long they took is not known")
    n_added = [float((_steps(values, interval_s) * n).sum()) for values in (lower, upper)]
    if max(n_added) > max_added:
        raise AnalysisError(f"more than {max_added:,} operations to add: {interval_s:g} s is no interval of one worker")
    edges = [_corrected(values, n, interval_s) for values in (lower, upper)]
    return CorrectedHistogram(edges[0], edges[1], int(n.sum()), int(n_added[0]), int(n_added[1]), interval_s)


def _steps(values: Floats, interval_s: float) -> NDArray[np.int64]:
    """How many times the interval can be taken from each value with at least the interval left."""
    return np.maximum(np.floor(np.round(values / interval_s, 9)).astype(np.int64) - 1, 0)


def _corrected(values: Floats, counts: Floats, interval_s: float) -> tuple[Floats, Floats]:
    steps = _steps(values, interval_s)
    which = np.repeat(np.arange(len(values)), steps)
    shift = (np.arange(len(which)) - np.repeat(np.cumsum(steps) - steps, steps) + 1) * interval_s
    together, weights = np.concatenate([values, values[which] - shift]), np.concatenate([counts, counts[which]])
    order = np.argsort(together, kind="stable")
    return together[order], weights[order]


def _weighted_percentile(values: Floats, counts: Floats, percent: float) -> float:
    total = np.cumsum(counts)
    rank = max(math.ceil(round(percent / 100 * float(total[-1]), 9)), 1)
    return float(values[min(int(np.searchsorted(total, rank, side="left")), len(values) - 1)])


def one_stall(service_s: float, stall_s: float, every_s: float, rate_per_s: float, n_stalls: int = 20) -> pd.DataFrame:
    """A simulated worker with one long service every ``every_s``: percentiles of both times, where the truth is known.

    Columns: percentile, service_s (of a closed loop), response_s (of the same worker on the schedule i/rate),
    expected_s: while the backlog lasts, stall / (1 − ρ) with ρ = rate × service, the response falls from the stall to
    a service linearly, so that the share q of the slowest waits stall · (1 − q · every · (1 − ρ) / stall).
    """
    n = round(every_s * rate_per_s)
    services = np.tile(np.concatenate([[stall_s], np.full(n - 1, service_s)]), n_stalls)
    response = queue(schedule(len(services), rate_per_s), services)
    n_closed = round((every_s - stall_s) / service_s)
    closed = np.concatenate([[stall_s], np.full(n_closed, service_s)])
    percents = np.array([50.0, 90.0, 99.0, 99.9, 99.99])
    slowest = (1 - percents / 100) * every_s * (1 - rate_per_s * service_s) / stall_s
    return pd.DataFrame({"percentile": percents, "service_s": percentile(closed, percents),
                         "response_s": percentile(response, percents),
                         "expected_s": np.maximum(stall_s * (1 - slowest), service_s)})  # fmt: skip
