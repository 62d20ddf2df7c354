r"""iperf 2, text: what ``iperf -c HOST`` and ``iperf -s`` print.

Grammar
    ``Client connecting to HOST, TCP port N`` or ``Server listening on TCP port N``, settings, ``[  3] local A port N
    connected with B port M``, then a line an interval (-i) and one for the whole run: ``[  3]  0.0-10.0 sec  1.10
    GBytes 941 Mbits/sec``. Behind the rate: ``0.026 ms    1/ 5350 (0.019%)`` (UDP receiver: jitter, lost/total); with
    -e ``Write/Err  Rtry  Cwnd/RTT(var)  NetPwr``, ``Reads=Dist``, latencies, ``pps`` and more, which the header
    names. ``[SUM]`` and ``[SUM-4]`` with -P; ``[ *1]`` is the reverse direction; UDP adds ``[  3] Sent N datagrams``
    and ``[  3] Server Report:`` with the server's line below it.
Versions
    2.0.2 to 2.2.1 (0.0-10.0, 0.00-10.00 and 0.0000-10.0000 sec): TCP, UDP, -P, -d, -r, -R, --full-duplex, -e, -i, -f,
    --trip-times, --bounceback.
Traps
    * ``KBytes`` are 1024 bytes, ``Kbits`` 1000 bits; sizes and rates are rounded by iperf to three digits.
    * The whole-run line looks like an interval's. It is the one that begins at 0 where another line of its stream came
      before; a stream's only line counts as the whole run.
    * Servers of 2.0 give the same id to one connection after the other.
    * The server's report of a UDP test is often missing: then nobody counted what arrived (no_server_report).
    * Cwnd ``-1K`` and ``NA`` stand for unknown. The deviation of the connect times
      is printed as ms, but is in µs: it is taken so where it exceeds the largest one.
    * Nothing marks the end. A stream that connected and has no whole-run line is found missing; a text without -i that
      was cut between two lines may lack a sum, the datagrams or the server's report, and one with -i that was cut
      within the first interval looks like a whole run of that length.
Sample
    tests/parse/iperf2_text/tcp_parallel_enhanced/
Gives
    network_streams: stream is the id or ``SUM``. Intervals have time_s (end) and window_s; whole-run rows have no
    time_s, and window_s is their length. role by the figures (writes: sender; reads, jitter: receiver), else by who
    connected to whom; null for the sum of both directions. n_datagrams of a UDP sender is what it says to have sent.
    What has no column is in metric_series, labelled by stream and role. A report for each test: a stream that
    connects when all before it are through begins the next one.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network import iperf3_text
from pipeline.parse.network._iperf2_run import CLIENT, SERVER, Log
from pipeline.parse.network._iperf_rows import ROW, read_row

EXPECTED = "iperf's `Client connecting to …, TCP port …` or `[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec`"
FORM = "text"
VERSIONS = "2.0.2 – 2.2.1"
NOT_READ = "histograms (--histograms), frames of --isochronous"
UNSEEN_CUTS = "nothing marks the end: sums, datagrams and server's reports below the streams' lines may be missing"
_SIGNS = [re.compile("^" + pattern, re.MULTILINE) for pattern in (CLIENT.pattern, SERVER.pattern, ROW.pattern)]
_WHOLE_END = re.compile(r"(?:bits/sec|Bytes/sec|%\))$")


def recognise(head: str) -> bool:
    """Whether a line is one of iperf 2's; iperf 3's lines of figures are told by their spaces and last words."""
    return any(pattern.search(head) for pattern in _SIGNS) and not iperf3_text.recognise(head)


def parse(source: Source) -> list[Report]:
    """Return a report for each test; ParseError when there is neither a stream nor a figure."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    log = Log(source)
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held is not None:
            log.read(*held)
        held = line
    if held is not None and source.ends_with_newline:
        log.read(*held)
    elif held is not None:
        log.cut_line = held[0]
        if read_row(held[1]) is not None and _WHOLE_END.search(held[1].rstrip()):
            log.read(*held)
    reports = log.finish()
    if not reports:
        raise source.error(1, EXPECTED, source.head)
    return reports
