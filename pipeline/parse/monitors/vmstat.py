r"""procps vmstat: ``vmstat [-a] [-w] [-t] 1 > FILE``, ``vmstat -d``, ``-p PARTITION``, ``-s``, ``-D``, ``-m``.

Grammar
    ``procs ---memory--- …``, a line of columns (``r b swpd free buff cache si so bi bo in cs us sy id wa st``), and a
    row each interval; both lines come again on each screen. -a: ``inact active`` for ``buff cache``; -t: a time stamp
    at the end of each row, whose zone stands in the line of columns. -d: a row each device with counters since boot
    (``total merged sectors ms`` of reads and of writes, ``cur sec``); -p: those of one partition; -s and -D: a figure a
    line with its name behind it; -m: slabs.
Versions
    procps 2.0 to 4.0: with and without ``w``, ``wa``, ``st``, ``gu``.
Traps
    * The first row is the mean since boot, unless -y was given, and nothing tells: its window is null, and
      first_report_may_be_since_boot warns. Memory and processes are those of the moment also there.
    * Memory, si and so are in the unit of -S, which is not printed: they are taken as KiB, vmstat's default. bi and bo
      are blocks of 1024 B.
    * ``us`` has nice in it; ``sy`` interrupts. ``gu`` is a part of ``us`` or not, as the sum of the row tells.
    * A sector is 512 B.
Sample
    tests/parse/vmstat/time_stamps_wide/
Gives
    cpu_usage (cpu ``all``; busy_ratio = 1 - idle - iowait) and metric_series: procs_r, procs_b, memory_free_bytes,
    swap_si_bytes_per_s, io_bi_bytes_per_s, system_in_per_s, system_cs_per_s …; -d: disk_reads, disk_read_bytes,
    disk_read_s … (counters, label device); -s and -D: the names as printed. time_s counts from the first stamp, null
    without -t. started_at where the zone is UTC.
"""

from __future__ import annotations

import re

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_dated import moment, seconds_of
from pipeline.parse.monitors._sysstat_layout import Field, Layout
from pipeline.parse.monitors._sysstat_lines import lines_of
from pipeline.parse.monitors._sysstat_sheet import Sheet
from pipeline.parse.monitors._vmstat_columns import (
    CPU,
    DISK,
    DISK_METRICS,
    METRICS,
    PARTITION_METRICS,
    SLAB_METRICS,
    Metric,
    with_guest,
)

EXPECTED = "vmstat's `r  b   swpd   free …`, `total merged sectors`, or `K total memory`"
FORM = "text; -a -w -t -d -p -s -D -m"
VERSIONS = "procps 2.0 – 4.0"
NOT_READ = "-f; which unit -S chose (KiB is assumed)"
UNSEEN_CUTS = "behind a row: nothing marks the end"
_PARTITION = re.compile(r"\s*(\S+)\s+reads\s+read sectors\s+writes\s+requested writes\s*$")
_FIGURE = re.compile(r"\s*(\d{1,20}) (?:([kKmM]) )?([a-zA-Z][\w ()/-]{2,40}?)\s*$")
_BYTES = {"k": 1e3, "K": float(units.KIBI), "m": units.MEGA, "M": float(units.MEBI)}
_STAMP = re.compile(r"\s(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\s*$")


def recognise(head: str) -> bool:
    """Whether a line is one of vmstat's lines of columns, or its first figures of -s or -D."""
    lines = head.split("\n")
    if any(_mode_of(line.split()) or _PARTITION.match(line) for line in lines):
        return True
    names = [match[3] for match in map(_FIGURE.match, lines[:8]) if match]
    return names[:2] in (["total memory", "used memory"], ["disks", "partitions"], ["disks", "total reads"])


def _mode_of(words: list[str]) -> str:
    """What a line of columns stands above: ``rows``, ``disk``, ``slab``; empty when it is none."""
    if words[:2] == ["r", "b"] and "swpd" in words[2:4] and "free" in words:
        return "rows"
    if words[:8] == [*DISK, *DISK]:
        return "disk"
    return "slab" if words == ["Cache", "Num", "Total", "Size", "Pages"] else ""


def parse(source: Source) -> list[Report]:
    """Return the report of the file; ParseError when there is no row."""
    run = _Run(source)
    for number, line, is_cut in lines_of(source):
        if is_cut and line.strip():
            run.cut = number
        else:
            run.read(number, line)
    if not run.n_rows:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    run.finish()
    return [run.report]


class _Run:
    """The rows of a file, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("vmstat", source)
        self.cut: int | None = None
        self.n_rows = 0
        self._mode = ""
        self._columns: list[str] = []
        self._zone = ""
        self._cpu: list[int] = []  # positions of the processors' columns
        self._sheets: dict[str, Sheet] = {}
        self._unread: list[int] = []  # first line and number of lines
        self._unknown: set[str] = set()
        self._first: int | None = None
        self._n_with_interval = 0
        self._origin: float | None = None
        self._last: float | None = None
        self._n_falls = 0
        self._device = ""
        self._seen: set[str] = set()  # devices of -d
        self._figures = self._last_figure = ""  # the first and the last name of -s or -D

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        cells = line.split()
        if not cells:
            return
        if self._mode == "rows" and self._read_row(number, cells):
            return
        if mode := _mode_of(cells):
            self._begin(mode, cells)
        elif match := _PARTITION.match(line):
            self._mode, self._device = "partition", match[1]
        elif "procs" in cells[0] or cells[0].startswith("disk-"):
            pass  # the line above the columns
        elif not self._read_counters(line, cells) and not self._read_figure(line):
            self._unread = [self._unread[0], self._unread[1] + 1] if self._unread else [number, 1]

    def _begin(self, mode: str, cells: list[str]) -> None:
        self._mode = mode
        if mode != "rows":
            return
        known = [name for name in cells if name in METRICS or name in CPU]
        rest = cells[len(known) :]
        if cells[: len(known)] != known:
            self._unknown |= set(cells) - set(known)
            self._mode = ""
            return
        if self._columns and self._columns != known:  # another vmstat, appended
            self._flush()
        self._columns, self._zone = known, " ".join(rest)
        self._cpu = [known.index(name) for name in CPU if name in known]

    def _read_row(self, number: int, cells: list[str]) -> bool:
        """Read a row of processes, memory and processors; False when it is none."""
        columns = self._columns
        n = len(columns)
        if len(cells) < n or not cells[0].isdecimal() or not all(map(str.isdecimal, cells[:n])):
            return False
        stamp = " ".join(cells[n : n + 2])
        if len(cells) not in (n, n + 2, n + 3):
            return False
        self._first = self._first or number
        when = self._when(stamp, self.n_rows == 0) if stamp else (None, None)
        if "rows" not in self._sheets:
            fields = [Field(i, *_field(METRICS[name])) for i, name in enumerate(columns) if name in METRICS]
            self._sheets["rows"] = self._sheet("vmstat", n, (), fields)
            names = ["CPU", *(CPU[columns[i]] for i in self._cpu)]
            shares = [Field(i, name, units.PERCENT) for i, name in enumerate(names) if i]
            self._sheets["cpu"] = Sheet(self.report, Layout("cpu", "cpu", tuple(names), (("cpu", 0),), tuple(shares)))
        self._sheets["rows"].add(cells[:n], *when)
        shares_of_row = [cells[i] for i in self._cpu]
        if "gu" in columns and cells[columns.index("gu")] != "0":
            shares_of_row = with_guest([columns[i] for i in self._cpu], shares_of_row)
        self._sheets["cpu"].add(["all", *shares_of_row], *when)
        self.n_rows += 1
        return True

    def _sheet(self, family: str, n: int, keys: tuple[tuple[str, int], ...], fields: list[Field]) -> Sheet:
        return Sheet(self.report, Layout("metric", family, ("",) * n, keys, tuple(fields)))

    def _when(self, stamp: str, is_first: bool) -> tuple[float | None, float | None]:
        """(time_s, window_s) of a row: the distance to the row before."""
        found = seconds_of(stamp)
        if found is None:
            return None, None
        if self._origin is None:
            self._origin = found[0]
            if self._zone in ("UTC", "GMT"):
                self.report.describe(started_at=moment(found[0]))
        time_s = found[0] - self._origin
        window = time_s - self._last if self._last is not None and not is_first else 0.0
        self._n_falls += window < 0
        self._last = time_s
        return (time_s if time_s >= 0 else None), (window if window > 0 else None)

    def _read_counters(self, line: str, cells: list[str]) -> bool:
        """Read a row of -d, -p or -m; False when it is none."""
        stamp = _STAMP.search(line)
        if self._mode == "partition" and len(cells) == 4 and all(map(str.isdecimal, cells)):
            self._add("partition", [self._device, *cells], "device", PARTITION_METRICS, (None, None))
            return True
        if self._mode not in ("disk", "slab"):
            return False
        metrics, label = (DISK_METRICS, "device") if self._mode == "disk" else (SLAB_METRICS, "slab")
        text = line[: stamp.start()] if stamp else line
        parts = text.strip().rsplit(None, len(metrics))
        if len(parts) != len(metrics) + 1 or not all(map(str.isdecimal, parts[1:])):
            return False
        time_s = self._when(stamp[1], False)[0] if stamp else None
        if self._mode == "disk" and len(self._seen) < 1 << 16:
            self._n_with_interval += not stamp and parts[0] in self._seen
            self._seen.add(parts[0])
        self._add(self._mode, parts, label, metrics, (time_s, None))
        return True

    def _add(self, name: str, cells: list[str], label: str, metrics: tuple[Metric, ...],
             when: tuple[float | None, float | None]) -> None:  # fmt: skip
        if name not in self._sheets:
            fields = [Field(i, *_field(one)) for i, one in enumerate(metrics, 1)]
            self._sheets[name] = self._sheet(name, len(cells), ((label, 0),), fields)
        self._sheets[name].add(cells, *when)
        self.n_rows += 1

    def _read_figure(self, line: str) -> bool:
        """Read a line of -s or -D: a figure, perhaps ``K``, and its name."""
        match = _FIGURE.match(line)
        if match is None or self._mode not in ("", "figures"):
            return False
        self._figures = self._figures or match[3]
        self._mode, self._last_figure = "figures", match[3]
        name = re.sub(r"\W+", "_", match[3]).strip("_").lower()
        factor = _BYTES.get(match[2] or "", 1.0)
        unit = "B" if match[2] else "s" if name == "boot_time" else "tick" if name.endswith("ticks") else "1"
        value = float(match[1]) * factor
        self.report.add("metric_series", metric=f"{name}_bytes" if match[2] else name, value=value, unit=unit)
        self.n_rows += 1
        return True

    def _flush(self) -> None:
        for sheet in self._sheets.values():
            sheet.flush()
        self._sheets.clear()

    def finish(self) -> None:
        """Write what is left, with the warnings."""
        has_rows = "rows" in self._sheets
        self._flush()
        report = self.report
        if has_rows:
            report.parameter("unit of memory", "KiB, assumed: vmstat does not print the unit of -S")
        if self._last is not None and self._last > 0:
            report.describe(duration_s=self._last)
        if self._unread:
            message = f"expected vmstat's lines, found {self._unread[1]} others, the first here"
            report.warn(self._unread[0], "unknown_line", message)
        if self._unknown:
            names = ", ".join(sorted(self._unknown)[:20])
            report.warn(None, "unknown_column", f"expected vmstat's columns, found {names}: these rows are not read")
        if (self._first is not None and self._last is None and self.n_rows > 1) or self._n_with_interval:
            report.warn(None, "no_time_stamps", "expected time stamps (vmstat -t), found none: time_s is left null")
        if self._n_falls:
            message = f"expected rising time stamps, found {self._n_falls} falls: no window there"
            report.warn(None, "clock_went_back", message)
        if self._first is not None:
            message = "expected a sign of vmstat -y, found none: the first row may be the mean since boot"
            report.warn(self._first, "first_report_may_be_since_boot", message)
        if self._figures == "total memory" and self._last_figure != "forks" and self.cut is None:
            report.incomplete(None, "truncated", "expected the number of forks, found the end of the file")
        if self.cut is not None:
            report.incomplete(self.cut, "truncated", "expected a whole line, found the end of the file")


def _field(metric: Metric) -> tuple[str, float, str]:
    """Name, factor and unit, in the order of ``Field``."""
    name, unit, factor = metric
    return name, factor, unit
