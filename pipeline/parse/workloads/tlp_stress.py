"""tlp-stress, easy-cass-stress, cassandra-easy-stress: the table on the console, and the ``--csv`` file.

Grammar
    Console: a header every ten rows (``Writes Reads Deletes Errors``, below it ``Count  Latency (p99)  1min (req/s)
    |`` three times and ``Count  1min (errors/s)``), a row every 3 s, ``Stress complete, N.``. CSV: ``# tlp-stress run
    at DATE``, ``# COMMAND``, two lines of header (``Timestamp, Elapsed Time,Count,…``), rows with a stamp and
    seconds.
Versions
    tlp-stress 1 – 6, easy-cass-stress, cassandra-easy-stress
Traps
    * Counts are since the start, the rate is a mean that fades over a minute (0 in the first seconds), the latency is
      of a sample that fades over five minutes, in ms: none of them is of the row's 3 s.
    * The console prints no time: rows are 3 s apart. The last row is printed twice.
Sample
    tests/parse/tlp_stress/synthetic_console/
Gives
    operations: a row an operation (write, read, delete) and table row; n_ops is the difference of the counts; the
    last row's counts as the whole run's. latency_percentiles: 99. metric_series: the fading rates
    ``ops_per_s_1min`` and ``errors_per_s_1min``, and ``errors`` since the start. interval_end_s: from the CSV's
    elapsed time, 3 s × the row on the console.
"""

from __future__ import annotations

import json
import re
from datetime import datetime

from pipeline import units
from pipeline.parse._figures import integer, positive, without_colour
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks
from pipeline.parse._source import Source

EXPECTED = "tlp-stress's `Count  Latency (p99)  1min (req/s) | …`"
FORM = "console and CSV"
VERSIONS = "tlp-stress, easy-cass-stress, cassandra-easy-stress"
NOT_READ = "HDR files"
UNSEEN_CUTS = "the CSV has no end mark: the end of any line may be its end"

_HEADER = re.compile(r"(?: *Count +Latency \(p99\) +1min \(req/s\) +\|){3} +Count +1min \(errors/s\)")
_CSV_HEADER = re.compile(
    r"Timestamp, ?Elapsed Time,(?:Count,Latency \(p99\),1min \(req/s\),){3}Count,1min \(errors/s\)"
)
_COMMAND = re.compile(
    r"(?:.{0,200}?[$#>%] ?)?((?:\S{0,200}/)?(?:tlp-stress|(?:cassandra-)?easy-(?:cass-)?stress) run .*)"
)
_COMPLETE = re.compile(r"Stress complete, \d+\.?")
_OPS = ("write", "read", "delete")
_ROW_S = 3.0


def recognise(head: str) -> bool:
    """Whether a line is the header of the console or of the CSV."""
    if "Latency (p99)" not in head or "1min (errors/s)" not in head:
        return False
    lines = (without_colour(line[:2000]).strip() for line in head.split("\n") if "1min (errors/s)" in line)
    return any(_HEADER.fullmatch(line) or _CSV_HEADER.fullmatch(line) for line in lines)


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is no row."""
    runs = [_Run(source)]
    for line, text in source.whole_lines():
        _read(runs, source, line, text)
    if source.torn is not None and source.torn[1].strip():
        runs[-1].cut = source.torn[0]
    runs = [run for run in runs if run.n_rows]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.finish() for run in runs]


def _read(runs: list[_Run], source: Source, line: int, raw: str) -> None:
    text = without_colour(raw[:4000]).strip()
    if runs[-1].n_rows and (runs[-1].is_complete or text.startswith("# ")) and text:
        runs.append(_Run(source))
    if text:
        runs[-1].read(line, text)


class _Run:
    """One run, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("tlp_stress", source)
        self.blocks = RowBlocks(self.report)
        self.is_csv = self.is_complete = False
        self.n_rows = 0
        self.cut: int | None = None
        self.last_line = 1
        self._counts = dict.fromkeys(_OPS, 0)
        self._end = 0.0
        self._text = ""
        self._n_unread: list[int] = []
        self._has_header = False

    def read(self, line: int, text: str) -> None:
        """Read a line."""
        self.last_line = line
        if _HEADER.fullmatch(text) or _CSV_HEADER.fullmatch(text):
            self._has_header, self.is_csv = True, text.startswith("Timestamp")
        elif _COMPLETE.fullmatch(text):
            self.is_complete = True
        elif match := _COMMAND.fullmatch(text.removeprefix("# ")):
            self.report.describe(command=match[1])
        elif self._has_header and text[0].isdigit() and not self._read_row(text):
            self._n_unread.append(line)

    def _read_row(self, text: str) -> bool:
        cells = [cell.strip() for cell in text.split(",")] if self.is_csv else text.replace("|", " ").split()
        stamp, elapsed = None, self._end + _ROW_S
        if self.is_csv:
            seconds = integer(cells[1]) if len(cells) == 13 else None
            if seconds is None:
                return False
            stamp, elapsed, cells = cells[0], float(seconds), cells[2:]
        # A machine with another language writes 0,5; its CSV cannot be told apart and is not read.
        values = [positive(cell.replace(",", ".")) for cell in cells]
        if len(cells) != 11 or any(value is None for value in values):
            return False
        if not self.is_csv and text == self._text:  # the last row comes twice
            return True
        self._text = text
        if self.n_rows == 0 and stamp is not None:
            self._describe_start(stamp, elapsed)
        self._add([value or 0.0 for value in values], elapsed)
        return True

    def _describe_start(self, stamp: str, elapsed: float) -> None:
        try:
            first = datetime.fromisoformat(stamp[:26].rstrip("Z") + "+00:00")
            self.report.describe(started_at=datetime.fromtimestamp(first.timestamp() - elapsed, first.tzinfo))
        except (ValueError, OverflowError, OSError):
            self.report.parameter("first_stamp", stamp[:60])

    def _add(self, values: list[float], end: float) -> None:
        self.n_rows += 1
        key = {"interval_start_s": self._end if self._end <= end else None, "interval_end_s": end, "scope": "job"}
        for index, op in enumerate(_OPS):
            count, latency, rate = values[3 * index : 3 * index + 3]
            total = int(min(count, 2**62))
            n_ops = total - self._counts[op] if total >= self._counts[op] else None
            self._counts[op] = total
            self.blocks.put("operations", **key, op=op, n_ops=n_ops)
            self._put_metric("ops_per_s_1min", end, rate, "1/s", json.dumps({"op": op}))
            if total:
                self.blocks.put("latency_percentiles", **key, op=op, phase="total", percentile=99.0,
                                latency_s=latency * units.MILLI)  # fmt: skip
        self._put_metric("errors", end, values[9], "1")
        self._put_metric("errors_per_s_1min", end, values[10], "1/s")
        self._end = end

    def _put_metric(self, name: str, end: float, value: float, unit: str, labels: str | None = None) -> None:
        self.blocks.put("metric_series", metric=name, labels=labels, time_s=end, value=value, unit=unit)

    def finish(self) -> Report:
        """Add the counts of the whole run, and what was noticed."""
        report = self.report
        self.blocks.flush()
        for op, count in self._counts.items():
            report.add("operations", op=op, scope="job", n_ops=count)
        if self._n_unread:
            found = f"found {len(self._n_unread)} others, the first here"
            report.warn(self._n_unread[0], "unknown_line", f"expected rows of eleven figures, {found}")
        if not self.is_csv:
            report.warn(None, "times_from_rows", "expected a time on each row, found none: rows are taken as 3 s apart")
        if self.cut or not (self.is_complete or self.is_csv):
            missing = "a whole last line" if self.cut else "`Stress complete`"
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, found the end of the run")
        return report
