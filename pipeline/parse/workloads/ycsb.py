"""YCSB: what the client prints, its text export and its JSON export.

Grammar
    ``[OVERALL], RunTime(ms), 1800413``, ``[OVERALL], Throughput(ops/sec), 2740.5``, then for each operation ``[READ],
    Operations, N``, AverageLatency(us), LatencyVariance(us), MinLatency(us), MaxLatency(us),
    ``95thPercentileLatency(us)`` or ``(ms)``, ``Return=OK, N`` (to 0.5 ``Return=0``), and the bins: ``[READ], 0,
    123`` … ``[READ], >1000, 0``. With -s on stderr ``2015-01-02 03:04:05:678 10 sec: 1000 operations; 99.8 current
    ops/sec; [READ: Count=…, Max=…, Avg=…, 99=…]`` (older ``[READ AverageLatency(us)=…]``). JSON: objects of metric,
    measurement and value.
Versions
    0.1 – 0.17; measurementtype histogram, hdrhistogram (also verbose), timeseries, raw.
Traps
    * A numbered line is a bin of 1 ms where a line ``>N`` closes them, a value of µs with its count where the counts
      add up to Operations, else a window's start in ms with its mean latency in µs.
    * To 0.2 the percentiles are in ms, and with bins their lower edges; the count of ``sec:`` is since the start.
    * CLEANUP is no operation of the load; a READ-MODIFY-WRITE is counted as its read and its update too.
    * READ-MODIFY-WRITE, ``READ-FAILED`` … and ``Intended-READ`` … have no ``Return=``.
Sample
    tests/parse/ycsb/synthetic_histogram_bins/
Gives
    operations: op ``total`` (OVERALL, and each status line) and each operation; n_errors: what did not return OK,
    BATCHED_OK or 0; latency_stddev_s: the root of LatencyVariance. latency_percentiles, latency_bins, latency_series
    (timeseries). Collections and the rest, counts of each return code: metric_series. n_ops of a status line is the
    difference of counts.
"""

from __future__ import annotations

import re

from pipeline.parse._figures import without_colour
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._ycsb_ops import Measurements
from pipeline.parse.workloads._ycsb_status import STATUS, Status

EXPECTED = "YCSB's `[OVERALL], RunTime(ms), …`"
FORM = "text and JSON export"
VERSIONS = "0.1 – 0.17"
NOT_READ = "the points of measurementtype=raw"
UNSEEN_CUTS = "CLEANUP, the values of a verbose histogram and the windows of a time series may be missing at the end"

_LINE = re.compile(r"\[([A-Za-z0-9_% .:()-]{1,100})\], ([^,]{1,60}), (\S{1,60})")
_OBJECT = re.compile(
    r'\{\s*"metric"\s*:\s*"([^"]{1,100})"\s*,\s*"measurement"\s*:\s*"([^"]{1,60})"\s*,\s*"value"\s*:\s*([^}\s]{1,60})\s*\}'
)
_JSON_START = re.compile(r'[\s\[]*\{\s*"metric"\s*:\s*"[^"]{1,100}"\s*,\s*"measurement"')
_RAW = re.compile(r"[A-Z-]{2,30},\d{1,18},\d{1,18}")
_PROBLEM = re.compile(r"(?i)exception|error|could not|unable")


def recognise(head: str) -> bool:
    """Whether YCSB's overall figures, a status line or an exported object stand in the text."""
    if "[OVERALL], RunTime(ms), " in head or "[OVERALL], Throughput(ops/sec), " in head or _JSON_START.match(head):
        return True
    if "YCSB Client" in head or "current ops/sec" in head:
        return any(STATUS.search(line[:400]) for line in head.split("\n"))
    return False


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is no figure."""
    if _JSON_START.match(source.head):
        return _parse_json(source)
    runs = [_Run(source)]
    for line, text in source.whole_lines():
        _read(runs, source, line, text)
    if source.torn is not None and source.torn[1].strip():
        runs[-1].cut = source.torn[0]
    runs = [run for run in runs if run.has_figures]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.finish() for run in runs]


def _parse_json(source: Source) -> list[Report]:
    run = _Run(source)
    text = source.text
    line, position = 1, 0
    for match in _OBJECT.finditer(text):
        line, position = line + text.count("\n", position, match.start()), match.start()
        run.last_line = line
        value = match[3].removeprefix('"').removesuffix('"')  # "NaN" stands in quotes
        if not run.measurements.take(match[1], match[2], value):
            run.note("unknown_line", line, f"{match[1]}, {match[2]}, {match[3]}")
    if not run.has_figures:
        raise source.error(1, EXPECTED, source.head)
    is_array = text.lstrip().startswith("[")
    if not text.rstrip().endswith("]" if is_array else "}"):
        run.cut = text.count("\n") + 1
    return [run.finish()]


def _read(runs: list[_Run], source: Source, line: int, raw: str) -> None:
    text = without_colour(raw).strip()
    if text.startswith(("[OVERALL], RunTime", "YCSB Client")) and runs[-1].measurements.ops:
        runs.append(_Run(source))
    if text:
        runs[-1].read(line, text)


class _Run:
    """One run, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("ycsb", source)
        self.measurements = Measurements()
        self.status = Status(self.report)
        self.cut: int | None = None
        self.last_line = 1
        self._n_raw = 0
        self._notes: dict[str, tuple[int, int, str]] = {}

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return bool(self.measurements.ops or self.measurements.overall or self.status.n_lines)

    def read(self, line: int, text: str) -> None:
        """Read a line."""
        self.last_line = line
        if match := _LINE.fullmatch(text):
            if not self.measurements.take(match[1], match[2], match[3]):
                self.note("unknown_line", line, text)
        elif " sec: " in text[:400] and self.status.read(text):
            pass
        elif text.startswith("Command line:"):
            self.report.describe(command=text.removeprefix("Command line:").strip())
        elif text.startswith("YCSB Client "):
            self.report.describe(tool_version=text.removeprefix("YCSB Client ").strip())
        elif _RAW.fullmatch(text):
            self.note("raw_points", line, text)
        elif _PROBLEM.search(text[:1000]) and not text.startswith(("DBWrapper: report", "at ", "java ")):
            self.note("tool_error", line, text)
        elif text.startswith("[") and "], " in text[:110]:
            self.note("unknown_line", line, text)

    def note(self, code: str, line: int, text: str) -> None:
        """Note a line; of each kind the first is shown."""
        first, count, shown = self._notes.get(code, (line, 0, text[:200]))
        self._notes[code] = (first, count + 1, shown)

    def finish(self) -> Report:
        """Add the rows of the whole run, and what was noticed."""
        report = self.report
        self.status.finish()
        self.measurements.add(report)
        for code, (line, count, text) in self._notes.items():
            report.warn(line, code, f"expected YCSB's lines, found {count} others, the first: {text}")
        missing = "a whole last line" if self.cut else self.measurements.missing
        if missing:
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, found the end of the run")
        return report
