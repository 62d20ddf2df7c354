"""stress-ng, YAML: what ``stress-ng … --metrics --yaml FILE`` writes.

Grammar
    ``system-info:`` with settings, ``metrics:`` with a list of stressors (``- stressor: cpu``, ``bogo-ops: 1127`` …),
    and for their options ``perfstats:``, ``thermal-zones:``, ``rapl-power-domains:``, ``C-states:``, ``interrupts:``,
    ``io-stats:``, ``exercised:``, ``times:``, ``build-info:``; at the end ``...``. From 0.19 each stressor has
    ``instances:`` below it.
Versions
    0.05 to 0.22, with --sn as well.
Traps
    * The file is read line by line and not as YAML: to a YAML reader ``23:07:59`` is a number of base 60, ``#80 …`` a
      comment, and of two keys of the same name in a stressor (two metrics may get one) the last one alone is left.
    * Extra metrics stand among the stressor's own keys. They are the arithmetic mean of the instances; the text has the
      geometric or harmonic mean.
    * system-info is written when the run is over: epoch-secs, whole seconds, is its end.
    * cpu-usage-per-instance is in %, max-rss in KB of 1024 bytes.
    * Keys without figures (``nan``) are null.
Sample
    tests/parse/stress_ng_yaml/brief/
Gives
    As ``stress_ng_text``: stressors, perf_counters (the key without ``_total``; the rate a second is left out), and in
    metric_series all other keys, labelled by stressor (and instance); settings are parameters. duration_s is the
    run-time of --times, started_at (with --times) as much before epoch-secs. A report for each document.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta

from pipeline import units
from pipeline.parse._figures import integer, number, snake
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads import _stress_ng_rows as rows

EXPECTED = "stress-ng's `metrics:` with `- stressor: …` below it"
FORM = "YAML (--yaml)"
VERSIONS = "0.05 – 0.22"
NOT_READ = ""
UNSEEN_CUTS = ""
_SIGN = re.compile(r"^\s{0,12}stress-ng-version: |^metrics:\s*\n\s{1,8}- stressor: \S", re.MULTILINE)
_SECTION = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,40}):\s*")
_ITEM = re.compile(r"( {1,20})(?:- )?( {0,9})([^\s:#-][^:]{0,200}|-?[^\s:]{1,60}):(?: (.{0,2000}))?")
_STRESSOR = {
    "bogo-ops-per-second-usr-sys-time": "bogo_ops_per_cpu_s", "bogo-ops-per-second-real-time": "bogo_ops_per_real_s",
    "wall-clock-time": "real_s", "user-time": "user_s", "system-time": "system_s",
}  # fmt: skip
_TIMES = {
    "run-time": None,
    "available-cpu-time": "available_cpu_time",
    "user-time": "user_time",
    "system-time": "system_time",
    "total-time": "total_time",
    "load-average-1-minute": "load_average_1min",
    "load-average-5-minute": "load_average_5min",
    "load-average-15-minute": "load_average_15min",
}
_UNITS = {"thermal-zones": ("temperature", "zone", "°C", 1.0), "rapl-power-domains": ("power", "domain", "W", 1.0),
          "C-states": ("idle_state_ratio", "state", "1", units.PERCENT)}  # fmt: skip
_SETTINGS = {"system-info", "build-info", "exercised"}
_LAST_EPOCH_S = 4_102_444_800  # the year 2100


def recognise(head: str) -> bool:
    """Whether it has stress-ng's version or its list of stressors."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each document; ParseError when there is neither a figure nor a setting."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    documents = [_Document(source)]
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held is not None:
            _read_line(documents, *held)
        held = line
    if held is not None and (source.ends_with_newline or held[1].rstrip() == "..."):
        _read_line(documents, *held)
    elif held is not None:
        documents[-1].cut = held[0]
    documents = [document for document in documents if document.has_content]
    if not documents:
        raise source.error(1, EXPECTED, source.head)
    return [document.finish() for document in documents]


def _read_line(documents: list[_Document], line: int, text: str) -> None:
    if text.rstrip() == "---" and documents[-1].has_content:
        documents.append(_Document(documents[-1].report.source))
    documents[-1].read(line, text.rstrip())


class _Document:
    """A document, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("stress_ng", source)
        self.has_content = False
        self.cut: int | None = None
        self._section = ""
        self._stressor: str | None = None
        self._instance: str | None = None
        self._cells: dict[str, str] = {}  # of the stressor's row in metrics
        self._seen: set[str] = set()  # keys of the stressor or its instance
        self._is_ended = False
        self._ended_at: datetime | None = None
        self._last = 1
        self._notes: Counter[str] = Counter()
        self._first_of: dict[str, int] = {}

    def read(self, line: int, text: str) -> None:
        """Read one line."""
        self._last = line
        if match := _SECTION.fullmatch(text):
            self._end_stressor()
            self._section, self._stressor, self._seen, self.has_content = match[1], None, set(), True
        elif text == "...":
            self._is_ended = True
        elif (match := _ITEM.fullmatch(text)) and self._section:
            self._take(line, match[3], (match[4] or "").strip())
        elif text.strip() and text != "---":
            self._note("unknown_line", line)

    def _note(self, code: str, line: int) -> None:
        self._notes[code] += 1
        self._first_of.setdefault(code, line)

    def _take(self, line: int, key: str, text: str) -> None:
        if key == "stressor":
            self._end_stressor()
            self._stressor, self._instance, self._seen = text, None, set()
            return
        if key == "instances" and not text:
            return
        if key == "instance" and self._section == "metrics":
            self._end_stressor()
            self._instance, self._seen = text, set()
            return
        if key in self._seen:
            self._note("repeated_key", line)
        elif self._stressor is not None:
            self._seen.add(key)
        if self._section in _SETTINGS:
            self._set(key, text)
        elif self._section == "times":
            self._add_time(line, key, text)
        elif self._stressor is None:
            self._note("unknown_line", line)
        elif self._section == "metrics":
            self._add_figure(line, key, text)
        else:
            self._add_other(line, key, text)

    def _set(self, key: str, text: str) -> None:
        value = text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
        if key == "stress-ng-version":
            self.report.describe(tool_version=value)
        elif key == "epoch-secs" and (seconds := integer(value)) is not None and seconds < _LAST_EPOCH_S:
            self._ended_at = datetime.fromtimestamp(seconds, UTC)
        self.report.parameter(key, value, self._stressor)

    def _add_time(self, line: int, key: str, text: str) -> None:
        value = number(text)
        if key == "run-time" and value is not None and value >= 0:
            self.report.describe(duration_s=value)
            if self._ended_at is not None and value < self._ended_at.timestamp():
                self.report.describe(started_at=self._ended_at - timedelta(seconds=value))
        elif key not in _TIMES and not key.endswith("-percent"):
            self._note("unknown_line", line)
        elif name := _TIMES.get(key):
            rows.metric(self.report, name, value, "1" if key.startswith("load") else "s")

    def _add_figure(self, line: int, key: str, text: str) -> None:
        """A key of a stressor in ``metrics``, or of one of its instances."""
        stressor = self._stressor or ""
        if self._instance is None and (key in _STRESSOR or key == "bogo-ops") and key not in self._cells:
            self._cells[key] = text
            return
        value = number(text)
        if value is None and text not in ("nan", "-nan", "inf", "-inf"):
            self._note("unknown_line", line)
        elif key in ("cpu-usage-per-instance", "cpu-usage"):
            rows.usage(self.report, stressor, value, None, self._instance)
        elif key == "max-rss":
            rows.usage(self.report, stressor, None, value, self._instance)
        else:
            unit = "s" if key in ("wall-clock-time", "user-time", "system-time") else None
            rows.metric(self.report, snake(key), value, unit, stressor=stressor, instance=self._instance)

    def _add_other(self, line: int, key: str, text: str) -> None:
        """A key of a stressor in another section."""
        value = number(text)
        if value is None:
            self._note("unknown_line", line)
        elif self._section == "perfstats":
            if key.endswith("_total"):
                rows.counter(self.report, self._stressor or "", key.removesuffix("_total"), value)
            elif key != "duration" and not key.endswith("_per_second"):
                self._note("unknown_line", line)
        elif self._section in _UNITS:
            name, label, unit, factor = _UNITS[self._section]
            rows.metric(self.report, name, value * factor, unit, stressor=self._stressor, **{label: key})
        elif key in ("read-kilobytes-per-sec", "write-kilobytes-per-sec"):
            rows.metric(
                self.report, f"{key.partition('-')[0]}_bytes_per_s", value * units.KIBI, "B/s", stressor=self._stressor
            )
        else:
            rows.metric(self.report, snake(key), value, None, stressor=self._stressor, section=self._section)

    def _end_stressor(self) -> None:
        """Write the row of the stressor that ends here."""
        if not self._cells or self._stressor is None:
            return
        figures = {column: number(self._cells.get(key)) for key, column in _STRESSOR.items()}
        self.report.add(
            "stressors",
            stressor=self._stressor,
            n_bogo_ops=integer(self._cells.get("bogo-ops")),
            **{column: value for column, value in figures.items() if value is not None and value >= 0},
        )
        if missing := [key for key in (*_STRESSOR, "bogo-ops") if key not in self._cells]:
            self._note("missing_key", self._last)
            self._is_ended = self._is_ended and not missing
        self._cells = {}

    def finish(self) -> Report:
        """The report, with what was noticed."""
        self._end_stressor()
        for code, n in self._notes.items():
            self.report.warn(self._first_of[code], code, _MESSAGES[code].format(n))
        if self.cut is not None:
            self.report.incomplete(self.cut, "truncated", "expected whole lines, found the end of the file within one")
        elif not self._is_ended:
            self.report.incomplete(self._last, "truncated", "expected `...` at the end, found none")
        return self.report


_MESSAGES = {
    "unknown_line": "expected stress-ng's keys with figures, found {} other lines, the first here",
    "repeated_key": "expected each key once in a stressor, found {} again, the first here; all are kept",
    "missing_key": "expected all of a stressor's keys, found some missing in {}, the first above this line",
}
