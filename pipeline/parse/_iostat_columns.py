"""Columns of iostat, whatever the version calls them: where each goes in the tidy tables, and how it becomes SI."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pipeline import units


@dataclass(frozen=True)
class Column:
    """A column of iostat: the ``device_series`` column or, with ``unit``, the metric it gives, and its factor to SI."""

    name: str
    factor: float = 1.0
    unit: str | None = None  # set: a metric of metric_series in this unit
    rate: str | None = None  # the column that counts the requests which this one is a mean of
    is_bytes: bool = False  # human readable cells (7.8k) are bytes, whatever the header says


def _columns() -> dict[str, Column]:
    """All columns of sysstat 9 … 12.7, in text and JSON."""
    per_s = "1/s"
    table = {
        "r/s": Column("reads_per_s"), "w/s": Column("writes_per_s"), "f/s": Column("flushes_per_s"),
        "r_await": Column("read_await_s", units.MILLI, rate="r/s"),
        "w_await": Column("write_await_s", units.MILLI, rate="w/s"),
        "f_await": Column("flush_await_s", units.MILLI, rate="f/s"),
        "avgqu-sz": Column("queue_depth"), "aqu-sz": Column("queue_depth"),
        "%util": Column("busy_ratio", units.PERCENT),
        "tps": Column("transfers_per_s", 1, per_s), "d/s": Column("discards_per_s", 1, per_s),
        "rqm/s": Column("merges_per_s", 1, per_s), "rrqm/s": Column("read_merges_per_s", 1, per_s),
        "wrqm/s": Column("write_merges_per_s", 1, per_s), "drqm/s": Column("discard_merges_per_s", 1, per_s),
        "%rrqm": Column("read_merge_ratio", units.PERCENT, "1"),
        "%wrqm": Column("write_merge_ratio", units.PERCENT, "1"),
        "%drqm": Column("discard_merge_ratio", units.PERCENT, "1"),
        "await": Column("await_s", units.MILLI, "s", "tps"), "svctm": Column("service_time_s", units.MILLI, "s", "tps"),
        "d_await": Column("discard_await_s", units.MILLI, "s", "d/s"),
        "avgrq-sz": Column("request_size_bytes", units.SECTOR_BYTES, "B", "tps", is_bytes=True),
        "areq-sz": Column("request_size_bytes", units.KIBI, "B", "tps", is_bytes=True),
        "rareq-sz": Column("read_request_size_bytes", units.KIBI, "B", "r/s", is_bytes=True),
        "wareq-sz": Column("write_request_size_bytes", units.KIBI, "B", "w/s", is_bytes=True),
        "dareq-sz": Column("discard_request_size_bytes", units.KIBI, "B", "d/s", is_bytes=True),
    }  # fmt: skip
    sizes = {"kB": units.KIBI, "MB": units.MEBI, "GB": units.KIBI**3}
    for prefix, size in {**sizes, "sec": units.SECTOR_BYTES, "Blk": units.SECTOR_BYTES}.items():
        table |= {
            f"{prefix}/s": Column("bytes_per_s", size, "B/s", is_bytes=True),
            f"r{prefix}/s": Column("read_bytes_per_s", size, is_bytes=True),
            f"w{prefix}/s": Column("write_bytes_per_s", size, is_bytes=True),
            f"d{prefix}/s": Column("discard_bytes_per_s", size, "B/s", is_bytes=True),
            f"{prefix}_read/s": Column("read_bytes_per_s", size, is_bytes=True),
            f"{prefix}_wrtn/s": Column("write_bytes_per_s", size, is_bytes=True),
            f"{prefix}_dscd/s": Column("discard_bytes_per_s", size, "B/s", is_bytes=True),
            f"{prefix}_w+d/s": Column("write_and_discard_bytes_per_s", size, "B/s", is_bytes=True),
            f"{prefix}_read": Column("read_bytes", size, "B", is_bytes=True),
            f"{prefix}_wrtn": Column("written_bytes", size, "B", is_bytes=True),
            f"{prefix}_dscd": Column("discarded_bytes", size, "B", is_bytes=True),
            f"{prefix}_w+d": Column("written_and_discarded_bytes", size, "B", is_bytes=True),
        }
    return table


COLUMNS = _columns()
_NUMBER = re.compile(r"([-+]?\d+(?:[.,]\d+)?)([sBkMGTP%]?)")
_SUFFIX_BYTES = {"s": units.SECTOR_BYTES, "B": 1, "k": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def is_number(cell: str) -> bool:
    """Whether a cell is one of iostat's: ``12.34``, ``12,34``, ``7.8k``, ``20.5%``, ``nan``."""
    return _NUMBER.fullmatch(cell) is not None or cell.lstrip("-+") in ("nan", "inf")


def value_of(cell: object, column: Column) -> float | None:
    """The cell in SI; None when it is no number, not finite or negative (a counter that went back)."""
    if isinstance(cell, float | int):
        value = float(cell) * column.factor
    elif isinstance(cell, str) and (match := _NUMBER.fullmatch(cell)):
        number, suffix = float(match[1].replace(",", ".")), match[2]
        if suffix in ("", "%"):
            value = number * column.factor
        elif column.is_bytes:
            value = number * _SUFFIX_BYTES[suffix]
        else:
            return None
    else:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def requests_per_s(cells: dict[str, object], rate: str) -> float | None:
    """Requests a second that a mean of this row is over; None when the row does not tell."""
    names = [rate] if rate != "tps" or "tps" in cells else ["r/s", "w/s", "d/s"]
    values = [value_of(cells[name], COLUMNS[name]) for name in names if name in cells]
    known = [value for value in values if value is not None]
    return sum(known) if known else None
