"""What perf report says of one recording, as rows: hotspots by event, folded stacks, settings."""

from __future__ import annotations

import json
import re

import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.parse.perf._perf_report_columns import PERCENTAGE, Entry
from pipeline.units import PERCENT

_BLOCK_ROWS = 20000
_KEYS = ("command", "shared_object", "symbol", "privilege")
_COLUMNS = ("event", *_KEYS, "overhead_ratio", "children_ratio", "n_samples", "period", "labels")
_COUNT = re.compile(r"(\d+) *([KMG]?)$")
_FACTOR = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}
_WHOLE = re.compile(r"[0-9]{1,18}")


class Hotspots:
    """Collects rows of perf_hotspots and gives them to the report in blocks."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.n_rows = 0
        self.n_out_of_range = self.n_bad = 0
        self._columns: dict[str, list[object]] = {name: [] for name in _COLUMNS}

    def add(self, entry: Entry, events: list[str]) -> bool:
        """Add a row an event; False when there are more numbers than events, so that the event is not known."""
        n_values = max((len(cells) for cells in entry.numbers.values()), default=1) or 1
        names: list[str | None] = list(events) if len(events) == n_values else [None] * n_values
        for i, event in enumerate(names):
            labels = {name: _of_event(cell, i, n_values) for name, cell in entry.labels.items()}
            if n_values > 1 and event is None:
                labels["column"] = str(i + 1)
            self._add(entry, i, event, json.dumps(labels, ensure_ascii=False) if labels else None)
        if len(self._columns["event"]) >= _BLOCK_ROWS:
            self.flush()
        return not events or len(events) == n_values

    def _add(self, entry: Entry, i: int, event: str | None, labels: str | None) -> None:
        columns, keys, numbers = self._columns, entry.keys, entry.numbers
        self.n_rows += 1
        columns["event"].append(event)
        for name in _KEYS:
            columns[name].append(keys.get(name))
        columns["overhead_ratio"].append(self._ratio(numbers.get("overhead"), i))
        columns["children_ratio"].append(self._ratio(numbers.get("children"), i))
        columns["n_samples"].append(self._whole(numbers.get("samples"), i))
        period = self._whole(numbers.get("period"), i)
        columns["period"].append(None if period is None else float(period))
        columns["labels"].append(labels)

    def _ratio(self, cells: list[str] | None, i: int) -> float | None:
        if not cells or i >= len(cells):
            return None
        if not PERCENTAGE.fullmatch(cells[i]):
            self.n_bad += 1
            return None
        # Two decimals: the nearest number to the printed one, not the product of two rounded ones.
        ratio = round(float(cells[i][:-1]) * PERCENT, 6)
        if ratio <= 1:
            return ratio
        self.n_out_of_range += 1
        return None

    def _whole(self, cells: list[str] | None, i: int) -> int | None:
        if not cells or i >= len(cells):
            return None
        if not _WHOLE.fullmatch(cells[i]):
            self.n_bad += 1
            return None
        return int(cells[i])

    def flush(self) -> None:
        """Hand the rows over."""
        if not self._columns["event"]:
            return
        types = {"n_samples": pa.int64()} | dict.fromkeys(("overhead_ratio", "children_ratio", "period"), pa.float64())
        block = {name: pa.array(values, types.get(name, pa.string())) for name, values in self._columns.items()}
        self.report.add_block("perf_hotspots", block)
        self._columns = {name: [] for name in _COLUMNS}


class Stacks:
    """Folded call chains with counts or periods; they become rows where they do not overlap and their order is known.

    perf prints either the leaf first (callee) or the root (caller) and does not say which: the row's own symbol is
    the leaf. Whether a number is a count or a period, it does not say either: counts add up to the header's count.
    """

    def __init__(self) -> None:
        self._chains: list[tuple[int, str, Entry]] = []

    def add(self, value: str, chain: str, entry: Entry) -> None:
        """Remember a chain and the row above it."""
        if _WHOLE.fullmatch(value):
            self._chains.append((int(value), chain, entry))

    @property
    def count(self) -> int:
        """Number of chains."""
        return len(self._chains)

    def write(self, report: Report, event: str | None, n_samples: str | None) -> bool:
        """Add rows to perf_stacks; False when nothing tells the order of the frames or the kind of the numbers."""
        split = [(value, chain.split(";"), entry) for value, chain, entry in self._chains]
        leaf_first = sum(frames[0] == entry.keys.get("symbol") for _, frames, entry in split if len(frames) > 1)
        leaf_last = sum(frames[-1] == entry.keys.get("symbol") for _, frames, entry in split if len(frames) > 1)
        limit = _upper_bound(n_samples)
        if limit is None or (leaf_first == leaf_last and any(len(frames) > 1 for _, frames, _ in split)):
            return False
        is_count = sum(value for value, _, _ in split) < limit
        for value, frames, entry in split:
            stack = ";".join(frames[::-1] if leaf_first > leaf_last else frames)
            count, period = (value, None) if is_count else (None, float(value))
            command = entry.keys.get("command")
            report.add("perf_stacks", event=event, command=command, stack=stack, n_samples=count, period=period)
        return True


def _of_event(cell: str, i: int, n_values: int) -> str:
    """The share of the i-th event in a cell such as sys or usr, which holds one an event; else the whole cell."""
    shares = cell.split() if n_values > 1 else []
    return shares[i] if len(shares) == n_values and all(map(PERCENTAGE.fullmatch, shares)) else cell


def _upper_bound(n_samples: str | None) -> int | None:
    """The header's ``8K`` is cut off behind the thousand: fewer than 9000."""
    match = _COUNT.match(n_samples or "")
    if match is None or len(match[1]) > 15:
        return None
    return (int(match[1]) + 1) * _FACTOR[match[2]]
