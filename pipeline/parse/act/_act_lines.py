"""The lines of ACT's blocks as arrays: what each line is, and the figures of a whole chunk at once.

A day's log has more than a million lines, and almost all of them have one of four fixed forms. These are found and
read by NumPy, a column of characters at a time; a line of any other form (indented, wider counts, a message between)
is looked at by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Codes = NDArray[np.uint8]
BLANK, AFTER, ENTRY, BUCKETS, OTHER = range(5)
MOST_BUCKETS = 70
_CELL = 17  # ` (BB: CCCCCCCCCC)`, as ACT prints each bucket
_MOST_CELLS = 8  # on a line; ACT prints four
_MOST_DIGITS = 12  # of a total
_AFTER = re.compile(rb"\s*[aA]fter ([0-9]{1,12}) sec:\s*")
_IS_BUCKETS = re.compile(r"\s*(?:\([0-6]\d: \d{1,15}\)\s*){1,8}", re.ASCII).fullmatch
_CELLS = re.compile(r"\(([0-6]\d): (\d{1,15})\)", re.ASCII)
_TOTAL = re.compile(r"(.+)\(([0-9]{1,12}) total\)")
_MOST_CHARACTERS = 1000  # of a line that is looked at by itself: no line of ACT's is longer


@dataclass
class Lines:
    """Lines as arrays; a line's index counts from 0 in the chunk.

    ``after`` (line, second), ``entries`` (line, total) with ``names`` and ``cells`` (line, bucket, count) are in the
    order of their lines; ``messages`` are the lines of no known form, index and stripped text.
    """

    kinds: Codes
    after: Counts
    entries: Counts
    names: list[str]
    cells: Counts
    messages: list[tuple[int, str]]
    data: bytes
    starts: Counts

    def text(self, index: int) -> str:
        """A line without the space around it, cut where no line of ACT's goes on."""
        start = int(self.starts[index])
        return decoded(self.data[start : start + _MOST_CHARACTERS].split(b"\n", 1)[0]).strip()


@dataclass
class _Singles:
    """What was found on the lines that were looked at by themselves."""

    after: list[tuple[int, int]] = field(default_factory=list)
    entries: list[tuple[int, int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cells: list[tuple[int, int, int]] = field(default_factory=list)
    messages: list[tuple[int, str]] = field(default_factory=list)


def decoded(raw: bytes) -> str:
    """Text of bytes in UTF-8, or else Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def after_second(line: bytes) -> int | None:
    """N of a line ``after N sec:``; None on any other line."""
    match = _AFTER.fullmatch(line)
    return int(match[1]) if match else None


def is_of_a_block(line: str) -> bool:
    """Whether a stripped line can be nothing but a part of a block."""
    return line.endswith((" total)", " sec:")) or _IS_BUCKETS(line[:_MOST_CHARACTERS]) is not None


def lines_of(data: bytes) -> Lines:
    """Read whole lines, each with its line feed."""
    codes = np.frombuffer(data + bytes(2 * _CELL), np.uint8)  # so that no column reaches beyond the end
    ends = np.flatnonzero(codes == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    kinds = np.full(len(ends), OTHER, np.uint8)
    kinds[starts == ends] = BLANK
    cells = _read_cells(codes, starts, ends, kinds)
    entries, names = _read_entries(data, codes, starts, ends, kinds)
    singles = _Singles()
    for index in np.flatnonzero(kinds == OTHER).tolist():
        kinds[index] = _read_single(singles, index, data[starts[index] : ends[index]])
    return Lines(
        kinds,
        np.array(singles.after, np.int64).reshape(-1, 2),
        *_merged(entries, names, singles),
        np.concatenate([cells, np.array(singles.cells, np.int64).reshape(-1, 3)]),
        singles.messages,
        data,
        starts,
    )


def _read_cells(codes: Codes, starts: Counts, ends: Counts, kinds: Codes) -> Counts:
    """Read the lines of buckets: up to four cells of 17 characters and nothing else."""
    lengths = ends - starts
    chosen = (lengths > 0) & (lengths <= _MOST_CELLS * _CELL) & (lengths % _CELL == 0) & (codes[starts + 1] == ord("("))
    lines = np.flatnonzero(chosen)
    n_cells = lengths[lines] // _CELL
    of_line = np.repeat(lines, n_cells)
    first_of_line = np.cumsum(n_cells) - n_cells
    place = np.arange(len(of_line)) - np.repeat(first_of_line, n_cells)
    base = starts[of_line] + _CELL * place
    is_cell = np.ones(len(base), bool)
    for offset, mark in ((0, " "), (1, "("), (4, ":"), (5, " "), (16, ")")):
        is_cell &= codes[base + offset] == ord(mark)
    bucket, is_number = _digits(codes, base + 2, 2)
    count, are_digits = _digits(codes, base + 6, 10)
    is_cell &= is_number & are_digits & (bucket < MOST_BUCKETS)
    is_sound = np.ones(len(codes[starts]), bool)
    is_sound[of_line[~is_cell]] = False
    kinds[lines[is_sound[lines]]] = BUCKETS
    keep = is_sound[of_line]
    return np.stack([of_line[keep], bucket[keep], count[keep]], axis=1)


def _digits(codes: Codes, at: Counts, width: int) -> tuple[Counts, NDArray[np.bool_]]:
    """Numbers of ``width`` digits at these places, and whether all their characters are digits."""
    value = np.zeros(len(at), np.int64)
    is_number = np.ones(len(at), bool)
    for offset in range(width):
        digit = codes[at + offset] - np.uint8(ord("0"))  # what is below 0 becomes large
        is_number &= digit < 10
        value = value * 10 + digit
    return value, is_number


def _read_entries(data: bytes, codes: Codes, starts: Counts, ends: Counts, kinds: Codes) -> tuple[Counts, list[str]]:
    """Read the lines ``name (T total)`` that begin with their name."""
    lines = np.flatnonzero((kinds == OTHER) & (codes[ends - 1] == ord(")")) & (codes[starts] > ord("(")))
    lines = lines[ends[lines] - starts[lines] > len("x (0 total)") - 2]
    for offset, mark in enumerate(reversed(" total)"), 1):
        lines = lines[codes[ends[lines] - offset] == ord(mark)]
    at = ends[lines] - len(" total)") - 1
    value, scale, is_open = np.zeros(len(lines), np.int64), 1, np.ones(len(lines), bool)
    for _ in range(_MOST_DIGITS):
        digit = codes[at] - np.uint8(ord("0"))
        is_open &= digit < 10
        value += np.where(is_open, digit.astype(np.int64), 0) * scale
        at, scale = at - is_open, scale * 10
    has_digits = at < ends[lines] - len(" total)") - 1
    is_entry = has_digits & (codes[at] == ord("(")) & (at > starts[lines])
    lines, at, value = lines[is_entry], at[is_entry], value[is_entry]
    kinds[lines] = ENTRY
    names = _Names()
    found = [names[data[start:end]] for start, end in zip(starts[lines].tolist(), at.tolist(), strict=True)]
    return np.stack([lines, value], axis=1), found


class _Names(dict[bytes, str]):
    """Names as they stand, padded or not, to names; each is decoded once."""

    def __missing__(self, key: bytes) -> str:
        self[key] = name = decoded(key).strip()
        return name


def _read_single(singles: _Singles, index: int, raw: bytes) -> int:
    """Read one line of another form; returns its kind."""
    if (second := after_second(raw)) is not None:
        singles.after.append((index, second))
        return AFTER
    line = decoded(raw[:_MOST_CHARACTERS]).strip()
    if not line:
        return BLANK if not raw.strip() else OTHER
    if len(raw) <= _MOST_CHARACTERS:
        if line[0] == "(" and _IS_BUCKETS(line):
            singles.cells += [(index, int(bucket), int(count)) for bucket, count in _CELLS.findall(line)]
            return BUCKETS
        if (match := _TOTAL.fullmatch(line)) and match[1].strip():
            singles.entries.append((index, int(match[2])))
            singles.names.append(match[1].strip())
            return ENTRY
    singles.messages.append((index, line))
    return OTHER


def _merged(entries: Counts, names: list[str], singles: _Singles) -> tuple[Counts, list[str]]:
    """All entries in the order of their lines."""
    if not singles.entries:
        return entries, names
    together = np.concatenate([entries, np.array(singles.entries, np.int64)])
    order = np.argsort(together[:, 0], kind="stable")
    all_names = names + singles.names
    return together[order], [all_names[i] for i in order.tolist()]
