"""scylla-bench: what ScyllaDB's load generator prints, and cql-stress-scylla-bench.

Grammar
    ``Configuration`` with ``Key:   value`` lines, a header ``time ops/s rows/s errors max 99.9th 99th 95th 90th
    median mean``, a row a second with Go's durations (``1.2ms``, ``655µs``, ``1m2s``), ``Results`` with ``Time
    (avg):``, ``Total ops:``, ``Total rows:``, ``Total errors:``, ``Operations/s:``, ``Rows/s:`` and sections ``raw
    latency :``, ``c-o fixed latency :`` (also ``raw read latency :`` … in mixed mode; ``Latency:`` to 2019) of
    ``max:`` … ``mean:``.
Versions
    2016 – 2026 (first without errors and median, ``operations/s``), cql-stress; with and without -measure-latency.
Traps
    * Each row begins with a line feed, so that messages of the log (retries) are glued to the end of a row.
    * Rows are rounded (whole µs, 0.1 ms below 10 ms, whole ms above); the results are not.
    * Rows show raw or corrected latencies, whichever -latency-type chose, and do not say which.
    * cql-stress prints the maximum as its ``99.9th`` of the results (``99h`` below it shows that it is cql-stress).
Sample
    tests/parse/scylla_bench/synthetic_write_with_retries/
Gives
    operations, latency_percentiles (a row's interval and the run), latency_summary: op ``total`` with scope total, op
    read and write of mixed mode with scope job. phase ``total``: of rows and of raw latency; phase ``co_fixed``:
    corrected for coordinated omission. Rates of rows: metric_series. queue_depth: Concurrency, where the rate is not
    limited. A row's interval begins where the row before ended.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.parse._figures import go_duration, integer, number, without_colour
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks
from pipeline.parse._source import Source
from pipeline.parse.workloads._scylla_bench_results import TITLE, Results

EXPECTED = "scylla-bench's header `time ops/s rows/s errors …` or its rows"
FORM = "text"
VERSIONS = "2016 – 2026, cql-stress"
NOT_READ = ""
UNSEEN_CUTS = "in mixed mode the sections of reads and writes may be missing at the end"

LATENCIES = ("max", "99.9th", "99th", "95th", "90th", "median", "mean")
_FULL = ["time", "ops/s", "rows/s", "errors", *LATENCIES]
_ROW = re.compile(r" *(?:\d+[hms.µu\d]*s|0s) +\d+ +\d+ +\d+(?: +\d[\d.µunmhs]*s){7}(?= |$)")
_SETTING = re.compile(r"( *)([A-Z-]?[A-Za-z0-9][A-Za-z0-9 .()-]{0,60}):\s*(.*)")
_MESSAGE = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ")
_LONGEST = 2000  # characters of a row with what is glued to it
_SECRET = re.compile(r"(?i)password")


def recognise(head: str) -> bool:
    """Whether a line is the header, or a row of eleven cells."""
    return any(_header(line) or (len(line) < _LONGEST and _ROW.match(line)) for line in head.split("\n"))


def _header(line: str) -> list[str] | None:
    """The header's columns, by today's names; None when the line is none."""
    words = line[:300].split()
    if words[:1] != ["time"] or len(words) < 3 or words[1] not in ("ops/s", "operations/s") or words[2] != "rows/s":
        return None
    return ["time", "ops/s", *words[2:]]


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is no figure."""
    runs = [_Run(source)]
    for line, text in source.whole_lines():
        _read(runs, source, line, text)
    if source.torn is not None and source.torn[1].strip():
        runs[-1].cut = source.torn[0]
    runs = [run for run in runs if run.has_figures]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.finish() for run in runs]


def _read(runs: list[_Run], source: Source, line: int, raw: str) -> None:
    text = without_colour(raw).rstrip()
    is_next = text.strip() == "Configuration" or (runs[-1].results.is_open and _header(text) is not None)
    if is_next and runs[-1].has_figures:
        runs.append(_Run(source))
    if text:
        runs[-1].read(line, text)


class _Run:
    """One run, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("scylla_bench", source)
        self.blocks = RowBlocks(self.report)
        self.results = Results()
        self.settings: dict[str, str] = {}
        self.columns: list[str] | None = None
        self.n_rows = 0
        self.cut: int | None = None
        self.last_line = 1
        self._end: float | None = None  # of the row before; 0 behind the header
        self._section = ""
        self._notes: dict[str, tuple[int, int, str]] = {}

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return self.n_rows > 0 or self.results.is_open

    def read(self, line: int, text: str) -> None:
        """Read a line."""
        self.last_line = line
        if text[:200].lstrip()[:1].isdigit() and not _MESSAGE.match(text):
            columns = self.columns or (_FULL if _ROW.match(text[:_LONGEST]) else None)
            if columns and self._read_row(line, text, columns):
                return
        stripped = text.strip()
        if columns := _header(text):
            self.columns, self._end = columns, 0.0
        elif stripped in TITLE:
            self.results.is_open = True
        elif self.results.is_open and self.results.read(text):
            pass
        elif _MESSAGE.match(stripped) or "retry: attempt" in stripped:
            self._read_message(line, stripped)
        elif not self._read_setting(text) and stripped not in ("Configuration", "interrupted", "stopping"):
            self._note("unknown_line", line, stripped)
        if stripped in ("interrupted", "killed"):
            self._note("interrupted", line, stripped)

    def _read_setting(self, text: str) -> bool:
        """Read a line of the configuration."""
        if self.columns or self.results.is_open:
            return False
        match = _SETTING.fullmatch(text[:_LONGEST])
        if match is None:
            return text.startswith("Using ")
        indent, name, value = match[1], match[2], match[3].strip()
        if not indent and not value:
            self._section = name
        elif not _SECRET.search(name):
            self.settings[f"{self._section}.{name}" if indent and self._section else name] = value
        return True

    def _read_row(self, line: int, text: str, columns: list[str]) -> bool:
        """Read a row, and what is glued to its end."""
        cells = text.split(None, len(columns))
        if len(cells) < len(columns):
            return False
        values: dict[str, float | None] = {}
        for name, cell in zip(columns, cells, strict=False):
            is_count = name in ("ops/s", "rows/s", "errors")
            value = number(cell) if is_count else _duration(cell)
            if value is None or value < 0:
                return False
            values[name] = value
        self.n_rows += 1
        self._add(values)
        if len(cells) > len(columns):
            self._read_message(line, cells[-1])
        return True

    def _add(self, values: dict[str, float | None]) -> None:
        end = values["time"]
        start = self._end if self._end is not None and end is not None and self._end <= end else None
        self._end = end
        key = {"interval_start_s": start, "interval_end_s": end, "op": "total", "scope": "total"}
        errors = None if values.get("errors") is None else int(values["errors"] or 0)
        is_idle = values["ops/s"] == 0  # then the histogram is empty, and its figures are 0
        latencies = {} if is_idle else values
        self.blocks.put("operations", **key, ops_per_s=values["ops/s"], latency_mean_s=latencies.get("mean"),
                        latency_max_s=latencies.get("max"), n_errors=errors)  # fmt: skip
        for name, percentile in PERCENTILES.items():
            if (latency := latencies.get(name)) is not None:
                self.blocks.put("latency_percentiles", **key, phase="total", percentile=percentile, latency_s=latency)
        self.blocks.put("metric_series", metric="rows_per_s", time_s=end, value=values["rows/s"], unit="1/s")

    def _read_message(self, line: int, text: str) -> None:
        if "retry: attempt" in text:
            self._note("retries", line, text)
        else:
            self._note("tool_message", line, text)

    def _note(self, code: str, line: int, text: str) -> None:
        first, count, shown = self._notes.get(code, (line, 0, text[:200]))
        self._notes[code] = (first, count + 1, shown)

    def finish(self) -> Report:
        """Add the rows of the whole run, and what was noticed."""
        self.blocks.flush()
        report, settings = self.report, self.settings
        for name, value in settings.items():
            report.parameter(name, value)
        limit = settings.get("Maximum rate", "unlimited")
        concurrency = integer(settings.get("Concurrency"))
        depth = float(concurrency) if concurrency is not None and limit in ("unlimited", "") else None
        report.describe(duration_s=self.results.duration)
        self.results.add(report, depth)
        for code, (line, count, text) in self._notes.items():
            if code == "interrupted":
                report.incomplete(line, code, f"expected the run to end by itself, found `{text}`")
            else:
                report.warn(line, code, f"expected scylla-bench's lines, found {count} others, the first: {text}")
        for problem in self.results.problems:
            report.warn(None, *problem)
        is_measured = self.columns is None or "mean" in self.columns
        missing = "a whole last line" if self.cut else self.results.missing(is_measured=is_measured)
        if missing:
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, found the end of the run")
        return report


PERCENTILES = {"median": 50.0, "90th": 90.0, "95th": 95.0, "99th": 99.0, "99.9th": 99.9}


@lru_cache(maxsize=1 << 14)
def _duration(text: str) -> float | None:
    return go_duration(text)
