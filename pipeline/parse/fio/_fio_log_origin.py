"""Private to ``fio_log`` and ``fio_hist_log``: where stamps begin that are of a clock, the wall's or another."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio._fio_log_beside import Beside
from pipeline.parse.fio._fio_log_name import LogName, log_name

_EPOCH_MS = (10**11, 10**14)  # 1973 to 5138; no run is longer than three years
_OTHER_CLOCK = "log_alternate_epoch"  # ms of any clock, such as since boot


def origin_ms(source: Source, name: LogName, around: Beside, sample: list[list[int]]) -> int:
    """The start of the run in stamps: 0 where they count from it.

    Of stamps of a clock it is the job's start where the report tells it of this clock (from 3.36), else the first stamp
    of the run's logs, each less the window that ends there.
    """
    stamps = [row[0] for row in sample]
    is_wall = _is_epoch(stamps)
    if not is_wall and not around.flag(_OTHER_CLOCK, name):
        return 0
    job = around.entry(name)
    if job is not None and job.start_ms is not None and abs(job.start_ms - stamps[0]) < _EPOCH_MS[0]:
        return min(job.start_ms, *stamps)
    first = [min(stamps) - (around.window_ms(name) or 0)]
    for sibling in source.siblings():
        other = log_name(sibling.path)
        if other is not None and other.prefix == name.prefix:
            stamp = _first_stamp(sibling.file, sibling.file.stat().st_mtime_ns)
            if stamp is not None and _is_epoch([stamp]) == is_wall and (is_wall or around.flag(_OTHER_CLOCK, other)):
                first.append(stamp - (around.window_ms(other) or 0))
    return max(min(first), 0)


def note_origin(report: Report, around: Beside, name: LogName, origin: int) -> None:
    """Say where time_s begins, if the stamps do not tell by themselves."""
    if not origin:
        return
    if not _is_epoch([origin]):
        clock = around.option("log_alternate_epoch_clock_id", name) or "0"
        message = f"stamps are ms of clock {clock}; time_s counts from {origin} ms there"
        report.warn(None, "epoch_stamps", message)
        return
    start = datetime.fromtimestamp(origin / 1000, UTC)
    if around.home is None:
        report.describe(started_at=start)
    if not any(job.start_ms for job in around.jobs):
        message = f"stamps are ms since 1970; time_s counts from the run's first one, {start:%Y-%m-%dT%H:%M:%S.%fZ}"
        report.warn(None, "epoch_stamps", message)


def _is_epoch(stamps: list[int]) -> bool:
    """Whether stamps are ms since 1970."""
    return all(_EPOCH_MS[0] <= stamp < _EPOCH_MS[1] for stamp in stamps)


@lru_cache(maxsize=4096)
def _first_stamp(path: Path, _changed_ns: int) -> int | None:
    text = Source(path).head[:40].split(",")[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
