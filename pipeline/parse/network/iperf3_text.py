r"""iperf3, text: what ``iperf3 -c HOST`` and ``iperf3 -s`` print.

Grammar
    ``[ ID] Interval  Transfer  Bitrate …`` (``Bandwidth`` up to 3.1), then ``[  5]   0.00-1.00   sec  654 MBytes
    5.47 Gbits/sec`` and behind it: ``Retr  Cwnd`` of a TCP sender, a count of datagrams of a UDP sender, ``0.072 ms
    12/345 (3.5%)`` of a UDP receiver; ``[SUM]`` with -P; ``[  5][TX-C]`` with --bidir; ``(omitted)`` with -O. Behind
    ``- - -`` and a second header the whole-run lines, which end in ``sender`` or ``receiver``; with -V ``CPU
    Utilization: …`` below. A client ends with ``iperf Done.``; a server's tests follow one another. --get-server-output
    puts the server's lines behind ``Server output:``. A title (-T) or a time (--timestamps) stands before each line.
Versions
    3.0 to 3.21, all of -f, -i, -P, -R, --bidir, -O, -n, -V, TCP, UDP and SCTP.
Traps
    * ``KBytes`` are 1024 bytes, ``Kbits`` 1000 bits; with -f K the rate is in KBytes/sec. Sizes and rates are rounded
      to three digits by iperf3; the JSON has them in full.
    * Omitted intervals restart the clock; they are left out of the rows and counted in a warning.
    * UDP's whole-run line up to 3.1 says neither sender nor receiver: it has the bytes sent and the receiver's jitter
      and losses; its role is null.
    * What an end does not know it prints as 0: the other end's bytes (then the line is left out, with a warning), the
      jitter and losses of a sender (null).
    * Interrupted clients print whole-run lines as well; then ``iperf3: interrupt - …`` and no ``iperf Done.``
Sample
    tests/parse/iperf3_text/tcp_parallel_verbose/
Gives
    network_streams: stream is the socket or ``SUM`` (``SUM[TX-C]`` with --bidir). Intervals have time_s (end) and
    window_s; whole-run rows have no time_s, and window_s is their length. snd_cwnd, CPU use, datagrams out of order
    are in metric_series. A report for each test; a server's output behind a client's is a report of its own.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network._iperf3_lines import ACCEPTED, CONNECTING, LISTENING
from pipeline.parse.network._iperf3_text_run import read_lines

EXPECTED = "iperf3's `Connecting to host …` or `[ ID] Interval           Transfer     Bitrate`"
FORM = "text"
VERSIONS = "3.0 – 3.21"
NOT_READ = "debug output (-d)"
UNSEEN_CUTS = "a server ends a test without a mark: up to 3.6 its last of two whole-run lines may be missing"
_LINES = [re.compile(pattern.pattern, re.MULTILINE) for pattern in (CONNECTING, ACCEPTED, LISTENING)]
_SIGN = re.compile(
    r"^(?:.{0,100}\s)?(?:iperf Done\.\s*$|iperf3: (?:error|interrupt) - |\[ ID\](?:\[Role\])?"
    r" Interval\s{1,20}Transfer\s{1,20}Bitrate"
    r"|\[ *(?:\d{1,9}|SUM)\](?:\[[RT]X-[CS]\])?\s{1,9}\d{1,9}\.\d\d-\d{1,9}\.\d\d(?:\s{2,9}sec |\s{1,9}sec"
    r" .{10,100}\b(?:sender|receiver)\s*$))",
    re.MULTILINE | re.ASCII,
)


def recognise(head: str) -> bool:
    """Whether a line is one that iperf3 prints and iperf 2 does not."""
    return _SIGN.search(head) is not None or any(pattern.search(head) for pattern in _LINES)


def parse(source: Source) -> list[Report]:
    """Return a report for each test; ParseError when there is neither a figure nor a setting."""
    reports = read_lines(source, source.numbered_lines()) if recognise(source.head) else []
    if not reports:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return reports
