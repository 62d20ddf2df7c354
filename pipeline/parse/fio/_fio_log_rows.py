"""Private to ``fio_log``: the rows of a log's blocks – I/Os, windows of latency, windows of rates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.fio._fio_log_compiled import Kernels
from pipeline.parse.fio._fio_log_kernel import N_OPS, Integers
from pipeline.parse.fio._fio_log_layout import Layout
from pipeline.parse.fio._fio_log_statistics import OPS, Latencies, Seconds

_OP_NAMES = pa.array(OPS)
_NEARLY = 0.1  # stamps are late by some ms: a window this near to the configured one is that
_LARGEST_SIZE = 1 << 40  # of an I/O
_NANOS = 10**9


@dataclass
class Clock:
    """Stamps in ms → ms since the start of the run, and whether they ever go back."""

    origin_ms: int = 0
    n_back: int = 0
    first_back: tuple[int, int] = (0, 0)
    n_early: int = 0
    last: int = -1

    def since_start(self, stamps: Integers) -> Integers:
        """Stamps since the start; one from before it is 0."""
        times = stamps - self.origin_ms if self.origin_ms else stamps
        if self.origin_ms:
            self.n_early += int((times < 0).sum())
            times = np.maximum(times, 0)
        falls = np.flatnonzero(times[1:] < times[:-1]) + 1
        n_falls = len(falls)
        if self.last > times[0]:
            n_falls += 1
            first = (self.last, int(times[0]))
        elif n_falls:
            first = (int(times[falls[0] - 1]), int(times[falls[0]]))
        if n_falls and not self.n_back:
            self.first_back = first
        self.n_back += n_falls
        self.last = int(times[-1])
        return times

    def report(self, report: Report) -> None:
        """Add the warnings."""
        if self.n_back:
            before, after = self.first_back
            message = f"expected stamps that rise, found {self.n_back} that fall, the first from {before} to {after} ms"
            report.warn(None, "stamps_fall", message)
        if self.n_early:
            message = f"expected stamps since the start of the job, found {self.n_early} from before it, now 0"
            report.warn(None, "stamps_before_start", message)


def ops_of(ops: Integers) -> Any:
    """Names of directions, as one text where there is but one."""
    first = int(ops[0])
    if (ops == first).all():
        return OPS[first]
    return pa.DictionaryArray.from_arrays(pa.array(ops.astype(np.int32)), _OP_NAMES)


def column_of(values: Integers) -> Any:
    """A column, as one number where there is but one."""
    first = int(values[0])
    return first if (values == first).all() else values.copy()


class IoRows:
    """I/Os of a latency log: each a row of latency_series, and all of them in the statistics."""

    def __init__(self, report: Report, keys: dict[str, Any], layout: Layout, per_us: int) -> None:
        self.report = report
        self.keys = keys
        self.layout = layout
        self.latencies = Latencies(per_us)

    def add(self, rows: Integers, times: Integers, kernels: Kernels) -> None:
        """Take a block: its numbers, and the stamps in ms since the start."""
        layout, ops = self.layout, rows[self.layout.op]
        self.latencies.add(rows[1], ops, kernels)
        block = {
            **self.keys, "op": ops_of(ops), "time_s": times / 1000, "latency_s": rows[1] / self.latencies.per_s,
            "block_size_bytes": column_of(rows[layout.size]),
        }  # fmt: skip
        if layout.offset is not None:
            block["offset_bytes"] = rows[layout.offset].copy()
        if layout.priority is not None:
            block["priority"] = column_of(rows[layout.priority])
        if layout.issued is not None and rows[layout.issued].any():  # 0 in lat logs: not taken there
            block["issued_s"] = rows[layout.issued] / _NANOS
        self.report.add_block("latency_series", block)


class WindowRows:
    """Windows: of a latency log, or of the rates of a bandwidth or IOPS log."""

    def __init__(
        self, report: Report, keys: dict[str, Any], layout: Layout, *, kind: str, scale: float, window_ms: int | None
    ) -> None:
        self.report = report
        self.keys = keys
        self.layout = layout
        self.kind = kind
        self.scale = scale
        self.window_ms = window_ms
        self.is_maximum = False  # log_max_value: the value is the largest of the window, not the mean
        self._ends = np.full(N_OPS, -1, np.int64)

    def add(self, rows: Integers, times: Integers) -> None:
        """Take a block: its numbers, and the stamps in ms since the start."""
        ops, values = rows[self.layout.op], rows[1]
        common = {**self.keys, "op": ops_of(ops), "time_s": times / 1000, "window_s": self._windows(ops, times)}
        largest = None if self.layout.maximum is None else rows[self.layout.maximum]
        if self.kind in ("bw", "iops"):
            name = "bytes_per_s" if self.kind == "bw" else "ops_per_s"
            self.report.add_block("throughput_series", {**common, name: values * self.scale})
            if largest is not None:
                self._add_largest(ops, times, largest, name)
            return
        mean = None if self.is_maximum else values / self.scale
        if self.is_maximum:
            largest = values
        self.report.add_block(
            "latency_series",
            {**common, "latency_s": mean, "latency_max_s": None if largest is None else largest / self.scale},
        )

    def _add_largest(self, ops: Integers, times: Integers, largest: Integers, name: str) -> None:
        """The largest rate of a window has no column of its own."""
        unit = {"bytes_per_s": "B/s", "ops_per_s": "1/s"}[name]
        for op in np.unique(ops).tolist():
            is_op = ops == op
            labels = f'{{"job": {json.dumps(self.keys.get("job"))}, "op": "{OPS[op]}"}}'
            self.report.add_block("metric_series", {
                "metric": f"{name}_window_max", "labels": labels, "time_s": times[is_op] / 1000,
                "value": largest[is_op] * self.scale, "unit": unit,
            })  # fmt: skip

    def _windows(self, ops: Integers, times: Integers) -> Any:
        """Lengths in s: from one stamp of a direction to the next, or as configured where that is nearly the same."""
        windows = np.empty(len(ops), np.int64)
        for op in np.unique(ops).tolist():
            is_op = ops == op
            ends = times[is_op]
            lengths = np.diff(ends, prepend=self._ends[op])
            is_new = self._ends[op] < 0
            if is_new or lengths.min() < 0:
                self._begin(lengths, ends, is_new=is_new)
            if self.window_ms:
                is_near = np.abs(lengths - self.window_ms) <= _NEARLY * self.window_ms
                lengths[is_near] = self.window_ms
            windows[is_op] = np.maximum(lengths, 1)  # stamps are whole ms: the last window may be shorter
            self._ends[op] = ends[-1]
        return windows / 1000

    def _begin(self, lengths: Integers, ends: Integers, *, is_new: bool) -> None:
        """Set the lengths of jobs' first windows, which begin at 0, unless the configured or usual length says later.

        A job begins where the log does, and where stamps fall (per_job_logs=0 lets jobs write one after another) by
        more than half a window: less is a step back within a job, whose clocks may differ by a few ms.
        """
        later = lengths[1:] if is_new else lengths
        rising = later[later > 0]
        usual = self.window_ms or (int(np.median(rising)) if len(rising) else int(ends[0]))
        is_first = lengths < -0.5 * usual
        is_first[0] |= is_new
        firsts = ends[is_first]
        lengths[is_first] = np.where(1.5 * usual < firsts, usual, firsts)


class SecondRows:
    """Rates a second, counted from a log of single I/Os."""

    def __init__(self, report: Report, keys: dict[str, Any], layout: Layout, rates: list[str]) -> None:
        self.seconds = Seconds(report, keys, rates)
        self.layout = layout
        self.n_large = 0

    def add(self, rows: Integers, times: Integers, kernels: Kernels) -> None:
        """Take a block of I/Os."""
        sizes = rows[self.layout.size]
        if int(sizes.max()) > _LARGEST_SIZE:
            self.n_large += int((sizes > _LARGEST_SIZE).sum())
            sizes = np.where(sizes > _LARGEST_SIZE, 0, sizes)
        self.seconds.add(times, rows[self.layout.op], sizes, kernels)

    def close(self, report: Report) -> None:
        """Give what is left."""
        self.seconds.close()
        if self.n_large:
            message = (
                f"expected I/Os of at most {_LARGEST_SIZE} bytes, found {self.n_large}, not counted in bytes_per_s"
            )
            report.warn(None, "bad_value", message)


RATE_SCALES = {"bw": float(units.KIBI), "iops": 1.0}
