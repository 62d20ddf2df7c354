r"""sysstat sadf, a figure a line: ``sadf -p FILE -- -A > FILE.txt`` (also without any option, as sadf's default is).

Grammar
    ``vm\t1\t2026-11-20 23:07:35 UTC\tall\t%usr\t53.23``: the host, the interval in s, the end of the interval, the item
    (``-`` for none, ``cpu0``, ``vda``), sar's column and its value. ``host\t-1\tSTAMP\tLINUX-RESTART\t(9 CPU)`` and
    ``host\t-1\tSTAMP\tCOM text`` in between.
Versions
    8 to 12.7.
Traps
    * Lines of one item and stamp make up one row; the activity is known by its columns alone: ``tps`` without an item
      is that of all devices.
    * kB is 1024 B, a sector and a block is 512 B.
    * An await of 0.00 where there was no request is no latency: null.
Sample
    tests/parse/sadf_text/some_activities/
Gives
    As sadf_csv: cpu_usage, device_series, metric_series; a report for each host.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_dated import Dated, seconds_of
from pipeline.parse.monitors._sysstat_groups import GROUPS, KEYS
from pipeline.parse.monitors._sysstat_lines import lines_of

EXPECTED = "sadf -p's `host<tab>interval<tab>stamp<tab>item<tab>column<tab>value`"
FORM = "sadf -p"
VERSIONS = "sysstat 8 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = "nothing marks the end"
_KEY_OF = {
    "cpu": "CPU", "device": "DEV", "net": "IFACE", "net_errors": "IFACE", "tty": "TTY", "filesystem": "FILESYSTEM",
    "fc_host": "FCHOST", "cpu_frequency": "CPU", "softnet": "CPU", "fan": "FAN", "temperature": "TEMP",
    "voltage": "IN", "usb": "BUS", "battery": "BAT", "interrupt": "INTR",
}  # fmt: skip
_PREFIXES = {"TTY": "ttyS", "BAT": "BAT", "BUS": "bus", "FAN": "fan", "TEMP": "temp", "IN": "in"}  # of items
_GROUPS_OF: dict[str, set[str]] = {}
for _group, _columns in {**GROUPS, "interrupt": ["intr/s", "all"]}.items():
    for _column in _columns:
        _GROUPS_OF.setdefault(_column, set()).add(_group)
_ANY = frozenset({*GROUPS, "interrupt"})


def recognise(head: str) -> bool:
    """Whether one of the first lines is sadf's."""
    return any(_is_sadf(line) for line in head.split("\n")[:50])


def _is_sadf(line: str) -> bool:
    cells = line.split("\t")
    if len(cells) < 4 or not cells[1].lstrip("-").isdecimal() or seconds_of(cells[2]) is None:
        return False
    return cells[3].startswith(("LINUX-RESTART", "COM ")) or (len(cells) == 6 and bool(_groups_of(cells[4])))


def _groups_of(column: str) -> frozenset[str]:
    """The activities that have the column."""
    if column in KEYS:
        return _ANY
    if column == "kbshared":
        return frozenset({"memory"})
    if column.startswith("cpu") and column[3:].isdecimal():
        return frozenset({"interrupt"})
    return frozenset(_GROUPS_OF.get(column, ()))


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no row."""
    reader = _Reader(source)
    for number, line, is_cut in lines_of(source):
        if is_cut:
            reader.cut = number
        elif line.strip():
            reader.read(number, line)
    return reader.reports()


class _Reader:
    """Figures of all hosts, gathered into rows."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.cut: int | None = None
        self._number = 0  # of the line that was read last
        self._hosts: dict[str, Dated] = {}
        self._dated: Dated | None = None
        self._start = "\n"  # what the lines of the row begin with
        self._columns: list[str] = []
        self._values: list[str] = []
        self._groups: frozenset[str] = _ANY

    def read(self, number: int, line: str) -> None:
        """Read one line."""
        self._number = number
        start, _, rest = line.rpartition("\t")
        start, _, column = start.rpartition("\t")
        if start != self._start or column in self._columns:
            self._end_row(number)
            if not self._begin_row(number, line, start):
                return
        groups = self._groups & _groups_of(column)
        if not groups and self._columns:  # the next activity at the same time
            self._end_row(number)
            self._start, groups = start, _groups_of(column)
        self._groups = groups
        self._columns.append(column if column != "kbshared" else "kbshmem")
        self._values.append(rest)

    def _begin_row(self, number: int, line: str, start: str) -> bool:
        """Whether the line is of a row; a restart or a comment is not."""
        cells = line.split("\t")
        host = cells[0] if len(cells) > 3 and seconds_of(cells[2]) is not None else None
        if host is not None:
            if host not in self._hosts:
                self._hosts[host] = Dated("sar", self.source, host)
            self._dated = self._hosts[host]
            if cells[1] == "-1" and self._dated.special(cells[2], "\t".join(cells[3:])):
                return False
        if host is None or len(cells) < 6:
            if self._dated is not None:
                self._dated.note("unknown_line", number)
            return False
        self._start = start
        return True

    def _end_row(self, number: int) -> None:
        """Hand the gathered figures on as one row."""
        columns, values, dated = self._columns, self._values, self._dated
        _, interval, stamp, item = self._start.split("\t", 3) if columns else ("", "", "", "")
        groups = self._groups - ({"device"} if item == "-" else {"io"})
        self._columns, self._values, self._groups, self._start = [], [], _ANY, "\n"
        if not columns or dated is None:
            return
        key = next((_KEY_OF[group] for group in sorted(groups) if group in _KEY_OF), None)
        names = [f"CPU{name[3:]}" if key == "INTR" and name.startswith("cpu") else name for name in columns]
        item = item.removeprefix(_PREFIXES.get(key or "", ""))
        has_item = key is not None and item != "-"
        header = (key, *names) if has_item and key else tuple(names)
        sheet, when = dated.sheet(header), dated.when(stamp, interval)
        if sheet is None or when is None or (not groups and item != "-"):
            dated.note("unknown_activity", number - len(columns))
            return
        dated.add(sheet, [item, *values] if has_item else values, when)

    def reports(self) -> list[Report]:
        """The reports of all hosts."""
        self._end_row(self._number + 1)
        hosts = list(self._hosts.values())
        if not any(dated.n_rows for dated in hosts):
            raise self.source.error(1, EXPECTED, self.source.head or "an empty file")
        for dated in hosts:
            dated.finish(self.cut if dated is self._dated else None)
        return [dated.report for dated in hosts]
