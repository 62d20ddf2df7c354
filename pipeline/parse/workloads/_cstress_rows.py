"""Interval rows of cassandra-stress: cells by the header's names, groups of rows as blocks of the tidy tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pipeline import units
from pipeline.parse._figures import number, snake
from pipeline.parse._report import Report
from pipeline.parse._row_blocks import RowBlocks

Cells = dict[str, float | None]
_HEADER = re.compile(r"(id, *)?(type,? +)?(total ops|partitions|ops) *, *(?:op/s|adj row/s)\b.*", re.ASCII)
_LEGACY = re.compile(
    r"total,interval_op_rate,interval_key_rate,(avg_latency|latency[/,]95th[/,]99(?:\.9)?th),elapsed_time"
)
_NOT_A_NUMBER = ("NaN", "Infinity", "-Infinity", "∞", "-∞", "�")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
FULL = ["type", "total ops", "op/s", "pk/s", "row/s", "mean", "med", ".95", ".99", ".999", "max", "time", "stderr",
        "errors", "gc: #", "max ms", "sum ms", "sdv ms", "mb"]  # fmt: skip
PERCENTILES = {"med": 50.0, ".95": 95.0, ".99": 99.0, ".999": 99.9}
METRICS = {
    "pk/s": ("partitions_per_s", "1/s", 1.0), "row/s": ("rows_per_s", "1/s", 1.0),
    "key/s": ("keys_per_s", "1/s", 1.0), "adj row/s": ("adjusted_rows_per_s", "1/s", 1.0),
    "adj op/s": ("adjusted_ops_per_s", "1/s", 1.0), "stderr": ("rate_stderr", "1", 1.0),
    "gc: #": ("gc_count", "1", 1.0), "max ms": ("gc_max", "s", units.MILLI), "sum ms": ("gc_sum", "s", units.MILLI),
    "sdv ms": ("gc_stddev", "s", units.MILLI), "mb": ("gc_bytes", "B", units.MEBI),
}  # fmt: skip
OF_ALL_OPS = ("stderr", "gc: #", "max ms", "sum ms", "sdv ms", "mb")  # the same in each row of a group


def header_columns(text: str) -> list[str] | None:
    """Names of the columns that a header gives, ``type`` and ``id`` included; None when the line is no header.

    The unit of ``avg_latency`` is the second, hence its own name. What versions 1.2 and 2.0 call ``99th`` is the
    99.9th percentile in all of them.
    """
    line = text.strip()
    if legacy := _LEGACY.fullmatch(line):
        latencies = ["avg_latency"] if legacy[1] == "avg_latency" else ["med", ".95", ".999"]
        return ["total ops", "op/s", "key/s", *latencies, "time"]
    if len(line) > 1000 or _HEADER.fullmatch(line) is None:
        return None
    names = [name.strip() for name in line.split(",")]
    if names[0] != "type" and names[0].startswith("type"):  # no comma behind it
        names[:1] = ["type", names[0][4:].strip()]
    elif len(names) > 1 and names[1] != "type" and names[1].startswith("type"):
        names[1:2] = ["type", names[1][4:].strip()]
    return ["total ops" if name in ("ops", "partitions") else name for name in names]


def guessed_columns(text: str) -> list[str] | None:
    """The columns of a row above which no header stands: only the layout since 2.1.1 is known by its look."""
    cells = text.split(",")
    is_row = len(cells) == len(FULL) and text.lstrip().startswith("total,") and all(_is_cell(c) for c in cells[1:])
    return FULL if is_row else None


def _is_cell(text: str) -> bool:
    text = text.strip()
    return text in _NOT_A_NUMBER or number(text) is not None


@dataclass
class Row:
    """A row: its type (``total`` or an operation), its id in the table of all thread counts, and its figures."""

    kind: str
    id: str | None
    cells: Cells
    n_no_numbers: int


def read_row(text: str, columns: list[str]) -> Row | None:
    """Read a row of these columns; None when the line is none."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(columns):
        parts = [part.strip() for part in re.split(r",(?= )", text.strip())]  # a comma as decimal sign
        if len(parts) != len(columns):
            return None
        parts = [part.replace(",", ".") if _DECIMAL_COMMA.fullmatch(part) else part for part in parts]
    kind, identity, cells, n_none = "total", None, {}, 0
    for name, part in zip(columns, parts, strict=True):
        if name == "type":
            kind = part
        elif name == "id":
            identity = part
        else:
            value = number(part)
            if value is None:
                if part not in _NOT_A_NUMBER:
                    return None
                n_none += 1
            cells[name] = None if value is None or value < 0 else value
    if cells.get("op/s") == 0 and cells.get("max") == 0:  # cql-stress's row of an interval without operations
        cells |= dict.fromkeys(("mean", "max", *PERCENTILES))
    if not kind or (kind[0].isdigit() and "type" in columns):
        return None
    return Row(kind, identity, cells, n_none)


def seconds_of(cells: Cells, name: str) -> float | None:
    """A latency: milliseconds, but for ``avg_latency``."""
    value = cells.get(name)
    return None if value is None else value * units.MILLI


def mean_of(cells: Cells) -> float | None:
    """The mean latency in seconds."""
    return cells["avg_latency"] if cells.get("avg_latency") is not None else seconds_of(cells, "mean")


def whole(value: float | None) -> int | None:
    """A count; None where it is none."""
    return int(value) if value is not None and value < 2**62 and value == int(value) else None


@dataclass
class Intervals:
    """The intervals of one run, in their order; rows of operations wait for the total row, which ends the group."""

    report: Report
    from_start: bool  # whether the run's first row is known to be the first
    n_rows: int = 0
    n_no_numbers: int = 0
    n_unplaced: int = 0
    last: dict[str, Row] = field(default_factory=dict)  # a type
    _end: float | None = None  # of the group before
    _group: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._blocks = RowBlocks(self.report)

    def take(self, row: Row) -> None:
        """Take the next row."""
        self.n_rows += 1
        self.n_no_numbers += row.n_no_numbers
        if self._group and (row.kind in {other.kind for other in self._group}):
            self._close(self._group[-1])  # a group without its total row
        self._group.append(row)
        if row.kind == "total":
            self._close(row)

    def finish(self) -> None:
        """Add what waits."""
        if self._group:
            self._close(self._group[-1])
        self._blocks.flush()

    def _close(self, leader: Row) -> None:
        """Add the rows of one interval; ``leader``: the row whose time is the interval's end."""
        end = leader.cells.get("time")
        start = self._end if self._end is not None else (0.0 if self.from_start and not self.last else None)
        if not self._fits(leader, start, end):
            start = None
            self.n_unplaced += 1
        for row in self._group:
            self._add(row, start, end)
            self.last[row.kind] = row
        self._group.clear()
        self._end = end

    def _fits(self, row: Row, start: float | None, end: float | None) -> bool:
        """Whether the rate of a row, over the time since the row before, gives the operations since then.

        It does not where intervals without operations were left out, or lines by a person. Both times are rounded to
        0.1 s and the rate to 1/s.
        """
        rate, n_ops = row.cells.get("op/s"), self._n_ops(row)
        if start is None or end is None or end <= start or rate is None or n_ops is None:
            return False
        return abs(n_ops - rate * (end - start)) <= 0.1 * rate + 0.5 * (end - start) + 0.02 * n_ops + 1

    def _n_ops(self, row: Row) -> int | None:
        """Operations of the interval: the printed count is that of the run so far."""
        now = whole(row.cells.get("total ops"))
        if row.kind in self.last:
            before = whole(self.last[row.kind].cells.get("total ops"))
        else:
            before = 0 if self.from_start else None
        return now - before if now is not None and before is not None and now >= before else None

    def _add(self, row: Row, start: float | None, end: float | None) -> None:
        cells = row.cells
        is_total = row.kind == "total"
        key = {"interval_start_s": start, "interval_end_s": end, "op": "total" if is_total else snake(row.kind),
               "scope": "total" if is_total else "job"}  # fmt: skip
        self._blocks.put("operations", **key, n_ops=self._n_ops(row) if start is not None else None,
                  ops_per_s=cells.get("op/s"), latency_mean_s=mean_of(cells), latency_max_s=seconds_of(cells, "max"),
                  n_errors=whole(cells.get("errors")))  # fmt: skip
        for name, percentile in PERCENTILES.items():
            if (latency := seconds_of(cells, name)) is not None:
                self._blocks.put("latency_percentiles", **key, phase="total", percentile=percentile, latency_s=latency)
        labels = None if is_total else json.dumps({"op": key["op"]})
        for name, (metric, unit, factor) in METRICS.items():
            value = cells.get(name)
            if value is not None and (is_total or name not in OF_ALL_OPS):
                self._blocks.put(
                    "metric_series", metric=metric, labels=labels, time_s=end, value=value * factor, unit=unit
                )
