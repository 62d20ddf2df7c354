"""Private to ``iperf2_text``: what stands behind the rate of a line, mostly with -e (enhanced reports)."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline import units
from pipeline.parse._figures import integer, number
from pipeline.parse.network._iperf_rows import Row, bit_rate, byte_count, milliseconds

Metric = tuple[str, float, str | None]  # name, value, unit
_N, _F = r"-?[0-9]{1,20}", r"-?[0-9.]{1,20}"
_LATENCY = rf"({_F})/({_F})/({_F})(?:/({_F}))?"


class Tail:
    """Reads a tail piece by piece; ``rest`` is what no piece matches, and ``is_sender`` what the pieces tell."""

    def __init__(self, row: Row, header: str) -> None:
        self.row = row
        self.header = header
        self.metrics: list[Metric] = []
        self.is_sender: bool | None = None
        self.has_writes = False
        self.is_omitted = False
        self.rest = self._read(row.tail)

    def _read(self, text: str) -> str:
        position = 0
        while position < len(text):
            for pattern, take in _PIECES:
                match = pattern.match(text, position)
                if match is not None and match.end() > position and take(self, match):
                    position = match.end()
                    break
            else:
                return text[position:].strip()
        return ""

    def add(self, name: str, value: float | None, unit: str | None = "1") -> None:
        """Keep a figure that has no column; negative ones stand for unknown."""
        if value is not None and value >= 0:
            self.metrics.append((name, value, unit))


def _space(_: Tail, __: re.Match[str]) -> bool:
    return True


def _jitter(tail: Tail, match: re.Match[str]) -> bool:
    tail.row.jitter_s = milliseconds(match[1])
    tail.row.n_lost, tail.row.n_datagrams = integer(match[2]), integer(match[3])
    tail.is_sender = False
    return True


def _lost(tail: Tail, match: re.Match[str]) -> bool:
    tail.row.n_lost, tail.row.n_datagrams = integer(match[1]), integer(match[2])
    tail.is_sender = False
    return True


def _pair(tail: Tail, match: re.Match[str]) -> bool:
    """``a/b`` or ``a/b/c``: lost of all below such a header, reads below another, else writes and their errors."""
    if tail.has_writes or tail.row.n_datagrams is not None:
        if match[3] is None or "Read/" not in tail.header:
            return False
        for name, text in zip(("reads", "read_timeouts", "reads_truncated"), match.groups(), strict=True):
            tail.add(name, number(text))
        return True
    if "Lost/Total" in tail.header and "Write/Err" not in tail.header:
        return _lost(tail, match)
    tail.has_writes, tail.is_sender = True, True
    for name, text in zip(("writes", "write_errors", "write_timeouts"), match.groups(), strict=True):
        tail.add(name, number(text))
    return True


def _retries(tail: Tail, match: re.Match[str]) -> bool:
    if not tail.has_writes or tail.row.n_retransmits is not None or "Rtry" not in (tail.header or "Rtry"):
        return False
    tail.row.n_retransmits = integer(match[1])
    return True


def _window(tail: Tail, match: re.Match[str]) -> bool:
    """``inflight(packets)/cwnd(packets)/rtt(variance) us``; K is 1024 bytes; NA and -1K stand for unknown."""
    inflight, inflight_packets, cwnd, cwnd_packets, rtt, variance = match.groups()
    for name, text in (("bytes_in_flight", inflight), ("snd_cwnd", cwnd)):
        value = number(text)
        tail.add(name, value * units.KIBI if value is not None else None, "B")
    tail.add("packets_in_flight", number(inflight_packets))
    tail.add("snd_cwnd_packets", number(cwnd_packets))
    for name, text in (("rtt", rtt), ("rttvar", variance)):
        value = number(text)
        tail.add(name, value * units.MICRO if value is not None else None, "s")
    tail.is_sender = True
    return True


def _latency(tail: Tail, match: re.Match[str]) -> bool:
    *figures, n_bursts, size = match.groups()
    name = "write_time" if "write-times" in tail.header else "burst_latency" if "Burst" in tail.header else "latency"
    for statistic, text in zip(("mean", "min", "max", "stddev"), figures, strict=True):
        tail.add(f"{name}_{statistic}", milliseconds(text), "s")
    tail.add(f"{name}_count", number(n_bursts))
    tail.add(f"{name}_size", number(size), "B")
    return True


def _bounce(tail: Tail, match: re.Match[str]) -> bool:
    tail.add("bounceback_count", number(match[1]))
    for statistic, text in zip(("mean", "min", "max", "stddev"), match.group(2, 3, 4, 5), strict=True):
        tail.add(f"bounceback_{statistic}", milliseconds(text), "s")
    tail.row.n_retransmits = integer(match[6])
    return True


def _reads(tail: Tail, match: re.Match[str]) -> bool:
    tail.add("reads", number(match[1]))
    for i, text in enumerate(match[2].split(":")):
        tail.add(f"reads_in_bin_{i}", number(text))
    tail.is_sender = False
    return True


def _single(name: str, factor: float = 1.0, unit: str | None = "1") -> Callable[[Tail, re.Match[str]], bool]:
    def take(tail: Tail, match: re.Match[str]) -> bool:
        value = number(match[1])
        tail.add(name, value * factor if value is not None else None, unit)
        return True

    return take


def _received(tail: Tail, match: re.Match[str]) -> bool:
    for name, text in zip(("datagrams_received", "datagrams_in_progress", "datagrams_in_progress_max"), match.groups(),
                          strict=True):  # fmt: skip
        tail.add(name, number(text))
    return True


def _in_progress(tail: Tail, match: re.Match[str]) -> bool:
    tail.add("bytes_in_progress", byte_count(match[1], match[2]), "B")
    return True


def _fq_rate(tail: Tail, match: re.Match[str]) -> bool:
    tail.add("fq_rate", bit_rate(match[1], match[2]), "B/s")
    return True


def _power(tail: Tail, match: re.Match[str]) -> bool:
    """The last figure: throughput over latency, which iperf calls NetPwr."""
    if "NetPwr" not in tail.header:
        return False
    tail.add("netpwr", number(match[1]), None)
    return True


def _omitted(tail: Tail, _: re.Match[str]) -> bool:
    tail.is_omitted = True
    return True


def _none(_: Tail, __: re.Match[str]) -> bool:
    return True


_PIECES = [
    (re.compile(pattern), take)
    for pattern, take in (
        (r"\s{1,99}", _space),
        (rf"({_F}) ms\s{{1,9}}({_N})/\s{{0,9}}({_N}) \([^)]{{0,20}}%\)", _jitter),
        (rf"({_N})/\s{{0,9}}({_N}) \([^)]{{0,20}}%\)", _lost),
        (rf"({_N})={_LATENCY} ms\s{{1,9}}({_N})(?=\s)", _bounce),
        (rf"({_N})=((?:{_N}:){{1,20}}{_N})", _reads),
        (rf"(?:({_N})K(?:\(({_N})\))?/)?(?:({_N})K(?:/?\(({_N})\))?|NA)/({_N})(?:\(({_N})\))? ?us", _window),
        (rf"{_LATENCY} ms(?:\s{{1,9}}\(({_N})(?:/({_N}))?\))?", _latency),
        (r"-/-/-/- ms|-\(-\)/-\(-\)", _none),
        (rf"({_N})/({_N})\(({_N})\) pkts", _received),
        (rf"({_F}) pps", _single("datagrams_per_s", 1.0, "1/s")),
        (rf"(?:RPS=)?({_F})(?: rps)(?=\s|$)", _single("requests_per_s", 1.0, "1/s")),
        (r"([0-9.]{1,20}) ([KMGTP]?)bits/sec", _fq_rate),
        (r"([0-9.]{1,20}) ([KMGTP]?)Bytes?(?=\s|$)", _in_progress),
        (rf"({_N})/({_N})(?:/({_N}))?(?=\s|$)", _pair),
        (r"([0-9]{1,18})(?=\s|$)", _retries),
        (rf"({_F}(?:[eE][-+]?[0-9]{{1,3}})?|inf|nan|OBL)(?=\s{{1,9}}[0-9]{{1,20}}=|$)", _power),
        (r"\(omitted\)", _omitted),
    )
]  # fmt: skip
