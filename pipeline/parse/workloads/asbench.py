"""Aerospike's asbench (benchmark client in C): its log, and the file of --output-file (--histogram-output).

Grammar
    Settings as ``name:   value``, then a line a second: ``2022-07-27 18:19:14.834 INFO write(tps=15694 [(hit=15694
    miss=0)] timeouts=0 errors=0) read(…) [udf(…)] total(…)``. With --latency behind each period ``hdr: write
    2022-07-27T18:19:14Z 1, 15697, 70, 16735, 726, 1248, 2008, 3577, 13183``: seconds running, total, smallest and
    largest latency, and the percentiles that ``hdr histogram format:`` names above, in µs. The histogram's file:
    ``write_hist 2022-07-27T18:19:13Z, 1.00011s, 15702, 0:2755, 100:739 …``: length of the period, total, and ``lower
    edge in µs:count`` of the bins that are not empty, below a description of the bins.
Versions
    1.0 to 2.2 (and the C client's ``benchmarks`` before it, with its columns ``<=1ms >1ms >2ms …``).
Traps
    * A ``hdr:`` line counts from the start of the run, each one anew: its count is no rate, and only the last one is of
      the whole run. The lines of histograms count their own period.
    * Latencies are whole µs; hdr keeps three digits and nothing above 1 s.
    * The columns ``>1ms >2ms`` are cumulative and rounded to whole percent.
    * Without ``hdr histogram format`` (an excerpt) the percentiles are taken to be the default ones, with a warning.
    * Seconds without an operation have no line. The time of the lines has no zone, that of hdr is UTC.
    * Nothing marks the end.
Sample
    tests/parse/asbench/synthetic_latency/
Gives
    throughput_series: a window of 1 s, op ``write``, ``read``, ``udf``, ``total``; timeouts, errors, hits and misses in
    metric_series (timeouts and errors where there are any). operations: whole-run n_errors, and n_ops from the last hdr
    line. latency_percentiles and latency_summary: of the last hdr line without interval keys, of those before with
    interval_start_s 0. latency_bins and operations with interval keys from the histograms.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline import units
from pipeline.parse._figures import integer, number, positive
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._aerospike_lines import LONGEST_LINE, SETTING, STAMP, Seconds

EXPECTED = "asbench's `… INFO write(tps=… timeouts=… errors=…) …`, `hdr: write …` or `write_hist …`"
FORM = "log and histogram file"
VERSIONS = "1.0 – 2.2"
NOT_READ = "the files of --hdr-hist"
UNSEEN_CUTS = "nothing marks the end: a cut at a line's end looks like an earlier one"
_UTC = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_LINE = re.compile(STAMP + r" (?P<level>[A-Z]{4,5}) (?P<rest>.{0,1900})", re.ASCII)
_HDR = re.compile(rf"hdr: (write|read|udf)\s{{1,9}}{_UTC} ([0-9]{{1,18}}(?:, {{0,3}}[0-9]{{1,18}}){{3,60}})", re.ASCII)
_HIST = re.compile(
    rf"(write|read|udf)_hist {_UTC}, ([0-9.e+-]{{1,20}})s, ([0-9]{{1,18}})((?:, [0-9]{{1,18}}:[0-9]{{1,18}}){{0,500}})",
    re.ASCII,
)
_FORMAT = re.compile(
    r"hdr histogram format:\s{1,20}UTC-time, seconds-running, total, min-latency, max-latency,?\s{0,9}(.{1,500})"
)
_STAGE = re.compile(r"Stage ([0-9]{1,9}): (.{0,500})")
_SHAPE = re.compile(
    r"\s{0,9}(?:(?:write|read|udf)_hist|Total num buckets|Range (?:min|max)|Bucket (?:range [0-9]{1,9}|width)"
    r"|Num buckets):.{0,60}"
)
_SIGN = re.compile(
    rf"^(?:{_HDR.pattern}|{_HIST.pattern}|{STAMP} INFO (?:write|read|udf)\((?:count=\d{{1,18}} )?tps=\d)",
    re.MULTILINE | re.ASCII,
)
_DEFAULT = [50.0, 90.0, 99.0, 99.9, 99.99]
_RANGES_US = ((100, 100), (4000, 100), (64_000, 1000), (128_000, 4000))  # upper end of a range, width of its bins


def recognise(head: str) -> bool:
    """Whether a line is one of asbench's seconds, percentiles or histograms."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no figure."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    log = _Log(Report("asbench", source))
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held is not None:
            log.read(*held)
        held = line
    if held is not None and source.ends_with_newline:
        log.read(*held)
    if not log.has_figures:
        raise source.error(1, EXPECTED, source.head)
    return [log.finish(cut=held[0] if held is not None and not source.ends_with_newline else None)]


class _Log:
    """The file, read line by line."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.seconds = Seconds(report)
        self.has_figures = False
        self._percentiles: list[float] | None = None
        self._last_hdr: dict[str, tuple[float, list[int], list[float]]] = {}
        self._elapsed: dict[str, float] = {}  # of the histograms

    def read(self, line: int, text: str) -> None:
        """Read one line."""
        text = text.rstrip()[:LONGEST_LINE]
        if match := _LINE.fullmatch(text):
            if self.seconds.read_rates(line, match["stamp"], match["rest"]):
                self.has_figures = True
            elif match["level"] in ("WARN", "ERROR", "FATAL"):
                self.seconds.note("tool_warning", line)
        elif match := _HDR.fullmatch(text):
            self._take_hdr(line, match)
        elif match := _HIST.fullmatch(text):
            self._take_histogram(line, match)
        elif match := _FORMAT.fullmatch(text):
            found = [number(word.strip().rstrip("%")) for word in match[1].split(",")]
            self._percentiles = [value for value in found if value is not None and 0 <= value <= 100]
            self.report.parameter("hdr histogram format", text.partition(":")[2].strip())
        elif match := _STAGE.fullmatch(text):
            self.report.parameter("stage", match[2], match[1])
        elif self.seconds.read_latencies(text) or not text or _SHAPE.fullmatch(text):
            return
        elif not self.has_figures and (match := SETTING.fullmatch(text)):
            self.report.parameter(match[1], match[2])
        else:
            self.seconds.note("unknown_line", line)

    def _start(self, stamp: str, elapsed_s: float) -> None:
        if "started_at" in self.report.run:
            return
        try:
            self.report.describe(
                started_at=datetime.fromisoformat(stamp).astimezone(UTC) - timedelta(seconds=elapsed_s)
            )
        except (ValueError, OverflowError):
            return

    def _take_hdr(self, line: int, match: re.Match[str]) -> None:
        self.has_figures = True
        figures = [integer(text.strip()) or 0 for text in match[3].split(",")]
        percentiles = self._percentiles
        if percentiles is None:
            self.seconds.note("assumed_percentiles", line)
            percentiles = self._percentiles = _DEFAULT
        if len(figures) != 4 + len(percentiles):
            self.seconds.note("hdr_without_format", line)
            return
        op = match[1]
        self._start(match[2], float(figures[0]))
        if op in self._last_hdr:
            before_s, before, named = self._last_hdr[op]
            self._add_hdr(op, before, named, {"interval_start_s": 0.0, "interval_end_s": before_s})
        self._last_hdr[op] = float(figures[0]), figures, percentiles

    def _add_hdr(self, op: str, figures: list[int], percentiles: list[float], keys: dict[str, Any]) -> None:
        keys = {**keys, "op": op, "scope": "total"}
        _, total, smallest, largest, *latencies = figures
        if keys.get("interval_end_s") is None:
            self.seconds.whole[op] = {"n_ops": total, "duration_s": float(figures[0])}
        if not total:
            return
        self.report.add(
            "latency_summary",
            **keys,
            phase="total",
            n_ops=total,
            min_s=smallest * units.MICRO,
            max_s=largest * units.MICRO,
        )
        for percentile, value in zip(percentiles, latencies, strict=True):
            self.report.add(
                "latency_percentiles", **keys, phase="total", percentile=percentile, latency_s=value * units.MICRO
            )

    def _take_histogram(self, line: int, match: re.Match[str]) -> None:
        length = positive(match[3])
        if length is None:
            self.seconds.note("unknown_line", line)
            return
        self.has_figures = True
        op, total = match[1], integer(match[4])
        self._start(match[2], length)
        start = self._elapsed.get(op, 0.0)
        end = self._elapsed[op] = round(start + length, 9)
        keys: dict[str, Any] = {"interval_start_s": start, "interval_end_s": end, "op": op, "scope": "total"}
        self.report.add("operations", **keys, n_ops=total, duration_s=length)
        n = 0
        for lower, text in re.findall(r"([0-9]{1,18}):([0-9]{1,18})", match[5]):
            upper = _upper_us(int(lower))
            n += int(text)
            self.report.add("latency_bins", **keys, phase="total", lower_s=int(lower) * units.MICRO,
                            upper_s=None if upper is None else upper * units.MICRO, count=int(text))  # fmt: skip
        if n != total:
            self.seconds.note("count_mismatch", line)

    def finish(self, *, cut: int | None) -> Report:
        """The report, with the last percentiles as those of the whole run."""
        for op, (_, figures, percentiles) in self._last_hdr.items():
            self._add_hdr(op, figures, percentiles, {})
        if self._last_hdr:
            self.report.describe(duration_s=max(end for end, _, _ in self._last_hdr.values()))
        elif self._elapsed:
            self.report.describe(duration_s=max(self._elapsed.values()))
        self.seconds.finish()
        if cut is not None:
            self.report.incomplete(cut, "truncated", "expected whole lines, found the end of the file within one")
        return self.report


def _upper_us(lower: int) -> int | None:
    """Upper edge of asbench's bin that begins here; None of the last one."""
    for end, width in _RANGES_US:
        if lower < end:
            return lower + width if lower >= 100 else 100
    return None
