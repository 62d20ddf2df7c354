"""PostgreSQL's view pg_stat_wal, as psql prints it: ``psql -x -c "select * from pg_stat_wal"``.

Grammar
    Expanded: ``-[ RECORD 1 ]----+---`` (border 0: ``* Record 1``; with -t an empty line), then ``column | value``; with
    -A, --csv or a Unicode line style other separators. Or a table: a line of column names, then a line a record. Times
    are in ms and cumulative since ``stats_reset``, which is the last column.
Versions
    PostgreSQL 14 to 17. From 18 on, writes and syncs are in pg_stat_io: then only the counters of records and bytes.
Traps
    * wal_write_time and wal_sync_time are 0 unless track_wal_io_timing is on: null, and timing_off warns.
    * wal_sync counts fsync and fdatasync, not the synchronous writes of wal_sync_method open_datasync and open_sync.
    * wal_bytes is what was generated, not what was written: pages are written whole, and again.
    * pg_stat_statements has wal_records, wal_fpi and wal_bytes too; such a record has a queryid or calls.
Sample
    tests/parse/pg_stat_wal/pg15_timing_on/
Gives
    operations: op ``wal_write`` and ``wal_sync``, scope ``total``, n_ops since stats_reset, latency_mean_s = time / n;
    how long that took is not in the view, so rates are null. The other counters in metric_series under their own names
    (unit 1 or B), other columns as parameters. A report for each record.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "psql's pg_stat_wal, with columns such as `wal_records | 333492` and `wal_sync | 109893`"
FORM = "psql: expanded, aligned, unaligned, CSV"
VERSIONS = "14 – 18"
NOT_READ = "psql's HTML, LaTeX and the like"
UNSEEN_CUTS = "between two records of a watch"
_COUNTERS = {"wal_records": "1", "wal_fpi": "1", "wal_bytes": "B", "wal_fpi_bytes": "B", "wal_buffers_full": "1"}
_OPERATIONS = {"wal_write": "wal_write_time", "wal_sync": "wal_sync_time"}
_KNOWN = {*_COUNTERS, *_OPERATIONS, *_OPERATIONS.values(), "stats_reset"}
_OWN = {"wal_buffers_full", "wal_write", "wal_sync"}  # the rest is in pg_stat_statements, too
_FOREIGN = {"queryid", "calls", "query"}
_RECORD = re.compile(r"[-─═+┌╔├╠\s]*\[ RECORD \d+ \].*|\* Record \d+.*")
_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_RULE = re.compile(r"[-─═+┬┼┴├┤┌┐└┘╔╗╚╝╠╣╦╩╬\s|│]+")
_FOOTER = re.compile(r"\(\d+ rows?\)")
_MAX_COUNT = 2**63 - 1


@dataclass
class _Record:
    """One record: its first line, its columns, and whether its end was seen."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    is_closed: bool = False

    @property
    def is_wal(self) -> bool:
        return len(self.values.keys() & _KNOWN) >= 2 and bool(self.values.keys() & _OWN) and not (
            self.values.keys() & _FOREIGN)  # fmt: skip


def recognise(head: str) -> bool:
    """Whether there is a record with at least two of the view's columns."""
    return any(record.is_wal for record in _records(head.split("\n")))


def parse(source: Source) -> list[Report]:
    """Return a report for each record; ParseError when there is none."""
    found = _records(source.lines)
    records = [record for record in found if record.is_wal]
    if not records:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    reports = [_report(source, record) for record in records]
    if not found[-1].is_wal and not found[-1].is_closed:  # cut in a further record
        reports[-1].incomplete(len(source.lines), "truncated", "expected whole records, found the end of the file")
    others = [record for record in found if not record.is_wal and record.values]
    if others:
        message = f"expected records of pg_stat_wal, found {len(others)} others, the first here"
        reports[0].warn(others[0].line, "other_record", message)
    return reports


def _records(lines: list[str]) -> list[_Record]:
    """All records, of whatever view. The last line counts only with its line feed: its value may be cut."""
    records: list[_Record] = []
    header: list[str] = []
    for number, line in enumerate(lines[:-1], 1):
        text = line.strip()
        cells = _cells(text)
        if not text or _RECORD.fullmatch(text) or _FOOTER.fullmatch(text) or _RULE.fullmatch(text):
            _close(records)
            header = [] if not _RULE.fullmatch(text) or not text else header
            if _RECORD.fullmatch(text):
                records.append(_Record(number))
        elif len(cells) > 1 and all(_NAME.fullmatch(cell) for cell in cells) and len(_KNOWN & set(cells)) > 1:
            header = cells
        elif header:
            if len(cells) == len(header):
                records.append(_Record(number, dict(zip(header, cells, strict=True)), is_closed=True))
        elif len(cells) == 2 and _NAME.fullmatch(cells[0]):
            if not records or records[-1].is_closed or cells[0] in records[-1].values:
                _close(records)
                records.append(_Record(number))
            records[-1].values[cells[0]] = cells[1]
            records[-1].is_closed = cells[0] == "stats_reset"
    rest = lines[-1].strip()
    if records and rest and not _FOOTER.fullmatch(rest) and not _RULE.fullmatch(rest):
        records[-1].is_closed = False
    return records


def _close(records: list[_Record]) -> None:
    """An empty line or a rule ends a record that has columns."""
    if records and records[-1].values:
        records[-1].is_closed = True


def _cells(text: str) -> list[str]:
    """The fields of a line in any of psql's formats."""
    inner = text[1:].rstrip("|│║ ").strip() if text[:1] in "|│║" else text  # a frame on both sides or none
    for separator in ("|", "│", "║", "\t", ","):
        if separator in inner:
            return [cell.strip() for cell in inner.split(separator)]
    return inner.split(None, 1)


def _number(text: str) -> float | None:
    """A number of at least 0; None when it is none or not finite."""
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    value = float(plain) if _NUMBER.fullmatch(plain) else math.inf
    return value if math.isfinite(value) else None


def _report(source: Source, record: _Record) -> Report:
    report = Report("pg_stat_wal", source)
    numbers = {name: _number(text) for name, text in record.values.items() if name in _KNOWN - {"stats_reset"}}
    bad = [name for name, value in numbers.items() if value is None and record.values[name]]  # an empty one is NULL
    if bad:
        report.warn(record.line, "bad_value", f"expected numbers, found others in {', '.join(bad)}")
    for name, unit in _COUNTERS.items():
        if (value := numbers.get(name)) is not None:
            report.add("metric_series", metric=name, value=value, unit=unit)
    for name, text in record.values.items():
        if name not in numbers:
            report.parameter(name, text or None)
    for name, time in _OPERATIONS.items():
        _add_operation(report, record, name, numbers.get(name), numbers.get(time))
    if not _OPERATIONS.keys() & record.values.keys():
        found = "none: from PostgreSQL 18 on they are in pg_stat_io"
        report.warn(record.line, "moved_to_pg_stat_io", f"expected wal_write and wal_sync, found {found}")
    if not record.is_closed:
        found = f"the end of the file after {next(reversed(record.values))}"
        report.incomplete(len(source.lines), "truncated", f"expected stats_reset or an empty line, found {found}")
    return report


def _add_operation(report: Report, record: _Record, op: str, n: float | None, time_ms: float | None) -> None:
    """Add the writes or the syncs; their mean time is null where none was measured."""
    if n is None or not 0 < n <= _MAX_COUNT:
        if n == 0:
            report.add("metric_series", metric=op, value=0.0, unit="1")  # no row of operations without an operation
        return
    if time_ms == 0:
        message = f"expected track_wal_io_timing on, found 0 ms for {n:.0f} of {op}"
        report.warn(record.line, "timing_off", message)
    mean_s = time_ms * units.MILLI / n if time_ms else None
    report.add("operations", op=op, scope="total", n_ops=int(n), latency_mean_s=mean_s)
    if mean_s is not None:
        report.add("latency_summary", op=op, scope="total", phase="total", n_ops=int(n), mean_s=mean_s)
