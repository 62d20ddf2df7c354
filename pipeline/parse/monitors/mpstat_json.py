r"""sysstat mpstat, JSON: ``mpstat -P ALL -o JSON 1 > FILE``.

Grammar
    ``{"sysstat": {"hosts": [{nodename, …, "date", "statistics": [sample …]}]}}``; a sample is ``{"timestamp",
    "cpu-load": [{cpu, usr, …}], "node-load": […], "sum-interrupts": [{cpu, intr}], "individual-interrupts": [{cpu,
    "intr": [{name, value}]}], "soft-interrupts": […]}``.
Versions
    11.6 to 12.7; ``all`` is -1 up to 12.5; several hosts and several documents in a file.
Traps
    * The stamp is the end of the interval, and there is none for its beginning: the first interval is taken to be as
      long as the second; of a single sample it is not known.
    * A killed mpstat leaves the document torn: whole samples are kept. There are no averages.
    * iostat and sadf write the same frame: ``avg-cpu``, ``disk`` and a timestamp that is an object are theirs.
Sample
    tests/parse/mpstat_json/all_processors/
Gives
    As mpstat_text: cpu_usage, metric_series; time_s counts from an interval before the first stamp. A report for
    each host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_clock import Clock, read_stamp
from pipeline.parse.monitors._sysstat_json import Documents, Host, damage_of, has_frame, trailing_text
from pipeline.parse.monitors._sysstat_layout import layout_of
from pipeline.parse.monitors._sysstat_sheet import Sheet
from pipeline.parse.monitors.iostat_json import describe

EXPECTED = 'mpstat\'s {"sysstat": {"hosts": [… "timestamp": "12:53:21", "cpu-load": …'
FORM = "JSON"
VERSIONS = "sysstat 11.6 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = ""
_LOADS = {"cpu-load": "CPU", "node-load": "NODE"}
_TOPOLOGY = {"cpu": "CPU", "core": "CORE", "socket": "SOCK", "node": "NODE"}
_INTERRUPTS = ("individual-interrupts", "soft-interrupts")
_KNOWN = {"timestamp", *_LOADS, "sum-interrupts", *_INTERRUPTS}


def recognise(head: str) -> bool:
    """Whether the head has sysstat's frame, a plain time stamp and a key that only mpstat writes."""
    if not has_frame(head) or '"avg-cpu"' in head or '"file-date"' in head or '"timestamp": {' in head:
        return False
    return any(f'"{key}"' in head for key in _KNOWN - {"timestamp"})


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no sample."""
    documents = Documents(source)
    runs: list[tuple[Host, _Run]] = []
    for host in documents.hosts():
        run = _Run(source, host)
        runs.append((host, run))
        for line, entry in documents.samples(host):
            run.read(line, entry)
        run.finish()
    if not any(run.n_rows for _, run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for host, run in runs:
        if damage := damage_of(host):
            run.report.incomplete(host.end, "truncated", f"expected the end of the document, found {damage}")
        elif host.is_last and trailing_text(host):
            run.report.warn(host.end, "trailing_text", "expected the end, found more text")
    return [run.report for _, run in runs]


class _Run:
    """The samples of one host."""

    def __init__(self, source: Source, host: Host) -> None:
        self.report = Report("mpstat", source)
        describe(self.report, host.before)
        self.n_rows = 0
        self._clock = Clock()
        self._last: float | None = None
        self._first: tuple[int, dict[str, Any]] | None = None  # until the interval is known
        self._start = 0.0
        self._end = 0.0
        self._sheets: dict[tuple[str, ...], Sheet] = {}
        self._unknown: dict[str, int] = {}
        self._n_bad = 0

    def read(self, line: int, entry: dict[str, Any]) -> None:
        """Read one sample."""
        stamp = entry.get("timestamp")
        found = read_stamp(f"{stamp} ") if isinstance(stamp, str) else None
        for key in entry.keys() - _KNOWN:
            self._unknown.setdefault(key, line)
        if found is None or found.second is None:
            self._write(line, entry, None, None)
            return
        elapsed = self._clock.elapsed("", found)
        if self._last is None:
            self._first, self._last = (line, entry), elapsed
            return
        step = elapsed - self._last
        if self._first is not None:
            self._start = max(0.0, step)
            self._write_first()
        self._last = elapsed
        time_s = elapsed + self._start
        self._end = max(self._end, time_s)
        self._write(line, entry, time_s if time_s >= 0 else None, step if step > 0 else None)

    def _write_first(self) -> None:
        """Write the first sample; its interval is taken to be that of the second one."""
        if self._first is not None:
            self._write(*self._first, self._start, self._start if self._start > 0 else None)
            self._first = None

    def _write(self, line: int, entry: dict[str, Any], time_s: float | None, window_s: float | None) -> None:
        for header, cells in _rows(entry):
            self._add(line, header, cells, (time_s, window_s))

    def _add(self, line: int, header: tuple[str, ...], cells: list[object], when: tuple[Any, Any]) -> None:
        sheet = self._sheets.get(header)
        if sheet is None:
            layout = layout_of(header)
            if layout is None:
                self._unknown.setdefault(" ".join(header[:3]), line)
                return
            for name in layout.unknown():
                self._unknown.setdefault(name, line)
            if len(self._sheets) >= 64:
                self._flush()
            sheet = self._sheets[header] = Sheet(self.report, layout)
        sheet.add(cells, *when)
        self.n_rows += 1

    def _flush(self) -> None:
        for sheet in self._sheets.values():
            sheet.flush()
            self._n_bad += sheet.n_bad
        self._sheets.clear()

    def finish(self) -> None:
        """Write what is left, with the warnings."""
        self._write_first()
        self._flush()
        report = self.report
        if self._end > 0:
            report.describe(duration_s=self._end)
        if self._unknown:
            names = ", ".join(sorted(self._unknown)[:20])
            report.warn(min(self._unknown.values()), "unknown_key", f"expected mpstat's keys, found {names}")
        if self._clock.n_falls:
            message = f"expected rising time stamps, found {self._clock.n_falls} falls: no window there"
            report.warn(None, "clock_went_back", message)
        if self._n_bad:
            message = f"expected numbers of at least 0, found {self._n_bad} others; they are left null"
            report.warn(None, "bad_value", message)


def _rows(entry: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], list[object]]]:
    """The sample's rows as those of the text: the header's columns, and the cells."""
    for key in _LOADS:
        for row in _dicts(entry.get(key)):
            names = [_TOPOLOGY.get(name, f"%{name}") for name in row]
            yield tuple(names), [_plain(value) for value in row.values()]
    for row in _dicts(entry.get("sum-interrupts")):
        yield ("CPU", "intr/s"), [_plain(row.get("cpu")), _plain(row.get("intr"))]
    for key in _INTERRUPTS:
        for row in _dicts(entry.get(key)):
            values = [value for value in _dicts(row.get("intr")) if isinstance(value.get("name"), str)]
            yield (("CPU", *(f"{value['name'].strip()}/s" for value in values)),
                   [_plain(row.get("cpu")), *(_plain(value.get("value")) for value in values)])  # fmt: skip


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _plain(value: object) -> object:
    """A cell: a number or a text; anything else is none."""
    if isinstance(value, float):
        return value
    return value if isinstance(value, str) else None
