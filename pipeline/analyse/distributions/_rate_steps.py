"""Private to the stalls: the rate of a run as a step function, and spans of time."""

from __future__ import annotations

import numpy as np

from pipeline.analyse.distributions._cells import Floats
from pipeline.analyse.distributions.over_time import window_numbers
from pipeline.units import MILLI

Span = tuple[float, float]


def rate_steps(start: Floats, end: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """The sum of the rates as a step function: edges, and the rate between each two."""
    edges = np.unique(np.concatenate([start, end]))
    change = np.zeros(len(edges))
    np.add.at(change, np.searchsorted(edges, start), rate)
    np.add.at(change, np.searchsorted(edges, end), -rate)
    rates = np.cumsum(change)[:-1]
    return edges, np.where(np.abs(rates) < 1e-9 * max(float(np.abs(rate).max(initial=0.0)), MILLI), 0.0, rates)


def median_rate(edges: Floats, rates: Floats) -> float:
    """The rate that holds for half of the time."""
    order = np.argsort(rates)
    reached = np.cumsum(np.diff(edges)[order])
    return float(rates[order][np.searchsorted(reached, reached[-1] / 2)])


def slow_spans(edges: Floats, rates: Floats, fraction: float, usual_s: float) -> list[Span]:
    """Where the rate is below ``fraction`` of its median, for at least half a usual window.

    What is shorter lies between the edges of two jobs' windows, where one of them has begun or ended before the other.
    """
    is_slow = rates < fraction * median_rate(edges, rates)
    spans = spans_of(edges[:-1][is_slow], edges[1:][is_slow])
    return [(start, end) for start, end in spans if end - start >= usual_s / 2]


def spans_of(starts: Floats, ends: Floats) -> list[Span]:
    """Spans by their ends, joined."""
    return joined([(float(a), float(b)) for a, b in zip(starts, ends, strict=True)])


def joined(spans: list[Span]) -> list[Span]:
    """Spans that touch as one, in their order."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] * (1 + 1e-12):
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def overlaps(spans: list[Span], start: float, end: float) -> bool:
    """Whether one of the spans has a part in common with another."""
    return any(first < end and last > start for first, last in spans)


def quiet_spans(stamps: Floats, window_s: float, fraction: float) -> tuple[list[Span], list[Span], float]:
    """Spans without a completion, slow windows, and the median number of completions of a window.

    A span without one reaches from the completion before it to the one behind it. A window is slow if it has less than
    ``fraction`` of the median, and no such span that reaches into it accounts for that. The first and the last window
    are covered only in part and left out.
    """
    numbers = window_numbers(stamps, window_s)
    first = int(numbers.min())
    counts = np.bincount((numbers - first).astype(np.int64))
    edges = (np.arange(len(counts) + 1) + first - 1) * window_s
    least = fraction * float(np.median(counts))
    is_inner = np.ones(len(counts), bool)
    is_inner[[0, -1]] = False
    is_empty = is_inner & (counts == 0)
    empty = [
        (float(stamps[stamps <= start].max()), float(stamps[stamps >= end].min()))
        for start, end in spans_of(edges[:-1][is_empty], edges[1:][is_empty])
    ]
    slow = []
    for place in np.flatnonzero(is_inner & (counts > 0) & (counts < least)):
        start, end = float(edges[place]), float(edges[place + 1])
        covered = sum(max(min(end, last) - max(start, begin), 0.0) for begin, last in empty)
        if counts[place] < least * (1 - covered / window_s):
            slow.append((start, end))
    return empty, slow, float(np.median(counts))
