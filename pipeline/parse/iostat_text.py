r"""sysstat iostat, text: ``iostat [-x] [-t] [-y] … INTERVAL [COUNT] > FILE``.

Grammar
    ``Linux RELEASE (HOST) \tDATE \t_ARCH_\t(N CPU)``, then samples: a stamp (with ``-t``: ``11/20/26 23:11:06``,
    with AM/PM, ISO with zone, ``Time: 13:47:05``), ``avg-cpu:  %user …`` with its values below, and a table of devices
    whose header names the columns. Columns are read by name: ``r/s``, ``rkB/s`` / ``rMB/s`` / ``rGB/s`` / ``rsec/s``
    (512 B), ``r_await`` (ms), ``avgqu-sz`` / ``aqu-sz``, ``%util``; without -x ``tps``, ``kB_read/s``, ``Blk_read/s`` …
Versions
    9.0 to 12.7: ``Device:`` and ``Device``, ``svctm``, ``d/s``, ``f/s``; -c, -d, -h, --human, --pretty, --compact, -k,
    -m, -s, -p, -N, -j, -g, -z, --dec=0; a comma as decimal sign.
Traps
    * kB is 1024 B; human readable cells (``7.8k``) are bytes, whatever the header says.
    * The first sample is the mean since boot unless -y was given, and only sysstat 12.0 to 12.7.6 tells: with -y they
      print two empty lines below the header. Else its window is null and first_report_may_be_since_boot warns.
    * ``-h -x`` prints the devices in four parts with the name last; names may hold spaces (-j LABEL); with -h before
      version 11.6 the name stands on its own line; names of groups (-g) begin with a space and sum their devices.
    * An await of 0.00 where there was no request is no latency: null.
    * A flush is counted in w/s and again in f/s; both are left as printed.
    * Nothing marks the end: a text that was cut right behind the empty line below a sample cannot be told from a whole
      one. Any other cut is found: a part of a line, no empty line below the devices, fewer columns or no devices.
Sample
    tests/parse/iostat_text/two_blank_lines_mean_y/
Gives
    cpu_usage (cpu ``all``; user_ratio = %user + %nice, busy_ratio = 1 - idle - iowait), device_series, and what has no
    column there in metric_series with the label device. time_s counts from the first stamp, or from one interval
    before it where -y is known; window_s is the distance of the stamps; both are null without -t. Every ``Linux`` line
    begins a report of its own. started_at only from stamps with a zone.
"""

from __future__ import annotations

import re

from pipeline.parse._iostat_columns import COLUMNS, is_number
from pipeline.parse._iostat_samples import Sample, add_samples, read_stamp, warn_of_groups, warn_since_boot
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "iostat's `avg-cpu:  %user …` or `Device  r/s …`"
_BANNER = re.compile(r"Linux (\S+) \((.*?)\)\s+(\S+)(?:\s+_?(\w+?)_?\s+\((\d+) CPU\))?")
_CPU_NAMES = {"%user", "%nice", "%system", "%sys", "%iowait", "%steal", "%idle"}


def recognise(head: str) -> bool:
    """Whether a line is one of iostat's two headers; sar, mpstat and vmstat have neither."""
    return any(_table_columns(line) or _cpu_columns(line) for line in head.split("\n"))


def parse(source: Source) -> list[Report]:
    """Return a report for each run of iostat in the file; ParseError when there is no sample."""
    runs = [_Run(None)]
    lines = source.lines
    for number, line in enumerate(lines, 1):
        if _BANNER.match(line.strip()):
            noise = {} if runs[-1].banner or runs[-1].samples else runs[-1].unread  # before the first banner
            runs.append(_Run(line.strip(), noise))
        if number < len(lines):
            runs[-1].read(number, line)
        elif line.strip():  # no line feed: the file may end anywhere in this line
            runs[-1].read(number, line, is_cut=True)
    runs = [run for run in runs if run.banner or run.samples]
    if not any(run.samples for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    reports = [run.report(source) for run in runs]
    first = next((run for run in runs if run.samples and not run.omits_since_boot), None)
    if first is not None:
        warn_since_boot(reports[runs.index(first)], first.samples[0].line)
    return reports


def _cpu_columns(line: str) -> list[str]:
    words = line.split()
    return words[1:] if len(words) > 2 and words[0] == "avg-cpu:" and words[1] in _CPU_NAMES else []


def _table_columns(line: str) -> list[str]:
    """Columns of a devices' header with ``Device`` first or last; empty when the line is none."""
    words = line.split()
    if len(words) < 3 or not {words[0], words[-1]} & {"Device", "Device:"}:
        return []
    columns = words[1:] if words[0].startswith("Device") else words[:-1]
    return words if all(name in COLUMNS for name in columns[:2]) else []


class _Run:
    """The samples of one run of iostat, read line by line."""

    def __init__(self, banner: str | None, unread: dict[str, list[int]] | None = None) -> None:
        self.banner = banner
        self.samples: list[Sample] = []
        self.omits_since_boot = False
        self.header: list[str] = []  # of the table that the next lines belong to; cpu: its names
        self.in_cpu = False
        self.n_blank = 0  # empty lines just before
        self.name = ""  # a device's name on a line of its own
        self.stamp: tuple[int, str] | None = None
        self.cut: int | None = None  # the line in which the file ends
        self.groups: set[str] = set()
        self.unread = unread or {}  # lines by the code of their warning

    def read(self, number: int, line: str, *, is_cut: bool = False) -> None:
        """Read one line; ``is_cut``: the file ends in it without a line feed."""
        text = line.strip()
        if not text:
            self.n_blank += 1
            return
        if self.n_blank and not self.in_cpu:
            self.header = []
        is_row = bool(self.header) and self._read_row(line, is_cut=is_cut)
        if is_cut and not is_row:
            self.cut = number
        elif text != self.banner and not is_row:
            self._read_other(number, text)
        self.n_blank = 0

    def _read_other(self, number: int, text: str) -> None:
        """Read a header or a stamp; anything else may be a device's name above its values."""
        if self.name:
            self.unread.setdefault("unknown_line", []).append(number - 1)
        self.name = ""
        if columns := _cpu_columns(text):
            self.header, self.in_cpu = columns, True
            if not self.samples or self.samples[-1].cpu is not None or self.samples[-1].devices or self.stamp:
                self._begin(number)
        elif columns := _table_columns(text):
            self._begin_table(number, columns)
        elif len(text) < 60 and read_stamp(text) is not None:
            if self.stamp is not None:
                self.unread.setdefault("stamp_without_sample", []).append(number)
            self.stamp, self.header = (number, text), []
            self._note_blanks()
        elif self.header and not self.in_cpu and not any(map(is_number, text.split())):
            self.name = text
        else:
            self.unread.setdefault("unknown_line", []).append(number)

    def _note_blanks(self) -> None:
        """Two empty lines between the banner and the first sample: sysstat 12 leaves one for the report it skips."""
        if not self.samples and self.banner:
            self.omits_since_boot = self.omits_since_boot or self.n_blank == 2

    def _begin(self, number: int) -> None:
        self._note_blanks()
        line, stamp = self.stamp or (number, None)
        self.samples.append(Sample(line, stamp))
        self.stamp = None

    def _begin_table(self, number: int, header: list[str]) -> None:
        columns = [name for name in header if not name.startswith("Device")]
        if not self.samples or self.stamp or set(columns) & set(self.samples[-1].columns):
            self._begin(number)
        self.samples[-1].columns += columns
        self.header, self.in_cpu = header, False
        for name in columns:
            if name not in COLUMNS:
                self.unread.setdefault("unknown_column", []).append(number)

    def _read_row(self, line: str, *, is_cut: bool) -> bool:
        """Read a line of values; False when it is none, or perhaps not all of one."""
        if not self.in_cpu:
            return self._read_device(line, is_cut=is_cut)
        cells = line.split()
        if len(cells) != len(self.header) or not all(map(is_number, cells)):
            return False
        if is_cut and not _is_whole(cells[-1], cells[0]):
            return False
        self.samples[-1].cpu = dict(zip(self.header, cells, strict=True))
        self.header, self.in_cpu = [], False
        return True

    def _read_device(self, line: str, *, is_cut: bool) -> bool:
        sample, columns = self.samples[-1], [name for name in self.header if not name.startswith("Device")]
        is_last = self.header[-1].startswith("Device")
        text, n = line.strip(), len(columns)
        parts = text.split(None, n) if is_last else text.rsplit(None, n)
        if len(parts) == n and self.name:
            parts = [self.name, *parts]
            self.name = ""
        cells, name = (parts[:-1], parts[-1]) if is_last else (parts[1:], parts[0])
        if len(parts) != n + 1 or not all(map(is_number, cells)):
            return False
        if is_cut and (is_last or not _is_whole(cells[-1], self._cell_above(columns[-1]))):
            return False
        if line.startswith(" ") and not is_last and text.startswith(name):
            self.groups.add(name)
        values: dict[str, object] = dict(zip(columns, cells, strict=True))
        row = None
        if len(sample.columns) > n:  # a table in parts: the same devices again, with other columns
            row = next((row for other, row in sample.devices if other == name and columns[0] not in row), None)
        if row is not None:
            row.update(values)
        else:
            sample.devices.append((name, values))
        return True

    def _cell_above(self, column: str) -> str:
        rows = (row for sample in reversed(self.samples) for _, row in sample.devices if column in row)
        return str(next(rows, {}).get(column, ""))

    def report(self, source: Source) -> Report:
        """The report of this run, with what is missing at its end."""
        report = Report("iostat", source)
        if self.banner and (match := _BANNER.match(self.banner)):
            for name, value in zip(("release", "nodename", "date", "machine", "number-of-cpus"), match.groups(),
                                   strict=True):  # fmt: skip
                if value is not None:
                    report.parameter(name, value)
        for code, numbers in self.unread.items():
            report.warn(numbers[0], code, f"expected iostat's lines, found {len(numbers)} others, the first here")
        warn_of_groups(report, self.groups)
        missing = self._missing()
        if missing:
            report.incomplete(
                self.cut or len(source.lines), "truncated", f"expected {missing}, found the end of the run"
            )
        add_samples(report, self.samples, omits_since_boot=self.omits_since_boot)
        return report

    def _missing(self) -> str | None:
        """What a cut run lacks; None when it may be whole."""
        if not self.samples:
            return "a sample"
        last, before = self.samples[-1], self.samples[-2] if len(self.samples) > 1 else None
        if self.cut is not None:
            return "a whole line"
        if self.stamp is not None or (last.cpu is None and not last.columns):
            return "a sample below its stamp"
        if before is not None and (
            set(last.columns) != set(before.columns) or (last.cpu is None) != (before.cpu is None)
        ):
            return "as many columns as in the sample before"
        if "r/s" in last.columns and not {"%util", "aqu-sz", "avgqu-sz"} & set(last.columns):
            return "all parts of the devices' table"
        is_closed = self.n_blank >= (1 if last.columns else 2)
        same = before is not None and [name for name, _ in last.devices] == [name for name, _ in before.devices]
        return None if is_closed or same else "an empty line below the last sample"


def _is_whole(cell: str, other: str) -> bool:
    """Whether a number at the very end of the file has all its decimals, by another of its column."""
    if cell.endswith("%"):
        return True
    decimals, expected = (len(re.split("[.,]", text)[-1]) if re.search("[.,]", text) else 0 for text in (cell, other))
    return decimals == expected > 0
