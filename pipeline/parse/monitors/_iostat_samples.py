"""Samples of iostat, as text and JSON share them: their time, and their rows in the tidy tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from pipeline.parse._report import Report
from pipeline.parse.monitors._sysstat_layout import iostat_layout
from pipeline.parse.monitors._sysstat_sheet import Sheet

DAY_S = 86400
Cells = dict[str, object]
_SHEETS_IN_MEMORY = 256


@dataclass
class Sample:
    """One report of iostat: its stamp, the processors' line and the devices' rows; ``line`` is where it begins."""

    line: int | None
    stamp: str | None = None
    cpu: Cells | None = None
    devices: list[tuple[str, Cells]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)  # of the devices, in all parts of the table
    next_part: int = 0  # the device that the next row of a further part is likely to be of


@dataclass(frozen=True)
class Stamp:
    """A time stamp of ``-t``: the date as printed (locales differ), the second of the day, the time in UTC if known."""

    date: str
    second: int
    utc: datetime | None


_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})[:時时](\d{2})[:分](\d{2})秒?\s*([AaPp])?(?:\.?[Mm]\.?)?([+-]\d{4}|Z)?\s*[A-Za-z]{0,5}$"
)
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})T?")


def read_stamp(text: str) -> Stamp | None:
    """Read ``11/20/26 23:11:06``, ``08/14/2011 03:07:21 PM``, ``Time: 13:47:05``, ``2026-11-20T23:07:34+0000``."""
    match = _TIME.search(text)
    if match is None:
        return None
    hour, minute, second = (int(match[i]) for i in (1, 2, 3))
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    date = text[: match.start()].strip()
    return Stamp(date, hour * 3600 + minute * 60 + second, _utc(date, hour, minute, second, match[5]))


def _utc(date: str, hour: int, minute: int, second: int, zone: str | None) -> datetime | None:
    day = _ISO_DATE.fullmatch(date)
    if day is None or zone is None:
        return None
    offset = timedelta() if zone == "Z" else timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5]))
    try:
        local = datetime(int(day[1]), int(day[2]), int(day[3]), hour, minute, min(second, 59),
                         tzinfo=timezone(-offset if zone[0] == "-" else offset))  # fmt: skip
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _has_date(stamp: Stamp) -> bool:
    return any(character.isdigit() for character in stamp.date)


class Writer:
    """Writes samples as they come, in blocks: a day of them has millions of rows.

    The start is the first stamp, or, where -y is known, an interval before it: the distance of the first two stamps.
    """

    def __init__(self, report: Report, *, omits_since_boot: bool) -> None:
        self.report = report
        self.n_samples = 0
        self._omits_since_boot = omits_since_boot
        self._held: list[Sample] = []  # the first one, until the interval is known
        self._start: float | None = 0.0
        self._first: Stamp | None = None
        self._last: Stamp | None = None
        self._day = 0
        self._elapsed = 0.0
        self._end: float | None = None
        self._n_falls = 0
        self._n_bad = 0
        self._sheets: dict[tuple[str, ...], Sheet] = {}

    def add(self, sample: Sample) -> None:
        """Add a sample, after all before it."""
        self.n_samples += 1
        stamp = read_stamp(sample.stamp) if sample.stamp is not None else None
        if stamp is None:
            self._write(sample, None, None)
            return
        if self._first is None:
            self._first = self._last = stamp
            self._held = [sample]
            if not self._omits_since_boot:
                self._write_first(0.0)
            return
        step = self._step(stamp)
        if self._held:
            self._write_first(step if step > 0 else None)
        elapsed, start = self._elapsed, self._start
        time_s = elapsed + start if start is not None and elapsed + start >= 0 else None
        self._n_falls += step < 0
        self._end = time_s
        self._write(sample, time_s, step if step > 0 else None)

    def _step(self, stamp: Stamp) -> float:
        """Seconds since the stamp before. A date that changes means the next day: no locale has to be known."""
        first, last = self._first or stamp, self._last or stamp
        if first.utc is not None and stamp.utc is not None:
            elapsed = (stamp.utc - first.utc).total_seconds()
        else:
            has_passed_midnight = stamp.date != last.date or (not _has_date(stamp) and stamp.second < last.second)
            self._day += has_passed_midnight
            elapsed = float(self._day * DAY_S + stamp.second - first.second)
        step = elapsed - self._elapsed
        self._elapsed, self._last = elapsed, stamp
        return step

    def _write_first(self, interval: float | None) -> None:
        """Write the first sample; its window is known only where it is not the mean since boot."""
        self._start = interval
        first = self._first
        if first is not None and first.utc is not None and interval is not None:
            self.report.describe(started_at=first.utc - timedelta(seconds=interval))
        held, self._held = self._held, []
        for sample in held:
            self._write(sample, interval, interval if interval else None)

    def _write(self, sample: Sample, time_s: float | None, window_s: float | None) -> None:
        if sample.cpu:
            names = (name if name.startswith("%") else f"%{name}" for name in sample.cpu)
            self._sheet(("CPU", *names)).add(["all", *sample.cpu.values()], time_s, window_s)
        for name, cells in sample.devices:
            self._sheet(("Device", *cells)).add([name, *cells.values()], time_s, window_s)

    def _sheet(self, header: tuple[str, ...]) -> Sheet:
        sheet = self._sheets.get(header)
        if sheet is None:
            if len(self._sheets) >= _SHEETS_IN_MEMORY:
                self._flush()
            sheet = self._sheets[header] = Sheet(self.report, iostat_layout(header))
        return sheet

    def _flush(self) -> None:
        for sheet in self._sheets.values():
            sheet.flush()
            self._n_bad += sheet.n_bad
        self._sheets.clear()

    def finish(self) -> None:
        """Write what is left, with the warnings."""
        if self._held:
            self._write_first(None)
        self._flush()
        report = self.report
        if self._first is None and self.n_samples > 1:
            report.warn(None, "no_time_stamps", "expected time stamps (iostat -t), found none: time_s is left null")
        if self._n_falls:
            message = f"expected rising time stamps, found {self._n_falls} falls: no window there"
            report.warn(None, "clock_went_back", message)
        if self._end is not None:
            report.describe(duration_s=self._end)
        if self._n_bad:
            message = f"expected numbers of at least 0, found {self._n_bad} others; they are left null"
            report.warn(None, "bad_value", message)


def warn_of_groups(report: Report, groups: set[str]) -> None:
    """Say which rows sum others."""
    if groups:
        report.warn(None, "group_rows", f"expected devices, found groups that sum some: {', '.join(sorted(groups))}")


def warn_since_boot(report: Report, line: int | None) -> None:
    """Say that the first sample may stand for the time since boot; its window is left null."""
    message = "expected a sign of iostat -y, found none: the first sample may be the mean since boot"
    report.warn(line, "first_report_may_be_since_boot", message)
