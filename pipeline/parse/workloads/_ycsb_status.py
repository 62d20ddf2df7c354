"""YCSB's status lines: an interval each."""

from __future__ import annotations

import re

from pipeline import units
from pipeline.parse._figures import integer, positive, snake
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks

STATUS = re.compile(
    r"(?:^|[ :\d])(\d{1,9}) sec: (\d{1,18}) operations; ?(?:([\d.,E]{1,30}|NaN|∞|�) current ops/sec; ?)?"
)
_OP = re.compile(r"\[([A-Za-z-]{1,60}): (Count=\d{1,18}, [^\]]{1,500})\]")
_OLD = re.compile(r"\[([A-Za-z-]{1,60}) AverageLatency\((us|ms)\)=([\d.,]{1,30})\]")
_PERCENTILE = re.compile(r"\d{1,2}(?:\.\d{1,9})?")


def _figure(text: str | None) -> float | None:
    """A figure of Java's DecimalFormat without groups: the mark of the fraction is the machine's."""
    return positive(text.replace(",", ".")) if text else None


class Status:
    """The intervals of one run."""

    def __init__(self, report: Report) -> None:
        self.n_lines = 0
        self._blocks = RowBlocks(report)
        self._before: tuple[float, int] | None = None
        self._text = ""

    def read(self, text: str) -> bool:
        """Read a status line; False when it is none. A line that standard output repeats counts once."""
        match = STATUS.search(text[:400])
        if match is None:
            return False
        if text == self._text:
            return True
        self._text = text
        self.n_lines += 1
        end, total = float(match[1]), int(match[2])
        start, counted = self._before or (0.0, 0)
        self._before = (end, total)
        key = {"interval_start_s": start if start < end else None, "interval_end_s": end}
        self._blocks.put("operations", **key, op="total", scope="total", ops_per_s=_figure(match[3]),
                         n_ops=total - counted if total >= counted else None, latency_mean_s=None,
                         latency_min_s=None, latency_max_s=None)  # fmt: skip
        for op in _OP.finditer(text, match.end(), match.end() + 20_000):
            self._add(key | {"op": snake(op[1]), "scope": "job"}, dict(_pairs(op[2])))
        for op in _OLD.finditer(text, match.end(), match.end() + 20_000):
            mean = _figure(op[3])
            self._blocks.put("operations", **key, op=snake(op[1]), scope="job", ops_per_s=None, n_ops=None,
                             latency_mean_s=None if mean is None else units.seconds(mean, op[2]), latency_min_s=None,
                             latency_max_s=None)  # fmt: skip
        return True

    def _add(self, key: dict[str, object], figures: dict[str, str]) -> None:
        n_ops = integer(figures.get("Count"))
        values = {name: _figure(text) for name, text in figures.items()} if n_ops else {}
        latency = {name: value * units.MICRO for name, value in values.items() if value is not None}
        self._blocks.put("operations", **key, ops_per_s=None, n_ops=n_ops, latency_mean_s=latency.get("Avg"),
                         latency_min_s=latency.get("Min"), latency_max_s=latency.get("Max"))  # fmt: skip
        for name, value in latency.items():
            if _PERCENTILE.fullmatch(name):
                self._blocks.put("latency_percentiles", **key, phase="total", percentile=float(name), latency_s=value)

    def finish(self) -> None:
        """Add what waits."""
        self._blocks.flush()


def _pairs(text: str) -> list[tuple[str, str]]:
    """``Count=5, Max=3`` as pairs."""
    pairs = (part.partition("=") for part in text.split(", "))
    return [(name.strip(), value.strip()) for name, _, value in pairs]
