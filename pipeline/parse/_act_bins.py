"""ACT's cumulative histograms to counts an interval, a histogram at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.parse._act_log import Histogram

Counts = NDArray[np.int64]
_TO_SPACES = str.maketrans("(:)", "   ")


@dataclass(frozen=True)
class Intervals:
    """Intervals of one histogram, and how many entries had to be left out, with the line of the first.

    ``starts_s``, ``ends_s`` and ``totals`` are an interval each; ``interval``, ``bucket`` and ``counts`` are a bin
    that is not empty each, ``interval`` pointing into the former.
    """

    starts_s: Counts
    ends_s: Counts
    totals: Counts
    interval: Counts
    bucket: Counts
    counts: Counts
    inconsistent: tuple[int, int]  # Σ bins ≠ total: number of entries, line of the first
    repeated: tuple[int, int]  # the same histogram twice in a block
    decreased: tuple[int, int]  # fewer operations than before
    missing: tuple[int, int]  # not in a block; the line of the entry before, or of the first

    def edges(self, unit_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper edges of the bins in seconds: bucket 0 is [0, 1), B is [2^(B-1), 2^B) units."""
        upper = np.ldexp(unit_s, self.bucket.astype(np.int32))
        return np.where(self.bucket == 0, 0.0, upper / 2), upper


def intervals_of(histogram: Histogram, after: Counts) -> Intervals:
    """Differences between consecutive entries of a histogram, of the blocks that ``after`` holds the seconds of.

    The first interval begins at 0. An entry that contradicts itself is left out: the counts are cumulative, so the
    next one spans the gap. Where a count falls, or the time does not rise, the interval is left out and counting
    goes on from there.
    """
    blocks, lines = np.array(histogram.blocks), np.array(histogram.lines)
    totals, counts = np.array(histogram.totals, dtype=np.int64), _dense(histogram.buckets)
    is_known = blocks < len(after)
    is_first = np.diff(blocks, prepend=-1) > 0
    is_sound = counts.sum(axis=1) == totals
    keep = is_known & is_first & is_sound
    lines_kept, counts, totals = lines[keep], counts[keep], totals[keep]
    ends = after[blocks[keep]]
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    steps = np.diff(counts, axis=0, prepend=np.zeros((1, counts.shape[1]), dtype=np.int64))
    has_fallen = (steps < 0).any(axis=1)
    use = ~has_fallen & (ends > starts)
    steps = steps[use]
    interval, bucket = np.nonzero(steps)
    return Intervals(
        starts[use], ends[use], steps.sum(axis=1), interval, bucket, steps[interval, bucket],
        _tally(lines[is_known & is_first & ~is_sound]), _tally(lines[is_known & ~is_first]),
        _tally(lines_kept[has_fallen]), _missing(blocks[is_known & is_first], lines[is_known & is_first], len(after)),
    )  # fmt: skip


def _tally(lines: Counts) -> tuple[int, int]:
    return len(lines), int(lines[0]) if len(lines) else 0


def _missing(blocks: Counts, lines: Counts, n_blocks: int) -> tuple[int, int]:
    if len(blocks) in (0, n_blocks):
        return n_blocks - len(blocks), int(lines[0]) if len(lines) else 1
    gaps = np.diff(np.concatenate([[-1], blocks, [n_blocks]])) > 1
    return n_blocks - len(blocks), int(lines[max(int(gaps.argmax()) - 1, 0)])


def _dense(texts: list[str]) -> Counts:
    """Counts as entry × bucket of texts such as `` (00: 0000000159) (01: 0000000003)``, which hold nothing else."""
    n_buckets = [text.count("(") for text in texts]
    if not sum(n_buckets):
        return np.zeros((len(texts), 1), dtype=np.int64)
    numbers = np.fromstring(" ".join(texts).translate(_TO_SPACES), dtype=np.int64, sep=" ").reshape(-1, 2)
    entries = np.repeat(np.arange(len(texts)), n_buckets)
    dense = np.zeros((len(texts), int(numbers[:, 0].max()) + 1), dtype=np.int64)
    np.add.at(dense, (entries, numbers[:, 0]), numbers[:, 1])
    return dense
