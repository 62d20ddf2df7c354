"""Private to ``fio_log`` and ``fio_hist_log``: where the stamps of a log begin, when they are of the wall's clock."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pipeline.parse._source import Source
from pipeline.parse.fio._fio_log_beside import Beside
from pipeline.parse.fio._fio_log_name import LogName, log_name

_EPOCH_MS = (10**11, 10**14)  # 1973 to 5138; no run is longer than three years


def origin_ms(source: Source, name: LogName, around: Beside, sample: list[list[int]], window_ms: int | None) -> int:
    """The start of the run in stamps: 0 where they count from it.

    Of stamps since 1970 it is the job's start where the report tells (from 3.36), else the first stamp of the run's
    logs, less the window that ends there.
    """
    stamps = [row[0] for row in sample]
    if not is_epoch(stamps):
        return 0
    job = around.job(name.number) or (around.jobs[0] if around.jobs else None)
    if job is not None and job.start_ms is not None and abs(job.start_ms - stamps[0]) < _EPOCH_MS[0]:
        return min(job.start_ms, *stamps)
    first = [min(stamps)]
    for sibling in source.siblings():
        other = log_name(sibling.path)
        if other is not None and other.prefix == name.prefix:
            stamp = _first_stamp(sibling.file, sibling.file.stat().st_mtime_ns)
            first += [stamp] if stamp is not None and is_epoch([stamp]) else []
    return max(min(first) - (window_ms or 0), 0)


def is_epoch(stamps: list[int]) -> bool:
    """Whether stamps are ms since 1970."""
    return all(_EPOCH_MS[0] <= stamp < _EPOCH_MS[1] for stamp in stamps)


@lru_cache(maxsize=4096)
def _first_stamp(path: Path, _changed_ns: int) -> int | None:
    text = Source(path).head[:40].split(",")[0]
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
