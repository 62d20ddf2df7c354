r"""iperf3, JSON: ``iperf3 -c HOST -J [--logfile FILE]``, ``iperf3 -s -J``, and the lines of ``--json-stream``.

Grammar
    ``{"start": {version, timestamp, connected, test_start …}, "intervals": [{"streams": [{socket, start, end, seconds,
    bytes, bits_per_second, …}], "sum": {…}}], "end": {"streams": [{"sender": {…}, "receiver": {…}} or {"udp": {…}}],
    "sum_sent", "sum_received", "sum", "cpu_utilization_percent"}}``, with ``error``, ``title``,
    ``server_output_json`` and ``server_output_text`` beside them. A server writes one document behind the other.
    ``--json-stream`` (from 3.17) writes a line an event: ``{"event": "start" | "interval" | "end" | "error" |
    "server_output_json" | "server_output_text", "data": …}``, with ``--json-stream-full-output`` and the document
    behind them.
Versions
    3.0 to 3.21: TCP, UDP, SCTP, -P, -R, --bidir, -O, --get-server-output.
Traps
    * A run that failed still leaves a document, with ``error``: what there is is kept, the report is not complete.
    * Intervals of -O (``omitted``) restart the clock; they are left out of the rows and counted in a warning.
    * ``sender`` inside an object says whether this end sends, not whether the object is the sender's.
    * The object ``udp`` and, beside ``sum_sent`` and ``sum_received``, ``sum`` of UDP hold bytes as sent with jitter
      and losses as received: role is null.
    * ``seconds`` of a receiver is the sender's time up to 3.21; its rate counts over ``end - start``, and so does
      window_s of all whole-run rows.
    * What an end does not know it fills with 0: a server the other end's bytes (statistics_not_available), a sender
      jitter and losses, ``sum_sent`` always. These are null.
    * rtt is in µs, snd_cwnd in bytes; -1 stands for a count that the system does not tell.
    * cpu_utilization_percent is iperf3's own use of one processor, not that of the machine.
Sample
    tests/parse/iperf3_json/tcp_parallel/
Gives
    network_streams: stream is the socket, ``SUM``, or the name of the object for --bidir's second direction
    (``SUM_bidir_reverse``). Intervals have time_s (end) and window_s; whole-run rows have no time_s, and window_s is
    their length. What has no column (snd_cwnd, rtt, max_rtt, out_of_order, CPU …) is in metric_series, labelled by
    stream and role. lost_percent is left out: it follows from the counts. Settings are parameters. A report for each
    document; a server's output inside a client's document is one more, behind it.
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.parse._json_documents import TooDeepError, documents, encodable, load
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network._iperf3_run import Run
from pipeline.parse.network._iperf3_text_run import read_lines

EXPECTED = 'iperf3\'s `{"start": {…, "version": "iperf 3…`'
FORM = "JSON and --json-stream"
VERSIONS = "3.0 – 3.21"
NOT_READ = ""
UNSEEN_CUTS = ""
_START = re.compile(
    r'\{\s{0,99}"(?:start|title|extra_data|intervals|end|error|server_output_json|server_output_text)"\s{0,9}:'
)
_EVENT = re.compile(r'^[^{\n]{0,200}\{\s{0,9}"event"\s{0,9}:\s{0,9}"(?:start|interval|end|error)"', re.MULTILINE)
_VERSION = re.compile(r'"version"\s{0,9}:\s{0,9}"iperf 3')


def recognise(head: str) -> bool:
    """Whether it has a document or an event of iperf3: its version, and the object ``start`` or another of its keys."""
    return _VERSION.search(head) is not None and (_EVENT.search(head) or _START.search(head)) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each document, or each test of a stream of events; ParseError when there is none."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    try:
        runs = _read_events(source) if _EVENT.search(source.head) else _read_documents(source)
    except TooDeepError as error:
        raise source.error(1, EXPECTED, "brackets nested too deep") from error
    if not runs:
        raise source.error(1, EXPECTED, source.head)
    return [report for run in runs for report in (run.report, *run.others)]


def _read_documents(source: Source) -> list[Run]:
    runs: list[Run] = []
    for document in documents(source.text, _START):
        value = document.value
        if not isinstance(value, dict) or not ({"start", "intervals", "end"} & value.keys()):
            if runs:
                runs[-1].report.incomplete(document.first_line, "truncated", "expected a whole document of iperf3")
            continue
        run = Run(source, document.first_line)
        runs.append(run)
        run.read_document(value)
        _add_server_output(run, value.get("server_output_json"), value.get("server_output_text"))
        if repeated := document.repeated - _REPEATED_IN_START:
            names = ", ".join(sorted(map(encodable, repeated)))[:100]
            run.report.warn(document.first_line, "repeated_key", f"expected each key once, found twice: {names}")
        if document.is_cut:
            run.report.incomplete(document.last_line, "truncated", "expected the end of the document, found it cut")
        elif not ({"start", "intervals", "end"} <= value.keys()):
            run.report.incomplete(document.last_line, "truncated", "expected `start`, `intervals` and `end`")
        if document.before.strip():
            run.report.warn(document.first_line, "unknown_line", "expected nothing before the document, found text")
        if "{" in document.after:
            run.report.incomplete(
                document.last_line, "truncated", "expected a whole document, found the beginning of one"
            )
        elif document.after.strip():
            run.report.warn(document.last_line, "unknown_line", "expected nothing behind the document, found text")
        run.finish()
    return runs


_REPEATED_IN_START = {
    "sock_bufsize",
    "sndbuf_actual",
    "rcvbuf_actual",
    "target_bitrate",
}  # of each direction of --bidir


def _add_server_output(run: Run, document: Any, text: Any) -> None:
    """The other end's report, which --get-server-output brings."""
    if isinstance(document, dict):
        other = Run(run.report.source, run.line)
        other.read_document(document)
        other.finish()
        run.others.append(other.report)
    if isinstance(text, str):
        run.others += read_lines(run.report.source, ((None, line) for line in encodable(text).split("\n")))


def _read_events(source: Source) -> list[Run]:
    """Read a line an event, as they come."""
    runs: list[Run] = []
    ended = True  # the last test
    for number, line in source.numbered_lines():
        event = _event_of(line)
        if event is None:
            if runs and line.strip():
                runs[-1].n_other_lines += 1
            if line.strip("\x00 \t{}") and '"event"' in line and runs:
                runs[-1].report.incomplete(number, "truncated", "expected a whole event, found a part of one")
            continue
        name, data = event
        if name == "start" or not runs:
            if runs:
                _end_of_events(runs[-1], number, ended=ended)
            runs.append(Run(source, number))
            ended = False
        run = runs[-1]
        if name in ("server_output_json", "server_output_text"):
            _add_server_output(run, data if name.endswith("json") else None, data if name.endswith("text") else None)
        elif not run.read_event(name, data):
            run.n_other_lines += 1
        ended = ended or name == "end"
    if runs:
        _end_of_events(runs[-1], runs[-1].line, ended=ended)
    return runs


def _end_of_events(run: Run, line: int, *, ended: bool) -> None:
    if not ended:
        run.report.incomplete(line, "truncated", "expected the event `end`, found none")
    run.finish()


def _event_of(line: str) -> tuple[str, Any] | None:
    start = line.find("{")
    if start < 0 or '"event"' not in line[start : start + 50]:
        return None
    try:
        value = load(line[start:].strip())
    except TooDeepError:
        raise
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return None
    return value["event"], value.get("data")
