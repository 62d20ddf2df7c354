"""Private to ``asbench`` and ``aerospike_java_benchmark``: the lines a second that both print, as rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import Any

from pipeline import units
from pipeline.parse._figures import number
from pipeline.parse._report import Report

LONGEST_LINE = 2000
WINDOW_S = 1.0  # both print a line a second
STAMP = (r"(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
         r"|[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \S{1,10} \d{4})")  # fmt: skip
RATES = re.compile(
    r"\b(write|read|udf|txns?|total)\((?:count=([0-9]{1,18}) )?tps=([0-9]{1,18})(?: \(hit=([0-9]{1,18})"
    r" miss=([0-9]{1,18})\))?"
    r" timeouts=([0-9]{1,18}) errors=([0-9]{1,18})(?: total=([0-9]{1,18}))?(?: nf=([0-9]{1,18}))?"
)
_HEADER = re.compile(r"\s{0,12}<=1(ms|us)((?: >[0-9]{1,9}(?:ms|us)){1,30})\s{0,9}")
_SHARES = re.compile(r"(write|read|udf|txns?)\s{1,9}([0-9]{1,3}%(?:\s{1,20}[0-9]{1,3}%){1,30})\s{0,9}")
_COUNTS = re.compile(r"\s{0,9}(write|read|txns?)\s{1,9}(<=1(?:ms|us)\([0-9]{1,18}:[0-9.,]{1,12}%\)"
                     r"(?: >[0-9]{1,9}(?:ms|us)\([0-9]{1,18}:[0-9.,]{1,12}%\)){1,30})"
                     r" total\(([0-9]{1,18})\)")  # fmt: skip
_CELL = re.compile(r"([<>]=?)([0-9]{1,9})(ms|us)\(([0-9]{1,18}):")
SETTING = re.compile(r"([A-Za-z][A-Za-z0-9 /()_-]{1,60}): {1,30}(\S.{0,1500})")


class Seconds:
    """The lines a second of a run, and the latency columns between them."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.n_lines = 0
        self.notes: Counter[str] = Counter()
        self.first_of: dict[str, int] = {}
        self.is_summary = False
        self._start: datetime | None = None
        self._time_s: float | None = None
        self.whole: dict[str, dict[str, Any]] = {}  # whole-run columns by operation
        self._counted: dict[str, list[int]] = {}  # timeouts and errors by operation
        self._limits: list[float] = []  # of the latency columns

    def note(self, code: str, line: int) -> None:
        """Count something for a warning."""
        self.notes[code] += 1
        self.first_of.setdefault(code, line)

    def read_rates(self, line: int, stamp: str, text: str) -> bool:
        """Read ``write(tps=… timeouts=… errors=…) …``; False when there is none."""
        found = RATES.findall(text)
        if not found:
            return False
        self.n_lines += 1
        self._advance(line, stamp)
        for op, count, tps, hit, miss, timeouts, errors, total, missing in found:
            name = "transaction" if op.startswith("txn") else op
            self.report.add("throughput_series", op=name, time_s=self._time_s, window_s=WINDOW_S, ops_per_s=number(tps))
            tally = self._counted.setdefault(name, [0, 0])
            for i, (kind, figure) in enumerate((("timeouts", timeouts), ("errors", errors))):
                tally[i] += int(figure)
                if int(figure):
                    self._metric(kind, figure, name)
            for kind, figure in (("hits_per_s", hit), ("misses_per_s", miss), ("not_found", missing)):
                if figure:
                    self._metric(kind, figure, name)
            if cumulative := count or total:
                self.whole.setdefault(name, {})["n_ops"] = int(cumulative)
        return True

    def _metric(self, name: str, figure: str, op: str) -> None:
        self.report.add(
            "metric_series",
            metric=name,
            labels=json.dumps({"op": op}),
            time_s=self._time_s,
            value=number(figure),
            unit="1/s" if name.endswith("_per_s") else "1",
        )

    def _advance(self, line: int, stamp: str) -> None:
        moment = _moment(stamp)
        if moment is None:
            self.note("unknown_time", line)
            return
        if self._start is None:
            self._start = moment
            self.report.parameter("first_timestamp", stamp)
        elapsed = (moment - self._start).total_seconds() + WINDOW_S
        if self._time_s is not None and elapsed < self._time_s:
            self.note("time_goes_back", line)
        self._time_s = max(round(elapsed, 6), 0.0)

    def read_latencies(self, text: str) -> bool:
        """Read the header or a line of latency columns; False when it is none."""
        if match := _HEADER.fullmatch(text):
            self._limits = [
                units.seconds(float(limit), unit) for limit, unit in re.findall(r"=?([0-9]{1,9})(ms|us)", text)
            ]
        elif match := _SHARES.fullmatch(text):
            self._add_shares(match[1], [float(share) * units.PERCENT for share in re.findall(r"[0-9]{1,3}", match[2])])
        elif match := _COUNTS.fullmatch(text):
            self._add_counts(match[1], _CELL.findall(match[2]), match[3])
        elif text.strip() == "Latency Summary":
            self.is_summary = True
        else:
            return False
        return True

    def _add_shares(self, op: str, shares: list[float]) -> None:
        if len(shares) != len(self._limits):
            self.note("unknown_columns", 1)
            return
        for i, (limit, share) in enumerate(zip(self._limits, shares, strict=True)):
            name = "latency_share_up_to" if i == 0 else "latency_share_above"
            labels = {"op": "transaction" if op.startswith("txn") else op, "limit_s": f"{limit:g}"}
            self.report.add(
                "metric_series",
                metric=name,
                labels=json.dumps(labels),
                time_s=None if self.is_summary else self._time_s,
                value=share,
                unit="1",
            )

    def _add_counts(self, op: str, cells: list[tuple[str, str, str, str]], total: str) -> None:
        """Counts above each limit, as bins."""
        name = "transaction" if op.startswith("txn") else op
        keys: dict[str, float | None] = {"interval_start_s": None, "interval_end_s": None}
        if not self.is_summary and self._time_s is not None:
            keys = {"interval_start_s": self._time_s - WINDOW_S, "interval_end_s": self._time_s}
        limits = [units.seconds(float(limit), unit) for _, limit, unit, _ in cells]
        above = [int(count) for *_, count in cells]
        bins: list[tuple[float, float | None, int]] = [(0.0, limits[0], above[0])]
        for i in range(1, len(cells)):
            is_last = i + 1 == len(cells)
            bins.append((limits[i], None if is_last else limits[i + 1], above[i] - (0 if is_last else above[i + 1])))
        if sum(n for *_, n in bins) != int(total) or any(n < 0 for *_, n in bins):
            self.note("count_mismatch", 1)
        for lower, upper, n in bins:
            if n >= 0:
                self.report.add(
                    "latency_bins", **keys, op=name, scope="total", phase="total", lower_s=lower, upper_s=upper, count=n
                )

    def finish(self) -> None:
        """Add the whole-run rows and the warnings."""
        if self._time_s is not None:
            self.report.describe(duration_s=self._time_s)
        for op, (timeouts, errors) in self._counted.items():
            self.whole.setdefault(op, {})["n_errors"] = errors
            self.report.add(
                "metric_series", metric="timeouts_total", labels=json.dumps({"op": op}), value=float(timeouts), unit="1"
            )
        for op, columns in self.whole.items():
            self.report.add("operations", op=op, scope="total", **columns)
        for code, n in self.notes.items():
            self.report.warn(self.first_of[code], code, MESSAGES[code].format(n))


MESSAGES = {
    "unknown_time": "expected a time before the figures, found {} lines without",
    "time_goes_back": "expected times that rise, found {} that do not, the first here",
    "unknown_columns": "expected as many figures as the header has columns, found {} lines with others",
    "count_mismatch": "expected bins that add up to the total, found {} lines where they do not",
    "unknown_line": "expected the benchmark's lines, found {} others, the first here",
    "tool_warning": "expected no warnings and errors, found {}, the first here",
    "assumed_percentiles": "expected `hdr histogram format: …` above the figures, found none before {} lines:"
    " 50, 90, 99, 99.9 and"
    " 99.99 % are assumed",
    "hdr_without_format": "expected as many percentiles as `hdr histogram format: …` names, found {} lines with others",
}


def _moment(stamp: str) -> datetime | None:
    try:
        if stamp[0].isdigit():
            return datetime.fromisoformat(stamp)
        words = stamp.split()
        return datetime.strptime(" ".join((*words[1:4], words[5])), "%b %d %H:%M:%S %Y")
    except (ValueError, IndexError):
        return None
