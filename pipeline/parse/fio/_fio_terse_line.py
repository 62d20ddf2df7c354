"""Private to ``fio_terse``: a line of terse output, as it is printed.

Which version prints which fields: ``show_thread_status_terse…`` and ``show_ddir_status_terse`` in fio's stat.c.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline import units

MAX_LINE = 1 << 16  # longer than any line of fio's
_LIMIT = 2**63
_INT, _FLOAT = r"\d{1,20}", r"(?:\d{1,20}\.\d{1,9}|-?nan|inf)"
_SHARE = _FLOAT + "%"
_STATISTICS = f"{_INT};{_INT};{_FLOAT};{_FLOAT}"
_RATES = f"{_INT};{_INT};{_SHARE};{_FLOAT};{_FLOAT}"
_PERCENTILES = r"(?:;\d{1,3}(?:\.\d{1,9})?%=\d{1,20}){20}"
_OLD = f"{_INT};{_INT};{_INT};{_STATISTICS};{_STATISTICS};{_STATISTICS};{_RATES}"  # to 1.60
_NEW = f"{_INT};{_INT};{_INT};{_INT};{_STATISTICS};{_STATISTICS}{_PERCENTILES};{_STATISTICS};{_RATES}"
_NEWEST = f"{_NEW};{_INT};{_INT};{_INT};{_FLOAT};{_FLOAT};{_INT}"  # version 5
_TAIL = f"({_SHARE};{_SHARE};{_INT};{_INT};{_INT}(?:;{_SHARE}){{29}})(?![^;])(.*)$"

# A job's name may hold the separator: it ends where two numbers and a direction's figures follow.
_HEADS = {
    "2": r"2;(?P<name>.*?);(?P<group>\d{1,9});(?P<error>-?\d{1,9})",
    "345": r"(?P<version>[345]);(?P<fio>fio-[^;]{1,64});(?P<name>.*?);(?P<group>\d{1,9});(?P<error>-?\d{1,9})",
}
_BEGIN = re.compile(r"[345];fio-\d[^;]{0,63};|2;[^;]*(?:;[^;]*){0,3};\d{1,9};-?\d{1,9};\d+;\d+;\d+;\d+;\d+;\d+\.?\d*")
_FORMS = [
    ("5", 47, re.compile(f"{_HEADS['345']}(?P<blocks>(?:;{_NEWEST}){{1,4}})(?:;{_TAIL})?")),
    ("34", 41, re.compile(f"{_HEADS['345']}(?P<blocks>(?:;{_NEW}){{1,4}})(?:;{_TAIL})?")),
    ("2", 41, re.compile(f"{_HEADS['2']}(?P<blocks>(?:;{_NEW}){{1,4}})(?:;{_TAIL})?")),
    ("2", 20, re.compile(f"{_HEADS['2']}(?P<blocks>(?:;{_OLD}){{2}})(?:;{_TAIL})?")),
]
_ALL = ("read", "write", "trim")
_OPS = {  # version → number of blocks → what they are of
    "3": {1: ("mixed",), 2: _ALL[:2], 3: (*_ALL[:2], "mixed")},
    "2": {1: ("mixed",), 2: _ALL[:2], 3: _ALL, 4: (*_ALL, "mixed")},  # 2: to 2.0.9
    "4": {1: ("mixed",), 3: _ALL, 4: (*_ALL, "mixed")},
    "5": {1: ("mixed",), 3: _ALL, 4: (*_ALL, "mixed")},
}
_DISK = re.compile(rf";([^;]+);({_INT}(?:;{_INT}){{6}});(\d{{1,3}}\.\d{{2}}%)(?=;|$)")
_ERRORS = re.compile(r";(\d{1,18});(-?\d{1,9})(?=;|$)")
MEMBERS = "slaves"  # the name under which a disk's members follow it


@dataclass(frozen=True, slots=True)
class Statistics:
    """Smallest, largest, mean and standard deviation as printed; None: no number of the tables."""

    low: float | None
    high: float | None
    mean: float | None
    stddev: float | None

    @property
    def n_bad(self) -> int:
        """How many of them are no numbers of the tables."""
        return (self.low, self.high, self.mean, self.stddev).count(None)

    @property
    def is_measured(self) -> bool:
        """Whether there were samples: without any, fio prints zeros."""
        return any((self.low, self.high, self.mean, self.stddev))


@dataclass(slots=True)
class Direction:
    """Reads, writes, trims or all of them: figures in the units of the line (KiB, KiB/s, ms, µs)."""

    op: str
    kib: int | None
    bandwidth: int | None
    iops: int | None  # to 1.60 not printed
    runtime_ms: int | None
    phases: dict[str, Statistics]
    percentiles: list[tuple[float, int | None]]
    rates: Statistics  # KiB/s of fio's windows
    share: float | None  # of the group's bandwidth, %
    n_rates: int | None = None  # windows; version 5
    iops_windows: Statistics | None = None
    n_iops: int | None = None

    @property
    def runtime_s(self) -> float:
        """How long it ran, in s."""
        return (self.runtime_ms or 0) / round(1 / units.MILLI)

    @property
    def is_empty(self) -> bool:
        """Whether there was no I/O."""
        return not (self.kib or self.iops or self.runtime_ms)


@dataclass(slots=True)
class Disk:
    """A disk's counters: reads, writes, merges of both, ticks of both (ms), time in queue (ms); its use in %."""

    name: str
    is_members: bool
    counts: list[int | None]
    busy: float | None


@dataclass(slots=True)
class Line:
    """A job as one line of terse output tells it. It keeps the text: a run may have many status reports."""

    number: int
    version: str
    fio: str | None
    name: str
    group: int
    error: int
    ops: tuple[str, ...]
    blocks: str  # the figures of each
    is_old: bool
    shared: str | None = None  # CPU use, depths and latency shares
    disks: list[Disk] = field(default_factory=list)
    n_errors: int | None = None
    first_error: str | None = None
    description: str | None = None
    is_cut: bool = False

    @property
    def directions(self) -> list[Direction]:
        """What the job did in each direction."""
        return _directions(self.blocks, self.ops, self.is_old)

    @property
    def tail(self) -> list[str]:
        """CPU use, context switches and faults, then depths, then latency shares; empty of a cut line."""
        return self.shared.split(";") if self.shared is not None else []

    @property
    def key(self) -> tuple[str, int]:
        """What the line of the same job in another status report shares with this one."""
        return self.name, self.group


def begins(text: str) -> int | None:
    """Where a terse line begins in a line of text, behind whatever was printed before it; None if it has none."""
    match = _BEGIN.match(text) or re.search(r"(?<![\w.;])[345];fio-\d", text)
    return match.start() if match else None


def line_of(number: int, text: str, *, is_open: bool = False) -> Line | None:
    """The job of a terse line, without its end where that is cut or no terse output; None where nothing is whole.

    What follows the disks of a line that ``is_open`` may be cut, and is not read.
    """
    if len(text) > MAX_LINE:
        return None
    for versions, n_fields, pattern in _FORMS:
        match = pattern.match(text)
        version = (match.groupdict().get("version") or "2") if match else ""
        if match is None or version not in versions:
            continue
        n_blocks = (match["blocks"].count(";")) // n_fields
        ops = _OPS[version].get(n_blocks)
        tail, rest = match.groups()[-2:]
        if ops is None and tail is None:  # a cut line
            ops = _OPS[version][max(_OPS[version])][:n_blocks]
        if ops is None:
            continue
        fio = match.groupdict().get("fio")
        line = Line(number, version, fio, match["name"], int(match["group"]), int(match["error"]), ops,
                    match["blocks"][1:], n_fields == 20, tail, is_cut=tail is None)  # fmt: skip
        if tail is not None:
            line.disks, rest = disks_of(rest)
            if not is_open:
                _add_rest(line, rest)
        return line
    return None


def disks_of(text: str) -> tuple[list[Disk], str]:
    """The disks with which a text begins, each behind a semicolon, and what follows them."""
    disks: list[Disk] = []
    while match := _DISK.match(text):
        is_members = match[1] == MEMBERS and bool(disks)
        name = disks[-1].name if is_members else match[1]
        counts = [integer(cell) for cell in match[2].split(";")]
        disks.append(Disk(name, is_members, counts, number_of(match[3])))
        text = text[match.end() :]
    return disks, text


def _add_rest(line: Line, rest: str) -> None:
    if match := _ERRORS.match(rest):
        line.n_errors, line.first_error = integer(match[1]), match[2]
        rest = rest[match.end() :]
    if rest:
        line.description = rest.removeprefix(";")


@lru_cache(maxsize=256)  # a line is looked at several times before the next ones come
def _directions(blocks: str, ops: tuple[str, ...], is_old: bool) -> list[Direction]:
    cells = blocks.split(";")
    size = len(cells) // len(ops)
    read = _old_direction if is_old else _direction
    return [read(op, cells[place * size : (place + 1) * size]) for place, op in enumerate(ops)]


def _direction(op: str, cells: list[str]) -> Direction:
    kib, bandwidth, iops, runtime = map(integer, cells[:4])
    phases = {"submission": _statistics(cells[4:8]), "completion": _statistics(cells[8:12]),
              "total": _statistics(cells[32:36])}  # fmt: skip
    pairs = [cell.split("%=") for cell in cells[12:32]]
    percentiles = [(float(share), integer(value)) for share, value in pairs if share != "0"]  # 0: no more of them
    rates = _statistics([*cells[36:38], *cells[39:41]])
    found = Direction(op, kib, bandwidth, iops, runtime, phases, percentiles, rates, number_of(cells[38]))
    if len(cells) > 41:
        found.n_rates, found.n_iops = integer(cells[41]), integer(cells[46])
        found.iops_windows = _statistics(cells[42:46])
    return found


def _old_direction(op: str, cells: list[str]) -> Direction:
    kib, bandwidth, runtime = map(integer, cells[:3])
    phases = {name: _statistics(cells[place : place + 4]) for name, place in
              (("submission", 3), ("completion", 7), ("total", 11))}  # fmt: skip
    rates = _statistics([*cells[15:17], *cells[18:20]])
    return Direction(op, kib, bandwidth, None, runtime, phases, [], rates, number_of(cells[17]))


def _statistics(cells: list[str]) -> Statistics:
    low, high, mean, stddev = map(number_of, cells)
    return Statistics(low, high, mean, stddev)


def integer(text: str) -> int | None:
    """A count; None when it is beyond what the tables hold."""
    value = int(text)
    return value if value < _LIMIT else None


def number_of(text: str) -> float | None:
    """A number, with or without a percent sign; None for nan and what is beyond 64 bits."""
    value = float(text.removesuffix("%"))
    return value if math.isfinite(value) and value < _LIMIT else None


def seconds(value: float | None) -> float | None:
    """Microseconds as printed, in seconds."""
    return None if value is None else value / round(1 / units.MICRO)
