"""Private to ``iperf3_json``: the objects of a test as rows."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from pipeline import units
from pipeline.parse._json_documents import encodable
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.network._iperf_rows import MAX_COUNT, labels_of

_COLUMNS = {"jitter_ms", "lost_packets", "packets", "retransmits", "bytes", "bits_per_second"}
_KEYS = {"socket", "start", "end", "seconds", "omitted", "sender", "lost_percent", "id"}  # of an object of figures
# What has no column: the name of the metric, its unit and the factor to it.
_METRICS = {
    "snd_cwnd": ("snd_cwnd", "B", 1.0), "snd_wnd": ("snd_wnd", "B", 1.0), "pmtu": ("pmtu", "B", 1.0),
    "rtt": ("rtt", "s", units.MICRO), "rttvar": ("rttvar", "s", units.MICRO),
    "max_rtt": ("max_rtt", "s", units.MICRO), "min_rtt": ("min_rtt", "s", units.MICRO),
    "mean_rtt": ("mean_rtt", "s", units.MICRO), "reorder": ("reorder", "1", 1.0),
    "max_snd_cwnd": ("max_snd_cwnd", "B", 1.0), "max_snd_wnd": ("max_snd_wnd", "B", 1.0),
    "out_of_order": ("out_of_order", "1", 1.0), "omitted_out_of_order": ("omitted_out_of_order", "1", 1.0),
}  # fmt: skip
_NEVER_0 = {"max_snd_cwnd", "max_snd_wnd", "max_rtt", "min_rtt", "mean_rtt"}  # of an end that does not send
_NOT_SETTINGS = {"connected", "timestamp", "version"}
_EPOCHS_S = (0, 4_102_444_800)  # to the year 2100
_CPU = {"host_total": ("local", "total"), "host_user": ("local", "user"), "host_system": ("local", "system"),
        "remote_total": ("remote", "total"), "remote_user": ("remote", "user"),
        "remote_system": ("remote", "system")}  # fmt: skip


def number(value: Any) -> float | None:
    """A finite number; else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def positive(value: Any) -> float | None:
    """A finite number that is not negative; else None."""
    found = number(value)
    return found if found is not None and found >= 0 else None


class Run:
    """A test: the objects of its document or of its events, read one after the other."""

    def __init__(self, source: Source, line: int) -> None:
        self.report = Report("iperf3", source)
        self.line = line
        self.others: list[Report] = []  # the other end's reports, which came with it
        self.n_other_lines = 0
        self._n_omitted = 0
        self._unknown: Counter[str] = Counter()
        self._n_negative = 0
        self._n_unavailable = 0
        self._is_sender: bool | None = None  # this end of the test, where an object does not say so itself
        self._error: str | None = None

    def read_document(self, value: dict[str, Any]) -> None:
        """Read the objects of a whole document."""
        self.start(value.get("start"))
        intervals = value.get("intervals")
        for interval in intervals if isinstance(intervals, list) else []:
            self.interval(interval)
        self.end(value.get("end"))
        if "error" in value:
            self.failed(value["error"])
        for key in ("title", "extra_data"):
            if key in value:
                self._setting(key, value[key])
        known = (
            "start",
            "intervals",
            "end",
            "error",
            "title",
            "extra_data",
            "server_output_json",
            "server_output_text",
        )
        self._unknown.update(key for key in value if key not in known)

    def read_event(self, name: str, data: Any) -> bool:
        """Read an event of --json-stream; False when it is unknown."""
        read = {"start": self.start, "interval": self.interval, "end": self.end, "error": self.failed}.get(name)
        if read is not None:
            read(data)
        return read is not None

    def start(self, start: Any) -> None:
        """Read the settings."""
        if not isinstance(start, dict):
            return
        version = start.get("version")
        if isinstance(version, str):
            self.report.describe(tool_version=encodable(version.removeprefix("iperf ")))
        self.report.describe(started_at=_moment(start.get("timestamp")))
        for key, value in start.items():
            if isinstance(value, dict) and key not in _NOT_SETTINGS:
                prefix = "" if key == "test_start" else f"{key}."
                for name, item in value.items():
                    self._setting(prefix + name, item)
            elif key not in _NOT_SETTINGS:
                self._setting(key, value)
        connected = start.get("connected")
        for stream in connected if isinstance(connected, list) else []:
            if isinstance(stream, dict):
                job = encodable(str(stream.get("socket")))
                for end in ("local", "remote"):
                    self._setting(end, f"{stream.get(f'{end}_host')} port {stream.get(f'{end}_port')}", job)
        self._find_direction(start)

    def _find_direction(self, start: dict[str, Any]) -> None:
        test = start.get("test_start")
        if (
            not isinstance(test, dict)
            or test.get("bidir")
            or not {"connecting_to", "accepted_connection"} & start.keys()
        ):
            return
        self._is_sender = ("connecting_to" in start) != bool(test.get("reverse"))

    def _setting(self, name: str, value: Any, job: str | None = None) -> None:
        if isinstance(value, dict | list):
            self._unknown[name] += 1
        else:
            self.report.parameter(encodable(name), encodable(str(value)) if value is not None else None, job)

    def interval(self, interval: Any) -> None:
        """Read the streams of an interval and their sums."""
        if not isinstance(interval, dict):
            self._unknown["intervals"] += 1
            return
        streams = interval.get("streams")
        found = [(None, item) for item in streams] if isinstance(streams, list) else []
        sums = [("SUM" + key[3:], item) for key, item in interval.items() if key.startswith("sum")]
        self._unknown.update(key for key in interval if key != "streams" and not key.startswith("sum"))
        for name, item in (*found, *sums):
            if not isinstance(item, dict):
                self._unknown["intervals"] += 1
            elif item.get("omitted") is True:
                self._n_omitted += name is None
            else:
                is_sender = item.get("sender")
                if not isinstance(is_sender, bool):
                    is_sender = self._is_sender
                role = None if is_sender is None else "sender" if is_sender else "receiver"
                self._add(item, name, role, end_s=positive(item.get("end")), window_s=positive(item.get("seconds")))

    def end(self, end: Any) -> None:
        """Read the whole-run figures."""
        if not isinstance(end, dict):
            return
        streams = end.get("streams")
        for stream in streams if isinstance(streams, list) else []:
            for key, item in stream.items() if isinstance(stream, dict) else ():
                if key == "diskfile" and isinstance(item, dict):
                    for name, value in item.items():
                        self._setting(f"diskfile.{name}", value)
                elif key in ("sender", "receiver", "udp") and isinstance(item, dict):
                    self._add_whole(item, None, key if key != "udp" else None)
                else:
                    self._unknown[key] += 1
        for key, item in end.items():
            if key.startswith("sum") and isinstance(item, dict):
                self._add_whole(item, *_sum_of(key))
            elif key == "cpu_utilization_percent" and isinstance(item, dict):
                self._add_cpu(item)
            elif key != "streams":
                self._setting(key, item)

    def _add_whole(self, item: dict[str, Any], name: str | None, role: str | None) -> None:
        """Add a whole-run object; what iperf3 fills with 0 because this end does not know it is left out."""
        has_traffic = any(item.get(key) for key in ("bytes", "bits_per_second", "packets"))
        if role is not None and not has_traffic:
            self._n_unavailable += 1
            return
        unknown = set()
        if "jitter_ms" in item and (role == "sender" or (item.get("sender") is True and not item["jitter_ms"])):
            unknown |= {"jitter_ms", "lost_packets"}
        if role is None and not item.get("bytes") and not item.get("bits_per_second"):
            unknown |= {"bytes", "bits_per_second"}
        item = {key: value for key, value in item.items() if key not in unknown and (value or key not in _NEVER_0)}
        start, end = positive(item.get("start")), positive(item.get("end"))
        window = (
            end - start if start is not None and end is not None and end >= start else positive(item.get("seconds"))
        )
        self._add(item, name, role, end_s=None, window_s=window)
        if window and "duration_s" not in self.report.run:
            self.report.describe(duration_s=window)

    def _add(self, item: dict[str, Any], name: str | None, role: str | None, *,
             end_s: float | None, window_s: float | None) -> None:  # fmt: skip
        stream = encodable(str(item.get("socket"))) if name is None else encodable(name)
        rate, jitter = positive(item.get("bits_per_second")), positive(item.get("jitter_ms"))
        self.report.add(
            "network_streams",
            stream=stream,
            role=role,
            time_s=end_s,
            window_s=window_s,
            n_bytes=self._count(item, "bytes"),
            bytes_per_s=rate / units.BITS_A_BYTE if rate is not None else None,
            jitter_s=jitter * units.MILLI if jitter is not None else None,
            n_lost=self._count(item, "lost_packets"),
            n_datagrams=self._count(item, "packets"),
            n_retransmits=self._count(item, "retransmits"),
        )
        labels = labels_of(stream=stream, role=role)
        for key, value in item.items():
            if key in _COLUMNS or key in _KEYS:
                continue
            metric, unit, factor = _METRICS.get(key, (encodable(key), None, 1.0))
            figure = number(value)
            if key not in _METRICS:
                self._unknown[key] += 1
            elif figure is not None and figure < 0:  # the system does not tell it
                continue
            if figure is not None and math.isfinite(figure * factor):
                self.report.add(
                    "metric_series", metric=metric, labels=labels, time_s=end_s, value=figure * factor, unit=unit
                )

    def _count(self, item: dict[str, Any], key: str) -> int | None:
        value = item.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            return int(value) if isinstance(value, float) and value.is_integer() and 0 <= value < MAX_COUNT else None
        if not 0 <= value < MAX_COUNT:
            self._n_negative += 1
            return None
        return value

    def _add_cpu(self, item: dict[str, Any]) -> None:
        for key, value in item.items():
            side, part = _CPU.get(key, (None, key))
            if side is None:
                self._unknown[key] += 1
            if (figure := number(value)) is not None and abs(figure) < MAX_COUNT:
                self.report.add("metric_series", metric="cpu_utilization", value=figure * units.PERCENT, unit="1",
                                labels=labels_of(side=side, part=encodable(part)))  # fmt: skip

    def failed(self, message: Any) -> None:
        """The test's error; what came before it stays."""
        self._error = encodable(str(message))[:500]

    def finish(self) -> None:
        """Write down what was noticed on the way."""
        report = self.report
        if self._error is not None:
            report.incomplete(self.line, "tool_error", f"expected a test that ended by itself, found: {self._error}")
        if self._n_omitted:
            found = f"{self._n_omitted} of streams, which are left out"
            report.warn(self.line, "omitted_intervals", f"expected no omitted intervals (-O), found {found}")
        if self._n_negative:
            report.warn(self.line, "negative_count", f"expected counts from 0 on, found {self._n_negative} others")
        if self._n_unavailable:
            found = f"{self._n_unavailable} without, which are left out"
            report.warn(
                self.line, "statistics_not_available", f"expected whole-run figures of both ends, found {found}"
            )
        if self._unknown:
            names = ", ".join(sorted(map(encodable, self._unknown)))[:200]
            report.warn(
                self.line, "unknown_key", f"expected iperf3's keys, found {self._unknown.total()} others: {names}"
            )
        if self.n_other_lines:
            report.warn(self.line, "unknown_line", f"expected events of iperf3, found {self.n_other_lines} other lines")


def _sum_of(key: str) -> tuple[str, str | None]:
    """Stream and role of ``sum_sent_bidir_reverse`` and so on."""
    rest = key.removeprefix("sum")
    for word, role in (("_sent", "sender"), ("_received", "receiver")):
        if rest.startswith(word):
            return "SUM" + rest.removeprefix(word), role
    return "SUM" + rest, None


def _moment(stamp: Any) -> datetime | None:
    if not isinstance(stamp, dict):
        return None
    seconds, milliseconds = number(stamp.get("timesecs")), number(stamp.get("timemillisecs"))
    if seconds is None or not _EPOCHS_S[0] < seconds < _EPOCHS_S[1]:
        return None
    if milliseconds is not None and abs(milliseconds * units.MILLI - seconds) <= 1:
        seconds = milliseconds * units.MILLI
    return datetime.fromtimestamp(seconds, UTC)
