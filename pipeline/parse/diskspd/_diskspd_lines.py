"""The lines of DISKSPD's text output, sorted into drafts of reports; no figure is judged here.

A draft begins at ``Command Line:``, or where a part comes that the draft already has (Markdown pages paste tables
without their header). Tables are recognised by their header row, so their columns may come in any order. The line that
tells of Ctrl-C stands before the report it is of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.parse.diskspd._diskspd_rows import CTRL_C

Cells = dict[str, str]  # column in lower case → text
Setting = tuple[int, str, str]  # number of the target (0: of the timespan), name, value

_RESULTS = re.compile(r"Results for (?:timespan|job)\s+(\d{1,6}):$")
_TIMESPAN = re.compile(r"(?:timespan|job):\s*(\d{1,6})$")
_PATH = re.compile(r"path:\s*(?:template target )?'(.*)'$")
_NAMES = {  # of a row in its first cell, by the section; what else has bars is no row of the table
    "cpu": re.compile(r"\d{1,5}"),
    "table": re.compile(r"\d{1,9}"),
    "latency": re.compile(r"min|max|\d{1,2}(?:st|nd|rd|th)|[1-9]-nines"),
    "totals": re.compile(r"read|write|total"),
}
_AVERAGE = re.compile(r"avg\s*[.:]\s*\|?")
_TOTAL = re.compile(r"total:\s*(?=\d)")
_LAST_ROWS = (("latency", "max"), ("totals", "total"))
_RULE = re.compile(r"[-_*=]+")
_IO = {"Total IO": "total", "Read IO": "read", "Write IO": "write"}
_SECTIONS = {
    "Input parameters:": "settings", "System information:": "system", "System info:": "system", "Totals:": "totals",
    "Effective IO Distributions": "distribution", "ETW:": "ETW", "Wait Statistics": "Wait Statistics",
}  # fmt: skip
_EXTRAS = ("ETW", "Wait Statistics")
_FACTS = ("actual test time", "test time", "thread count", "request count", "proc count")


@dataclass
class Table:
    """A table: the line of its header, the line above it, its rows, its own last row, and lines that do not fit."""

    line: int
    columns: list[str]
    heading: str = ""
    rows: list[tuple[int, Cells]] = field(default_factory=list)
    last: tuple[int, Cells] | None = None
    bad: list[int] = field(default_factory=list)


@dataclass
class Result:
    """What stands under ``Results for timespan N:``; ``line`` is None where tables stand without that heading."""

    number: int
    line: int | None
    facts: dict[str, str] = field(default_factory=dict)
    cpu: Table | None = None
    distribution: list[str] = field(default_factory=list)
    io: dict[str, Table] = field(default_factory=dict)
    latency: list[Table] = field(default_factory=list)
    extras: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # lines of ETW and of Wait Statistics
    interrupted: tuple[int, str] | None = None

    @property
    def tables(self) -> list[Table]:
        """All its tables in their order."""
        return [table for table in (self.cpu, *self.io.values(), *self.latency) if table]


@dataclass
class Draft:
    """The lines of one report, up to line ``last``."""

    last: int
    command: str | None = None
    settings: list[list[Setting]] = field(default_factory=list)  # a list a timespan
    system: list[tuple[str, str]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    totals: Table | None = None
    total_time: str | None = None
    unread: list[int] = field(default_factory=list)  # lines with bars that belong to no table
    is_traced_to_the_end: bool = False  # with -e: the last line about the session has come
    stopped: tuple[int, str] | None = None  # the line that tells of Ctrl-C


class Scanner:
    """Takes the lines of a file one by one; ``drafts`` are the reports."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._state = ""
        self._table: Table | None = None
        self._op = ""  # of the I/O table whose heading has come
        self._above = ""
        self._stopped: tuple[int, str] | None = None  # of the report that follows

    def feed(self, number: int, raw: str) -> None:
        """Take line ``number``; indentation, quoting by ``>`` and fences are Markdown's."""
        line = raw.lstrip(" \t>\ufeff").rstrip()
        n_before = len(self.drafts)
        if CTRL_C.match(line):
            self._stopped = (number, line)
        elif self._opens(number, line) or (line and self._is_taken(number, line)):
            self.drafts[-1].last = number
        if len(self.drafts) > n_before:
            self.drafts[-1].stopped, self._stopped = self._stopped, None
        self._above = line

    def finish(self) -> None:
        """End the file: what no report follows is told of the last one."""
        if self._stopped and self.drafts:
            self.drafts[-1].stopped = self.drafts[-1].stopped or self._stopped

    def _opens(self, number: int, line: str) -> bool:
        """Whether the line is a heading."""
        if line.startswith("Command Line:"):
            self._open("", Draft(number, command=line.removeprefix("Command Line:").strip() or None))
        elif line in _IO:
            self._open("")
            self._op = _IO[line]
            self._result(number, lambda result: self._op in result.io)
        elif match := _RESULTS.match(line):
            is_new = not self.drafts or any(result.number >= int(match[1]) for result in self.drafts[-1].results)
            self._open("facts", Draft(number) if is_new else None)
            self.drafts[-1].results.append(Result(int(match[1]), number))
        elif match := _TIMESPAN.match(line):
            is_new = not self.drafts or len(self.drafts[-1].settings) >= int(match[1])
            self._open("settings", Draft(number) if is_new else None)
            self.drafts[-1].settings.append([])
        elif line in _SECTIONS:
            is_new = not self.drafts or (line == "Input parameters:" and self._has(self.drafts[-1]))
            self._open(_SECTIONS[line], Draft(number) if is_new else None)
        else:
            return False
        return True

    def _is_taken(self, number: int, line: str) -> bool:
        """Whether the line belongs to the section that is open."""
        if line.startswith("```"):
            self._open("")
            return False
        if "|" in line:
            return self._row(number, line)
        if line.startswith("The test was interrupted"):
            self._result(number).interrupted = (number, line)
        elif not self.drafts or _RULE.fullmatch(line):
            return False
        elif self._state in _EXTRAS:
            self._result(number).extras.setdefault(self._state, []).append((number, line))
            self.drafts[-1].is_traced_to_the_end |= line.lower().startswith("lost real time buffers:")
        elif self._state == "distribution":
            self._result(number).distribution.append(line)
        elif self._state == "table" and self._table and _TOTAL.match(line):  # cut before its first bar
            self._table.bad.append(number)
        else:
            return self._fact(number, *_split(line), line)
        return True

    def _fact(self, number: int, name: str, value: str, line: str) -> bool:
        draft = self.drafts[-1]
        if name in _FACTS:
            self._result(number).facts[name] = value
        elif name == "total test time":
            draft.total_time = value
        elif self._state == "settings" and (draft.settings or name == "duration"):
            if not draft.settings:
                draft.settings.append([])
            path = _PATH.match(line)
            block = draft.settings[-1]
            target = (block[-1][0] if block else 0) + (path is not None)
            block.append((target, name, path[1] if path else value))
        elif self._state in ("settings", "system") or name == "Experiment Flags":
            draft.system.append((name, value))
        else:
            return False
        return True

    def _row(self, number: int, line: str) -> bool:
        columns = [cell.strip().lower() for cell in line.split("|")]
        if "cpu" in columns and "usage" in columns:
            self._open("cpu")
            result = self._result(number, lambda result: bool(result.cpu or result.io))
            self._table = result.cpu = Table(number, columns)
        elif columns[0] == "thread" and "i/os" in columns and self._op:
            op = self._op
            self._open("table")
            self._table = self._result(number).io[op] = Table(number, columns)
        elif columns[0] == "%-ile":
            self._open("latency")
            self._table = Table(number, columns, heading=self._above)
            self._result(number).latency.append(self._table)
        elif columns[0] == "type" and self._state == "totals":
            self._table = self.drafts[-1].totals = Table(number, columns)
        elif self._table:
            self._data(number, line, self._table)
        elif self.drafts and self._state in _EXTRAS:
            self._result(number).extras.setdefault(self._state, []).append((number, line))
        elif self.drafts:
            self.drafts[-1].unread.append(number)
        return bool(self.drafts)

    def _data(self, number: int, line: str, table: Table) -> None:
        """A row of the open table; the table's own last row (avg., total, max) closes it."""
        columns, is_last = table.columns, False
        if self._state == "cpu" and (match := _AVERAGE.match(line)):
            line, columns, is_last = line[match.end() :], columns[columns.index("cpu") + 1 :], True
        elif self._state == "table" and (match := _TOTAL.match(line)):
            line, columns, is_last = line[match.end() :], [name for name in columns[1:] if name != "file"], True
        cells = [cell.strip() for cell in line.split("|", len(columns) - 1)]
        if len(cells) != len(columns) or not (is_last or _NAMES[self._state].fullmatch(cells[0])):
            table.bad.append(number)
            return
        row = (number, dict(zip(columns, cells, strict=True)))
        if not is_last:
            table.rows.append(row)
        if is_last or (self._state, cells[0]) in _LAST_ROWS:
            table.last, self._table = row, None

    def _result(self, number: int, is_taken: Callable[[Result], bool] = lambda _: False) -> Result:
        """The result that a line belongs to; a table that comes again, without a heading, begins a report."""
        if not self.drafts or any(map(is_taken, self.drafts[-1].results[-1:])):
            self.drafts.append(Draft(number))
        draft = self.drafts[-1]
        if not draft.results:
            draft.results.append(Result(1, None))
        return draft.results[-1]

    def _open(self, state: str, draft: Draft | None = None) -> None:
        self._state, self._table, self._op = state, None, ""
        if draft:
            self.drafts.append(draft)

    @staticmethod
    def _has(draft: Draft) -> bool:
        return bool(draft.settings or draft.results)


def _split(line: str) -> tuple[str, str]:
    """``name: value``; what stands in parentheses is no name, and a line without a value is a setting that is on."""
    for mark in ("): ", ":", "=>"):
        name, found, value = line.partition(mark)
        if found and (mark == "): " or "(" not in name):
            value = re.sub(r"^(\d+)\)$", r"\1", value.strip())  # the Linux port closes a parenthesis too many
            return (name + ")" if mark == "): " else name).strip(), value
    return line, "true"
