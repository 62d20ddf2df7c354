"""Private to ``iperf3_text`` (and to ``iperf3_json`` for a server's text inside it): the lines of tests as rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from pipeline import units
from pipeline.parse._figures import integer, number
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network import _iperf3_lines as lines
from pipeline.parse.network._iperf_rows import LONGEST_LINE, Row, byte_count, labels_of, milliseconds, read_row


def read_lines(source: Source, numbered: Iterable[tuple[int | None, str]]) -> list[Report]:
    """Return a report for each test that has a setting or a figure; ``numbered``: the lines, each with its number.

    A last line that lacks its line feed in the source may be a part of one: only what cannot be one is taken from it.
    """
    runs = [Run(source, None)]
    outer: Run | None = None  # the client whose server's output is being read
    held: tuple[int | None, str] | None = None
    for line, text in numbered:
        if held is not None:
            outer = _next_line(runs, outer, *held)
        held = line, text
    if held is not None:
        if held[0] is None or source.ends_with_newline or _without_prefix(held[1]) == lines.DONE:
            _next_line(runs, outer, *held)
        else:
            runs[-1].read_cut(*held)
    runs.sort(key=lambda run: run.line or 0)
    kept = [run for run in runs if run.has_content]
    for run in runs:
        if kept and not run.has_content:
            before = [other for other in kept if (other.line or 0) <= (run.line or 0)]
            (before[-1] if before else kept[0]).take_unknown(run)
    return [run.finish() for run in kept]


def _next_line(runs: list[Run], outer: Run | None, line: int | None, text: str) -> Run | None:
    """Read a line into the last of the tests, or begin one; returns the client whose server's output is being read."""
    bare = _without_prefix(text)
    if bare == lines.DONE:
        (outer or runs[-1]).is_done = True
        runs.append(Run(runs[-1].report.source, line))
        return None
    if bare.startswith(("Server output:", "Server JSON output:")):
        outer = runs[-1]
        runs.append(Run(outer.report.source, line))
    elif runs[-1].is_begun and (
        lines.CONNECTING.match(bare) or lines.ACCEPTED.match(bare) or lines.LISTENING.match(bare)
    ):
        runs.append(Run(runs[-1].report.source, line))
    elif outer is not None and lines.CLIENT_ROW.match(bare):  # --bidir: its second direction stands behind the output
        runs.remove(outer)
        runs.append(outer)
        outer = None
    runs[-1].read(line, text, bare)
    return outer


def _without_prefix(text: str) -> str:
    """The line without the title and the time stamp that stand before it."""
    if text.startswith("["):
        return text.rstrip()
    for sign in (
        "Connecting to host ",
        "Accepted connection from ",
        "Server listening on ",
        lines.DONE,
        "[",
        "iperf3: ",
        "CPU Util",
        "- - - -",
        "Time: ",
    ):
        start = text.find(sign, 0, LONGEST_LINE)
        if start >= 0:
            return text[start:].rstrip()
    return text.strip()


class Run:
    """A test, read line by line."""

    def __init__(self, source: Source, line: int | None) -> None:
        self.report = Report("iperf3", source)
        self.line = line
        self.is_done = False  # iperf Done.
        self.is_begun = False
        self._has_settings = False
        self._n_rows = 0
        self._is_client: bool | None = None
        self._is_reverse = False
        self._system_info = False  # the next line tells of the system
        self._header = ""
        self._is_bidir = False
        self._prefix = ""  # the shape of what stands before each line
        self._after_separator = False
        self._in_summary = False
        self._streams: list[str] = []
        self._whole: set[tuple[str, str]] = set()  # stream and role that have a whole-run row
        self._n_omitted = 0
        self._unknown: Counter[str] = Counter()
        self._first_of: dict[str, int | None] = {}  # first line by the code of its warning
        self._error: str | None = None
        self._last = line
        self._is_cut = False

    def read(self, line: int | None, text: str, bare: str) -> None:
        """Read one line; ``bare`` is without a title or a time stamp before it."""
        self._last = line
        may_be_system, self._system_info = self._system_info, False
        if may_be_system and bare and read_row(bare) is None and not lines.CONNECTING.match(bare):
            self._set("system_info", bare[:500])
        elif (row := read_row(bare)) is not None:
            self._take(line, row, text[: max(text.find("["), 0)].strip())
        elif match := lines.HEADER.search(bare):
            self._header, self._is_bidir = match[1], "[Role]" in match[0]
            self._in_summary = self._after_separator
        elif bare.startswith("Reverse mode, remote host"):
            self._is_reverse = True
        elif "OUT OF ORDER - incoming packet" in bare[:200]:
            self._notice("out_of_order", line)
        elif not self._read_other(bare) and not lines.NOISE.match(bare) and _shape(bare) != self._prefix:
            self._notice("unknown_line", line)
        self._after_separator = bare.startswith(("- - -", "Test Complete.")) or (self._after_separator and not bare)

    def _read_other(self, bare: str) -> bool:
        """Read a line without figures of a stream; False when it is unknown."""
        if len(bare) > LONGEST_LINE:
            return False
        if match := lines.CONNECTING.match(bare) or lines.ACCEPTED.match(bare):
            self.is_begun, self._is_client = True, bare.startswith("Connecting")
            names = ("host", "port") if self._is_client else ("accepted_connection.host", "accepted_connection.port")
            self._set(names[0], match[1])
            self._set(names[1], match[2])
        elif match := lines.CONNECTED.match(bare):
            self.is_begun = True
            self._streams.append(match[1])
            self._set("local", f"{match[2]} port {match[3]}", match[1])
            self._set("remote", f"{match[4]} port {match[5]}", match[1])
        elif match := lines.FAILED.match(bare):
            self._error = match[1]
        elif match := lines.CPU.match(bare):
            self._add_cpu(match)
        elif not self._read_about(bare):
            return False
        return True

    def _read_about(self, bare: str) -> bool:
        """Read a line about the test as a whole or its datagrams; False when it is unknown."""
        if match := lines.VERSION.match(bare):
            self.report.describe(tool_version=match[1])
            self._system_info = True
        elif match := lines.TIME.match(bare):
            self.report.describe(started_at=_moment(match[1]))
        elif match := lines.SETTING.match(bare):
            self._set(match[1], match[2].strip())
        elif match := lines.DATAGRAMS.match(bare):
            name = "datagrams_sent" if match[2] else "out_of_order"
            self.report.add("metric_series", metric=name, labels=labels_of(stream=match[1]), unit="1",
                            value=number(match[2] or match[3]))  # fmt: skip
        elif match := lines.NOT_AVAILABLE.match(bare):
            self._notice("statistics_not_available", self._last)
        elif match := lines.LISTENING.match(bare):
            self._is_client = False
        else:
            return False
        return True

    def _set(self, name: str, value: str, job: str | None = None) -> None:
        self._has_settings = True
        self.report.parameter(name, value, job)

    def _notice(self, code: str, line: int | None) -> None:
        self._unknown[code] += 1
        self._first_of.setdefault(code, line)

    def _take(self, line: int | None, row: Row, prefix: str) -> None:
        self.is_begun = True
        if prefix and not self._n_rows:
            self._set("line_prefix", prefix[:200])
            self._prefix = _shape(prefix)
        self._n_rows += 1
        words = lines.WORDS.search(row.tail[-40:])
        word = words[1] if words else None
        tail = row.tail.removesuffix(word or "").strip()
        if word == "(omitted)":
            self._first_of.setdefault("omitted_intervals", line)
            self._n_omitted += row.stream != "SUM"
            return
        is_whole = word is not None or self._in_summary
        cwnd = self._read_tail(row, tail, line)
        role = word or self._role_of(row, is_whole=is_whole)
        stream = f"SUM[{row.role}]" if row.stream == "SUM" and row.role else row.stream
        time_s = None if is_whole else row.end_s
        if is_whole:
            self._whole.add((stream, role or ""))
            if "duration_s" not in self.report.run:
                self.report.describe(duration_s=row.end_s - row.start_s)
            if word is not None and not (row.n_bytes or row.bytes_per_s or row.n_datagrams):
                self._notice("statistics_not_available", line)
                return
            if role == "sender":
                row.jitter_s = row.n_lost = None  # printed as 0
        self.report.add("network_streams", stream=stream, role=role, time_s=time_s,
                        window_s=round(row.end_s - row.start_s, 9), n_bytes=row.n_bytes, bytes_per_s=row.bytes_per_s,
                        jitter_s=row.jitter_s, n_lost=row.n_lost, n_datagrams=row.n_datagrams,
                        n_retransmits=row.n_retransmits)  # fmt: skip
        if cwnd is not None:
            self.report.add(
                "metric_series",
                metric="snd_cwnd",
                labels=labels_of(stream=stream, role=role),
                time_s=time_s,
                value=cwnd,
                unit="B",
            )

    def _read_tail(self, row: Row, tail: str, line: int | None) -> float | None:
        """Read what stands behind the rate into the row; returns the congestion window in bytes."""
        cwnd = None
        if match := lines.LOST.fullmatch(tail):
            row.jitter_s = milliseconds(match["jitter"])
            row.n_lost, row.n_datagrams = integer(match["lost"]), integer(match["total"])
        elif match := lines.SENT.fullmatch(tail):
            if "Retr" in self._header or match["cwnd"] or "Datagrams" not in self._header:
                row.n_retransmits = integer(match["count"])
            else:
                row.n_datagrams = integer(match["count"])
            cwnd = byte_count(match["cwnd"], match["unit"]) if match["cwnd"] else None
        elif tail:
            self._notice("unknown_figures", line)
        return cwnd

    def _role_of(self, row: Row, *, is_whole: bool) -> str | None:
        """Sender or receiver of a line that does not say so; None of UDP's whole-run line, which mixes both."""
        if row.role:
            return "sender" if row.role.startswith("TX") else "receiver"
        if is_whole and row.jitter_s is not None:
            return None
        if row.n_retransmits is not None or row.n_datagrams is not None:
            return "receiver" if row.jitter_s is not None else "sender"
        if "Retr" in self._header:
            return "sender"
        if self._is_client is None:
            return None
        return "sender" if self._is_client != self._is_reverse and self._is_client else "receiver"

    def _add_cpu(self, match: re.Match[str]) -> None:
        for first in (1, 6):
            side, role = match[first], match[first + 1]
            for part, text in zip(
                ("total", "user", "system"), match.group(first + 2, first + 3, first + 4), strict=True
            ):
                if (value := number(text)) is not None:
                    self.report.add("metric_series", metric="cpu_utilization", value=value * units.PERCENT, unit="1",
                                    labels=labels_of(side=side, part=part, role=role))  # fmt: skip

    def read_cut(self, line: int | None, text: str) -> None:
        """Read the file's last line where it lacks its line feed."""
        self._is_cut, self._last = True, line
        bare = _without_prefix(text)
        if read_row(bare) is not None and bare.rstrip().endswith(("sender", "receiver", "%)", "/sec")):
            self.read(line, text, bare)

    @property
    def has_content(self) -> bool:
        """Whether there is a figure or a setting."""
        return self._n_rows > 0 or self._has_settings

    def take_unknown(self, other: Run) -> None:
        """Report the unknown lines of what turned out to be no test."""
        for code, n in other._unknown.items():
            self._unknown[code] += n
            self._first_of.setdefault(code, other._first_of[code])
        self._error = self._error or other._error

    def finish(self) -> Report:
        """The report with what was noticed."""
        report = self.report
        if self._error is not None:
            report.incomplete(self._last, "tool_error", f"expected a test that ended by itself, found: {self._error}")
        elif missing := self._missing():
            report.incomplete(self._last, "truncated", f"expected {missing}, found the end of the test")
        if self._n_omitted:
            found = f"{self._n_omitted} of streams, which are left out"
            report.warn(
                self._first_of["omitted_intervals"],
                "omitted_intervals",
                f"expected no omitted intervals (-O), found {found}",
            )
        for code, n in self._unknown.items():
            report.warn(self._first_of[code], code, f"expected iperf3's lines, found {n} others, the first here")
        return report

    def _missing(self) -> str | None:
        """What a cut test lacks; None when it is whole."""
        if self.is_done:
            return None
        whole = {stream for stream, _ in self._whole}
        if self._is_cut or not self._whole or self._is_client is not False:
            return f"`{lines.DONE}`" if self._is_client is not False else "whole lines and the summary"
        if any(stream not in whole for stream in self._streams):
            return "a whole-run line of each stream"
        if (
            len(self._streams) > 1
            and not any(stream.startswith("SUM") for stream in whole)
            and (len(self._streams) > 2 or not self._is_bidir)
        ):
            return "the whole-run line of the sum"
        return None


def _shape(text: str) -> str:
    """A prefix without what differs between time stamps."""
    return re.sub(r"[0-9]", "0", text[:200])


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
