"""HdrHistogram interval logs (.hlog): what jHiccup, YCSB, cassandra-stress, asbench, wrk2 … write with HdrHistogram.

Grammar
    ``[Tag=NAME,]start,length,maximum,histogram``: start and length of the interval in seconds, the largest value in
    the writer's unit, and the histogram (compressed, base 64). ``#[StartTime: SECONDS …]`` and ``#[BaseTime: …]`` since
    1970, other ``#`` comments, an optional legend in quotes.
Versions
    Logs 1.0 to 1.3 with histograms V0, V1, V2, of HdrHistogram for Java, C, .NET, JavaScript, Go, Python, Rust.
Traps
    * The second field is the interval's end in logs of HdrHistogram_c (legend ``EndTimestamp``, asbench) and of
      cql-stress-scylla-bench, whose legend says length; old logs of Java call the length ``EndTimestamp``. An end is
      what is never below its start, and stands with a stamp or where the tag's next interval starts.
    * Starts count from BaseTime; without one, from StartTime if they are more than a year before it, else from 1970.
    * StartTime may be later than the first interval: some write it at the end.
    * Nothing says what one unit of a recorded value is. Most record ns and print the maximum in ms; YCSB records µs
      and prints thousandths of that, asbench µs and prints them.
    * asbench's StartTime counts from the machine's start; its first line holds the time, ``#[2026-01-31T10:11:12Z]``.
Sample
    tests/parse/hdr_log/synthetic_two_tags_V2/
Gives
    latency_bins: the bins that are not empty, op = the name of ``#[Logging for: NAME]`` or ``total``, job = the tag
    (scope ``job``, else ``total``), interval since the first one's start or StartTime, whichever is earlier; an
    interval without values has none. latency_summary: n_ops of the interval, max_s = the printed maximum. A value is
    taken in ns, or in µs of YCSB (``Logging for``), of asbench and where the printed maximum is a thousandth of the
    largest value: the parameter ``value_unit`` and ``unit_guessed`` tell. V0, V1 and V2 are decoded here, up to 64 MiB
    a histogram.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.histograms._hdr_ends import Times, are_ends
from pipeline.parse.histograms._hdr_payload import decode
from pipeline.parse.histograms._hdr_rows import Interval, IntervalRows

EXPECTED = "HdrHistogram's interval log: `0.127,1.007,2.769,HISTFAAAAEV42pNpmSz…`"
FORM = "interval log"
VERSIONS = "1.0 – 1.3 (V0 – V2)"
NOT_READ = "DoubleHistogram"
UNSEEN_CUTS = "nothing ends the log; a cut between two intervals cannot be told from a whole one"
_FIELD = r"\s*([0-9.]{1,25})\s*[, ]"
_LINE = re.compile(rf"(?:Tag=([^,]{{0,1000}}),)?{_FIELD}{_FIELD}{_FIELD}\s*(\S+)\s*")
_HEAD = re.compile(r"(?:Tag=[^,\n]{0,1000},)?[0-9.]{1,25},[0-9.]{1,25},[0-9.]{1,25},\s*HIST[A-Za-z0-9+/]")
_TIME = re.compile(r"#\[(StartTime|Base[Tt]ime): ([0-9.]{1,25})")
_ASBENCH = re.compile(r"#\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\]")
_FORMAT = re.compile(r"#\[Histogram log format version ([0-9.]{1,20})\]")
_FOR = re.compile(r"#\[Logging for: (.{1,100})\]")
_LOGGED = re.compile(r"#\[Logged with (.{1,200}?)\]?")
_DECIMALS = 6  # of a time; what is behind them comes from the subtraction
_YEAR_S = 365 * 24 * 3600.0
_LAST_S = 1e10  # the year 2286
_HEAD_LINES = 1000  # intervals that show whether the second field is an end


class _Clock(NamedTuple):
    """Start of the run since 1970, what the intervals' times count from, and what the second field is."""

    start_s: float
    base_s: float
    has_ends: bool
    is_said: bool  # by the legend


def recognise(head: str) -> bool:
    """Whether one of the first lines holds a histogram."""
    return any(_HEAD.match(line) for line in head.split("\n")[:50])


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when no line holds an interval that can be read."""
    clock = _find_clock(source)
    report = Report("hdrhistogram", source)
    rows = IntervalRows(report)
    bad: list[tuple[int, str]] = []
    number, line = 0, ""
    for number, line in source.numbered_lines():
        text = line.strip()
        if text.startswith("#"):
            _read_comment(report, rows, text)
        elif text and not text.startswith('"'):
            try:
                rows.add(_interval(text, clock))
            except ValueError as error:
                bad.append((number, str(error)))
    is_torn = not source.ends_with_newline
    if not rows.n_intervals:
        expected = EXPECTED if not bad else "a histogram that can be read"
        raise source.error(bad[0][0] if bad else 1, expected, bad[0][1] if bad else source.head or "an empty file")
    if clock.start_s > _YEAR_S and "started_at" not in report.run:
        report.describe(started_at=datetime.fromtimestamp(clock.start_s, UTC))
    rows.finish()
    if clock.has_ends and not clock.is_said:
        report.warn(None, "interval_ends", "expected the intervals' lengths, found their ends: read as such")
    if is_torn and bad and bad[-1][0] == number:
        report.incomplete(number, "truncated", f"expected a whole interval, found {bad.pop()[1]}")
    elif is_torn and line.strip():
        report.incomplete(number, "truncated", "expected a line feed, found the end of the file")
    if bad:
        found = f"{bad[0][1]} ({len(bad)} such lines, which are left out)"
        report.incomplete(bad[0][0], "bad_line", f"expected an interval, found {found}")
    return [report]


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value > _LAST_S:
        raise ValueError(f"a time or a maximum of {text}")
    return value


def _find_clock(source: Source) -> _Clock:
    """How to read the times of the intervals, from all starts, the comments and the first intervals."""
    times: dict[str, float] = {}
    head: list[Times] = []
    is_legend = False
    earliest = math.inf
    for _, line in source.numbered_lines():
        if match := _TIME.match(line):
            try:
                times.setdefault(match[1], _number(match[2]))
            except ValueError:
                continue
        elif match := _LINE.match(line[:2048]):
            try:
                value, second = _number(match[2]), _number(match[3])
            except ValueError:
                continue
            if len(head) < _HEAD_LINES:
                head.append((match[1], value, second))
            earliest = min(earliest, value)
        elif line.startswith('"') and "EndTimestamp" in line[:200]:
            is_legend = True
    if not head:
        return _Clock(0.0, 0.0, has_ends=False, is_said=False)
    first = head[0][1]
    start = times.get("StartTime", first)
    has_ends = are_ends(head, times.get("StartTime"), is_legend=is_legend, is_writer="Basetime" in times)
    base = times.get("BaseTime", times.get("Basetime", start if first < start - _YEAR_S else 0.0))
    return _Clock(min(start, earliest + base), base, has_ends, is_legend)


def _interval(text: str, clock: _Clock) -> Interval:
    """One line; ValueError says what is wrong with it."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:60]!r}")
    shift = clock.base_s - clock.start_s
    begin = max(0.0, round(_number(match[2]) + shift, _DECIMALS))
    end = round(_number(match[3]) + (shift if clock.has_ends else begin), _DECIMALS)
    if end < begin:
        raise ValueError(f"an end before its start, {match[2]},{match[3]}")
    return Interval(match[1], begin, end, _number(match[4]), decode(match[5]))


def _read_comment(report: Report, rows: IntervalRows, text: str) -> None:
    if match := _FORMAT.match(text):
        report.parameter("log_format_version", match[1])
    elif match := _FOR.match(text):
        rows.name = match[1]
        report.parameter("logging_for", match[1])
    elif match := _LOGGED.fullmatch(text):
        report.parameter("logged_with", match[1])
    elif (match := _ASBENCH.fullmatch(text)) and (stamp := _stamp(match[1])):
        rows.is_us = True
        report.describe(started_at=stamp)  # its StartTime counts from the machine's
    elif not _TIME.match(text) and text.strip("# "):
        report.parameter("comment", text.strip("# "))


def _stamp(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
