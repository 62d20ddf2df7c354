"""The lines of perf trace: a system call a line, as arrays of latencies, and counts by task and call."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.units import seconds

CALL = re.compile(
    r" *(\?|[0-9]{1,15}\.[0-9]{3}) \( {0,12}(?:([0-9]{1,15}\.[0-9]{3}) ms)?\s{0,12}\): (?:(.{1,48}?/-?[0-9]+|[0-9]+) )?"
    r"(?: ?\.\.\. \[continued\]: )?([A-Za-z_]\w*)\("
)
FAULT = re.compile(
    r" *(?:\?|[0-9]{1,15}\.[0-9]{3}) \( {0,12}(?:[0-9]{1,15}\.[0-9]{3} ms)?\s{0,12}\): (?:(.{1,48}?/-?[0-9]+|[0-9]+) )?"
    r"(majfault|minfault) \["
)
EVENT = re.compile(
    r" *[0-9]{1,15}\.[0-9]{3} (?:\( {0,12}(?:[0-9]{1,15}\.[0-9]{3} ms)?\s{0,12}\): )?"
    r"(?:(.{1,48}?/-?[0-9]+|[0-9]+) )?([A-Za-z_]\w*:\w+)\("
)
_BYTES = frozenset(
    {"read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev", "preadv2", "pwritev2",
     "recvfrom", "sendto", "recvmsg", "sendmsg", "pread", "pwrite", "sendfile", "copy_file_range"}
)  # fmt: skip
_POSITION = re.compile(r"[(,] ?pos: ([0-9]{1,18})")
_ERROR = re.compile(r"-1 E[A-Z]|-[0-9]{1,4} ?(?:E[A-Z]|$)")
_COUNT = re.compile(r"([0-9]{1,18})\s*$")
_FULL_STAMP_MS = 100_000.0  # relative ones begin near 0; full ones are since boot
_BLOCK_LINES = 50000
_KEYS = 100_000  # of counts: tasks and calls


class Call(NamedTuple):
    """A system call that has ended."""

    job: str | None
    op: str
    start_ms: float
    latency_ms: float
    n_bytes: int
    offset: int


class Calls:
    """Collects calls; rows go to the report in blocks, counts at the end."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.n_open = self.n_uncounted = 0
        self._calls: list[Call] = []
        self._counts: dict[tuple[str | None, str], list[int]] = {}
        self._zero_ms: float | None = None

    def take(self, line: str) -> bool:
        """Take a line; False where it is no call, no fault and no event."""
        match = CALL.match(line)
        if match is None:
            other = FAULT.match(line) or EVENT.match(line)
            if other:
                self._count(other[1], other[2], is_error=False)
            return other is not None
        stamp, duration, job, op = match.groups()
        rest = line[match.end() :]
        if rest.rstrip().endswith(" ...") and " = " not in rest[-40:]:  # its end comes on a line of its own
            return True
        result = rest.rpartition(" = ")[2] if " = " in rest else ""
        is_error = _ERROR.match(result) is not None
        self._count(job, op, is_error=is_error)
        if duration is None or stamp == "?":
            self.n_open += 1
            return True
        n_bytes = offset = -1
        if op in _BYTES:
            count, position = _COUNT.match(result), _POSITION.search(rest[:4096])
            n_bytes = int(count[1]) if count else -1
            offset = int(position[1]) if position else -1
        start_ms = float(stamp) - self._zero(float(stamp))
        self._calls.append(Call(job, op, start_ms, float(duration), n_bytes, offset))
        if len(self._calls) >= _BLOCK_LINES:
            self.flush()
        return True

    def _zero(self, stamp: float) -> float:
        """Return the stamp that the others count from: 0, or the first one of full stamps."""
        if self._zero_ms is None:
            self._zero_ms = stamp if stamp >= _FULL_STAMP_MS else 0.0
            if self._zero_ms:
                self.report.parameter("first_timestamp_s", round(seconds(stamp, "ms"), 9))
        return self._zero_ms

    def _count(self, job: str | None, op: str, *, is_error: bool) -> None:
        if (job, op) not in self._counts and len(self._counts) >= _KEYS:
            self.n_uncounted += 1
            return
        counts = self._counts.setdefault((job, op), [0, 0])
        counts[0] += 1
        counts[1] += is_error

    @property
    def has_figures(self) -> bool:
        """Whether there was a call."""
        return bool(self._counts)

    def flush(self) -> None:
        """Give the calls to the report."""
        if not self._calls:
            return
        jobs, ops, starts, latencies, sizes, offsets = zip(*self._calls, strict=True)
        self._calls = []
        start = np.array(starts)
        latency = np.array(latencies)
        millisecond = seconds(1, "ms")
        self.report.add_block(
            "latency_series",
            {
                "job": pa.array(jobs, pa.string()),
                "op": pa.array(ops, pa.string()),
                "phase": "total",
                # A call that began before the first line has a stamp before 0.
                "time_s": np.maximum(np.round((start + latency) * millisecond, 9), 0),
                "issued_s": pa.array(np.round(start * millisecond, 9), mask=start < 0),
                "latency_s": np.round(latency * millisecond, 9),
                "block_size_bytes": _filled(sizes),
                "offset_bytes": _filled(offsets),
            },
        )

    def finish(self) -> None:
        """Write what is left, and the counts."""
        self.flush()
        for (job, op), (n_ops, n_errors) in self._counts.items():
            self.report.add("operations", job=job, op=op, scope="log", n_ops=n_ops, n_errors=n_errors)
        if self.n_open:
            self.report.parameter("calls_without_duration", self.n_open)


def _filled(values: tuple[int, ...]) -> pa.Array:
    """Integers; -1 stands for none."""
    data = np.array(values, dtype=np.int64)
    return pa.array(data, mask=data < 0)
