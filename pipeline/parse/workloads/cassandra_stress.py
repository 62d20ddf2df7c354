"""cassandra-stress: what Apache Cassandra's and ScyllaDB's tool prints, and cql-stress-cassandra-stress.

Grammar
    Settings (``******************** Stress Settings ********************``, ``Rate:``, ``  Thread Count: 4``),
    ``Running WRITE with 10 threads for 1000 iteration``, a header ``type, total ops, op/s, pk/s, row/s, mean, med,
    .95, .99, .999, max, time, stderr, errors, gc: #, max ms, sum ms, sdv ms, mb``, a row an interval (latencies in
    ms, ``time`` in s since the start), with several operations a row each above the ``total`` row; then ``Results:``
    with a line a figure, the operations in brackets, down to ``Total operation time``; ``END`` or ``FAILURE``. With
    autothreads all of it for each thread count, and a table with ``id`` of all.
Versions
    0.7 – 2.0 (``total,interval_op_rate,…``), 2.1 (no type, ``adj row/s``), 2.1.1 – 3.9 (lower-case labels without
    units), 3.10 – 5.0, DSE, ScyllaDB's fork, cql-stress (no type, no END).
Traps
    * ``total ops`` counts since the start; rate, latencies and errors are of the interval, garbage collection too.
    * Where all operations are of one kind there is only the total row. A row of one operation has its own ``time``,
      which counts from its first interval: the interval's end is the total row's.
    * The header may lack the comma behind ``type``; separators are those of the machine's language (``6.778 op/s``,
      ``0,6 ms``). ``NaN`` is null, and one warning counts them. GC figures are 0 where JMX was not reached.
    * 1.2 and 2.0 print the 99.9th percentile below ``99th``; their rates are divided by the whole interval at the end
      too; ``avg_latency`` (to 1.1) is in seconds.
    * Total partitions are no operations. Latencies of 0 in an interval without operations are null.
Sample
    tests/parse/cassandra_stress/synthetic_mixed_intervals/
Gives
    A report for each run. operations and latency_percentiles: an interval each and the whole run, op ``total`` with
    scope total, others with scope job; n_ops of an interval is the difference of ``total ops``, n_ops of the run the
    last of them (where its time is the run's) or the table's; both and interval_start_s are null where lines are
    missing. queue_depth: the threads, unless the rate was limited. Rates of partitions and rows, GC: metric_series.
    Settings: parameters, named ``Section.Name``, passwords left out.
"""

from __future__ import annotations

import re

from pipeline.parse._figures import without_colour
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._cstress_results import opens_results
from pipeline.parse.workloads._cstress_rows import guessed_columns, header_columns, read_row
from pipeline.parse.workloads._cstress_run import Run, Session

EXPECTED = "cassandra-stress's header `type, total ops, op/s, …` or its `Results:`"
FORM = "text"
VERSIONS = "0.7 – 5.0, cql-stress"
NOT_READ = "the text of a user profile"
UNSEEN_CUTS = "cql-stress prints no end mark: another run behind its `Total operation time` is not missed"

_OP_RATE = re.compile(r"(?:real )?op rate +: +[\d.,]", re.IGNORECASE)
_RUNNING = re.compile(r"Running (?:(\d+) threadCount|with (\d+) threadCount|(.+?) with (\d+) threads(?: (.*))?)")
_COMMAND = re.compile(r"(?:.{0,200}?[$#>%] ?)?((?:\S{0,200}/)?(?:cql-stress-)?cassandra-stress +[a-z-].*)")
_IMPROVEMENT = re.compile(r"Improvement over (\d{1,9}) threadCount: (-?\d{1,9})%")
_PROBLEM = re.compile(r"(?i)exception|error|failed|overloaded|caught signal|control-c caught")
_NOISE = (
    "Connected to", "Datacenter:", "Datatacenter:", "Created ", "Sleeping", "Warming up", "INFO", "DEBUG", "WARN",
    "Thread count was not", "Failed to connect over JMX", "Truncated ", "Generating batches", "===", "Operations to be",
    "Unable to", "N=0", "WARNING", "Using ", "log4j", "SLF4J", "at ", "...",
)  # fmt: skip


def recognise(head: str) -> bool:
    """Whether a line is a header, a row of 19 cells or a rate of a Results block, or the settings begin."""
    if "*** Stress Settings ***" in head:
        return True
    for line in head.split("\n"):
        text = line.strip()
        if text.startswith(("total", "type", "id,", "ops", "partitions")):
            if header_columns(text) or guessed_columns(text):
                return True
        elif text[:1] in "oOrR" and _OP_RATE.match(text):
            return True
    return False


def parse(source: Source) -> list[Report]:
    """Return a report for each run of load in the file; ParseError when there is no figure."""
    log = _Log(source)
    held: tuple[int, str] | None = None
    for item in source.numbered_lines():
        if held is not None:
            log.read(*held)
        held = item
    if held is not None:
        if source.ends_with_newline:
            log.read(*held)
        elif held[1].strip():  # it may have been longer
            log.run.cut = held[0]
    reports = [report for session in log.sessions for report in session.reports()]
    if not any(run.has_figures for session in log.sessions for run in session.runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return reports


class _Log:
    """The file read so far: sessions (calls of the tool) of runs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.sessions = [Session(source)]
        self.columns: list[str] | None = None  # of the rows that may follow
        self.run: Run = self.sessions[-1].new_run()
        self.mode = ""  # settings, profile
        self.section, self.indent = "", 0

    @property
    def session(self) -> Session:
        """The call of the tool whose output this is."""
        return self.sessions[-1]

    def read(self, line: int, raw: str) -> None:
        """Read a line."""
        self.session.last_line = line
        if self.columns is not None and raw.count(",") >= len(self.columns) - 1:
            row = read_row(without_colour(raw), self.columns)
            if row is not None:
                self.session.take(self.run, row)
                return
        text = without_colour(raw)
        if self.mode and self._read_setting(text):
            return
        text = text.strip()
        if text and not self._read_other(line, text):
            self.run.note(line, text, "tool_error" if _PROBLEM.search(text[:2000]) else "unknown_line")

    def _read_setting(self, raw: str) -> bool:
        """Read a line of the settings, or pass over one of the profile; False when both are over."""
        text = raw.strip()
        if text.startswith("***"):
            self.mode = "profile"
            return True
        if self.mode == "profile":
            is_over = text.startswith(("Connected to", "Running ", "Sleeping", "Warming", "Failed to connect"))
            self.mode = "" if is_over or header_columns(text) else self.mode
            return bool(self.mode)
        name, colon, value = text.partition(":")
        if not text:
            self.mode = ""
        elif len(raw) - len(raw.lstrip()) <= self.indent and colon and not value.strip():
            self.section = name
        elif len(raw) - len(raw.lstrip()) > self.indent:
            self.session.setting(f"{self.section}.{name}" if colon else self.section, value.strip() if colon else text)
        else:
            self.mode = ""
        return bool(self.mode) or not text

    def _read_other(self, line: int, text: str) -> bool:
        """Read a line that is no row; False when it is unknown."""
        if columns := header_columns(text):
            self._begin_rows(columns)
        elif opens_results(text):
            self._begin_run(self.run.results.is_done)
            self.run.results.is_open = True
            self.run.results.is_middle = text != "Results:"
        elif not self.run.results.is_done and self.run.results.read(text):
            self.run.results.is_open = True
        elif text in ("END", "FAILURE"):
            self.session.close(self.run, line, text)
            self.columns = None
        elif "*** Stress Settings ***" in text:
            self._begin_session()
            self.mode, self.section, self.indent = "settings", "", 0
        elif match := _RUNNING.fullmatch(text[:2000]):
            self._running(match)
        elif match := _COMMAND.fullmatch(text[:20_000]):
            self._begin_session()
            self.session.command = match[1]
        elif match := _IMPROVEMENT.fullmatch(text):
            self.run.improvement = (match[1], float(match[2]))
        elif guessed := guessed_columns(text):
            self._begin_run(self.run.results.is_done)
            self.columns = guessed
            row = read_row(text, guessed)
            if row is not None:
                self.session.take(self.run, row)
        else:
            return text.startswith(_NOISE)
        return True

    def _begin_rows(self, columns: list[str]) -> None:
        self.columns = columns
        if columns[0] != "id":
            self._begin_run(self.run.has_figures)
            self.run.begin_rows()

    def _running(self, match: re.Match[str]) -> None:
        is_auto = match[3] is None
        self._begin_run(self.run.has_figures or (is_auto and self.run.threads is not None))
        if is_auto:
            self.session.is_auto = True
        else:
            self.run.operations, self.run.limit = match[3], match[5]
        self.run.threads = int((match[1] or match[2] or match[4])[:9])

    def _begin_run(self, is_needed: bool) -> None:
        if self.session.is_closed:
            self._begin_session()
        elif is_needed:
            self.run = self.session.new_run()

    def _begin_session(self) -> None:
        """Begin another call of the tool, unless this one has not yet measured anything."""
        if self.session.is_closed or self.run.has_figures:
            self.sessions.append(Session(self.source))
            self.run = self.session.new_run()
            self.columns = None
