"""The words and cells of DISKSPD's text output: settings, parameters, figures of a row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pipeline import units
from pipeline.parse.diskspd._diskspd_lines import Cells, Draft, Result, Setting
from pipeline.parse.diskspd._diskspd_rows import Notes, Settings, Target, count, milliseconds, number, prefix

# Column of an I/O table → decimals as printed; a figure with fewer, at the very end of a report, was cut.
COLUMNS = {"thread": 0, "type": 0, "bytes": 0, "i/os": 0, "mib/s": 2, "mb/s": 2, "i/o per s": 2, "avglat": 3,
           "avglat(ms)": 3, "iopsstddev": 2, "latstddev": 3}  # fmt: skip
_FILE = re.compile(r"(.*) \(([^()]*)\)")
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s", re.ASCII)
_DIGITS = re.compile(r"\d{1,9}")
_POOL = re.compile(r"thread pool with (\d{1,9}) threads")
_NINES = re.compile(r"([1-9])-nines")


def settings_of(block: list[Setting]) -> Settings:
    """What the settings of a timespan say of its times, and of operations outstanding."""
    settings = Settings()
    for target, name, value in block:
        if name == "path" and target:
            settings.targets.append(Target(value))
        elif target:
            _set_target(settings.targets[-1], name, value)
        elif pool := _POOL.match(name):
            settings.pool_threads = int(pool[1])
        elif name == "total threads":  # of the Linux port, whether a pool or not
            settings.pool_threads = _integer(value)
        elif name.startswith("number of outstanding I/O operations"):
            settings.pool_requests = _integer(value)
        elif name == "measuring latency":
            settings.measures_latency = True
        elif name == "duration":
            settings.duration_s = seconds_of(value)
        elif name == "warm up time":
            settings.warm_up_s = seconds_of(value) or 0.0
        elif name == "cool down time":
            settings.cool_down_s = seconds_of(value) or 0.0
    return settings


def _set_target(target: Target, name: str, value: str) -> None:
    if name == "block size":
        target.block_size_bytes = _size(value)
    elif name.startswith("number of outstanding I/O operations"):
        target.outstanding = _integer(value)
    elif name == "threads per file":
        target.threads = _integer(value)


def parameters_of(draft: Draft) -> Iterator[tuple[str, str]]:
    """All settings and facts, name and value; a target's have its number before the name."""
    yield from draft.system
    n_timespans = max(len(draft.settings), len(draft.results))
    for timespan, block in enumerate(draft.settings, 1):
        for target, name, value in block:
            yield prefix(timespan, n_timespans, target) + name, value
    for timespan, result in enumerate(draft.results, 1):
        lead = prefix(timespan, n_timespans)
        yield from ((lead + name, value) for name, value in result.facts.items())
        yield from ((lead + "effective IO distribution", line) for line in result.distribution)
        yield from ((f"{lead}size of {path}", size) for path, size in _sizes(result).items())


def _sizes(result: Result) -> dict[str, str]:
    files = [cells.get("file", "") for table in result.io.values() for _, cells in table.rows]
    matches = [_FILE.fullmatch(file) for file in dict.fromkeys(files)]
    return {match[1]: match[2] for match in matches if match}


def path_of(cells: Cells, settings: Settings | None, line: int, notes: Notes) -> str | None:
    """The path of the column ``file``, without the size behind it; None when it is cut."""
    file = cells.get("file", "")
    if match := _FILE.fullmatch(file):
        return match[1]
    if settings and file in {target.path for target in settings.targets}:
        return file
    notes.add(line, "bad_path", f"expected `path (size)`, found {file!r}", is_damage=True)
    return None


def figures_of(cells: Cells, line: int, last_line: int, notes: Notes) -> dict[str, float | None]:
    """The figures of a row by column, units as printed; what is no number is null, noted as damage."""
    figures: dict[str, float | None] = {}
    for column, text in cells.items():
        if column in ("thread", "type", "file"):
            continue
        if column not in COLUMNS:
            notes.add(line, "unknown_column", f"expected one of {', '.join(COLUMNS)}, found {column!r}")
            continue
        figures[column] = value = count(text) if column in ("bytes", "i/os") else number(text)
        if value is None and text != "N/A":
            notes.add_bad_number(line, column, text)
        if value is not None and line == last_line:
            check_decimals(text, COLUMNS[column], line, notes)
    return figures


def check_decimals(text: str, decimals: int, line: int, notes: Notes) -> None:
    """Note a figure of the report's last line that has fewer decimals than DISKSPD prints."""
    if len(text.partition(".")[2]) < decimals:
        notes.add(line, "truncated", f"expected {decimals} decimals, found {text!r} at the end", is_damage=True)


def rates(
    figures: dict[str, float | None], seconds: float | None, slack_s: float
) -> tuple[float | None, float | None, bool]:
    """Operations and bytes a second at their finest, and whether the printed figures agree with the counts.

    ``slack_s`` is the rounding of the test time; that of the printed rates is 0.005. Whichever is finer, relatively,
    counts; the quotients only if they agree with what is printed.
    """
    n_ops, n_bytes, iops = figures.get("i/os"), figures.get("bytes"), figures.get("i/o per s")
    mib = figures.get("mib/s", figures.get("mb/s"))
    bytes_per_s = None if mib is None else mib * units.MEBI
    if not seconds or n_ops is None or n_bytes is None or iops is None or mib is None:
        return iops, bytes_per_s, True
    if n_ops == 0:
        return iops, bytes_per_s, iops == mib == 0
    time_error, iops_error = slack_s / seconds, 0.0051 / iops if iops else math.inf
    if abs(n_ops / seconds - iops) > 0.0051 + iops * time_error:
        return iops, bytes_per_s, False
    error = min(time_error, iops_error)
    elapsed = seconds if time_error <= iops_error else n_ops / iops
    if abs(n_bytes / elapsed / units.MEBI - mib) > 0.0051 + mib * error:
        return n_ops / elapsed, bytes_per_s, False
    return n_ops / elapsed, n_bytes / elapsed, True


def latency_of(figures: dict[str, float | None]) -> tuple[float | None, float | None]:
    """Mean and standard deviation in seconds; null without I/O, where DISKSPD prints 0.000."""
    if not figures.get("i/os"):
        return None, None
    mean = figures.get("avglat", figures.get("avglat(ms)"))
    stddev = figures.get("latstddev")
    return (None if mean is None else mean * units.MILLI), (None if stddev is None else stddev * units.MILLI)


def percentile_of(name: str) -> float:
    """The percentile of ``min``, ``25th``, ``3-nines`` or ``max``."""
    if name in ("min", "max"):
        return 0.0 if name == "min" else 100.0
    if nines := _NINES.fullmatch(name):
        return float(("9" * int(nines[1]) + "0")[:2] + "." + "9" * (int(nines[1]) - 2))
    return float(name[:-2])


def seconds_of(value: str) -> float | None:
    """Seconds as printed, ``2.00s``."""
    match = _SECONDS.fullmatch(value)
    return float(match[1]) if match else None


def latencies_of(cells: Cells) -> dict[str, float | None]:
    """The latencies of a percentile's row, in seconds, by direction."""
    columns = {"read": "read (ms)", "write": "write (ms)", "total": "total (ms)"}
    return {op: milliseconds(cells.get(column)) for op, column in columns.items()}


def _integer(text: str) -> int | None:
    match = _DIGITS.match(text)
    return int(match[0]) if match else None


def _size(text: str) -> int | None:
    """Bytes of ``4096`` or ``4KiB``; None where the printed size is rounded, or no size."""
    try:
        size = units.byte_size(text)
    except ValueError:
        return None
    return int(size) if size < 2**63 and size == int(size) else None
