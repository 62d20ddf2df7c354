"""Private to ``iperf2_text``: the lines of a client's or a server's log as rows, a report for each test."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

from pipeline import units
from pipeline.parse._figures import integer, number
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network._iperf2_streams import Stream, add
from pipeline.parse.network._iperf2_tail import Tail
from pipeline.parse.network._iperf_rows import LONGEST_LINE, Row, labels_of, read_row

CLIENT = re.compile(r"Client connecting to (\S{1,200}), (TCP|UDP) port ([0-9]{1,5})(.{0,200})")
SERVER = re.compile(r"Server listening on (TCP|UDP) ports? ([0-9]{1,5})(.{0,200})")
COMMAND = re.compile(r"(?:\S{0,100}[$#>]\s{1,9})?(?:sudo )?((?:\S{0,100}/)?iperf(?:2|\.exe)? -.{1,500})")
_ID = r"\[ *\*?([0-9]{1,9}|SUM(?:-[0-9]{1,6})?|FD[0-9]{0,6})\]"
_CONNECTED = re.compile(
    _ID + r" local (\S{1,200}) port ([0-9]{1,5}) connected with (\S{1,200}) port ([0-9]{1,5})(.{0,400})"
)
_SENT = re.compile(_ID + r" Sent ([0-9]{1,18}) datagrams")
_REPORT = re.compile(_ID + r" Server Report:")
_OUT_OF_ORDER = re.compile(
    _ID + r"\s{1,9}[0-9.]{1,20}- *[0-9.]{1,20}\s{1,9}sec\s{1,9}([0-9]{1,18})\s{1,9}datagrams\s{1,9}received"
)
_NO_ACK = re.compile(_ID + r" WARNING: (?:did not receive ack|ack of last datagram failed)")
_CONNECT_TIMES = re.compile(r"\[ *CT\] final connect times \(min/avg/max/stdev\) ="
                            r" ([0-9.]{1,20})/([0-9.]{1,20})/([0-9.]{1,20})"
                            r"/([0-9.]{1,20}) ms \(tot/err\) = ([0-9]{1,18})/([0-9]{1,18})")  # fmt: skip
_HEADER = re.compile(r"\[(?: ID|SUM-cnt)\] (?:Interval|Burst)")
_VERSION = re.compile(r"iperf version (\S{1,40})")
_SETTING = re.compile(r"(TCP window size|UDP buffer size|Write buffer size|Read buffer size|Binding to local"
                      r" address|TOS set to"
                      r"|TCP congestion control set to|MSS size|MSS req size|Setting multicast TTL to|Joining"
                      r" multicast group"
                      r"|Sending|Receiving|Bursting|Isochronous|Bounce-?back test|fair-queue socket pacing set"
                      r" to|Datagram size"
                      r"|Full-duplex test|Reverse test|Near congestion|Working load)\b:? *(.{0,300})")  # fmt: skip
_MOMENT = re.compile(r" on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})? \(UTC\)", re.ASCII)
_PEER = re.compile(r"\(peer ([0-9][0-9A-Za-z.-]{0,20})\)")
_FAILED = re.compile(r"(?:connect|tcp connect|read|write|bind|listener bind|listen|accept|error|ERROR|iperf"
                     r"|recvfrom|sendto)\b.{0,40}"
                     r"\b(?:fail|refused|timed out|reset|error|ERROR|unable|Assertion)")  # fmt: skip
_WARNING = re.compile(r"(?:\[ *\S{1,9}\] )?WARNING: ")
_NOISE = re.compile(
    r"-{10,}$|Waiting for server threads to complete|\[ *\S{1,9}\] MSS (?:size|and MTU)|$|Server Report"
)


class Log:
    """A file, read line by line: the tests in it and their streams by their ids."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.reports: list[Report] = []
        self.streams: dict[str, Stream] = {}  # by id as it is printed; the last one that had it
        self._roles: dict[str, tuple[str | None, str | None]] = {}  # of a stream, and of its reverse direction
        self._duplex: set[str] = set()  # that have both directions, of which the reverse one has a star
        self._of_report: list[Stream] = []  # connected in the last report
        self._header = ""
        self._is_client: bool | None = None
        self._ports: set[str] = set()  # that are listened on
        self._settings: list[tuple[str, str]] = []  # that stand before their report
        self._server_reports: set[str] = set()
        self._notes: Counter[str] = Counter()
        self._first_of: dict[str, int] = {}
        self._failure: tuple[int, str] | None = None
        self._last = 1
        self.cut_line: int | None = None

    def read(self, line: int, text: str) -> None:
        """Read one line."""
        self._last = line
        text = text.strip()
        if (row := read_row(text)) is not None:
            self._take(line, row)
        elif len(text) > LONGEST_LINE or not (
            self._read_about_streams(line, text) or self._read_setting(line, text) or _NOISE.match(text)
        ):
            self._note("unknown_line", line)

    def _note(self, code: str, line: int) -> None:
        self._notes[code] += 1
        self._first_of.setdefault(code, line)

    def _report(self, *, begins: bool = False) -> Report:
        """The test that lines belong to; ``begins``: a stream connects, and may be the first of the next test."""
        is_over = bool(self._of_report) and all(_is_over(stream) for stream in self._of_report)
        if not self.reports or (begins and is_over):
            self.reports.append(Report("iperf2", self.source))
            self._of_report = []
            for name, value in self._settings:
                self._set(name, value)
            self._settings = []
        return self.reports[-1]

    def _set(self, name: str, value: str, job: str | None = None) -> None:
        if name == "command":
            self.reports[-1].describe(command=value)
        elif name == "version":
            self.reports[-1].describe(tool_version=value)
        else:
            self.reports[-1].parameter(name, value, job)

    def _take(self, line: int, row: Row) -> None:
        name = "SUM" if row.stream.startswith("SUM") else row.stream
        tail = Tail(row, self._header)
        if tail.rest:
            self._note("unknown_figures", line)
        if tail.is_omitted:
            self._note("omitted_intervals", line)
            return
        if name in self._server_reports:
            self._server_reports.discard(name)
            report = self.streams[name].report if name in self.streams else self._report()
            add(report, row, name, "receiver", tail.metrics, is_whole=True)
            return
        key = name + "*" * (row.is_reverse and (name in self._duplex or name not in self.streams))
        stream = self.streams.get(key)
        if stream is None or (name == "SUM" and stream.report is not self._report()):
            if stream is not None:
                stream.flush(is_last=True)
            base = self.streams.get(name) if row.is_reverse and name != "SUM" else None
            stream = Stream(base.report if base else self._report(), name, line)
            self.streams[key] = stream
        stream.take(row, self._role(name, row, tail), tail.metrics)

    def _role(self, name: str, row: Row, tail: Tail) -> str | None:
        """Sender or receiver: by the figures of the line, else by who connected to whom."""
        if tail.is_sender is not None:
            return "sender" if tail.is_sender else "receiver"
        if name == "SUM":
            roles = set()
            for stream in self._of_report:
                ends = self._roles.get(stream.name, (None, None))
                roles |= set(ends if stream.name in self._duplex else ends[:1]) - {None}
            if roles:
                return roles.pop() if len(roles) == 1 else None
        forward, reverse = self._roles.get(name, (None, None))
        if row.is_reverse and reverse:
            return reverse
        if forward:
            return forward
        return "sender" if self._is_client else None

    def _read_about_streams(self, line: int, text: str) -> bool:
        """Read a line that tells of a stream without its figures; False when it is none."""
        if match := _CONNECTED.match(text):
            self._connect(line, match)
        elif match := _SENT.match(text):
            name = "SUM" if match[1].startswith("SUM") else match[1]
            if name in self.streams:
                self.streams[name].n_sent = integer(match[2])
        elif match := _REPORT.match(text):
            self._server_reports.add(match[1])
        elif match := _OUT_OF_ORDER.match(text):
            name = "SUM" if match[1].startswith("SUM") else match[1]
            report = self.streams[name].report if name in self.streams else self._report()
            report.add(
                "metric_series", metric="out_of_order", labels=labels_of(stream=name), value=number(match[2]), unit="1"
            )
        elif _NO_ACK.match(text):
            self._note("no_server_report", line)
        elif match := _CONNECT_TIMES.match(text):
            _add_connect_times(self._report(), match)
        elif _HEADER.match(text):
            self._header = text
        else:
            return False
        return True

    def _connect(self, line: int, match: re.Match[str]) -> None:
        name, rest = match[1], match[6]
        for key in (name, name + "*"):
            if key in self.streams:
                self.streams.pop(key).flush(is_last=True)
        report = self._report(begins=True)
        stream = Stream(report, name, line)
        self.streams[name] = stream
        self._of_report.append(stream)
        (self._duplex.add if "(full-duplex)" in rest else self._duplex.discard)(name)
        report.parameter("local", f"{match[2]} port {match[3]}", name)
        report.parameter("remote", f"{match[4]} port {match[5]}", name)
        if rest.strip():
            report.parameter("connection", rest.strip(), name)
        if (peer := _PEER.search(rest)) and not self._is_client:
            report.parameter("peer_version", peer[1], name)
        if (moment := _MOMENT.search(rest)) and "started_at" not in report.run:
            report.describe(started_at=_moment(moment[1]))
        self._roles[name] = self._roles_of(
            is_accepted=match[3] in self._ports and match[5] not in self._ports, rest=rest
        )

    def _roles_of(self, *, is_accepted: bool, rest: str) -> tuple[str | None, str | None]:
        """Roles of a connection's two directions as seen from this end; a client's reverse direction has a star."""
        if self._is_client is None:
            return None, None
        ends = ("receiver", "sender") if is_accepted or not self._is_client else ("sender", "receiver")
        if not self._is_client and not is_accepted:
            return "sender", "receiver"  # a server that connects back, for -d and -r
        if "(reverse)" in rest:
            role = ends[1] if is_accepted != self._is_client else ends[0]
            return role, role
        return ends

    def _read_setting(self, line: int, text: str) -> bool:
        if match := CLIENT.match(text):
            self._is_client = True if self._is_client is None or not self.reports else self._is_client
            self._settings += [("host", match[1]), ("protocol", match[2]), ("port", match[3])]
        elif match := SERVER.match(text):
            self._is_client = False if self._is_client is None else self._is_client
            self._ports.add(match[2])
            self._settings += [("protocol", match[1]), ("listening_port", match[2])]
        elif match := COMMAND.match(text):
            self._settings.append(("command", match[1].strip()))
            if re.search(r"\s-\w{0,9}c\s", match[1]):
                self._is_client = True
        elif match := _VERSION.match(text):
            self._settings.append(("version", match[1]))
        elif match := _SETTING.match(text):
            self._settings.append((match[1].lower().replace(" ", "_"), (match[2] or "").strip()))
        elif _FAILED.match(text[:300]):
            self._note("tool_error", line)
            self._failure = self._failure or (line, text[:200])
        elif _WARNING.match(text):
            self._note("tool_warning", line)
        else:
            return False
        return True

    def finish(self) -> list[Report]:
        """The reports with what was noticed; settings and notes that stand alone go to the last one."""
        for stream in self.streams.values():
            stream.flush(is_last=True)
        if not self.reports:
            return []
        for name, value in self._settings:
            self._set(name, value)
        last = self.reports[-1]
        for code, n in self._notes.items():
            self.reports[-1].warn(self._first_of[code], code, _MESSAGES[code].format(n))
        without = [stream for stream in self._of_report if not stream.is_whole]
        if self.cut_line is not None:
            last.incomplete(self.cut_line, "truncated", "expected whole lines, found the end of the file within one")
        elif self._failure and without:
            last.incomplete(
                self._failure[0], "tool_error", f"expected a test that ended by itself, found: {self._failure[1]}"
            )
        elif without:
            found = f"{len(without)} without one, the first is connected here"
            last.incomplete(without[0].line, "truncated", f"expected a whole-run line of each stream, found {found}")
        return self.reports


_MESSAGES = {
    "unknown_line": "expected iperf's lines, found {} others, the first here",
    "unknown_figures": "expected iperf's columns, found {} lines with others, the first here",
    "omitted_intervals": "expected no omitted intervals, found {} of streams and sums, which are left out",
    "no_server_report": "expected the server's report of what arrived, found none for {} streams",
    "tool_error": "expected no error messages, found {}, the first here",
    "tool_warning": "expected no warnings of iperf, found {}, the first here",
}


def _add_connect_times(report: Report, match: re.Match[str]) -> None:
    figures = [number(text) for text in match.groups()[:4]]
    _, _, largest, deviation = figures
    # iperf prints the deviation in µs although the line says ms; none exceeds the largest value.
    is_micro = largest is not None and deviation is not None and deviation > largest
    for name, value in zip(("min", "mean", "max", "stddev"), figures, strict=True):
        factor = units.MICRO if is_micro and name == "stddev" else units.MILLI
        if value is not None:
            report.add("metric_series", metric=f"connect_time_{name}", value=value * factor, unit="s")
    report.add("metric_series", metric="connect_errors", value=number(match[6]), unit="1")


def _is_over(stream: Stream) -> bool:
    """Whether a stream has its whole-run line: one that begins at 0 came last."""
    return stream.is_whole or (stream.held is not None and stream.held[0].start_s == 0)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None
