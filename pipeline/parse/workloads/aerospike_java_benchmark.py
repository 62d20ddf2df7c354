"""Aerospike's Java benchmark client: ``run_benchmarks -h HOST … [-latency 7,1]``.

Grammar
    Settings, then a line a second: ``2015-06-24 11:58:13.827 write(tps=6323 timeouts=0 errors=0) read(tps=6245
    timeouts=0 errors=0[ nf=N]) [txns(…)] total(tps=12568 timeouts=0 errors=0)``; an insert workload has
    ``write(count=N tps=… …)``. With -latency below each a header ``<=1ms >1ms >2ms …`` and a line ``write  98%  2%
    1%`` an operation; ``alt``: ``write <=1ms(980:98.00%) >1ms(20:2.00%) total(1000)``. At the end ``Latency Summary``
    with the same of the whole run.
Versions
    3.0 to 9.0; up to 4 the time is ``Wed Jun 24 11:58:13 PDT 2015``.
Traps
    * The columns after the first are cumulative (an operation of 9 ms is in >1ms, >2ms, >4ms and >8ms) and whole
      percent.
    * The first line of a run counts the start-up as well. The time has no zone: started_at is unknown.
    * Nothing marks the end but the summary, which is there with -latency alone.
Sample
    tests/parse/aerospike_java_benchmark/synthetic_latency_columns/
Gives
    throughput_series: a window of 1 s, op ``write``, ``read``, ``transaction``, ``total``; timeouts and errors in
    metric_series where there are any, their sums in operations (n_errors) and timeouts_total; count in n_ops. Latency
    columns as ``latency_share_up_to`` and ``latency_share_above`` (labels op, limit_s) in metric_series; with ``alt``
    as latency_bins.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._aerospike_lines import LONGEST_LINE, SETTING, STAMP, Seconds

EXPECTED = "the benchmark's `2015-06-24 11:58:13.827 write(tps=… timeouts=… errors=…) …`"
FORM = "text"
VERSIONS = "3.0 – 9.0"
NOT_READ = "-latency ycsb"
UNSEEN_CUTS = "nothing marks the end: a cut at a line's end looks like an earlier one"
_LINE = re.compile(STAMP + r" (?P<rest>(?:write|read)\(.{0,1900})", re.ASCII)
_MESSAGE = re.compile(STAMP + r" (?:INFO|WARN|ERROR|DEBUG) .{0,1900}", re.ASCII)
_SIGN = re.compile(rf"^{STAMP} write\((?:count=\d{{1,18}} )?tps=\d{{1,18}} timeouts=\d", re.MULTILINE | re.ASCII)


def recognise(head: str) -> bool:
    """Whether a line is one of its seconds; asbench's have a level before the figures."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no figure."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    seconds = Seconds(Report("aerospike_java_benchmark", source))
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held is not None:
            _read_line(seconds, *held)
        held = line
    cut = held[0] if held is not None and not source.ends_with_newline else None
    if held is not None and cut is None:
        _read_line(seconds, *held)
    if not seconds.n_lines:
        raise source.error(1, EXPECTED, source.head)
    seconds.finish()
    if cut is not None:
        seconds.report.incomplete(cut, "truncated", "expected whole lines, found the end of the file within one")
    return [seconds.report]


def _read_line(seconds: Seconds, line: int, text: str) -> None:
    text = text.rstrip()[:LONGEST_LINE]
    match = _LINE.fullmatch(text)
    if match is not None and seconds.read_rates(line, match["stamp"], match["rest"]):
        return
    if not text or seconds.read_latencies(text):
        return
    if _MESSAGE.fullmatch(text):
        if re.search(r" (?:WARN|ERROR) ", text[:60]):
            seconds.note("tool_warning", line)
    elif not seconds.n_lines and (setting := SETTING.fullmatch(text)):
        seconds.report.parameter(setting[1], setting[2])
    else:
        seconds.note("unknown_line", line)
