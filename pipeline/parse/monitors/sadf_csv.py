r"""sysstat sadf, for a database: ``sadf -d [-h] FILE -- -A > FILE.csv``.

Grammar
    ``# hostname;interval;timestamp;COLUMN;…`` before each activity, then ``vm;1;2026-11-20 23:07:35 UTC;…``: the host,
    the interval in s, the end of the interval (UTC, or another zone with -t and -T, or seconds of the epoch with -U),
    and sar's columns. ``host;-1;STAMP;LINUX-RESTART  (9 CPU)`` and ``host;-1;STAMP;COM text`` in between. With -h all
    activities stand in one line, and what has several items is repeated: ``CPU;%user;…;%idle[...]``.
Versions
    8 to 12.7.
Traps
    * ``all`` processors are -1. Interrupts have a column for each processor (``INTR;CPU*``), but not which ones: those
      of the table of processors at that time, if they are as many, else they are numbered (``column 1``).
    * The values of USB devices stand in another order than their header says.
    * kB is 1024 B, a sector and a block is 512 B. The interval is 0 where sar was not told one.
    * An await of 0.00 where there was no request is no latency: null.
Sample
    tests/parse/sadf_csv/all_activities/
Gives
    As sar_text: cpu_usage, device_series, metric_series. time_s counts from the first row's stamp less its interval,
    window_s is the interval. started_at where the stamps are of UTC. A report for each host.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_dated import Dated, When, seconds_of
from pipeline.parse.monitors._sysstat_layout import layout_of
from pipeline.parse.monitors._sysstat_lines import lines_of

EXPECTED = "sadf's `# hostname;interval;timestamp;CPU;%user;…`"
FORM = "sadf -d"
VERSIONS = "sysstat 8 – 12.7"
NOT_READ = "-h with several activities that have several items each"
UNSEEN_CUTS = "nothing marks the end"
_HEADER = "# hostname;interval;timestamp"
_MORE = "[...]"
_USB = ("BUS", "idvendor", "idprod", "maxpower", "manufact", "product")  # the values' order is not the header's
_CPUS_IN_MEMORY = 1 << 17


def recognise(head: str) -> bool:
    """Whether a line is sadf's header, or the first one is of a restart."""
    lines = head.split("\n")
    return any(line.startswith(_HEADER) for line in lines) or _is_restart(lines[0])


def _is_restart(line: str) -> bool:
    cells = line.split(";", 3)
    return len(cells) == 4 and cells[1] == "-1" and cells[3].startswith("LINUX-RESTART") and bool(seconds_of(cells[2]))


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no row."""
    reader = _Reader(source)
    for number, line, is_cut in lines_of(source):
        if is_cut:
            reader.cut = number
        elif line.startswith("#"):
            reader.read_header(number, line)
        elif line.strip():
            reader.read_row(number, line)
    return reader.reports()


class _Reader:
    """The rows of all hosts, read line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.cut: int | None = None
        self._hosts: dict[str, Dated] = {}
        self._groups: list[tuple[tuple[str, ...], bool]] = []  # the header's activities; True: repeated
        self._header: tuple[str, ...] = ()
        self._cpus: dict[str, tuple[str, ...]] = {}  # by stamp: those of the table of processors
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal ones are kept once
        self._host = ""
        self._dated: Dated | None = None

    def read_header(self, number: int, line: str) -> None:
        """Read the line that names the columns."""
        self._groups = []
        if not line.startswith(_HEADER):
            self._note("unknown_line", number)
            return
        group: list[str] = []
        for name in line.split(";")[3:]:
            group.append(name.removesuffix(_MORE))
            if name.endswith(_MORE):
                self._groups.append((tuple(group), True))
                group = []
        if group:
            self._groups.append((tuple(group), False))
        self._groups = [(_USB if set(names) == set(_USB) else names, more) for names, more in self._groups]
        self._header = self._groups[0][0] if len(self._groups) == 1 and not self._groups[0][1] else ()
        if sum(is_repeated for _, is_repeated in self._groups) > 1:
            self._note("several_repeated_activities", number)
            self._groups = []

    def _note(self, code: str, number: int) -> None:
        dated = self._dated or self._begin("")
        dated.note(code, number)

    def _begin(self, host: str) -> Dated:
        if host and "" in self._hosts:
            self._hosts[host] = self._hosts.pop("")
            self._hosts[host].report.parameter("nodename", host)
        self._host = host
        if host not in self._hosts:
            self._hosts[host] = Dated("sar", self.source, host or None)
        self._dated = self._hosts[host]
        return self._dated

    def read_row(self, number: int, line: str) -> None:
        """Read a row of the last header."""
        cells = line.split(";")
        if len(cells) < 4:
            self._note("unknown_line", number)
            return
        dated = self._dated if cells[0] == self._host and self._dated else self._begin(cells[0])
        if cells[1] == "-1" and dated.special(cells[2], ";".join(cells[3:])):
            return
        when = dated.when(cells[2], cells[1])
        if when is None or not (self._groups or self._header):
            dated.note("unknown_line", number)
        elif self._header and len(cells) == len(self._header) + 3:
            self._add(number, dated, self._header, cells[3:], when)
            if self._header[0] == "CPU" and self._header[1].startswith("%") and len(self._cpus) < _CPUS_IN_MEMORY:
                cpus = (*self._cpus.get(cells[2], ()), cells[3])
                self._cpus[cells[2]] = self._lists.setdefault(cpus, cpus)
        else:
            self._read_items(number, dated, cells[2], cells[3:], when)

    def _read_items(self, number: int, dated: Dated, stamp: str, cells: list[str], when: When) -> None:
        """Read a row whose activities are repeated, or whose columns are those of processors."""
        if len(self._groups) == 1 and self._groups[0][0] == ("INTR", "CPU*") and not self._groups[0][1]:
            self._add(number, dated, ("INTR", *self._processors(stamp, len(cells) - 1)), cells, when)
            return
        n_fixed = sum(len(names) for names, is_repeated in self._groups if not is_repeated)
        for names, is_repeated in self._groups:
            n_items = (len(cells) - n_fixed) // len(names) if is_repeated else 1
            n_fixed -= 0 if is_repeated else len(names)
            if len(cells) < n_items * len(names) + n_fixed:
                break
            for _ in range(n_items):
                self._add(number, dated, names, cells[: len(names)], when)
                cells = cells[len(names) :]
        if cells:
            dated.note("wrong_number_of_cells", number)

    def _processors(self, stamp: str, n: int) -> list[str]:
        """What stands above the columns of interrupts: the processors at that time, if they are as many."""
        cpus = self._cpus.get(stamp, ())
        if len(cpus) == n:
            return ["all" if cpu == "-1" else f"CPU{cpu}" for cpu in cpus]
        return [f"CPUcolumn {i}" for i in range(1, n + 1)]

    def _add(self, number: int, dated: Dated, header: tuple[str, ...], cells: list[str], when: When) -> None:
        sheet = dated.sheet(header)
        if sheet is None:
            if layout_of(header) is None:
                dated.note("unknown_activity", number)
            return
        dated.add(sheet, cells, when)

    def reports(self) -> list[Report]:
        """The reports of all hosts."""
        hosts = list(self._hosts.values())
        if not any(dated.n_rows for dated in hosts):
            raise self.source.error(1, EXPECTED, self.source.head or "an empty file")
        for dated in hosts:
            dated.finish(self.cut if dated is self._dated else None)
        return [dated.report for dated in hosts]
