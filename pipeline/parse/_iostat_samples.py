"""Samples of iostat, as text and JSON share them: their time, and their rows in the tidy tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from statistics import median
from typing import Any

from pipeline import units
from pipeline.parse._iostat_columns import COLUMNS, requests_per_s, value_of
from pipeline.parse._report import Report

DAY_S = 86400
Cells = dict[str, object]
_WHEN = ("time_s", "window_s")
_CPU_COLUMNS = ("cpu", *_WHEN, "user_ratio", "kernel_ratio", "iowait_ratio", "steal_ratio", "idle_ratio", "busy_ratio")
_DEVICE_COLUMNS = ("device", *_WHEN, *dict.fromkeys(c.name for c in COLUMNS.values() if c.unit is None))
_METRIC_COLUMNS = ("metric", "labels", "time_s", "value", "unit")


@dataclass
class Sample:
    """One report of iostat: its stamp, the processors' line and the devices' rows; ``line`` is where it begins."""

    line: int | None
    stamp: str | None = None
    cpu: Cells | None = None
    devices: list[tuple[str, Cells]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)  # of the devices, in all parts of the table


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


def _elapsed(stamps: list[Stamp]) -> list[float]:
    """Seconds from the first stamp to each. A date that changes means the next day: no locale has to be known."""
    first, day, seconds = stamps[0], 0, [0.0]
    for before, stamp in pairwise(stamps):
        if first.utc is not None and stamp.utc is not None:
            seconds.append((stamp.utc - first.utc).total_seconds())
            continue
        has_passed_midnight = stamp.date != before.date or (not _has_date(stamp) and stamp.second < before.second)
        day += has_passed_midnight
        seconds.append(float(day * DAY_S + stamp.second - first.second))
    return seconds


def _has_date(stamp: Stamp) -> bool:
    return any(character.isdigit() for character in stamp.date)


def add_samples(report: Report, samples: list[Sample], *, omits_since_boot: bool) -> None:
    """Add all rows, as blocks: a day of samples has millions."""
    times = _times(report, samples, omits_since_boot)
    cpus: dict[str, list[Any]] = {name: [] for name in _CPU_COLUMNS}
    devices: dict[str, list[Any]] = {name: [] for name in _DEVICE_COLUMNS}
    metrics: dict[str, list[Any]] = {name: [] for name in _METRIC_COLUMNS}
    labels = {name: json.dumps({"device": name}) for sample in samples for name, _ in sample.devices}
    n_bad = 0
    for sample, (time_s, window_s) in zip(samples, times, strict=True):
        when = {"time_s": time_s, "window_s": window_s}
        if sample.cpu is not None:
            _append(cpus, {"cpu": "all", **when, **_cpu_row(sample.cpu)})
        for name, cells in sample.devices:
            row, values, n = _device_row(cells)
            n_bad += n
            _append(devices, {"device": name, **when, **row})
            for metric, value, unit in values:
                one = {"metric": metric, "labels": labels[name], "time_s": time_s, "value": value, "unit": unit}
                _append(metrics, one)
    for table, block in (("cpu_usage", cpus), ("device_series", devices), ("metric_series", metrics)):
        if block["time_s"]:
            report.add_block(table, block)
    if n_bad:
        report.warn(None, "bad_value", f"expected numbers of at least 0, found {n_bad} others; they are left null")


def warn_of_groups(report: Report, groups: set[str]) -> None:
    """Say which rows sum others."""
    if groups:
        report.warn(None, "group_rows", f"expected devices, found groups that sum some: {', '.join(sorted(groups))}")


def warn_since_boot(report: Report, line: int | None) -> None:
    """Say that the first sample may stand for the time since boot; its window is left null."""
    message = "expected a sign of iostat -y, found none: the first sample may be the mean since boot"
    report.warn(line, "first_report_may_be_since_boot", message)


def _times(report: Report, samples: list[Sample], omits_since_boot: bool) -> list[tuple[float | None, float | None]]:
    """(time_s, window_s) of each sample. The start is the first stamp, or an interval before it when -y is known."""
    stamps = [read_stamp(sample.stamp) if sample.stamp is not None else None for sample in samples]
    known = [stamp for stamp in stamps if stamp is not None]
    if not known:
        if len(samples) > 1:
            report.warn(None, "no_time_stamps", "expected time stamps (iostat -t), found none: time_s is left null")
        return [(None, None)] * len(samples)
    elapsed = _elapsed(known)
    steps: list[float | None] = [later - earlier for earlier, later in pairwise(elapsed)]
    falls = [step for step in steps if step is not None and step < 0]
    if falls:
        report.warn(None, "clock_went_back", f"expected rising time stamps, found {len(falls)} falls: no window there")
    interval = median(step for step in steps if step is not None) if steps else 0.0
    start = 0.0 if not omits_since_boot else interval if interval > 0 else None
    if known[0].utc is not None and start is not None:
        report.describe(started_at=known[0].utc - timedelta(seconds=start))
    moments = iter(zip(elapsed, [start, *steps], strict=True))
    times = [_time(*next(moments), start) if stamp is not None else (None, None) for stamp in stamps]
    if len(known) > 1:
        report.describe(duration_s=times[-1][0])
    return times


def _time(elapsed: float, step: float | None, start: float | None) -> tuple[float | None, float | None]:
    window_s = step if step is not None and step > 0 else None
    return (elapsed + start if start is not None and elapsed + start >= 0 else None), window_s


def _append(columns: dict[str, list[Any]], row: Mapping[str, Any]) -> None:
    for name, values in columns.items():
        values.append(row.get(name))


def _device_row(cells: Cells) -> tuple[dict[str, float | None], list[tuple[str, float, str]], int]:
    """Columns of ``device_series``, metrics, and how many cells were no numbers."""
    row: dict[str, float | None] = {}
    metrics = []
    n_bad = 0
    for name, cell in cells.items():
        column = COLUMNS.get(name)
        if column is None:
            continue
        value = value_of(cell, column)
        n_bad += value is None
        if value == 0 and column.rate is not None and requests_per_s(cells, column.rate) == 0:
            value = None  # the mean of no requests, which iostat prints as 0.00
        if column.unit is None:
            row[column.name] = value
        elif value is not None:
            metrics.append((column.name, value, column.unit))
    return row, metrics, n_bad


def _cpu_row(cells: Cells) -> dict[str, float | None]:
    """The ratios: nice counts as user, and busy is what is neither idle nor waiting for I/O."""
    percent = COLUMNS["%util"]
    share = {name.removeprefix("%"): value_of(cell, percent) for name, cell in cells.items()}
    user, nice, idle, iowait = (share.get(name) for name in ("user", "nice", "idle", "iowait"))
    busy = None
    if idle is not None and iowait is not None and any(share.values()):
        busy = max(0.0, 1 - idle - iowait)
    return {
        "user_ratio": _ratio(user + (nice or 0.0)) if user is not None else None,
        "kernel_ratio": _ratio(share.get("system", share.get("sys"))),
        "iowait_ratio": _ratio(iowait), "steal_ratio": _ratio(share.get("steal")),
        "idle_ratio": _ratio(idle), "busy_ratio": busy,
    }  # fmt: skip


def _ratio(value: float | None) -> float | None:
    """A share of at most 1; the tool's rounding may put a sum a little above."""
    if value is None or value > 1 + units.PERCENT:
        return None
    return min(value, 1.0)
