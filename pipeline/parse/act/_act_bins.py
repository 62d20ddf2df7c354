"""ACT's cumulative histograms to counts an interval, a histogram and a chunk of the log at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.parse.act._act_lines import MOST_BUCKETS, Counts


@dataclass
class Tally:
    """Something that was wrong: how often, the line of the first and what was found there."""

    count: int = 0
    line: int = 0
    found: str = ""

    def add(self, count: int, line: int, found: str = "") -> None:
        """Count occurrences, of which the first stands in ``line``."""
        if count and not self.count:
            self.line, self.found = line, found
        self.count += count

    def add_lines(self, lines: Counts) -> None:
        """Count the lines, which are in their order."""
        if len(lines):
            self.add(len(lines), int(lines[0]))


@dataclass
class Entries:
    """Entries of histograms, as arrays: an entry's block, line, total and histogram; a cell's entry, bucket, count."""

    block: Counts
    line: Counts
    total: Counts
    cell_entry: Counts
    cell_bucket: Counts
    cell_count: Counts
    histogram: Counts = field(default_factory=lambda: np.zeros(0, np.int64))
    _dense: Counts | None = None

    def dense(self) -> Counts:
        """Counts as entry × bucket."""
        if self._dense is None:
            n_buckets = int(self.cell_bucket.max(initial=0)) + 1
            place = self.cell_entry * n_buckets + self.cell_bucket
            size = len(self.total) * n_buckets
            dense = np.zeros(size, np.int64)
            dense[place] = self.cell_count
            if int((np.bincount(place, minlength=size) > 1).sum()):  # a bucket twice in an entry
                dense[:] = 0
                np.add.at(dense, place, self.cell_count)
            self._dense = dense.reshape(len(self.total), n_buckets)
        return self._dense

    def is_sound(self) -> NDArray[np.bool_]:
        """Whether the buckets of an entry add up to its total."""
        n_cells = np.bincount(self.cell_entry, minlength=len(self.total))
        is_sound: NDArray[np.bool_] = (self.dense().sum(axis=1) == self.total) & (n_cells <= MOST_BUCKETS)
        return is_sound

    def select(self, keep: NDArray[np.bool_]) -> None:
        """Keep some of the entries."""
        number = np.cumsum(keep) - 1
        is_kept = keep[self.cell_entry]
        self.cell_entry = number[self.cell_entry[is_kept]]
        self.cell_bucket, self.cell_count = self.cell_bucket[is_kept], self.cell_count[is_kept]
        self.block, self.line, self.total = self.block[keep], self.line[keep], self.total[keep]
        self.histogram = self.histogram[keep]
        self._dense = None

    def before_block(self, block: int) -> Entries:
        """Return these entries without those of a block and what follows it."""
        self.select(self.block < block)
        return self


@dataclass(frozen=True)
class Place:
    """What a histogram counted."""

    op: str
    scope: str
    target: str | None = None
    is_known: bool = True

    @property
    def direction(self) -> str:
        """Read or write."""
        return "write" if self.op.endswith("write") else "read"


@dataclass(frozen=True)
class Bins:
    """Bins that are not empty, of the intervals of one histogram: their edges in time, bucket and count."""

    starts_s: NDArray[np.float64]
    ends_s: NDArray[np.float64]
    bucket: Counts
    counts: Counts

    def edges(self, unit_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper edges in seconds: bucket 0 is [0, 1), B is [2^(B-1), 2^B) units."""
        upper = np.ldexp(unit_s, np.arange(MOST_BUCKETS))
        lower = np.where(np.arange(MOST_BUCKETS) == 0, 0.0, upper / 2)
        return lower[self.bucket], upper[self.bucket]


@dataclass
class Histogram:
    """One histogram of a run: its sums over the intervals so far, and what had to be left out."""

    name: str
    is_write_section: bool
    first_line: int
    place: Place | None = None
    n_ops: int = 0
    duration_s: int = 0
    last_block: int = -1
    inconsistent: Tally = field(default_factory=Tally)  # Σ bins ≠ total
    repeated: Tally = field(default_factory=Tally)  # the same histogram twice in a block
    decreased: Tally = field(default_factory=Tally)  # fewer operations than before
    _n_missing: int = 0
    _gap_line: int | None = None
    _last_line: int = 0
    _counts: Counts = field(default_factory=lambda: np.zeros(MOST_BUCKETS, np.int64))
    _end_s: int = 0

    def take(self, block: Counts, line: Counts, is_sound: NDArray[np.bool_], counts: Counts, ends: Counts) -> Bins:
        """Take in entries (an array element each; ``counts`` entry × bucket, ``ends`` second): differences.

        The first interval begins at 0. An entry that contradicts itself is left out: the counts are cumulative, so
        the next one spans the gap. Where a count falls, or the time does not rise, the interval is left out and
        counting goes on from there.
        """
        is_first = np.diff(block, prepend=self.last_block) > 0
        self.repeated.add_lines(line[~is_first])
        self.inconsistent.add_lines(line[is_first & ~is_sound])
        self._note_gaps(block[is_first], line[is_first])
        keep = is_first & is_sound
        line, counts, ends = line[keep], counts[keep], ends[keep]
        if not len(line):
            return Bins(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        width = MOST_BUCKETS if self._counts[counts.shape[1] :].any() else counts.shape[1]
        counts = np.pad(counts, ((0, 0), (0, width - counts.shape[1])))
        starts = np.concatenate([[self._end_s], ends[:-1]])
        steps = np.diff(counts, axis=0, prepend=self._counts[None, :width])
        has_fallen = (steps < 0).any(axis=1)
        self.decreased.add_lines(line[has_fallen])
        self._counts, self._end_s = np.pad(counts[-1], (0, MOST_BUCKETS - width)), int(ends[-1])
        use = ~has_fallen & (ends > starts)
        steps, starts, ends = steps[use], starts[use], ends[use]
        self.n_ops += int(steps.sum())
        self.duration_s += int((ends - starts).sum())
        interval, bucket = np.nonzero(steps)
        return Bins(
            starts.astype(np.float64)[interval], ends.astype(np.float64)[interval], bucket, steps[interval, bucket]
        )

    def _note_gaps(self, block: Counts, line: Counts) -> None:
        """Count the blocks that this histogram is not in; of the first, keep the line of the entry before it."""
        if not len(block):
            return
        gaps = np.diff(block, prepend=self.last_block) - 1
        if gaps.any() and self._gap_line is None:
            before = int(gaps.argmax() if gaps[0] > 0 else (gaps > 0).argmax()) - 1
            self._gap_line = int(line[before]) if before >= 0 else self._last_line or int(line[0])
        self._n_missing += int(gaps.sum())
        self.last_block, self._last_line = int(block[-1]), int(line[-1])

    def missing(self, n_blocks: int) -> Tally:
        """How many of the blocks lack this histogram, and the line of its entry before the first of them."""
        at_end = n_blocks - 1 - self.last_block
        line = self._gap_line if self._gap_line is not None else self._last_line
        return Tally(self._n_missing + at_end, line or 1)
