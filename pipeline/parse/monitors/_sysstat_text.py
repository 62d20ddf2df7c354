"""The text of sar and mpstat: ``STAMP HEADER`` and the rows below, read line by line in bounded memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_clock import Clock, Stamp, read_stamp
from pipeline.parse.monitors._sysstat_layout import Layout, layout_of
from pipeline.parse.monitors._sysstat_lines import NUMBER_STARTS, is_header, is_value, lines_of
from pipeline.parse.monitors._sysstat_sheet import Sheet

BANNER = re.compile(r"Linux (\S+) \(([^()]*)\)\s+(\S+)(?:\s+_?(\w+?)_?\s+\((\d+) CPU\))?")
PROPERTIES = ("release", "nodename", "date", "machine", "number-of-cpus")
RESTART = re.compile(r"\s+LINUX[ -]RESTART\b")
_COMMENT = re.compile(r"\s+COM (.*)")
_MANUFACTURER_WIDTH = 24  # of the table of USB devices, where both names may hold spaces
_SHEETS_IN_MEMORY = 256
_WITHOUT_AVERAGE = ("battery", "usb", "cpu_frequency wghMHz")


@dataclass
class Family:
    """What is known of the tables that follow one another in time: ``cpu``, ``device``, ``paging`` and so on."""

    last_s: float | None = None  # the last stamp
    last: Sheet | None = None  # where its last row is
    last_sampled: object = None  # what the last row of the last sample is about
    is_open: bool = False  # rows came, but no average yet


class Run:
    """One run of sar or mpstat: what stands below one ``Linux …`` line."""

    def __init__(self, tool: str, source: Source, banner: str | None) -> None:
        self.report = Report(tool, source)
        self.banner = banner
        self.n_rows = 0
        self.unread: dict[str, list[int]] = {}  # lines by the code of their warning
        self.clock = Clock()
        self._sheets: dict[tuple[tuple[str, ...], str], Sheet] = {}
        self._families: dict[str, Family] = {}
        self._layout: Layout | None = None
        self._n_cells = self._probe = -1
        self._family = Family()
        self._stamp = Stamp("\n")
        self._sheet: Sheet | None = None  # where the next row goes; None: a stamp or a header was new
        self._when: tuple[float | None, float | None] = (None, None)
        self._since_boot: int | None = None
        self._restarts: list[int] = []
        self._n_bad = 0
        self._unknown_columns: dict[str, int] = {}
        if banner and (match := BANNER.match(banner)):
            for name, value in zip(PROPERTIES, match.groups(), strict=True):
                if value is not None:
                    self.report.parameter(name, value)

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        text = self._stamp.text
        if not line.startswith(text) or not line[len(text) : len(text) + 1].isspace():
            if not line or line.isspace():
                return
            stamp = read_stamp(line)
            if stamp is None:
                self._note("unknown_line", number)
                return
            self._stamp, self._sheet = stamp, None
            text = stamp.text
        cells: list[str | None] = line[len(text) :].split()  # type: ignore[assignment]
        probe = cells[self._probe] if len(cells) == self._n_cells else ""
        if not probe or probe[0] not in NUMBER_STARTS or probe[-1] == "s":
            rest, words = line[len(text) :], line[len(text) :].split()
            odd = self._odd_row(rest, words)
            if odd is None:
                self._read_other(number, rest, words)
                return
            cells = odd
        sheet = self._sheet or self._begin_rows(number)
        sheet.rows.append(cells)
        if len(sheet.rows) >= sheet.limit:
            sheet.flush()

    def _begin_rows(self, number: int) -> Sheet:
        """The sheet of the rows that begin here, and their time."""
        family, stamp, layout = self._family, self._stamp, cast(Layout, self._layout)
        labels: dict[str, str] = {}
        if stamp.word:
            if family.is_open:
                family.last_sampled = family.last.last_key if family.last and layout.header[0] == "CPU" else None
                family.is_open = False
            self._when = (None, None)
            if stamp.word != "average":
                labels = {"statistic": stamp.word}
                layout = layout_of(layout.header, as_metrics=True) or layout
        else:
            self._when = self._time(number, family, stamp, layout)
        self._sheet = self._sheets.get((layout.header, stamp.word if labels else ""))
        if self._sheet is None:
            if len(self._sheets) >= _SHEETS_IN_MEMORY:
                self._flush()
            self._sheet = Sheet(self.report, layout, labels)
            self._sheets[(layout.header, stamp.word if labels else "")] = self._sheet
        self._sheet.at(*self._when)
        family.last = self._sheet
        self.n_rows += 1
        return self._sheet

    def _time(self, number: int, family: Family, stamp: Stamp, layout: Layout) -> tuple[float | None, float | None]:
        """(time_s, window_s) of a row; a row with its header's stamp is the mean since boot."""
        elapsed = self.clock.elapsed(layout.family, stamp)
        step = elapsed - family.last_s if family.last_s is not None else 0.0
        if step == 0:
            self._since_boot = self._since_boot or number
        else:
            family.is_open = not layout.family.startswith(_WITHOUT_AVERAGE)
        family.last_s = elapsed
        return (elapsed if elapsed >= 0 else None), (step if step > 0 else None)

    def _odd_row(self, rest: str, cells: list[str]) -> list[str | None] | None:
        """A row whose cells are not as many as the header's: names with spaces, no topology for ``all``."""
        layout = self._layout
        if layout is None or is_header(cells):
            return None
        n, header = layout.n_cells, layout.header
        if len(cells) == n and is_value(cells[layout.probe]):
            return [*cells]
        if "CORE" in header and len(cells) == n - 3 and cells[:1] == ["all"]:
            return [cells[0], None, None, None, *cells[1:]]
        if header[0] == "BAT" and len(cells) == n - 1:
            return [*cells, None]  # an average has no status
        found: list[str | None] = []
        if header[-1] == "product" and len(cells) >= n - 2:
            parts = rest.split(None, 4)
            names = parts.pop() if len(parts) > 4 else ""
            found = [*parts, names[:_MANUFACTURER_WIDTH].strip(), names[_MANUFACTURER_WIDTH:].strip()]
        elif len(cells) > n and layout.keys and layout.keys[-1][1] == n - 1:
            found = [*rest.strip().split(None, n - 1)]
        elif len(cells) > n and layout.keys and layout.keys[0][1] == 0:
            found = [*rest.strip().rsplit(None, n - 1)]
        return found if len(found) == n and is_value(found[layout.probe]) else None

    def _read_other(self, number: int, rest: str, cells: list[str]) -> None:
        if is_header(cells):
            self._begin_table(tuple(cells), number)
        elif RESTART.match(rest):
            self._restarts.append(number)
            self.clock.restart()
            self._sheet = None
        elif match := _COMMENT.match(rest):
            self.report.parameter("comment", f"{self._stamp.text} {match[1]}")
        elif self._layout is not None and cells and is_value(cells[-1]):
            self._family.is_open = self._family.is_open and not self._stamp.word
            self._note("wrong_number_of_cells", number)
        else:
            self._note("unknown_line", number)

    def _begin_table(self, header: tuple[str, ...], number: int) -> None:
        layout = cast(Layout, layout_of(header))  # it is one, as ``is_header`` said
        self._layout, self._sheet = layout, None
        self._n_cells, self._probe = layout.n_cells, layout.probe
        self._family = self._families.setdefault(layout.family, Family())
        if not self._stamp.word:
            self._family.last_s = self.clock.elapsed(layout.family, self._stamp)
        if (header, "") not in self._sheets:
            for name in layout.unknown():
                self._unknown_columns.setdefault(name, number)

    def _note(self, code: str, number: int) -> None:
        found = self.unread.setdefault(code, [number, 0])
        found[1] += 1

    def _flush(self) -> None:
        for sheet in self._sheets.values():
            sheet.flush()
            self._n_bad += sheet.n_bad
        self._sheets.clear()
        self._sheet = None

    def finish(self, cut: int | None, last: int) -> None:
        """Write what is left, and say what is missing; ``cut``: the line that the file ends in."""
        self._flush()
        report, stamp = self.report, self.clock.origin
        if stamp is not None and stamp.is_epoch and stamp.second is not None:
            report.describe(started_at=datetime.fromtimestamp(stamp.second, UTC))
        ends = [family.last_s for family in self._families.values() if family.last_s]
        if ends and max(ends) > 0:
            report.describe(duration_s=max(ends))
        for code, (number, count) in self.unread.items():
            report.warn(number, code, f"expected {report.tool}'s lines, found {count} others, the first here")
        self._warn()
        if missing := self._missing(cut):
            report.incomplete(cut or last, "truncated", f"expected {missing}, found the end of the run")

    def _warn(self) -> None:
        report = self.report
        if self._unknown_columns:
            names = ", ".join(sorted(self._unknown_columns)[:20])
            number = min(self._unknown_columns.values())
            report.warn(number, "unknown_column", f"expected {report.tool}'s columns, found {names}")
        if self._restarts:
            message = f"expected one boot, found {len(self._restarts)} restarts; averages stand once a boot"
            report.warn(self._restarts[0], "restarts", message)
        if self._since_boot is not None:
            message = "expected an interval, found means since boot: their windows are left null"
            report.warn(self._since_boot, "since_boot", message)
        if self.clock.n_falls:
            message = f"expected rising time stamps, found {self.clock.n_falls} falls: no window there"
            report.warn(None, "clock_went_back", message)
        if self._n_bad:
            message = f"expected numbers of at least 0, found {self._n_bad} others; they are left null"
            report.warn(None, "bad_value", message)

    def _missing(self, cut: int | None) -> str | None:
        """What a cut run lacks: the tools end with averages of all they measured."""
        if cut is not None:
            return "a whole line"
        if not self.n_rows:
            return None if self._restarts else "a row"
        if any(family.is_open for family in self._families.values()):
            return "averages"
        ends = [(family.last.last_key, family.last_sampled) for family in self._families.values() if family.last]
        if any(_is_before(key, sampled) for key, sampled in ends):
            return "an average of each processor"
        return None


def _is_before(key: object, sampled: object) -> bool:
    """Whether the last average is of a processor before the last one that was sampled."""
    if not isinstance(sampled, str) or not sampled.isdecimal():
        return False
    return key == "all" or (isinstance(key, str) and key.isdecimal() and len(key) < 9 and int(key) < int(sampled[:9]))


def runs_of(tool: str, source: Source) -> list[Run]:
    """The runs in the file, each below its ``Linux …`` line; what stands before the first one belongs to it."""
    runs = [Run(tool, source, None)]
    number, cut = 0, None
    start = 0
    for number, line, is_cut in lines_of(source):
        if line.startswith("Linux ") and BANNER.match(line):
            if runs[-1].banner or runs[-1].n_rows:
                runs[-1].finish(None, number - 1)
            noise = {} if runs[-1].banner or runs[-1].n_rows else runs[-1].unread
            runs = [run for run in runs if run.banner or run.n_rows]
            runs.append(Run(tool, source, line))
            runs[-1].unread = noise
            start = number
        elif is_cut and line.strip():
            cut = number
        else:
            runs[-1].read(number, line)
    runs[-1].finish(cut or (number if start == number and not source.ends_with_newline else None), number)
    return [run for run in runs if run.banner or run.n_rows]
