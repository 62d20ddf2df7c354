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
      one. Any other cut is found: a line without its end (it is not read), no empty line below the devices, fewer
      columns or no devices.
Sample
    tests/parse/iostat_text/two_blank_lines_mean_y/
Gives
    cpu_usage (cpu ``all``; user_ratio = %user + %nice, nice_ratio = %nice, busy_ratio = 1 - idle - iowait),
    device_series, and what has no column there in metric_series with the label device. time_s counts from the first
    stamp, or from one interval before it where -y is known; window_s is the distance of the stamps; both are null
    without -t. Every ``Linux`` line begins a report of its own. started_at only from stamps with a zone.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._iostat_columns import COLUMNS, are_numbers, is_number
from pipeline.parse.monitors._iostat_samples import Cells, Sample, Writer, read_stamp, warn_of_groups, warn_since_boot
from pipeline.parse.monitors._sysstat_lines import lines_of

EXPECTED = "iostat's `avg-cpu:  %user …` or `Device  r/s …`"
FORM = "text"
VERSIONS = "sysstat 9.0 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = "right behind the empty line below a sample: nothing marks the end"
_PROPERTIES = ("release", "nodename", "date", "machine", "number-of-cpus")
_BANNER = re.compile(r"Linux (\S+) \((.*?)\)\s+(\S+)(?:\s+_?(\w+?)_?\s+\((\d+) CPU\))?")
_CPU_NAMES = {"%user", "%nice", "%system", "%sys", "%iowait", "%steal", "%idle"}


def recognise(head: str) -> bool:
    """Whether a line is one of iostat's two headers; sar, mpstat and vmstat have neither."""
    return any(_table_columns(line) or _cpu_columns(line) for line in head.split("\n"))


def parse(source: Source) -> list[Report]:
    """Return a report for each run of iostat in the file; ParseError when there is no sample."""
    runs = [_Run(source, None)]
    number = 0
    for number, line, is_cut in lines_of(source):
        if "Linux " in line[:20] and _BANNER.match(line.strip()):
            noise = {} if runs[-1].is_any else runs[-1].unread  # before the first banner
            runs[-1].end()
            runs = [run for run in runs if run.is_any]
            runs.append(_Run(source, line.strip(), noise))
        if not is_cut:
            runs[-1].read(number, line)
        elif line.strip():  # no line feed: the file may end anywhere in this line
            runs[-1].cut = number
    runs[-1].end()
    runs = [run for run in runs if run.is_any]
    if not any(run.sample for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for run in runs:
        run.finish(number + 1 if source.ends_with_newline else number)
    first = next((run for run in runs if run.sample and not run.omits_since_boot), None)
    if first is not None:
        warn_since_boot(first.report, first.first_line)
    return [run.report for run in runs]


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
    """One run of iostat, read line by line; a sample is written as soon as the next one begins."""

    def __init__(self, source: Source, banner: str | None, unread: dict[str, list[int]] | None = None) -> None:
        self.report = Report("iostat", source)
        self.banner = banner
        self.sample: Sample | None = None  # the one that the lines belong to
        self.before: Sample | None = None
        self.first_line: int | None = None
        self.omits_since_boot = False
        self.header: list[str] = []  # of the table that the next lines belong to; cpu: its names
        self.columns: list[str] = []  # of the devices' table
        self.in_cpu = False
        self.n_blank = 0  # empty lines just before
        self.name = ""  # a device's name on a line of its own
        self.stamp: tuple[int, str] | None = None
        self.cut: int | None = None  # the line in which the file ends
        self.groups: set[str] = set()
        self.unread = unread or {}  # first line and number of lines, by the code of their warning
        self.writer: Writer | None = None
        if banner and (match := _BANNER.match(banner)):
            for name, value in zip(_PROPERTIES, match.groups(), strict=True):
                if value is not None:
                    self.report.parameter(name, value)

    @property
    def is_any(self) -> bool:
        """Whether anything of iostat came yet."""
        return bool(self.banner or self.sample)

    def note(self, code: str, number: int) -> None:
        """Count a line that is not read."""
        found = self.unread.setdefault(code, [number, 0])
        found[1] += 1

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        text = line.strip()
        if not text:
            self.n_blank += 1
            return
        if self.n_blank and not self.in_cpu:
            self.header = []
        is_row = bool(self.header) and self._read_row(line)
        if text != self.banner and not is_row:
            self._read_other(number, text)
        self.n_blank = 0

    def _read_other(self, number: int, text: str) -> None:
        """Read a header or a stamp; anything else may be a device's name above its values."""
        if self.name:
            self.note("unknown_line", number - 1)
        self.name = ""
        if columns := _cpu_columns(text):
            self.header, self.in_cpu = columns, True
            if self.sample is None or self.sample.cpu is not None or self.sample.devices or self.stamp:
                self._begin(number)
        elif columns := _table_columns(text):
            self._begin_table(number, columns)
        elif len(text) < 60 and read_stamp(text) is not None:
            if self.stamp is not None:
                self.note("stamp_without_sample", number)
            self.stamp, self.header = (number, text), []
            self._note_blanks()
        elif self.header and not self.in_cpu and not any(map(is_number, text.split())):
            self.name = text
        else:
            self.note("unknown_line", number)

    def _note_blanks(self) -> None:
        """Two empty lines between the banner and the first sample: sysstat 12 leaves one for the report it skips."""
        if self.sample is None and self.banner:
            self.omits_since_boot = self.omits_since_boot or self.n_blank == 2

    def _begin(self, number: int) -> Sample:
        self._note_blanks()
        self.end()
        line, stamp = self.stamp or (number, None)
        self.before, self.sample = self.sample, Sample(line, stamp)
        if self.before is None:
            self.first_line = line
        self.stamp = None
        return self.sample

    def end(self) -> None:
        """Write the sample that is complete now."""
        if self.sample is not None:
            if self.writer is None:
                self.writer = Writer(self.report, omits_since_boot=self.omits_since_boot)
            self.writer.add(self.sample)

    def _begin_table(self, number: int, header: list[str]) -> None:
        columns = [name for name in header if not name.startswith("Device")]
        sample = self.sample
        if sample is None or self.stamp or set(columns) & set(sample.columns):
            sample = self._begin(number)
        sample.columns += columns
        self.header, self.columns, self.in_cpu = header, columns, False
        for name in columns:
            if name not in COLUMNS:
                self.note("unknown_column", number)

    def _read_row(self, line: str) -> bool:
        """Read a line of values; False when it is none."""
        if not self.in_cpu:
            return self._read_device(line)
        cells = line.split()
        if len(cells) != len(self.header) or not all(map(is_number, cells)):
            return False
        if self.sample is not None:
            self.sample.cpu = dict(zip(self.header, cells, strict=True))
        self.header, self.in_cpu = [], False
        return True

    def _read_device(self, line: str) -> bool:
        sample, columns = self.sample, self.columns
        is_last = self.header[-1].startswith("Device")
        text, n = line.strip(), len(columns)
        parts = text.split(None, n) if is_last else text.rsplit(None, n)
        if len(parts) == n and self.name:
            parts = [self.name, *parts]
            self.name = ""
        if len(parts) != n + 1 or sample is None:
            return False
        name = parts.pop() if is_last else parts.pop(0)
        if not are_numbers(parts):
            return False
        if line[0] == " " and not is_last and text.startswith(name):
            self.groups.add(name)
        values: Cells = dict(zip(columns, parts, strict=True))
        row = None
        if len(sample.columns) > n:  # a table in parts: the same devices again, with other columns
            row = self._first_part(sample, name, columns[0])
        if row is not None:
            row.update(values)
        else:
            sample.devices.append((name, values))
        return True

    def _first_part(self, sample: Sample, name: str, column: str) -> Cells | None:
        """The device's row in the parts before, in which the column is not yet; the devices come in the same order."""
        devices, at = sample.devices, sample.next_part
        for index in (at, *range(len(devices))) if at < len(devices) else range(len(devices)):
            other, row = devices[index]
            if other == name and column not in row:
                sample.next_part = (index + 1) % len(devices)
                return row
        return None

    def finish(self, last: int) -> None:
        """Say what is missing at the end of this run, and write what is left."""
        report = self.report
        for code, (number, count) in self.unread.items():
            report.warn(number, code, f"expected iostat's lines, found {count} others, the first here")
        warn_of_groups(report, self.groups)
        if missing := self._missing():
            report.incomplete(self.cut or last, "truncated", f"expected {missing}, found the end of the run")
        if self.writer is not None:
            self.writer.finish()

    def _missing(self) -> str | None:
        """What a cut run lacks; None when it may be whole."""
        last, before = self.sample, self.before
        if last is None:
            return "a sample"
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
