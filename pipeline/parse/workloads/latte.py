"""latte, text: what ``latte run WORKLOAD`` prints (also ``latte show``, with a baseline beside it).

Grammar
    ``CONFIG ═══``, ``LOG ═══`` and ``SUMMARY STATS ═══`` head sections. A line of CONFIG or SUMMARY STATS is a label,
    a unit in brackets, a figure, ``± error``; labels such as ``└─`` refine the line above. LOG has a row a sample:
    ``Time Cycles Errors Thrpt.`` (to 0.27 ``Time``, op/s, req/s) and latencies Min … Max in ms. ``CYCLE LATENCY
    for FN [ms]`` (to 0.27 ``RESPONSE TIMES [ms]``) has a line a percentile, ``RESPONSE TIME DISTRIBUTION`` a line a
    bin. ScyllaDB's fork adds ``RUN METADATA``, lines as of CONFIG, and ``CUSTOM METRIC NAME``: Mean and percentiles.
Versions
    0.13 – 0.29, ScyllaDB's fork to 0.49
Traps
    * With a baseline there are two columns, and the first one (A) is the baseline's.
    * The error is 3.29 standard errors. Colours may be in the file.
    * To 0.27 the latencies are of requests, and a cycle may make several; since then they are of cycles.
    * A metric that the workload records has no known unit, and may be negative.
Sample
    tests/parse/latte/synthetic_cycle_latency/
Gives
    operations: op ``total`` (cycles) and each function; latency_percentiles with the phase ``total`` of cycles and
    ``request`` of requests; a sample's interval begins where the one before ended. The rest of the summary:
    metric_series, errors as ``…_error``; so are custom metrics, the labels say which statistic or percentile.
    started_at: Date and Time. With a baseline a second report for it, without a log. Sections that are not known are
    left out with a warning.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipeline.parse._figures import number, without_colour
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks
from pipeline.parse._source import Source
from pipeline.parse.workloads._latte_rows import CUSTOM, Summary, add_sample

EXPECTED = "latte's `LOG ═══` or `SUMMARY STATS ═══`"
FORM = "text"
VERSIONS = "0.13 – 0.29, ScyllaDB's fork to 0.49"
NOT_READ = "significance of a comparison"
UNSEEN_CUTS = "latencies of further functions, the distribution and the texts of errors may be missing at the end"

_SECTION = re.compile(r"([A-Z].{0,300}?) ═{4,}")
_KNOWN = re.compile(rf"CONFIG|RUN METADATA|LOG|SUMMARY STATS|RESPONSE TIME DISTRIBUTION|ERRORS|{CUSTOM}.+|.*\[ms\]")
_LINE = re.compile(r" *(\S(?:.*?\S)?)(?: +\[([a-z/%]{1,10})\](?= |$)| {2,}(?=\S)|$)")
_UNITS_ROW = re.compile(r" *\[s\]((?: +\[[a-z/]{1,10}\])+) +Min(?: +\d{1,2}(?:\.\d{1,4})?)+ +Max *")
_BRANCHES = "└├┌─┴ "  # before a label that refines the one above
_LABEL_WIDTH, _UNIT_WIDTH, _CELL_WIDTH = 16, 9, 30


def recognise(head: str) -> bool:
    """Whether a line heads latte's log or summary."""
    lines = (without_colour(line) for line in head.split("\n") if "═══" in line)
    return any(line.startswith(("LOG ═══", "SUMMARY STATS ═══")) for line in lines)


def parse(source: Source) -> list[Report]:
    """Return a report for each run, and for each baseline; ParseError when there is no figure."""
    runs = [_Run(source)]
    for line, text in source.whole_lines():
        _read(runs, source, line, text)
    if source.torn is not None and source.torn[1].strip():
        runs[-1].cut = source.torn[0]
    runs = [run for run in runs if run.has_figures]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [report for run in runs for report in run.reports()]


def _read(runs: list[_Run], source: Source, line: int, raw: str) -> None:
    text = without_colour(raw).rstrip()
    match = _SECTION.fullmatch(text) if "═" in text[-4:] else None
    if match and match[1] == "CONFIG" and (runs[-1].has_figures or runs[-1].settings):
        runs.append(_Run(source))
    if match:
        runs[-1].begin(line, match[1].strip())
    elif text:
        runs[-1].read(line, text)
    runs[-1].last_line = line


class _Run:
    """One run, read line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.report = Report("latte", source)
        self.blocks = RowBlocks(self.report)
        self.settings: list[tuple[str, list[str]]] = []
        self.summaries = [Summary(), Summary()]  # A or the only one, B
        self.is_compared = False
        self.sections: list[str] = []
        self.last_line = 1
        self.cut: int | None = None
        self.n_samples = 0
        self._n_unread_rows = 0
        self._end = 0.0
        self._columns: list[str] = []
        self._parent = ""
        self._notes: dict[str, tuple[int, int, str]] = {}

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return self.n_samples > 0 or self.summaries[0].has_figures

    @property
    def _own(self) -> Summary:
        """The run's own summary; a baseline stands before it."""
        return self.summaries[1 if self.is_compared else 0]

    def begin(self, line: int, section: str) -> None:
        """Begin a section."""
        self.sections.append(section)
        self._parent = ""
        if not _KNOWN.fullmatch(section):
            self._note("unknown_section", line, section)

    def read(self, line: int, text: str) -> None:
        """Read a line of the section."""
        section = self.sections[-1] if self.sections else ""
        if "── A ──" in text:
            self.is_compared = True
        elif section == "ERRORS" or text.startswith("error:"):
            self._note("tool_error", line, text)
        elif not (text.startswith("info:") or set(text) <= set("─ ") or self._read_of(section, text)):
            self._note("unknown_line", line, text)

    def _read_of(self, section: str, text: str) -> bool:
        """Read a line of a section; False when it is none of its lines. An unknown section was noted as a whole."""
        if section and not _KNOWN.fullmatch(section):
            return True
        if section == "LOG":
            return self._read_sample(text)
        if section == "RESPONSE TIME DISTRIBUTION":
            return text.startswith("──") or self._own.read_bin(text)
        return self._read_figure(section, text)

    def _note(self, code: str, line: int, text: str) -> None:
        first, count, shown = self._notes.get(code, (line, 0, text[:200]))
        self._notes[code] = (first, count + 1, shown)

    def _read_sample(self, text: str) -> bool:
        """Read a line of the log: a header or a row."""
        if match := _UNITS_ROW.fullmatch(text[:400]):
            units_of = match[1].split()
            names = ["cycles", "errors", "op/s"] if len(units_of) == 3 else ["op/s", "req/s"]
            self._columns = ["time", *names, *text.split()[1 + len(units_of) :]]
            return True
        words = text.split()
        if text.lstrip().startswith("Time"):
            return True
        values = [number(word) for word in words]
        if len(words) != len(self._columns) or not self._columns or any(v is None or v < 0 for v in values):
            self._n_unread_rows += len(values) > 1 and None not in values
            return False
        cells = {name: value or 0.0 for name, value in zip(self._columns, values, strict=True)}
        self.n_samples += 1
        add_sample(self.blocks, cells, self._end, "request" if "req/s" in cells else "total")
        self._end = cells["time"]
        return True

    def _read_figure(self, section: str, text: str) -> bool:
        """Read a line of the configuration, of the summary or of percentiles."""
        match = _LINE.match(text[:2000])
        if match is None:
            return False
        label, unit = match[1], match[2]
        cells = self._cells(text, label, unit, match.end())
        is_detail = label[0] in _BRANCHES
        self._parent = self._parent if is_detail else label
        if section == "CONFIG":
            name = f"{self._parent}.{label.lstrip(_BRANCHES) or unit}" if is_detail else label
            self.settings.append((name, cells))
            return True
        if section == "RUN METADATA":
            self.settings.append((f"run_metadata.{label}", cells))
            return True
        results = [
            summary.take(section, self._parent, unit, cell)
            for summary, cell in zip(self.summaries, cells, strict=False)
            if cell
        ]
        return all(results)

    def _cells(self, text: str, label: str, unit: str | None, end: int) -> list[str]:
        """The one or two figures of a line; with a baseline they stand in columns of fixed width."""
        if not self.is_compared:
            return [text[end:].strip()]
        start = max(_LABEL_WIDTH, len(label)) + 1 + max(_UNIT_WIDTH, len(f"[{unit}]") if unit else 0) + 2
        second = start + _CELL_WIDTH + 1
        return [text[start : second - 1].strip(), text[second : second + _CELL_WIDTH].strip()]

    def _missing(self, summary: Summary, *, is_own: bool) -> str | None:
        """What a run lacks that was cut."""
        if is_own and self.sections and self.sections[-1].startswith(CUSTOM) and self._parent != "Max":
            return f"the line `Max` of {self.sections[-1]}"
        return summary.missing(self.sections, is_own=is_own)

    def reports(self) -> list[Report]:
        """The run's report, and the baseline's."""
        self.blocks.flush()
        pairs = [(self.report, self._own)]
        if self.is_compared:
            pairs.append((Report("latte", self.source), self.summaries[0]))
        for index, (report, summary) in enumerate(pairs):
            settings = [(name, cells[1 - index] if len(cells) > 1 else cells[0]) for name, cells in self.settings]
            for name, value in settings:
                if value:
                    report.parameter(name, value)
            report.describe(started_at=_start(dict(settings)))
            summary.add(report)
            missing = "a whole last line" if self.cut else self._missing(summary, is_own=index == 0)
            if missing:
                found = "found the end of the run"
                report.incomplete(self.cut or self.last_line, "truncated", f"expected {missing}, {found}")
        if self._n_unread_rows and not self.n_samples:
            found = f"found {self._n_unread_rows} of an unknown form"
            self.report.incomplete(None, "unread_log", f"expected samples in `LOG`, {found}")
        for code, (line, count, text) in self._notes.items():
            self.report.warn(line, code, f"expected latte's lines, found {count} others, the first: {text}")
        return [report for report, _ in pairs]


def _start(settings: dict[str, str]) -> datetime | None:
    """The start in UTC, of ``Fri, 01 Mar 2024`` and ``10:11:12 +0000``; None without a zone."""
    try:
        stamp = parsedate_to_datetime(f"{settings.get('Date', '')[:40]} {settings.get('Time', '')[:40]}")
        return None if stamp.tzinfo is None else stamp.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
