"""iperf 2, CSV: ``iperf -c HOST -y C`` and ``iperf -s -y C``.

Grammar
    ``TIME,ADDRESS,PORT,ADDRESS,PORT,ID,START-END,BYTES,BITS_PER_S`` a line an interval and one for the whole run; UDP
    adds ``,JITTER_MS,LOST,TOTAL,PERCENT,OUT_OF_ORDER``. With -e from 2.2 a header line names the columns (``time,
    srcaddress,…,istart,iend,bytes,speed,writecnt,writeerr,tcpretry,tcpcwnd,…``). TIME is YYYYMMDDhhmmss, with -e and a
    fraction and a zone behind it.
Versions
    2.0.2 to 2.2.1.
Traps
    * The whole-run line is the last of a stream and begins at 0 again, as in the text.
    * Id -1 is the sum of all streams. A UDP client of 2.1 gives -1 datagrams in its whole-run line, and 0 for jitter
      and losses, which it cannot know: they are null.
    * 2.0's server and 2.1's whole-run lines are dated 1970.
    * A UDP client of 2.0 has nine columns a line; a line of fourteen behind them is the server's report.
    * Nothing says which end wrote the lines: role is null but for that report and for columns that only one end has.
Sample
    tests/parse/iperf2_csv/tcp_parallel/
Gives
    network_streams and metric_series as ``iperf2_text``; ports and addresses as parameters of the stream (as printed:
    ``first`` and ``second``). started_at only where the time has a zone. One report.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from pipeline import units
from pipeline.parse._figures import integer, number
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network._iperf2_streams import Stream, add
from pipeline.parse.network._iperf2_tail import Metric
from pipeline.parse.network._iperf_rows import Row, milliseconds

EXPECTED = "iperf's `20261120230929,127.0.0.1,47362,127.0.0.1,5101,4,0.0-1.0,580255804,4642046432`"
FORM = "CSV (-y C)"
VERSIONS = "2.0.2 – 2.2.1"
NOT_READ = ""
UNSEEN_CUTS = "nothing marks the end: whole-run lines of some streams may be missing where others are there"
_LINE = re.compile(
    r"(?P<time>[0-9]{14})(?P<zone>[-+.0-9]{0,15}),(?P<a>[^,\s]{0,100}),(?P<a_port>[0-9]{1,5}),(?P<b>[^,\s]{0,100}),"
    r"(?P<b_port>[0-9]{1,5}),(?P<id>-?[0-9]{1,9}),(?P<start>[0-9.]{1,20})[-,](?P<end>[0-9.]{1,20}),(?P<rest>[-+.0-9a-z,]{1,400})"
)
_HEAD = re.compile("^" + _LINE.pattern.split("(?P<rest>")[0] + r"[0-9]{1,20},-?[0-9]{1,25}(?:,|\s*$)", re.MULTILINE)
_HEADER = "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed"
_UNKNOWN_TOTAL = re.compile(r",0\.000,0,-1,-?0\.000,0\s*$", re.MULTILINE)
_PLAIN = ("bytes", "speed")
_UDP = (*_PLAIN, "jitter", "errors", "datagrams", "errpercent", "outoforder")
_COLUMNS = {"bytes", "speed", "jitter", "errors", "datagrams", "errpercent", "tcpretry"}
_MS, _US = units.MILLI, units.MICRO
_METRICS = {
    "outoforder": ("out_of_order", "1", 1.0),
    "writecnt": ("writes", "1", 1.0),
    "writeerr": ("write_errors", "1", 1.0),
    "writetimeo": ("write_timeouts", "1", 1.0),
    "tcpcwnd": ("snd_cwnd", "B", units.KIBI),
    "tcppcwnd": ("snd_cwnd_packets", "1", 1.0),
    "tcprtt": ("rtt", "s", _US),
    "tcprttvar": ("rttvar", "s", _US),
    "pps": ("datagrams_per_s", "1/s", 1.0),
    "readcnt": ("reads", "1", 1.0),
    "readtimeo": ("read_timeouts", "1", 1.0),
    "readerrlen": ("reads_truncated", "1", 1.0),
    "rps": ("requests_per_s", "1/s", 1.0),
    "bbcnt": ("bounceback_count", "1", 1.0),
    "bbavg": ("bounceback_mean", "s", _MS),
    "bbmin": ("bounceback_min", "s", _MS),
    "bbmax": ("bounceback_max", "s", _MS),
    "bbstdev": ("bounceback_stddev", "s", _MS),
    "ttavg": ("latency_mean", "s", _MS),
    "ttmin": ("latency_min", "s", _MS),
    "ttmax": ("latency_max", "s", _MS),
    "ttsdev": ("latency_stddev", "s", _MS),
    "ttcnt": ("latency_count", "1", 1.0),
    "ttsize": ("latency_size", "B", 1.0),
    "txbytes": ("bytes_sent", "B", 1.0),
    "rxbytes": ("bytes_received", "B", 1.0),
} | {f"bin{i}": (f"reads_in_bin_{i}", "1", 1.0) for i in range(8)}


def recognise(head: str) -> bool:
    """Whether a line has iperf's columns: a time, two addresses with ports, an id, an interval, bytes and a rate."""
    return _HEAD.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no line of figures."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    table = _Table(Report("iperf2", source), is_client=_UNKNOWN_TOTAL.search(source.head) is not None)
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held is not None:
            table.read(*held)
        held = line
    if held is not None and source.ends_with_newline:
        table.read(*held)
    return [table.finish(cut=held[0] if held is not None and not source.ends_with_newline else None)]


class _Table:
    """The lines of the file, one after the other."""

    def __init__(self, report: Report, *, is_client: bool) -> None:
        self.report = report
        self.is_client = is_client  # whose jitter and losses are placeholders
        self.columns: tuple[str, ...] | None = None  # behind the interval, where a header names them
        self.streams: dict[str, Stream] = {}
        self.n_columns: dict[str, int] = {}
        self.n_other = 0
        self.first_other = 0

    def read(self, line: int, text: str) -> None:
        """Read one line."""
        text = text.strip()
        if text.startswith(_HEADER):
            self.columns = ("bytes", "speed", *text[len(_HEADER) :].strip(",").split(","))
            return
        match = _LINE.fullmatch(text) if len(text) < 1000 else None
        start, end = (number(match["start"]), number(match["end"])) if match else (None, None)
        if match is None or start is None or end is None:
            if text:
                self.n_other += 1
                self.first_other = self.first_other or line
            return
        cells = match["rest"].split(",")
        names = self.columns or (_UDP if len(cells) == len(_UDP) else _PLAIN)
        if len(cells) != len(names):
            self.n_other += 1
            self.first_other = self.first_other or line
            return
        self._take(line, match, dict(zip(names, cells, strict=True)), (start, end))

    def _take(self, line: int, match: re.Match[str], cells: dict[str, str], interval: tuple[float, float]) -> None:
        name = "SUM" if match["id"] == "-1" else match["id"]
        stream = self.streams.get(name)
        if stream is None:
            stream = self.streams[name] = Stream(self.report, name, line)
            for end in ("a", "b"):
                label = "first" if end == "a" else "second"
                self.report.parameter(label, f"{match[end]} port {match[f'{end}_port']}", name)
            self._start(match, interval[1])
        row, role, metrics = _row_of(name, cells, interval)
        if self.is_client and row.n_lost == 0:
            row.jitter_s, row.n_lost, role, metrics = None, None, "sender", []
        if self.columns is None and len(cells) == len(_UDP) and self.n_columns.get(name) == len(_PLAIN):
            add(self.report, row, name, "receiver", metrics, is_whole=True)  # the server's report
            return
        self.n_columns[name] = len(cells)
        stream.take(row, role, metrics)

    def _start(self, match: re.Match[str], end_s: float) -> None:
        """The start, from a time with a zone: it is the end of the first interval."""
        zone = re.fullmatch(r"([-+]\d{4})?(\.\d{1,6})?([-+]\d{4})?", match["zone"], re.ASCII)
        offset = (zone[1] or zone[3]) if zone else None
        if offset is None or match["time"].startswith("1970") or "started_at" in self.report.run:
            return
        try:
            moment = datetime.strptime(match["time"] + offset, "%Y%m%d%H%M%S%z")
            self.report.describe(started_at=(moment - timedelta(seconds=end_s)).astimezone(UTC))
        except (ValueError, OverflowError):
            return

    def finish(self, *, cut: int | None) -> Report:
        """The report, with what was noticed."""
        report = self.report
        for stream in self.streams.values():
            stream.flush(is_last=True)
        if self.n_other:
            found = f"{self.n_other} other lines, the first here"
            report.warn(self.first_other, "unknown_line", f"expected iperf's columns, found {found}")
        without = [stream for stream in self.streams.values() if not stream.is_whole]
        if cut is not None:
            report.incomplete(cut, "truncated", "expected whole lines, found the end of the file within one")
        elif without or not self.streams:
            found = f"none for {len(without)}"
            report.incomplete(None, "truncated", f"expected a whole-run line of each stream, found {found}")
        return report


def _row_of(name: str, cells: dict[str, str], interval: tuple[float, float]) -> tuple[Row, str | None, list[Metric]]:
    speed = number(cells["speed"])
    row = Row(name, *interval, integer(cells["bytes"]),
              speed / units.BITS_A_BYTE if speed is not None and speed >= 0 else None, "",
              jitter_s=milliseconds(cells.get("jitter")), n_lost=integer(cells.get("errors")),
              n_datagrams=integer(cells.get("datagrams")), n_retransmits=integer(cells.get("tcpretry")))  # fmt: skip
    metrics: list[Metric] = []
    for column, text in cells.items():
        metric, unit, factor = _METRICS.get(column, (column, None, 1.0))
        value = number(text)
        if column not in _COLUMNS and value is not None and value >= 0:
            metrics.append((metric, value * factor, unit))
    role = "sender" if "writecnt" in cells else "receiver" if "readcnt" in cells else None
    return row, role, metrics
