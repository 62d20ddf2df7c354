"""Private to ``fio_log``: which column is which, whether rows are I/Os or windows, and the unit of latencies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from pipeline.parse.fio._fio_log_documents import Version

LINE = re.compile(r"\d{1,18}(?:, (?:\d{1,18}|0x[0-9a-f]{1,8})){3,7}")
_SAMPLE_LINES = 1000
_PRIORITY_SINCE = (3, 18)
_NANOSECONDS_SINCE = (2, 99)
_RATES_OF_IOS_SINCE = (2, 10)
# Between these a latency may be either: so many ns are a fast device's, so many µs a slow one's.
_MOST_OUTSTANDING = 300
_NEARLY_ALL = 0.9
_LIKELY_US = {"lat": 20_000, "clat": 20_000, "slat": 300}


@dataclass(frozen=True)
class Layout:
    """Columns by their place; None: the log has none."""

    n_columns: int
    maximum: int | None = None
    offset: int | None = None
    priority: int | None = None
    issued: int | None = None

    @property
    def op(self) -> int:
        """The column of the direction."""
        return 3 if self.maximum is not None else 2

    @property
    def size(self) -> int:
        """The column of the block size."""
        return self.op + 1


Sample = list[list[int]]


def sample_of(head: str) -> tuple[Sample, bool]:
    """Numbers of the first lines that have the usual number of columns, and whether one of them is hexadecimal."""
    lines = head.split("\n")[:-1][:_SAMPLE_LINES]
    good = [line for line in lines if LINE.fullmatch(line)]
    if not good:
        return [], False
    widths = [line.count(",") for line in good]
    usual = max(set(widths), key=widths.count)
    kept = [line for line, width in zip(good, widths, strict=True) if width == usual]
    return [[int(cell, 0 if "x" in cell else 10) for cell in line.split(", ")] for line in kept], "x" in kept[0]


def layout_of(
    sample: Sample, version: Version | None, *, has_hex: bool, has_offset: bool | None, has_maximum: bool | None
) -> Layout | None:
    """The columns of a log; ``has_…``: what its options say, None where they are not known. None: no such log."""
    n = len(sample[0])
    maximum = _has_maximum(sample) if has_maximum is None or not _fits(sample, is_maximum=has_maximum) else has_maximum
    if maximum and n < 6:
        maximum = False
    base = 5 if maximum else 4  # the first column behind the block size
    place = 2 if maximum else None
    if not _fits(sample, is_maximum=maximum) or n - base > 3:
        return None
    match n - base:
        case 0:
            return Layout(n, place)
        case 1:
            is_priority = has_hex or (maximum or _is_priority(sample, version, has_offset=has_offset))
            return Layout(n, place, priority=base) if is_priority else Layout(n, place, offset=base)
        case 2:
            return Layout(n, place, offset=base, priority=base + 1)
    return Layout(n, place, offset=base, priority=base + 1, issued=base + 2)


def _fits(sample: Sample, *, is_maximum: bool) -> bool:
    """Whether the direction can stand where it would; a maximum is no less than the mean before it."""
    if is_maximum:
        return len(sample[0]) >= 6 and _mostly(row[3] <= 2 and row[2] >= row[1] for row in sample)
    return _mostly(row[2] <= 2 for row in sample)


def _mostly(flags: Iterable[bool]) -> bool:
    """Whether nearly all lines agree: some may be damaged."""
    found = list(flags)
    return sum(found) >= _NEARLY_ALL * len(found)


def _has_maximum(sample: Sample) -> bool:
    return not _fits(sample, is_maximum=False) and _fits(sample, is_maximum=True)


def _is_priority(sample: Sample, version: Version | None, *, has_offset: bool | None) -> bool:
    if version is not None:
        return version >= _PRIORITY_SINCE
    if has_offset is not None:
        return not has_offset
    return _mostly(row[4] <= 1 for row in sample)


def is_windowed(
    sample: Sample, layout: Layout, kind: str, version: Version | None, average_ms: int | None
) -> tuple[bool, bool]:
    """Whether a row is a window, and whether that had to be guessed."""
    if _mostly(row[layout.size] == 0 for row in sample):
        return True, False
    if kind in _LIKELY_US or layout.priority is not None:
        return False, False
    if version is not None:  # before, bandwidth and IOPS were always taken over bw_avg_time, and the size was logged
        return version < _RATES_OF_IOS_SINCE, False
    if kind == "iops":
        return not _mostly(row[1] == 1 for row in sample), False
    if average_ms:
        return True, False
    stamps: dict[int, list[int]] = {}
    for row in sample:
        stamps.setdefault(row[layout.op], []).append(row[0])
    gaps = [b - a for times in stamps.values() for a, b in pairwise(times)]
    return _mostly(gap >= 90 for gap in gaps), True


def per_us_of(version: Version | None, layout: Layout, *, has_hex: bool) -> int | None:
    """Units of a latency in a µs: 1000 (ns) or 1 (µs); None where neither version nor columns say."""
    if version is not None:
        return 1000 if version >= _NANOSECONDS_SINCE else 1
    return 1000 if has_hex or layout.priority is not None else None


def guess_per_us(sample: Sample, kind: str, *, is_since_start: bool, is_io: bool, has_number: bool) -> tuple[int, str]:
    """Units of a latency in a µs, and what they were guessed by.

    A latency is no longer than the run was when it ended, which the stamp tells in ms: what would be longer in µs is
    ns. The latencies of single I/Os divided by the time are the mean number outstanding: what would be very many in µs
    is ns. A name without the job's number is older than 2.2.9, if not of per_job_logs=0. Otherwise the magnitude
    decides.
    """
    if is_since_start and sum(row[1] > 1010 * (row[0] + 10) for row in sample) > len(sample) // 100:
        return 1000, "in µs they would be longer than the run"
    first = sample[0]
    if is_since_start and first[0] >= 100 and abs(first[1] - 1000 * first[0]) <= 2000:
        return 1, "in µs the first is as long as the run was"
    elapsed_ms = sample[-1][0] - first[0]
    if is_io and elapsed_ms >= 10 and kind != "slat":
        outstanding = sum(row[1] for row in sample) / (1000 * elapsed_ms)
        return (1 if outstanding < _MOST_OUTSTANDING else 1000), f"in µs {outstanding:.3g} I/Os would be outstanding"
    if not has_number:
        return 1, "its name has no job number, as to fio 2.2.8"
    values = sorted(row[1] for row in sample)
    middle = values[len(values) // 2]
    per_us = 1 if middle < _LIKELY_US[kind] else 1000
    return per_us, f"their median is {middle}"
