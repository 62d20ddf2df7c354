r"""Windows performance counters, CSV or TSV: ``typeperf -cf FILE -si 1 -f CSV -o FILE``, ``relog``, perfmon's own logs.

Grammar
    ``"(PDH-CSV 4.0) (Sri Lanka Standard Time)(-330)","\\HOST\Object(Instance)\Counter",…``: the zone's name and the
    minutes from its time to UTC may follow the version. Then ``"04/28/2023 05:55:48.490","13.95",…``: the end of the
    interval in local time, and a value for each counter. ``(PDH-TSV 4.0)``: tab-separated.
Versions
    PDH 4.0: Windows 2000 to 11, Server 2025; UTF-8, the system's code page and UTF-16.
Traps
    * A value that is not known, as that of a rate in the first sample, is a blank: null; typeperf prints -1.
    * Names of objects and counters are those of the system's language, so are decimal signs: ``"0,342941"``.
    * Where nothing was read or written its mean time is printed as 0: null, as of iostat.
    * Bytes are SI units, KBytes 1024 B. ``% Disk Time`` is the queue's length and may exceed 100.
    * typeperf writes an empty line before and messages behind the samples when its output is redirected.
Sample
    tests/parse/perfmon/synthetic_zone_and_blanks/
Gives
    device_series of PhysicalDisk and LogicalDisk, ``device`` with the object (``PhysicalDisk(0 C:)``); cpu_usage of
    Processor (``_Total``: all); everything else, and all counters in other languages or of several hosts, in
    metric_series, named by object and counter (``memory_available_bytes``), with the labels host, instance, counter.
    ``% X`` becomes x_ratio. time_s counts from the first stamp, window_s is the distance to the stamp before.
    started_at where the zone is told. A report for each header.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._perfmon_counters import Counter, counter_of
from pipeline.parse.monitors._sysstat_dated import moment
from pipeline.parse.monitors._sysstat_lines import lines_of
from pipeline.parse.monitors._sysstat_sheet import CELLS_IN_MEMORY, numbers

EXPECTED = 'perfmon\'s `"(PDH-CSV 4.0)…","\\\\HOST\\Object\\Counter",…`'
FORM = "CSV and TSV (PDH 4.0)"
VERSIONS = "Windows 2000 – 11"
NOT_READ = "binary logs (.blg): relog FILE.blg -f CSV -o FILE.csv"
UNSEEN_CUTS = "behind a row: nothing marks the end"
_HEADER = re.compile(r'\s*"?\(PDH-([CT])SV 4\.0\)(?:\s*\(([^()]*)\)\s*\((-?\d{1,4})\))?"?([,;\t]|$)')
_STAMP = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?")
_MESSAGE = re.compile(r"\s*(?:Exiting, please wait|The command completed successfully|\[)")
_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)


def recognise(head: str) -> bool:
    """Whether one of the first lines is the header of a PDH log."""
    return any(_HEADER.match(line) for line in head.split("\n", 5)[:5])


def parse(source: Source) -> list[Report]:
    """Return a report for each header in the file; ParseError when there is no sample."""
    logs: list[_Log] = []
    noise: list[int] = []
    cut = None
    for number, line, is_cut in lines_of(source):
        match = _HEADER.match(line)
        if is_cut and line.strip():
            cut = number
        elif match:
            logs.append(_Log(source, match, line))
        elif logs:
            logs[-1].read(number, line)
        elif line.strip():
            noise.append(number)
    if not any(log.n_rows for log in logs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for log in logs:
        log.finish(cut if log is logs[-1] else None)
    if noise:
        message = f"expected perfmon's header, found {len(noise)} other lines, the first here"
        logs[0].report.warn(noise[0], "unknown_line", message)
    return [log.report for log in logs]


class _Log:
    """The samples below one header."""

    def __init__(self, source: Source, match: re.Match[str], line: str) -> None:
        self.report = Report("perfmon", source)
        self.n_rows = 0
        self._separator = match[4] or ","
        names = _cells(line.strip(), self._separator)[1:]
        hosts = {name.split("\\")[2] for name in names if name.startswith("\\\\") and name.count("\\") > 2}
        self._counters = [counter_of(name, only_metrics=len(hosts) > 1) for name in names]
        self._bias_minutes = int(match[3]) if match[3] else None
        for name, value in (("time zone", match[2]), ("minutes to UTC", match[3]), ("host", ", ".join(sorted(hosts)))):
            if value:
                self.report.parameter(name, value)
        self._rows: list[list[str]] = []
        self._times: list[float | None] = []
        self._windows: list[float | None] = []
        self._limit = max(16, CELLS_IN_MEMORY // max(1, len(names)))
        self._origin: float | None = None
        self._last: float | None = None
        self._unread: dict[str, list[int]] = {}
        self._n_falls = self._n_bad = 0

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        text = line.strip(" \r\n")
        if not text or _MESSAGE.match(text):
            return
        quoted = f'"{self._separator}"'
        cells = text[1:-1].split(quoted) if text[0] == text[-1] == '"' else text.split(self._separator)
        n = len(self._counters) + 1
        if len(cells) != n:
            cells = _cells(text, self._separator)
        seconds = _seconds(cells[0].strip('" ')) if cells else None
        if len(cells) != n or seconds is None:
            found = self._unread.setdefault("unknown_line" if seconds is None else "wrong_number_of_cells", [number, 0])
            found[1] += 1
            return
        self._rows.append(cells)
        self._stamp(seconds)
        self.n_rows += 1
        if len(self._rows) >= self._limit:
            self._flush()

    def _stamp(self, seconds: float) -> None:
        if self._origin is None:
            self._origin = seconds
            if self._bias_minutes is not None:
                self.report.describe(started_at=moment(seconds + units.seconds(self._bias_minutes, "m")))
        time_s = round(seconds - self._origin, 6)
        window = round(time_s - self._last, 6) if self._last is not None else 0.0
        self._n_falls += window < 0
        self._times.append(time_s if time_s >= 0 else None)
        self._windows.append(window if window > 0 else None)
        self._last = time_s

    def _flush(self) -> None:
        """Write what was gathered: the rows of one processor or device are one block, and all metrics are one."""
        if not self._rows:
            return
        columns = list(zip(*self._rows, strict=True))[1:]
        when = {"time_s": pa.array(self._times, pa.float64()), "window_s": pa.array(self._windows, pa.float64())}
        self._rows, self._times, self._windows = [], [], []
        blocks: dict[tuple[str, str], dict[str, Any]] = {}
        metrics: list[tuple[Counter, Any]] = []
        for counter, cells in zip(self._counters, columns, strict=True):
            is_metric = counter.table == "metric_series"
            values, n_bad = numbers([cell.strip(' "') for cell in cells], counter.factor, may_be_negative=is_metric)
            self._n_bad += n_bad
            if is_metric:
                if counter.unit is not None:  # shares, rates, sizes and times: -1 stands for no data
                    no_data = values == -counter.factor
                    values[no_data] = np.nan
                    self._n_bad += int(np.count_nonzero(no_data))
                metrics.append((counter, values))
                continue
            if counter.table == "cpu_usage" and counter.name != "busy_ratio":
                values = np.minimum(values, 1.0)  # the counter's rounding
            key = "cpu" if counter.table == "cpu_usage" else "device"
            block = blocks.setdefault((counter.table, counter.key), {key: counter.key, **when})
            block.setdefault(counter.name, values)
        for (table, _), block in blocks.items():
            self.report.add_block(table, _without_idle(block))
        if metrics:
            self.report.add_block("metric_series", _long(metrics, when["time_s"]))

    def finish(self, cut: int | None) -> None:
        """Write what is left, with the warnings."""
        self._flush()
        report = self.report
        if self._last is not None and self._last > 0:
            report.describe(duration_s=self._last)
        for code, (number, count) in self._unread.items():
            report.warn(number, code, f"expected perfmon's rows, found {count} others, the first here")
        if self._n_falls:
            message = f"expected rising time stamps, found {self._n_falls} falls: no window there"
            report.warn(None, "clock_went_back", message)
        if self._n_bad:
            message = f"expected figures, found {self._n_bad} others (-1 stands for no data): null"
            report.warn(None, "bad_value", message)
        if cut is not None:
            report.incomplete(cut, "truncated", "expected a whole line, found the end of the file")


def _without_idle(block: dict[str, Any]) -> dict[str, Any]:
    """A block with Arrow arrays; the mean time of no read or no write, which is printed as 0, is null."""
    for op in ("read", "write"):
        rate, mean = block.get(f"{op}s_per_s"), block.get(f"{op}_await_s")
        if rate is not None and mean is not None:
            block[f"{op}_await_s"] = np.where((rate == 0) & (mean == 0), np.nan, mean)
    return {
        name: pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
        for name, values in block.items()
    }


def _long(metrics: list[tuple[Counter, Any]], times: pa.Array) -> dict[str, Any]:
    """All metrics as one block; what has no value has no row."""
    values = np.concatenate([values for _, values in metrics])
    n = len(times)
    which = np.repeat(np.arange(len(metrics), dtype=np.int32), n)
    known = ~np.isnan(values)
    rows = np.tile(np.arange(n), len(metrics))[known]

    def texts(of: Iterator[str | None]) -> pa.DictionaryArray:
        names = list(of)
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        index = np.array([places[name] for name in names], dtype=np.int32)[which[known]]
        missing = np.array([name is None for name in names])[which[known]]
        return pa.DictionaryArray.from_arrays(
            pa.array(index, mask=missing), pa.array([name or "" for name in places], pa.string())
        )

    return {
        "metric": texts(counter.name for counter, _ in metrics), "labels": texts(counter.key for counter, _ in metrics),
        "time_s": times.take(pa.array(rows)), "value": values[known],
        "unit": texts(counter.unit for counter, _ in metrics),
    }  # fmt: skip


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line with quotes; none when it is no such line."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _seconds(stamp: str) -> float | None:
    """Seconds since 1970 of ``04/28/2023 05:55:48.490`` in the zone it was written in; None when it is no stamp."""
    match = _STAMP.fullmatch(stamp)
    if match is None:
        return None
    month, day, year, hour, minute, second = (int(match[i]) for i in range(1, 7))
    try:
        found = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return (found - _ORIGIN).total_seconds() + float(f"0.{match[7] or 0}")
