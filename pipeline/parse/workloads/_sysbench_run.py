"""Private to ``sysbench``: the lines of a run as rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from pipeline import units
from pipeline.parse._figures import integer, number, positive, scaled
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads import _sysbench_lines as lines
from pipeline.parse.workloads._sysbench_intervals import interval_of

LONGEST_LINE = 2000
_NAMES = {
    "fsync": "sync",
    "written": "write",
    "ignored errors": "error",
    "queries": "query",
    "transactions": "transaction",
}


class Run:
    """A run, read line by line."""

    def __init__(self, source: Source, line: int) -> None:
        self.report = Report("sysbench", source)
        self.line = line
        self.is_begun = False
        self.is_complete = False
        self.has_figures = False
        self._threads: float | None = None
        self._has_rate = False
        self._block_size: int | None = None
        self._interval_s: float | None = None
        self._last_interval = 0.0
        self._since = 0.0  # the last checkpoint
        self._until: float | None = None
        self._in_settings = False
        self._in_bins = False
        self._bins: dict[str, int] = {}
        self._rows: dict[str, dict[str, Any]] = {}  # the block's operations
        self._latency: dict[str, float] = {}
        self._percentiles: list[tuple[float, float]] = []
        self._metrics: list[tuple[str, float | None, str]] = []
        self._time_s: float | None = None
        self._is_iops = False  # fileio of 1.1, which has no thread fairness
        self._notes: Counter[str] = Counter()
        self._first_of: dict[str, int] = {}
        self._failure: tuple[int, str] | None = None
        self._last = line

    def read(self, line: int, text: str) -> None:
        """Read one line."""
        self._last = line
        if self._in_bins and (match := lines.BIN.fullmatch(text[:LONGEST_LINE])):
            self._bins[match[1]] = self._bins.get(match[1], 0) + (integer(match[2]) or 0)
            self.has_figures = True
            return
        text = text.strip()
        if len(text) > LONGEST_LINE or not self._read_line(line, text):
            self._note("unknown_line", line)

    def _note(self, code: str, line: int) -> None:
        self._notes[code] += 1
        self._first_of.setdefault(code, line)

    def _read_line(self, line: int, text: str) -> bool:
        if not text or text == "---":
            return True
        if match := lines.VERSION.search(text):
            self.is_begun = True
            self.report.describe(tool_version=match[1])
        elif text == lines.RUNNING:
            self.is_begun = self._in_settings = True
        elif match := lines.INTERVAL.fullmatch(text):
            return self._read_interval(float(match[1]), match[2])
        elif text == lines.BINS_TITLE or lines.BINS_HEADER.fullmatch(text):
            self._in_bins = self._in_bins or text == lines.BINS_TITLE
            return self._in_bins
        elif self._read_block(text):
            self.has_figures = True
        elif lines.FAILED.fullmatch(text):
            self._failure = self._failure or (line, text[:200])
        elif lines.WARNED.fullmatch(text):
            self._note("tool_warning", line)
        elif lines.TITLES.fullmatch(text):
            self._in_settings = self._in_settings and not text.startswith("Threads started")
        elif self._in_settings:
            self._set(text)
        else:
            return False
        return True

    def _set(self, text: str) -> None:
        match = lines.SETTING.fullmatch(text)
        self.report.parameter(*((match[1], match[2]) if match else ("setting", text)))
        if match and match[1] == "Number of threads":
            self._threads = positive(match[2])
        self._has_rate = self._has_rate or text.startswith("Target transaction rate")
        if match := lines.INTERVAL_OF.fullmatch(text):
            self._interval_s = float(match[1])
        if (match := lines.BLOCK.match(text)) and positive(match[1].rstrip("KMG")) is not None:
            self._block_size = round(units.byte_size(match[1]))

    def _op(self, name: str) -> dict[str, Any]:
        return self._rows.setdefault(_NAMES.get(name, name), {})

    def _read_block(self, text: str) -> bool:
        """Read a line of a block of results; False when it is none."""
        if match := lines.LATENCY.fullmatch(text):
            self._latency[match[1]] = (number(match[2]) or 0.0) * units.SECONDS[match[3] or "ms"]
            if self._is_iops and match[1] == "sum":
                self._end_of_results()
        elif match := lines.PERCENTILE.fullmatch(text):
            self._percentiles.append((float(match[1]), (number(match[2]) or 0.0) * units.SECONDS[match[3] or "ms"]))
        elif match := lines.TOTAL_TIME.fullmatch(text):
            self._time_s = positive(match[1])
        elif match := lines.TOTAL_EVENTS.fullmatch(text):
            self._op("event")["n_ops"] = integer(match[1])
        elif match := lines.EVENT_RATE.fullmatch(text):
            self._op("event")["ops_per_s"] = positive(match[1] or match[2])
        elif match := lines.EXECUTION.fullmatch(text):
            self._latency["sum"] = number(match[1]) or 0.0
        elif match := lines.FAIRNESS.fullmatch(text):
            name, unit = ("events_per_thread", "1") if match[1] == "events" else ("execution_time_per_thread", "s")
            self._metrics += [(f"{name}_mean", number(match[2]), unit), (f"{name}_stddev", number(match[3]), unit)]
            if match[1] == "execution time":
                self._end_of_results()
        else:
            return self._read_counts(text) or self._read_file_line(text)
        return True

    def _read_counts(self, text: str) -> bool:
        """Read a line of what a test of SQL, memory or files counted; False when it is none."""
        if match := lines.QUERIES.fullmatch(text):
            self._op("query" if match[1] == "total" else match[1])["n_ops"] = integer(match[2])
        elif match := lines.COUNTED.fullmatch(text):
            self._count(match)
        elif match := lines.MEMORY_OPS.fullmatch(text):
            self._op("event").update(n_ops=integer(match[1]), ops_per_s=positive(match[2]))
        elif match := lines.MEMORY_BYTES.fullmatch(text):
            size = scaled(match[1], units.MEBI)
            self._op("event").update(
                n_bytes=round(size) if size is not None else None, bytes_per_s=scaled(match[2], units.MEBI)
            )
        elif match := lines.PREPARED.fullmatch(text):
            self._op("prepare").update(
                n_bytes=integer(match[1]), duration_s=positive(match[2]), bytes_per_s=scaled(match[3], units.MEBI)
            )
            self.is_complete = True
        elif match := lines.UNFINISHED.fullmatch(text):
            self._metrics.append(("unfinished_transactions", number(match[1]), "1"))
        else:
            return False
        return True

    def _end_of_results(self) -> None:
        """The last line of a block: of a checkpoint's, or of the run's."""
        if self._until is not None:
            self._end_block()
        else:
            self.is_complete = True

    def _count(self, match: re.Match[str]) -> None:
        n, rate = integer(match[2]), positive(match[3])
        if match[1] == "ignored errors":
            self._op("transaction")["n_errors"] = n
            self._metrics.append(("errors_per_s", rate, "1/s"))
        elif match[1] in ("transactions", "queries"):
            self._op(match[1]).update(n_ops=n, ops_per_s=rate)
        else:
            name = match[1].replace("/", "_").replace(" ", "_")
            self._metrics += [(name, number(match[2]), "1"), (f"{name}_per_s", rate, "1/s")]

    def _read_file_line(self, text: str) -> bool:
        if match := lines.FILE_RATE.fullmatch(text):
            self._op(match[1])["ops_per_s"] = positive(match[2])
        elif match := lines.FILE_BYTES.fullmatch(text):
            self._op(match[1])["bytes_per_s"] = scaled(match[2], units.MEBI)
        elif match := lines.FILE_IOPS.fullmatch(text):
            self._is_iops = True
            self._op(match[1])["ops_per_s"] = positive(match[2])
            if match[3]:
                self._op(match[1])["bytes_per_s"] = scaled(match[3], units.MEBI)
        elif match := lines.FILE_OLD.fullmatch(text):
            for name, figure in zip(("read", "write", "other", "total"), match.groups(), strict=True):
                self._op(name)["n_ops"] = integer(figure)
        elif match := lines.FILE_OLD_BYTES.fullmatch(text):
            for name, figure in zip(("read", "write", "total"), match.groups(), strict=False):
                self._op(name)["n_bytes"] = _size(figure)
            self._op("total")["bytes_per_s"] = _size(match[4])
        elif match := lines.FILE_OLD_RATE.fullmatch(text):
            self._op("event")["ops_per_s"] = positive(match[1])
        else:
            return False
        return True

    def _read_interval(self, end: float, text: str) -> bool:
        """Read what stands behind ``[ 10s ]``; False when it is unknown."""
        if text == "Checkpoint report:":
            self._end_block()
            self._until = end
            return True
        if match := lines.QUEUE.fullmatch(text):
            for name, figure in (("queue_length", match[1]), ("concurrency", match[2])):
                self.report.add("metric_series", metric=name, time_s=end, value=number(figure), unit="1")
            return True
        start = self._last_interval if self._interval_s is None else max(end - self._interval_s, 0.0)
        keys = {"interval_start_s": min(start, end), "interval_end_s": end, "scope": "total"}
        found = interval_of(text)
        if found is None:
            return False
        self._last_interval, self.has_figures, self.is_begun = end, True, True
        operations, threads, percentile, metrics = found
        for i, (op, columns) in enumerate(operations):
            depth = threads if i == 0 and not self._has_rate else None
            self.report.add("operations", **keys, op=op, queue_depth=depth, **columns)
        if percentile is not None and percentile[1] is not None:
            self.report.add(
                "latency_percentiles",
                **keys,
                op=percentile[2],
                phase="total",
                percentile=percentile[0],
                latency_s=percentile[1],
            )
        for name, value in metrics:
            if value is not None:
                self.report.add("metric_series", metric=name, time_s=end, value=value, unit="1/s")
        return True

    def _end_block(self) -> None:
        """Write the rows of the block of results that ends here."""
        keys: dict[str, Any] = {"scope": "total"}
        if self._until is not None or self._since:
            end = self._end_of_interval()
            keys.update(interval_start_s=self._since, interval_end_s=end)
            self._time_s = end - self._since
        elif self._time_s is not None:
            self.report.describe(duration_s=self._time_s)
        latency = self._latency
        for op, columns in self._rows.items():
            extra: dict[str, Any] = {}
            if op == "event":
                extra = {
                    "latency_mean_s": latency.get("avg"),
                    "latency_min_s": latency.get("min"),
                    "latency_max_s": latency.get("max"),
                    "queue_depth": None if self._has_rate else self._threads,
                    "duration_s": self._time_s,
                }
            if self._block_size and op in ("event", "read", "write"):
                extra["block_size_bytes"] = self._block_size
            self.report.add("operations", **keys, op=op, **(extra | columns))
        keys |= {"op": "event", "phase": "total"}
        if {"avg", "min", "max"} & latency.keys():
            self.report.add(
                "latency_summary",
                **keys,
                n_ops=self._rows.get("event", {}).get("n_ops"),
                mean_s=latency.get("avg"),
                min_s=latency.get("min"),
                max_s=latency.get("max"),
            )
        for percentile, value in self._percentiles:
            if percentile <= 100:
                self.report.add("latency_percentiles", **keys, percentile=percentile, latency_s=value)
        self._metrics += [("latency_sum", latency.get("sum"), "s")]
        label = json.dumps({"interval_start_s": self._since}) if "interval_end_s" in keys else None
        for name, figure, unit in self._metrics:
            if figure is not None:
                self.report.add(
                    "metric_series",
                    metric=name,
                    value=figure,
                    unit=unit,
                    time_s=keys.get("interval_end_s"),
                    labels=label,
                )
        self._add_bins(keys)
        if self._until is not None:
            self._since, self._until = float(keys["interval_end_s"]), None
        self._rows, self._latency, self._percentiles, self._metrics, self._time_s = {}, {}, [], [], None

    def _end_of_interval(self) -> float:
        """When a checkpoint's block ends: up to 0.5 the total time counts from the checkpoint before."""
        if self._time_s is None:
            return max(self._until or 0.0, self._since)
        is_old = str(self.report.run.get("tool_version", "")).startswith("0.")
        return max(self._since + self._time_s if is_old else self._time_s, self._since)

    def _add_bins(self, keys: dict[str, Any]) -> None:
        for text, count in self._bins.items():
            edges = lines.bin_edges(text)
            if edges is None:
                self._note("unknown_bin", self._last)
            else:
                self.report.add("latency_bins", **keys, lower_s=edges[0], upper_s=edges[1], count=count)
        self._bins = {}

    def finish(self, *, cut: int | None) -> Report:
        """The report, with what was noticed."""
        self._end_block()
        report = self.report
        for code, n in self._notes.items():
            report.warn(self._first_of[code], code, _MESSAGES[code].format(n))
        if self._failure is not None:
            report.incomplete(self._failure[0], "tool_error", f"expected no errors, found: {self._failure[1]}")
        elif not self.is_complete:
            report.incomplete(
                cut or self._last,
                "truncated",
                "expected `Threads fairness:` with its two lines, found the end of the run",
            )
        return report


_MESSAGES = {
    "unknown_line": "expected sysbench's lines, found {} others, the first here",
    "tool_warning": "expected no warnings, found {}, the first here",
    "unknown_bin": "expected the bins of sysbench's histogram, found {} others",
}


def _size(text: str) -> int | None:
    """Bytes of ``93.75M``: the prefix is binary."""
    if positive(text.rstrip("KMGT")) is None:
        return None
    value = units.byte_size(text)
    return round(value) if value < 1 << 63 else None
