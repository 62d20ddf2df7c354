"""Lines of one ACT run: header, configuration, blocks of histograms and what the tool said beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

HEADER = re.compile(r"[ \t]*(?:Aerospike act version (\S+) - device IO test|ACT version (\d\S*))[ \t]*")
_IS_BUCKETS = re.compile(r"\s*(?:\([0-6]\d: \d{1,15}\)\s*){1,8}", re.ASCII).fullmatch
_MOST_TEXT = 2048  # of an entry: 70 buckets are shorter; more is garbage, and would be copied line by line
_NUMBER = re.compile(r"[0-9]{1,12}").fullmatch
_SETTING = re.compile(r"([a-z0-9][\w -]{0,60}): ?(.*)")
_QUEUED = re.compile(r"(?:read-reqs|requests)[ -]queued: (\d{1,12})", re.ASCII)
_IO_ERROR = re.compile(r"ERROR: (?:(read|writ)ing (\S+): \d|seek & (read|writ)e?(?: errno|$))")
_ABORT = re.compile(r"can't keep up|test stopped|ERROR: too many .*queued|ERROR: .*_valloc\(\)")
_STOPPED = re.compile(r"SIG[A-Z]+ received|Signal [A-Z]+ received")
_FAILURE = re.compile(r"ERROR:|usage: act|couldn't open config file")
# Lines that carry no figure, or only repeat one that is read elsewhere.
_SILENT = re.compile(
    r"Copyright |(?:ACT|ACT-STORAGE|ACT-INDEX|CIO|DERIVED) CONFIGURATION$|(?:Storage|Index) device IO test$"
    r"|Using xorshift\+ random generator|stacktrace: |try configuring more 'service-threads'"
)


@dataclass
class Histogram:
    """One histogram over the blocks: for each entry its block, its line, its total and the text of its buckets."""

    name: str
    is_write_section: bool
    blocks: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    buckets: list[str] = field(default_factory=list)

    def is_last_sound(self) -> bool:
        """Whether the buckets of the last entry add up to its total."""
        return sum(int(count) for count in re.findall(r": (\d+)", self.buckets[-1])) == self.totals[-1]


@dataclass
class Notes:
    """What was said on lines of one kind: how often, and the first line with its text."""

    count: int = 0
    line: int = 0
    text: str = ""

    def add(self, line: int, text: str) -> None:
        """Count a line; the first is kept."""
        if not self.count:
            self.line, self.text = line, text
        self.count += 1

    def __str__(self) -> str:
        return f"{self.text[:100]!r}" + (f" and {self.count - 1} more such lines" if self.count > 1 else "")


@dataclass
class Log:
    """One run, as its lines tell. ``after[i]`` and ``block_lines[i]`` are the second and the line of block i."""

    version: str
    first_line: int
    is_index: bool = False
    last_line: int = 0
    settings: list[tuple[str, str]] = field(default_factory=list)
    histogram_names: list[str] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    block_lines: list[int] = field(default_factory=list)
    is_last_closed: bool = False
    histograms: dict[tuple[str, bool], Histogram] = field(default_factory=dict)
    queued: list[tuple[int, int]] = field(default_factory=list)  # block, requests
    io_errors: dict[tuple[str, str | None], Notes] = field(default_factory=dict)  # (read or write, device)
    notes: dict[str, Notes] = field(default_factory=dict)  # by kind: aborted, interrupted, tool_error, …
    failures: list[tuple[int, str]] = field(default_factory=list)  # before the first block

    def note(self, kind: str, line: int, text: str) -> None:
        """Count a line of a kind."""
        self.notes.setdefault(kind, Notes()).add(line, text)

    def setting(self, *names: str) -> str | None:
        """First value recorded under one of the names."""
        return next((value for name, value in self.settings if name in names), None)

    def number(self, *names: str) -> int | None:
        """First value recorded under one of the names, if it is a number."""
        value = self.setting(*names)
        return int(value) if value and _NUMBER(value) else None

    @property
    def devices(self) -> list[str]:
        """The devices, as configured."""
        return (self.setting("device-names") or "").split()


def scan(lines: list[str]) -> tuple[list[Log], Notes]:
    """Runs in the lines, each from its header to the next one, and what stood before the first header."""
    starts = [number for number, line in enumerate(lines) if "version" in line and HEADER.fullmatch(line)]
    logs = []
    for start, end in zip(starts, [*starts[1:], len(lines)][: len(starts)], strict=True):
        match = HEADER.fullmatch(lines[start])
        assert match is not None  # noqa: S101 — by the choice of starts
        log = Log(match[1] or match[2], start + 1, last_line=end)
        _scan_run(log, lines[start + 1 : end])
        logs.append(log)
    before = Notes()
    for number, line in enumerate(lines[: starts[0]] if starts else [], 1):
        if _is_of_a_block(line.strip()):
            before.add(number, line.strip())
    return logs, before


def _is_of_a_block(line: str) -> bool:
    return line.endswith((" total)", " sec:")) or _IS_BUCKETS(line) is not None


def _scan_run(log: Log, lines: Iterable[str]) -> None:
    """Go through the lines behind the header. Threads may print between any two lines of a block."""
    current: Histogram | None = None
    is_write_section = is_in_names = False
    for number, raw in enumerate(lines, log.first_line + 1):
        if (
            current is not None
            and raw.lstrip()[:1] == "("
            and _IS_BUCKETS(raw)
            and len(current.buckets[-1]) < _MOST_TEXT
        ):
            current.buckets[-1] += " " + raw
            continue
        line = raw.strip()
        if not line:
            log.is_last_closed = log.is_last_closed or current is not None
            current, is_in_names = None, False
        elif line.endswith(" total)"):
            current, is_write_section = _open_entry(log, number, line, current, is_write_section)
        elif line.endswith(" sec:") and line[:6] in ("after ", "After ") and _NUMBER(line[6:-5]):
            log.after.append(int(line[6:-5]))
            log.block_lines.append(number)
            current, is_write_section, log.is_last_closed = None, False, False
        elif is_in_names and not _FAILURE.match(line):
            log.histogram_names.append(line)
        elif line == "HISTOGRAM NAMES":
            is_in_names = True
        else:
            _scan_other(log, number, line)


def _open_entry(
    log: Log, number: int, line: str, current: Histogram | None, is_write_section: bool
) -> tuple[Histogram | None, bool]:
    """Begin an entry at ``name (T total)``; returns its histogram and whether the devices' writes follow."""
    name, _, total = line[:-7].rpartition("(")
    name = name.rstrip()
    if not log.after or not name or not _NUMBER(total):
        log.note("unknown_lines", number, line)
        return current, is_write_section
    is_write_section = {"RAW READS": False, "RAW WRITES": True}.get(name, is_write_section)
    histogram = log.histograms.setdefault((name, is_write_section), Histogram(name, is_write_section))
    histogram.blocks.append(len(log.after) - 1)
    histogram.lines.append(number)
    histogram.totals.append(int(total))
    histogram.buckets.append("")
    return histogram, is_write_section


def _scan_other(log: Log, number: int, line: str) -> None:
    """Take in a line that is no part of a histogram: a setting, a queue length, or what the tool complains of."""
    line = line[:1000]  # no line of ACT's is longer; the time for garbage stays bounded
    if log.after and (match := _QUEUED.fullmatch(line)):
        log.queued.append((len(log.after) - 1, int(match[1])))
    elif match := _IO_ERROR.match(line):
        key = ("read" if "read" in (match[1], match[3]) else "write", match[2])
        log.io_errors.setdefault(key, Notes()).add(number, line)
    elif _ABORT.search(line):
        log.note("aborted", number, line)
    elif _STOPPED.match(line):
        log.note("interrupted", number, line)
    elif _FAILURE.match(line):
        log.note("tool_error", number, line)
    elif _SILENT.match(line):
        log.is_index = log.is_index or line.startswith(("Index device", "ACT-INDEX"))
    elif match := re.fullmatch(r"detected ([0-9]+) CPUs", line):
        log.settings.append(("detected-cpus", match[1]))
    elif not log.after and " size = " in line:
        device, _, size = line.partition(" size = ")
        log.settings.append((f"{device} size", size))
    elif not log.after and (match := _SETTING.fullmatch(line)):
        log.settings.append((match[1], match[2].strip()))
    else:
        log.note("unknown_lines", number, line)
    if not log.after and _FAILURE.match(line):
        log.failures.append((number, line))
