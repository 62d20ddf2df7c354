"""Private to ``fio_log``: what a log's I/Os come to – statistics, bins, percentiles, and rates a second."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.parse.fio import _fio_bins as bins
from pipeline.parse.fio._fio_log_compiled import Kernels
from pipeline.parse.fio._fio_log_kernel import (
    COUNT,
    HIGH_SUM,
    LOW_BITS,
    LOW_SUM,
    MAXIMUM,
    MINIMUM,
    N_OPS,
    N_TOTALS,
    Integers,
)  # fmt: skip

OPS = ("read", "write", "trim")
PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
               99.999)  # fmt: skip
_PER_PERCENT = 1000  # percentiles in whole numbers
_LONGEST_GAP_S = 3600  # without an I/O, that is filled with zeros
_MOST_SECONDS = 1 << 16  # in memory
_SHORTEST_MS = 500  # of a last window: a shorter one would give a rate of chance


class Latencies:
    """Statistics of latencies by direction; ``per_us``: their unit."""

    def __init__(self, per_us: int) -> None:
        self.per_us = per_us
        self.per_s = per_us * 10**6
        self.counts = np.zeros((N_OPS, bins.N_BINS[per_us]), np.int64)
        self.n = [0] * N_OPS
        self.sums = [0] * N_OPS
        self.spreads = [0.0] * N_OPS  # Σ (value - mean)²
        self.low = [0] * N_OPS
        self.high = [0] * N_OPS
        self._bits = np.empty(0, np.int64)

    def add(self, values: Integers, ops: Integers, kernels: Kernels) -> None:
        """Take a block of latencies."""
        if len(self._bits) < len(values):
            self._bits = np.empty(len(values), np.int64)
        totals, spreads = np.zeros((N_OPS, N_TOTALS), np.int64), np.zeros(N_OPS)
        totals[:, MINIMUM] = np.iinfo(np.int64).max
        bits = self._bits[: len(values)]
        kernels.summarise(values, ops, totals, spreads, self.counts, bits, bits.view(np.float64))
        for op in np.flatnonzero(totals[:, COUNT]).tolist():
            row = totals[op].tolist()
            self._join(op, row[COUNT], (row[HIGH_SUM] << LOW_BITS) + row[LOW_SUM], float(spreads[op]))
            self.low[op] = row[MINIMUM] if self.n[op] == row[COUNT] else min(self.low[op], row[MINIMUM])
            self.high[op] = max(self.high[op], row[MAXIMUM])

    def _join(self, op: int, n: int, total: int, spread: float) -> None:
        """Join the moments of two parts (Chan, Golub, LeVeque 1979)."""
        if self.n[op]:
            distance = total / n - self.sums[op] / self.n[op]
            spread += self.spreads[op] + distance * distance * (n * self.n[op] / (n + self.n[op]))
        self.n[op] += n
        self.sums[op] += total
        self.spreads[op] = spread

    def mean_s(self, op: int) -> float:
        """Mean of a direction that has I/Os, rounded once."""
        return self.sums[op] / (self.n[op] * self.per_s)

    def report(self, report: Report, keys: dict[str, Any]) -> None:
        """Add summary, bins and percentiles of each direction; ``keys``: job and phase."""
        edges = bins.lower_edges(self.counts.shape[1])
        for op in [number for number in range(N_OPS) if self.n[number]]:
            own = {**keys, "op": OPS[op], "scope": "log"}
            stddev = math.sqrt(self.spreads[op] / (self.n[op] - 1)) / self.per_s if self.n[op] > 1 else None
            report.add("latency_summary", **own, n_ops=self.n[op], mean_s=self.mean_s(op), stddev_s=stddev,
                       min_s=self.low[op] / self.per_s, max_s=self.high[op] / self.per_s)  # fmt: skip
            used = np.flatnonzero(self.counts[op])
            upper = (edges[1:] / self.per_s)[used]
            is_open = used == self.counts.shape[1] - 1
            report.add_block("latency_bins", {
                **own, "lower_s": edges[used] / self.per_s, "upper_s": pa.array(upper, mask=is_open),
                "count": self.counts[op][used],
            })  # fmt: skip
            for percentile, latency in zip(PERCENTILES, self._percentiles(op), strict=True):
                report.add("latency_percentiles", **own, percentile=percentile, latency_s=latency / self.per_s)

    def _percentiles(self, op: int) -> list[int]:
        """As fio takes them: the middle of the bin in which the count reaches the share; in the last bin, the maximum.

        The count is compared in whole numbers, so that 99.9 % of 1000 is 999.
        """
        reached = np.cumsum(self.counts[op])
        wanted = [-(-self.n[op] * round(p * _PER_PERCENT) // (100 * _PER_PERCENT)) for p in PERCENTILES]
        index = np.searchsorted(reached, wanted)
        last = self.counts.shape[1] - 1
        return [self.high[op] if i == last else int(m) for i, m in zip(index, bins.middles(index), strict=True)]


class Seconds:
    """Operations and bytes in each second of the run, by direction."""

    def __init__(self, report: Report, keys: dict[str, Any], rates: list[str]) -> None:
        self.report = report
        self.keys = keys
        self.rates = rates  # that are wanted: ops_per_s, bytes_per_s
        self._pending: dict[tuple[int, int], list[int]] = {}  # (direction, second)
        self._last: dict[int, int] = {}  # second of each direction that was given last
        self._end_ms = 0
        self._runs = np.empty((0, 4), np.int64)

    def add(self, stamps: Integers, ops: Integers, sizes: Integers, kernels: Kernels) -> None:
        """Take a block of I/Os: stamps in ms, sizes in bytes."""
        if len(self._runs) < len(stamps) + N_OPS:
            self._runs = np.empty((len(stamps) + N_OPS, 4), np.int64)
        n_runs = kernels.seconds_of(stamps, ops, sizes, self._runs)
        self._end_ms = max(self._end_ms, int(stamps.max()) + 1)
        for second, op, n_ops, n_bytes in self._runs[:n_runs].tolist():
            entry = self._pending.setdefault((op, second), [0, 0])
            entry[0] += n_ops
            entry[1] += n_bytes
        if len(self._pending) > _MOST_SECONDS:
            self._give(max(second for _, second in self._pending) - 1)

    def close(self) -> None:
        """Give what is left; the last window ends with the last stamp, and takes the second before if it is short."""
        self._give(None)

    def _give(self, before: int | None) -> None:
        for op in range(N_OPS):
            seconds = sorted(s for o, s in self._pending if o == op and (before is None or s < before))
            if not seconds:
                continue
            rows = [(s, n, b) for s in seconds for n, b in [self._pending.pop((op, s))]]
            filled: list[tuple[int, int, int]] = []
            last = self._last.get(op)
            for row in rows:
                if last is not None and 1 < row[0] - last <= _LONGEST_GAP_S:
                    filled += [(second, 0, 0) for second in range(last + 1, row[0])]
                filled.append(row)
                last = row[0]
            self._last[op] = seconds[-1]
            second, n_ops, n_bytes = (np.array(column, np.int64) for column in zip(*filled, strict=True))
            end_ms = (second + 1) * 1000
            if before is None:
                end_ms = np.minimum(end_ms, self._end_ms)
                if len(second) > 1 and end_ms[-1] - second[-1] * 1000 < _SHORTEST_MS:
                    end_ms[-2], n_ops[-2], n_bytes[-2] = end_ms[-1], n_ops[-2:].sum(), n_bytes[-2:].sum()
                    second, end_ms, n_ops, n_bytes = second[:-1], end_ms[:-1], n_ops[:-1], n_bytes[:-1]
            window_s = (end_ms - second * 1000) / 1000
            values = {"ops_per_s": n_ops / window_s, "bytes_per_s": n_bytes / window_s}
            self.report.add_block("throughput_series", {
                **self.keys, "op": OPS[op], "time_s": end_ms / 1000, "window_s": window_s,
                **{rate: values[rate] for rate in self.rates},
            })  # fmt: skip
