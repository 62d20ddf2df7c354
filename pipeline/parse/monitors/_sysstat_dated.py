"""What sadf's outputs share: rows with a date, an interval and a host, and their way into sheets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_layout import Layout, layout_of
from pipeline.parse.monitors._sysstat_sheet import Sheet

_STAMP = re.compile(r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2})[:-](\d{2})[:-](\d{2})(?: ?([A-Za-z+-][\w+:-]{0,9}))?")
_EPOCH = re.compile(r"\d{9,11}")
_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_S = 230 * 365 * 86400
_SHEETS_IN_MEMORY = 256
When = tuple[float | None, float | None]


def seconds_of(stamp: str) -> tuple[float, bool] | None:
    """Seconds since 1970 of a stamp, and whether they are of UTC (another zone's name does not tell its offset)."""
    if _EPOCH.fullmatch(stamp):
        return float(stamp), True
    match = _STAMP.fullmatch(stamp)
    if match is None:
        return None
    try:
        found = datetime(*(int(match[i]) for i in range(1, 6)), min(int(match[6]), 59), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None
    return (found - _ORIGIN).total_seconds(), match[7] in ("UTC", "GMT", "Z")


def moment(seconds: float) -> datetime | None:
    """The time in UTC of seconds since 1970; None before that and after 2200, which no log is from."""
    return _ORIGIN + timedelta(seconds=seconds) if 0 <= seconds < _LATEST_S else None


class Dated:
    """The report of one host, as rows with dates come in."""

    def __init__(self, tool: str, source: Source, host: str | None) -> None:
        self.report = Report(tool, source)
        self.n_rows = 0
        self.unread: dict[str, list[int]] = {}  # first line and number of lines, by the code of their warning
        self._sheets: dict[tuple[str, ...], Sheet] = {}
        self._times: dict[tuple[str, str], When] = {}
        self._origin: float | None = None
        self._end = 0.0
        self._restarts: list[str] = []
        self._unknown_columns: set[str] = set()
        self._n_bad = 0
        if host is not None:
            self.report.parameter("nodename", host)

    def when(self, stamp: str, interval: str) -> When | None:
        """(time_s, window_s) of a row; None where the stamp is none. The start is an interval before the first one."""
        found = self._times.get((stamp, interval))
        if found is None:
            seconds = seconds_of(stamp)
            if seconds is None:
                return None
            window = float(interval) if interval.isdecimal() and len(interval) < 10 else 0.0
            if self._origin is None:
                self._origin = seconds[0] - window
                if seconds[1]:
                    self.report.describe(started_at=moment(self._origin))
            time_s = seconds[0] - self._origin
            self._end = max(self._end, time_s)
            found = (time_s if time_s >= 0 else None), (window if window > 0 else None)
            if len(self._times) > 4096:
                self._times.clear()
            self._times[stamp, interval] = found
        return found

    def sheet(self, header: tuple[str, ...]) -> Sheet | None:
        """The sheet of a header; None when it is none of sysstat's."""
        found = self._sheets.get(header)
        if found is None:
            layout = layout_of(header)
            if layout is None:
                return None
            self._unknown_columns |= set(layout.unknown())
            if len(self._sheets) >= _SHEETS_IN_MEMORY:
                self._flush()
            found = self._sheets[header] = Sheet(self.report, layout)
        return found

    def add(self, sheet: Sheet, cells: Sequence[object], when: When) -> None:
        """Add a row."""
        sheet.add(cells, *when)
        self.n_rows += 1

    def special(self, stamp: str, text: str) -> bool:
        """Read what stands for a restart or a comment; False when it is neither."""
        if text.startswith(("LINUX-RESTART", "LINUX RESTART")):
            self._restarts.append(stamp)
        elif text.startswith("COM "):
            self.report.parameter("comment", f"{stamp} {text[4:]}")
        else:
            return False
        return True

    def note(self, code: str, number: int) -> None:
        """Count a line that is not read."""
        found = self.unread.setdefault(code, [number, 0])
        found[1] += 1

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the tool came yet."""
        return not self.n_rows and not self._restarts

    def layout(self, header: tuple[str, ...]) -> Layout | None:
        """The layout of a header."""
        sheet = self.sheet(header)
        return sheet.layout if sheet else None

    def _flush(self) -> None:
        for sheet in self._sheets.values():
            sheet.flush()
            self._n_bad += sheet.n_bad
        self._sheets.clear()

    def finish(self, cut: int | None) -> None:
        """Write what is left; ``cut``: the line that the file ends in."""
        self._flush()
        report = self.report
        if self._end > 0:
            report.describe(duration_s=self._end)
        for code, (number, count) in self.unread.items():
            report.warn(number, code, f"expected {report.tool}'s lines, found {count} others, the first here")
        if self._unknown_columns:
            names = ", ".join(sorted(self._unknown_columns)[:20])
            report.warn(None, "unknown_column", f"expected {report.tool}'s columns, found {names}")
        if self._restarts:
            message = f"expected one boot, found {len(self._restarts)} restarts, the first at {self._restarts[0]}"
            report.warn(None, "restarts", message)
        if self._n_bad:
            message = f"expected numbers of at least 0, found {self._n_bad} others; they are left null"
            report.warn(None, "bad_value", message)
        if cut is not None:
            report.incomplete(cut, "truncated", "expected a whole line, found the end of the file")
