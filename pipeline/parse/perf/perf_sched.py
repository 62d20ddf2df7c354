"""perf sched: ``perf sched latency [-p] [-s KEY]``, ``perf sched timehist [-w] [-n] [-V] [-s] [--state] …``.

Grammar
    latency: names of columns between two rules, a row a task of cells between bars (``avg:   0.589 ms``), a rule,
    ``TOTAL:``, a rule, ``INFO:`` lines about lost events, an empty line. timehist: three header lines, then ``time
    [cpu] task[tid/pid] wait delay run [pre-migration] [state] [next: …]`` with times in ms; ``awakened:`` and
    ``migrated:`` lines; with ``-s`` at the end a summary of tasks, idle times and totals.
Versions
    latency: 2.6.32 – 6.15 (``Average delay ms``, ``Avg delay ms``, ``Sum delay ms``); timehist: 4.10 – 6.15.
Traps
    Names of tasks hold spaces, bars and slashes; ``fio:(6)`` are six tasks of one name. Times are since boot. Switches
    of ``latency`` are the delays that were taken. A wait of 0.000 may be one whose beginning was not recorded.
    ``stddev`` of a summary is the standard error of the mean. CPU drawings of ``-V`` stand within the lines.
Sample
    tests/parse/perf_sched/latency/
Gives
    latency: latency_summary with the task as job, op ``schedule``, phase ``wakeup_delay``; its total row has scope
    ``total``; metric_series ``runtime_s``, ``delay_sum_s``, ``max_delay_start_s``, ``max_delay_end_s`` by task
    (stamps since boot; none where there was no delay). timehist: latency_series with the task as job, the CPU as
    target, phases ``wait`` (off the CPU, the delay included), ``wakeup_delay``, ``run``, ``migration_wait``;
    ``time_s`` is the stamp, when the task left the CPU, from the first line on. Summaries: latency_summary of phase
    ``run`` or ``idle``, metric_series by task and in all. ``awakened:`` and ``migrated:`` lines are counted.
"""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_lines import Lines, printable
from pipeline.parse.perf._perf_sched_timehist import HEADER, SUMMARY, Timehist
from pipeline.units import seconds

EXPECTED = "perf sched latency's table (`Task | Runtime ms | Switches | …`) or perf sched timehist's lines"
FORM = "perf sched latency, timehist"
VERSIONS = "2.6.32 – 6.15"
NOT_READ = "perf sched map, replay, script"
UNSEEN_CUTS = "timehist without a summary: nothing closes it"

_TABLE = re.compile(r"^ *Task +\| +Runtime ms +\| *Switches *\|", re.MULTILINE)
_RULE = re.compile(r" ?-{20,}\s*$")
_CELL = re.compile(r" *(?:[a-z ]{3,9}: *)?(\d{1,15}(?:\.\d+)?)(?: (ms|s))?\s*$")
_INFO = re.compile(r" *INFO: (.*)$")
_MAP = re.compile(r"(?: {2}[ *.A-Z0-9-]{2,16000} \d+\.\d{6} secs [^\n]*\n){2}")
_REPLAY = re.compile(r"run measurement overhead: \d+ nsecs\n")
_METRICS = {
    "sum delay ms": "delay_sum_s", "max delay start": "max_delay_start_s", "max delay end": "max_delay_end_s",
    "maximum delay at": "max_delay_end_s", "max delay at": "max_delay_end_s",
}  # fmt: skip
_WORDS = {"average": "avg", "maximum": "max"}
_MAX_LENGTH = 1024


def recognise(head: str) -> bool:
    """Whether the head has latency's or timehist's header; or is a map or a replay, which are refused."""
    has_timehist = any(HEADER.match(line) or SUMMARY.match(line) for line in head.split("\n")[:200])
    return bool(_TABLE.search(head) or has_timehist or _MAP.match(head) or _REPLAY.match(head))


def parse(source: Source) -> list[Report]:
    """Return a report a table; ParseError where there is none."""
    if _MAP.match(source.head) or _REPLAY.match(source.head):
        what = "perf sched replay" if _REPLAY.match(source.head) else "perf sched map: tasks by CPU, without latencies"
        raise source.error(1, EXPECTED, what)
    reader = _Reader(source)
    reader.read()
    parts = [part for part in reader.parts if part.has_figures]
    if not parts:
        raise source.error(1, EXPECTED, "no tasks")
    return [part.finish() for part in parts]


class _Part:
    """One table of latency, or a timehist with its summary."""

    def __init__(self, source: Source) -> None:
        self.report = Report("perf_sched", source)
        self.columns: list[str] | None = None  # of latency
        self.timehist = Timehist(self.report)
        self.n_unread = self.n_rows = self.n_switches = 0
        self.n_rules = 0
        self.total: int | None = None
        self.is_closed = False
        self.torn = False
        self.line = 0
        self._problems: dict[str, tuple[int | None, str]] = {}

    @property
    def has_figures(self) -> bool:
        """Whether there was a row."""
        return self.n_rows > 0 or self.total is not None or self.timehist.has_figures

    def problem(self, code: str, message: str) -> None:
        """Note a problem of the last line; one warning of a kind comes of it."""
        self._problems.setdefault(code, (self.line or None, message))

    def take_row(self, line: str) -> bool:
        """Take a line of latency's table."""
        columns = self.columns or []
        if len(line) > _MAX_LENGTH or _RULE.match(line):
            self.n_rules += bool(_RULE.match(line))
            return len(line) <= _MAX_LENGTH
        if match := _INFO.match(line):
            code = "lost_events" if "lost" in match[1] else "perf_bugs"
            self.problem(code, f"expected whole records, found perf's: {printable(match[1])}")
            return True
        is_total = line.strip().startswith("TOTAL:")
        cells = line.rstrip().removesuffix("|").split("|") if is_total else line.rsplit("|", len(columns) - 1)
        numbers = {name: _CELL.match(cell) for name, cell in zip(columns[1:], cells[1:], strict=False) if cell.strip()}
        if not {"runtime ms", "switches"} <= numbers.keys() or not all(numbers.values()):
            return False
        values = {name: _si(match) for name, match in numbers.items() if match}
        if is_total:
            self.total = int(values["switches"])
        else:
            self.n_rows += 1
            self.n_switches += int(values["switches"])
        self._add(None if is_total else cells[0].strip(), values)
        return True

    def _add(self, task: str | None, values: dict[str, float]) -> None:
        self.report.add(
            "latency_summary", job=task, op="schedule", scope="job" if task is not None else "total",
            phase="wakeup_delay", n_ops=int(values["switches"]), mean_s=values.get("avg delay ms"),
            max_s=values.get("max delay ms"),
        )  # fmt: skip
        labels = None if task is None else json.dumps({"task": task}, ensure_ascii=False)
        self.report.add("metric_series", metric="runtime_s", value=values["runtime ms"], unit="s", labels=labels)
        for column, metric in _METRICS.items():
            # A stamp of zero says that there was no delay.
            if column in values and (values[column] or "sum" in column):
                self.report.add("metric_series", metric=metric, value=values[column], unit="s", labels=labels)

    def finish(self) -> Report:
        """Judge completeness, write warnings."""
        self.timehist.finish(self.problem)
        if self.total is not None and self.n_switches != self.total:
            counts = f"expected {self.total} switches as in TOTAL, found {self.n_switches} in {self.n_rows} rows"
            self.problem("count_mismatch", counts)
        for code, (line, message) in self._problems.items():
            self.report.warn(line, code, message)
        if missing := self._missing():
            self.report.incomplete(self.line or None, "truncated", missing)
        return self.report

    def _missing(self) -> str | None:
        if self.torn:
            return "expected a line feed at the end, found a torn line"
        if self.columns is not None:
            if self.total is None:
                return "expected `TOTAL:`, found the end"
            return None if self.is_closed else "expected an empty line behind `TOTAL:`, found the end"
        if self.timehist.summary and not self.timehist.is_closed:
            return "expected `Total scheduling time`, found the end"
        return None


class _Reader:
    """Goes through the lines of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parts: list[_Part] = []

    def read(self) -> None:
        """Fill ``parts``."""
        lines = Lines(self.source)
        for number, line in lines:
            part = self.parts[-1] if self.parts else None
            if not line.strip():
                if part and part.total is not None and part.n_rules >= 3:
                    part.is_closed = True
            elif self._begin(line) is None and part is not None and not self._take(part, line, number):
                part.n_unread += 1
                part.problem("unread_lines", f"expected tasks, found other lines, the first: {printable(line)}")
        if self.parts:
            part = next((part for part in reversed(self.parts) if part.has_figures), self.parts[-1])
            part.torn = lines.torn is not None

    def _begin(self, line: str) -> _Part | None:
        """Begin a report at the header of a table."""
        if _TABLE.match(line):
            part = _Part(self.source)
            names = [name.strip().lower() for name in line.strip().rstrip("|").split("|")]
            part.columns = [" ".join(_WORDS.get(word, word) for word in name.split()) for name in names]
        elif HEADER.match(line) or (SUMMARY.match(line) and not self._has_open_timehist()):
            part = _Part(self.source)
            part.timehist.take(line)
        else:
            return None
        self.parts.append(part)
        return part

    def _has_open_timehist(self) -> bool:
        return bool(self.parts) and self.parts[-1].timehist.is_open and self.parts[-1].timehist.summary is None

    def _take(self, part: _Part, line: str, number: int) -> bool:
        part.line = number
        return part.timehist.take(line) if part.columns is None else part.take_row(line)


def _si(match: re.Match[str]) -> float:
    """A cell's number in s, or a count."""
    return round(seconds(float(match[1]), match[2]), 9) if match[2] else float(match[1])
