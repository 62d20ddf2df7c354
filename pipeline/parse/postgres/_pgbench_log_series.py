"""Private to ``pgbench_log``: the series of a log with a line a transaction, and its seconds."""

from __future__ import annotations

import numpy as np

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.postgres._pgbench_log_kernel import Integers
from pipeline.parse.postgres._pgbench_log_lines import Block, Lines

OP = {"op": "transaction", "scope": "total"}
_MICROSECONDS = 1_000_000
_MAX_WINDOWS = 1 << 22  # of a second: 48 days
_BLOCK_ROWS = 1 << 18  # that are handed over together


class TransactionSeries:
    """Rows of latency_series, a transaction each, with times since ``start_us``, and how many ended in each second."""

    def __init__(self, report: Report, lines: Lines, start_us: int | None, *, has_lag: bool) -> None:
        self.start_us, self.has_lag = start_us, has_lag
        self._report, self._lines = report, lines
        self._per_second = np.zeros(1 << 12, np.int64)
        self._codes = np.zeros(0, np.int32)  # of the clients, in ``_names``
        self._names: list[str] = []
        self._n_rows = 0
        self._columns = np.empty((3, 0))
        self._jobs = np.empty(0, np.int32)

    def add(self, block: Block, n_clients: int, last_numbers: Integers) -> None:
        """Add the transactions of a block that were done; ``last_numbers`` is not 0 for the clients seen so far."""
        start = self.start_us
        if start is None:
            raise ValueError("expected a start, found none")
        if n_clients != len(self._names):
            self._learn(last_numbers)
        if self._n_rows + block.n_rows > len(self._jobs):
            self._hand_over()
            n_rows = max(block.n_rows, _BLOCK_ROWS)
            self._columns, self._jobs = np.empty((3, n_rows)), np.empty(n_rows, np.int32)
        last = (int(block.columns[5, : block.n_rows].max()) - start) // _MICROSECONDS + 1
        if len(self._per_second) < last <= _MAX_WINDOWS:
            self._per_second = np.concatenate([self._per_second, np.zeros(2 * last, np.int64)])
        self._n_rows = self._lines.function("series")(
            block.columns, block.states, block.n_rows, start, self._codes, self._columns, self._jobs, self._n_rows,
            int(self.has_lag), self._per_second,
        )  # fmt: skip

    def _learn(self, last_numbers: Integers) -> None:
        """Give new clients the next codes."""
        if not len(self._codes):
            self._codes = np.full(len(last_numbers), -1, np.int32)
        clients = np.flatnonzero((last_numbers > 0) & (self._codes < 0))
        self._codes[clients] = np.arange(len(self._names), len(self._names) + len(clients))
        self._names += [str(client) for client in clients.tolist()]

    def _hand_over(self) -> None:
        import pyarrow as pa

        n = self._n_rows
        if not n:
            return
        jobs = pa.DictionaryArray.from_arrays(self._jobs[:n].copy(), pa.array(self._names))
        times, latencies, lags = (column.copy() for column in self._columns[:, :n])
        fixed = {"op": "transaction", "job": jobs, "time_s": times}
        self._report.add_block("latency_series", {**fixed, "phase": "total", "latency_s": latencies})
        if self.has_lag:
            self._report.add_block("latency_series", {**fixed, "phase": "schedule_lag", "latency_s": lags})
        self._n_rows = 0

    def finish(self, duration_us: int) -> None:
        """Add what is left, and a row a second of the run; the last is as long as what is left of it."""
        self._hand_over()
        n_windows = -(-duration_us // _MICROSECONDS)
        if n_windows > _MAX_WINDOWS:
            found = f"{n_windows}: no windows of a second are made"
            self._report.warn(None, "implausible_duration", f"expected at most {_MAX_WINDOWS} seconds, found {found}")
            return
        ends = np.minimum(np.arange(1, n_windows + 1) * _MICROSECONDS, duration_us)
        windows = np.diff(ends, prepend=0) * units.MICRO
        if n_windows:
            rates = self._per_second[:n_windows] / windows
            self._report.add_block("throughput_series", {"op": "transaction", "time_s": ends * units.MICRO,
                                                         "window_s": windows, "ops_per_s": rates})  # fmt: skip
