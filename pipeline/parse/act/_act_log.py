"""One ACT run: its header and configuration, and what the tool said beside its blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.parse.act._act_bins import Histogram, Tally
from pipeline.parse.act._act_lines import is_of_a_block

HEADER = re.compile(r"[ \t]*(?:Aerospike act version (\S+) - device IO test|ACT version (\d\S*))[ \t]*")
_NUMBER = re.compile(r"[0-9]{1,12}").fullmatch
_SETTING = re.compile(r"([a-z0-9][\w -]{0,60}): ?(.*)")
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
class Notes:
    """What was said on lines of one kind: how often, and the first line with its text."""

    count: int = 0
    line: int = 0
    text: str = ""

    def add(self, line: int, text: str) -> None:
        """Count a line; the first in the file is kept."""
        if not self.count or line < self.line:
            self.line, self.text = line, text
        self.count += 1

    def __str__(self) -> str:
        return f"{self.text[:100]!r}" + (f" and {self.count - 1} more such lines" if self.count > 1 else "")


@dataclass
class Log:
    """One run, as its lines tell; what its blocks hold goes on to the rows with each chunk."""

    version: str
    first_line: int
    is_index: bool = False
    last_line: int = 0
    settings: list[tuple[str, str]] = field(default_factory=list)
    histogram_names: list[str] = field(default_factory=list)
    histograms: dict[tuple[str, bool], Histogram] = field(default_factory=dict)
    io_errors: dict[tuple[str, str | None], Notes] = field(default_factory=dict)  # (read or write, device)
    notes: dict[str, Notes] = field(default_factory=dict)  # by kind: aborted, interrupted, tool_error, …
    failures: list[tuple[int, str]] = field(default_factory=list)  # before the first block
    n_blocks: int = 0
    last_after: int = 0
    longest_after: int = 0
    torn: int | None = None  # line of a last block that is not whole
    time_decreased: Tally = field(default_factory=Tally)
    missing_blocks: Tally = field(default_factory=Tally)
    has_blocks: bool = False  # the first `after` has come, be its block whole or not
    _is_in_names: bool = False

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

    def read_header_line(self, number: int, raw: str) -> None:
        """Take in a line before the first block."""
        line = raw.strip()
        self.last_line = number
        if not line:
            self._is_in_names = False
        elif is_of_a_block(line):
            self.note("unknown_lines", number, line[:1000])
        elif self._is_in_names and not _FAILURE.match(line):
            self.histogram_names.append(line[:1000])
        elif line == "HISTOGRAM NAMES":
            self._is_in_names = True
        else:
            self.read_message(number, line[:1000])

    def read_message(self, number: int, line: str) -> None:
        """Take in a line that is no part of a histogram: a setting, or what the tool complains of."""
        if match := _IO_ERROR.match(line):
            key = ("read" if "read" in (match[1], match[3]) else "write", match[2])
            self.io_errors.setdefault(key, Notes()).add(number, line)
        elif _ABORT.search(line):
            self.note("aborted", number, line)
        elif _STOPPED.match(line):
            self.note("interrupted", number, line)
        elif _FAILURE.match(line):
            self.note("tool_error", number, line)
        elif _SILENT.match(line):
            self.is_index = self.is_index or line.startswith(("Index device", "ACT-INDEX"))
        elif match := re.fullmatch(r"detected ([0-9]+) CPUs", line):
            self.settings.append(("detected-cpus", match[1]))
        elif not self.has_blocks and " size = " in line:
            device, _, size = line.partition(" size = ")
            self.settings.append((f"{device} size", size))
        elif not self.has_blocks and (match := _SETTING.fullmatch(line)):
            self.settings.append((match[1], match[2].strip()))
        else:
            self.note("unknown_lines", number, line)
        if not self.has_blocks and _FAILURE.match(line):
            self.failures.append((number, line))
