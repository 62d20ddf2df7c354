"""The blocks of an ACT log, a chunk at a time: each entry of a histogram in its place, and a torn last block."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pipeline.parse.act._act_bins import Entries, Histogram
from pipeline.parse.act._act_lines import AFTER, BLANK, BUCKETS, ENTRY, Counts, Lines, lines_of
from pipeline.parse.act._act_log import Log

MOST_HISTOGRAMS = 2000  # ACT takes 128 devices at most; what is beyond is garbage
_QUEUED = re.compile(r"(?:read-reqs|requests)[ -]queued: (\d{1,12})", re.ASCII)


@dataclass
class Blocks:
    """Blocks of a chunk: their seconds, and their entries with the histogram of each; queues as second and length."""

    after: Counts
    entries: Entries
    histograms: list[tuple[int, Histogram]]  # that have entries here, with their number in ``entries``
    queued: Counts


def read_blocks(log: Log, data: bytes, first_line: int, *, is_end: bool) -> Blocks:
    """Read whole lines from an ``after N sec:`` on; ``is_end``: the run has no further ones.

    The last block of the run is left out if it is torn: no blank line, and not the others' histograms.
    """
    lines = lines_of(data)
    log.has_blocks = True
    log.last_line = first_line + len(lines.kinds) - 1
    queued = _read_messages(log, lines, first_line)
    entries = _entries(lines, first_line, log)
    _place(log, entries, lines)
    after, after_lines = lines.after[:, 1], lines.after[:, 0]
    if is_end and not _is_closed(lines) and not _is_last_whole(log, entries, len(after) - 1):
        log.torn = int(after_lines[-1]) + first_line
        entries = entries.before_block(len(after) - 1)
        queued = queued[queued[:, 0] < len(after) - 1]
        after, after_lines = after[:-1], after_lines[:-1]
        _forget_torn_line(log)
    _check_steps(log, after, after_lines + first_line)
    queued[:, 0] = after[queued[:, 0]]
    entries.block += log.n_blocks
    log.n_blocks += len(after)
    if len(after):
        log.last_after, log.longest_after = int(after[-1]), max(log.longest_after, int(after.max()))
    present = np.unique(entries.histogram).tolist()
    every = list(log.histograms.values())
    return Blocks(after, entries, [(i, every[i]) for i in present], queued)


def _read_messages(log: Log, lines: Lines, first_line: int) -> Counts:
    """Take in the lines that are no part of a block; returns block and length of each queue."""
    queued = []
    for index, text in lines.messages:
        if match := _QUEUED.fullmatch(text):
            queued.append((index, int(match[1])))
        elif text.endswith(" total)"):
            log.note("unknown_lines", first_line + index, text)
        else:
            log.read_message(first_line + index, text)
    found = np.array(queued, np.int64).reshape(-1, 2)
    found[:, 0] = np.searchsorted(lines.after[:, 0], found[:, 0]) - 1
    return found


def _place(log: Log, entries: Entries, lines: Lines) -> None:
    """Give each entry its histogram: name, and whether it stands behind RAW WRITES."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(lines.names))}
    name = np.array([numbers[name] for name in lines.names], np.int64)
    is_write = _is_behind_writes(name, numbers, entries)
    keys, first, inverse = np.unique(name * 2 + is_write, return_index=True, return_inverse=True)
    index_of = {key: i for i, key in enumerate(log.histograms)}
    names = list(numbers)
    wanted = np.full(len(keys), -1, np.int64)
    for position in np.argsort(first).tolist():
        key = (names[keys[position] // 2], bool(keys[position] % 2))
        if key not in index_of and len(index_of) < MOST_HISTOGRAMS:
            index_of[key] = len(index_of)
            log.histograms[key] = Histogram(*key, first_line=int(entries.line[first[position]]))
        wanted[position] = index_of.get(key, -1)
    entries.histogram = wanted[inverse]
    if (wanted < 0).any():
        line = int(entries.line[entries.histogram < 0][0])
        log.note("unknown_lines", line, f"more than {MOST_HISTOGRAMS} histograms")
        entries.select(entries.histogram >= 0)


def _is_last_whole(log: Log, entries: Entries, last: int) -> bool:
    """Whether the last block has every histogram of those before it, each with sound buckets."""
    of_last = entries.block == last
    found = set(entries.histogram[of_last].tolist())
    others = set(entries.histogram[~of_last].tolist())
    keys = list(log.histograms)
    others |= {i for i, histogram in enumerate(log.histograms.values()) if histogram.last_block >= 0}
    known = {keys[i] for i in others} or {
        (name, False) for name in log.histogram_names if name not in ("device-reads", "device-writes")
    }
    return bool(known) and {keys[i] for i in found} >= known and bool(entries.is_sound()[of_last].all())


def _forget_torn_line(log: Log) -> None:
    if (cut := log.notes.get("unknown_lines")) and cut.line == log.last_line:
        del log.notes["unknown_lines"]  # the torn line itself


def _check_steps(log: Log, after: Counts, lines: Counts) -> None:
    """Tally where the time does not rise by the reporting interval from block to block."""
    steps = np.diff(after, prepend=log.last_after)
    interval = log.number("report-interval-sec") or 10**12
    for tally, wrong in ((log.time_decreased, steps <= 0), (log.missing_blocks, steps > interval)):
        if wrong.any():
            i = int(wrong.argmax())
            found = f"found `after {after[i]} sec:` behind {after[i] - steps[i]} s"
            tally.add(int(wrong.sum()), int(lines[i]), found)


def _is_closed(lines: Lines) -> bool:
    """Whether a blank line stands behind an entry of the last block."""
    of_last = lines.entries[:, 0] > lines.after[-1, 0]
    return bool(of_last.any()) and bool((lines.kinds[lines.entries[of_last][0, 0] :] == BLANK).any())


def _entries(lines: Lines, first_line: int, log: Log) -> Entries:
    """Entries with their blocks and buckets; buckets that follow no entry are noted."""
    is_entry = lines.kinds == ENTRY
    number = np.arange(len(lines.kinds))
    entry_of_line = np.cumsum(is_entry) - 1
    closed = np.maximum.accumulate(np.where((lines.kinds == BLANK) | (lines.kinds == AFTER), number, -1))
    opened = np.maximum.accumulate(np.where(is_entry, number, -1))
    is_orphan = (lines.kinds == BUCKETS) & (opened < closed)
    for index in np.flatnonzero(is_orphan).tolist():
        log.note("unknown_lines", first_line + index, lines.text(index))
    cells = lines.cells[~is_orphan[lines.cells[:, 0]]]
    return Entries(
        block=np.searchsorted(lines.after[:, 0], lines.entries[:, 0]) - 1,
        line=lines.entries[:, 0] + first_line,
        total=lines.entries[:, 1],
        cell_entry=entry_of_line[cells[:, 0]],
        cell_bucket=cells[:, 1],
        cell_count=cells[:, 2],
    )


def _is_behind_writes(name: Counts, numbers: dict[str, int], entries: Entries) -> Counts:
    """1 for entries from RAW WRITES on, up to RAW READS or the end of the block; else 0."""
    if "RAW WRITES" not in numbers:
        return np.zeros(len(name), np.int64)
    place = np.arange(len(name))
    is_reset = (name == numbers.get("RAW READS", -1)) | (np.diff(entries.block, prepend=-1) > 0)
    is_write = name == numbers["RAW WRITES"]
    reset = np.maximum.accumulate(np.where(is_reset, place, -1))
    write = np.maximum.accumulate(np.where(is_write, place, -1))
    return (write >= reset).astype(np.int64) * (write >= 0)
