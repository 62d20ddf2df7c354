"""The columns of perf report: where they stand in a line, and what a row says in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

NUMBERS = {
    "Overhead": "overhead", "Self": "overhead", "Children": "children", "Samples": "samples", "Period": "period",
}  # fmt: skip
KEYS = {"Command": "command", "Shared Object": "shared_object", "Symbol": "symbol"}
# Other columns, as perf's sort keys and fields head them; they tell a line of names, and the separator of -t.
_OTHERS = frozenset(
    """sys|usr|us|guest sys|guest usr|guest us|Latency|Weight1|Weight2|Weight3|Pid:Command|Tid:Command|TGID:Command
    |Source:Line|From Source:Line|To Source:Line|Source File|Parent symbol|CPU|Socket|NUMA node|Node|Time|Trace output
    |Branch Mispredicted|Branch Type|Source Symbol|Target Symbol|Source Shared Object|Target Shared Object
    |Basic Block Cycles|Branch in transaction|Branch abort|Transaction|Local Weight|Weight|Memory access|TLB access
    |Locked|Snoop|Blocked|Data Symbol|Data Object|Data Cacheline|Data Physical Address|Data Page Size|Code Page Size
    |Symbol size|DSO size|cgroup id (dev/inode)|Cgroup|Local INSTR Latency|INSTR Latency|Local Retire Latency
    |Retire Latency|Local Pipeline Stage Cycle|Pipeline Stage Cycle|IPC   [IPC Coverage]|IPC|Simd|Type name|Data Type
    |Data Type Offset|Address|Branch Counter|Parallelism|Overhead Latency|Local Ins-Latency|Cache|Mem|Snoop
    |Comm Nodigit|CommandNodigit""".replace("\n    ", "").split("|")
)
_KNOWN = frozenset({*NUMBERS, *KEYS, *_OTHERS})
_DOTS = re.compile(r"\.+")
PERCENTAGE = re.compile(r"[0-9]{1,5}\.[0-9]{2}%")
_SYMBOL = re.compile(r"(?:(?:0x)?([0-9a-f]{1,16})\s+\S\s+)?\[(\S)\] ?(.*)", re.DOTALL)
_RULE = frozenset(" .")
_HIERARCHY_INDENT = 3


@dataclass(slots=True)
class Entry:
    """A row: numbers (one an event of a group), keys, and the rest as printed."""

    numbers: dict[str, list[str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    is_shifted: bool = False  # which cell is of which column is not known

    def put(self, name: str, cell: str) -> None:
        """Take the cell of a column."""
        cell = cell.strip()
        if name in NUMBERS:
            self.numbers[NUMBERS[name]] = cell.split()
        elif not cell.strip("- "):
            return
        elif name == "Symbol":
            self.put_symbol(cell)
        elif name in KEYS:
            self.keys[KEYS[name]] = cell
        else:
            self.labels[name] = cell
            if name.endswith("id:Command") and ":" in cell:
                self.keys.setdefault("command", cell.partition(":")[2].strip())

    def put_symbol(self, cell: str) -> None:
        """Take ``[k] name``, with ``-v`` behind its address."""
        match = _SYMBOL.fullmatch(cell)
        if match is None:
            self.keys["symbol"] = cell
            return
        self.keys["privilege"], self.keys["symbol"] = match[2], match[3]
        if match[1]:
            self.labels["address"] = match[1]


def is_number(name: str, text: str) -> bool:
    """Whether a cell holds what a column of numbers does: one a event of a group."""
    parts = text.split()
    if NUMBERS[name] in ("overhead", "children"):
        return bool(parts) and all(PERCENTAGE.fullmatch(part) for part in parts)
    return bool(parts) and all(part.isdecimal() and part.isascii() for part in parts)


class Spans:
    """Columns between two spaces, as wide as the dots under their names."""

    def __init__(self, header: str, dots: str) -> None:
        ends = [match.end() for match in _DOTS.finditer(dots)]
        self._starts = [match.start() for match in _DOTS.finditer(dots)]
        self._ends = [*ends[:-1], 1 << 20]
        self.names = [header[a:b].strip() for a, b in zip(self._starts, self._ends, strict=True)]
        numbers = [i for i, name in enumerate(self.names) if name in NUMBERS]
        self._probe = numbers[0] if numbers else None

    def entry(self, line: str) -> Entry | None:
        """Read a row; None where the line is none."""
        if not line.startswith("  ") or not self._is_row(line):
            return None
        entry = Entry()
        starts, ends = self._starts, self._ends
        if any(line[end : end + 2].strip() for end in ends[:-1]):
            if line.isascii():
                return self._shifted(line)
            data = line.encode()  # perf pads by bytes
            cells = [data[a:b].decode("utf-8", "replace") for a, b in zip(starts, ends, strict=True)]
        else:
            cells = [line[a:b] for a, b in zip(starts, ends, strict=True)]
        for name, cell in zip(self.names, cells, strict=True):
            entry.put(name, cell)
        return entry

    def _is_row(self, line: str) -> bool:
        if self._probe is None:
            return not line[2 : self._starts[0]].strip() and not line.startswith(" " * 11)
        start, end = self._starts[self._probe], self._ends[self._probe]
        is_apart = self._probe > 0 or not line[:start].strip()
        return is_apart and is_number(self.names[self._probe], line[start:end]) and not line[end : end + 2].strip()

    def _shifted(self, line: str) -> Entry | None:
        """Read a row that is wider than its columns by the spaces between them."""
        cells = re.split(r" {2,}", line.strip())
        entry = Entry()
        if len(cells) == len(self.names):
            for name, cell in zip(self.names, cells, strict=True):
                if name in NUMBERS and not is_number(name, cell):
                    return None
                entry.put(name, cell)
            return entry
        entry.is_shifted = True
        for name, start, end in zip(self.names, self._starts, self._ends, strict=True):
            if name in NUMBERS and is_number(name, line[start:end]):
                entry.put(name, line[start:end])
            elif name not in NUMBERS:
                entry.labels["text"] = line[start:].strip()
                break
        return entry


class Separated:
    """Columns between the separator of ``-t``, which perf replaces by a dot within names."""

    def __init__(self, names: Sequence[str], separator: str) -> None:
        self.names = list(names)
        self._separator = separator
        numbers = [i for i, name in enumerate(self.names) if name in NUMBERS]
        self._probe = numbers[0] if numbers else None

    def entry(self, line: str) -> Entry | None:
        """Read a row; None where the line is none."""
        cells = line.split(self._separator, len(self.names) - 1)
        if len(cells) < len(self.names) or (len(self.names) > 1 and line.startswith(" " * 11)):
            return None
        if self._probe is not None and not is_number(self.names[self._probe], cells[self._probe]):
            return None
        entry = Entry()
        for name, cell in zip(self.names, cells, strict=True):
            entry.put(name, cell)
        return entry


class Hierarchy:
    """``--hierarchy``: numbers, then ``Command / Shared Object / Symbol``, each level three spaces further in."""

    def __init__(self, header: str, dots: str) -> None:
        start = [match.start() for match in _DOTS.finditer(dots)][-1]
        self._levels = [level.split("+") for level in header[start:].strip().split(" / ")]
        self._numbers = [name for name in re.split(r" {2,}", header[:start].strip()) if name]
        self.names = [*self._numbers, *(name for level in self._levels for name in level)]
        self._base: int | None = None
        self._above: list[Entry] = []

    def entry(self, line: str) -> Entry | None:
        """Read a row with what stands above it; None where the line is none."""
        words = list(re.finditer(r"\S+", line[:512]))
        n_shares = next((i for i, word in enumerate(words) if not PERCENTAGE.fullmatch(word[0])), 0)
        n_events = n_shares // max(1, sum(name not in ("Samples", "Period") for name in self._numbers))
        n_words = n_events * len(self._numbers)
        if not line.startswith("  ") or not 0 < n_words < len(words):
            return None
        if self._base is None:
            self._base = words[0].end()
        depth = max(0, words[0].end() - self._base) // _HIERARCHY_INDENT
        depth = min(depth, len(self._levels) - 1, len(self._above))
        entry = Entry(depth=depth)
        if depth:
            entry.keys |= self._above[depth - 1].keys
            entry.labels |= self._above[depth - 1].labels
        for i, name in enumerate(self._numbers):
            entry.put(name, " ".join(word[0] for word in words[i * n_events : (i + 1) * n_events]))
        self._put_keys(entry, line[words[n_words - 1].end() :].strip(), self._levels[depth])
        self._above = [*self._above[:depth], entry]
        return entry

    def _put_keys(self, entry: Entry, text: str, level: list[str]) -> None:
        cells = re.split(r" {2,}", text)
        if len(cells) != len(level):
            cells = [text]
        for name, cell in zip(level, cells, strict=False):
            entry.put(name, cell)


Columns = Spans | Separated | Hierarchy


def columns_under(header: str, dots: str) -> Columns | None:
    """Columns of a header line and the line of dots below it; None where they are none."""
    if not _RULE.issuperset(dots[1:]) or not header.startswith("#"):
        return None
    header = " " + header[1:]
    if " / " in header and any(name in header for name in NUMBERS):
        return Hierarchy(header, " " + dots[1:])
    spans = Spans(header, " " + dots[1:])
    return spans if any(name in _KNOWN for name in spans.names) else None


def columns_between(header: str) -> Separated | None:
    """Columns of a header line of ``-t``; None where it is none."""
    text = header[1:].strip()
    if text in _KNOWN:
        return Separated([text], "\n")
    best: tuple[int, str, list[str]] = (1, "", [])
    for mark in sorted({c for c in text if not c.isalnum()}):
        names = [name.strip() for name in text.split(mark)]
        n_known = sum(name in _KNOWN for name in names)
        if n_known > best[0] and n_known >= len(names) - 1:
            best = (n_known, mark, names)
    return Separated(best[2], best[1]) if best[1] else None


def unheaded(line: str) -> Entry | None:
    """Read a row of perf top, or of ``-q``: shares, then the command and the object, or the object alone."""
    cells = re.split(r" {2,}", line.strip()) if line.startswith("  ") and len(line) < 1 << 16 else []
    n_shares = next((i for i, cell in enumerate(cells) if not PERCENTAGE.fullmatch(cell)), 0)
    at = next((i for i, cell in enumerate(cells) if _SYMBOL.fullmatch(cell)), 0)
    if not 1 <= n_shares <= 2 or not n_shares <= at <= n_shares + 3:
        return None
    entry = Entry()
    for name, cell in zip(("Children", "Self") if n_shares == 2 else ("Overhead",), cells, strict=False):
        entry.put(name, cell)
    between = cells[n_shares:at]
    if len(between) > 1 and between[0].isdecimal():
        entry.put("Samples", between.pop(0))
    for name, cell in zip(("Shared Object", "Command"), reversed(between), strict=False):
        entry.put(name, cell)
    entry.put_symbol("  ".join(cells[at:]))
    return entry
