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
# Units of the columns of device_series, for where such a figure becomes a metric.
UNITS = {name: "B/s" if "bytes" in name else "1/s" if name.endswith("_per_s") else "s"
         for name in (column.name for column in COLUMNS.values() if column.unit is None)
         if name.endswith("_s")}  # fmt: skip
# All that float() reads but words, so that a column is read the same whether or not one of its cells is odd.
_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*|,\d+)?|[.,]\d+)(?:[eE][-+]?\d+)?)([sBkMGTP%]?)")
_SUFFIX_BYTES = {"s": units.SECTOR_BYTES, "B": 1, "k": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def is_number(cell: str) -> bool:
    """Whether a cell is one of iostat's: ``12.34``, ``12,34``, ``9.2e-05``, ``7.8k``, ``20.5%``, ``nan``."""
    return _NUMBER.fullmatch(cell) is not None or cell.lstrip("-+") in ("nan", "inf")


def are_numbers(cells: list[str]) -> bool:
    """Whether all cells are iostat's numbers; the usual ones are found at once."""
    try:
        for _ in map(float, cells):
            pass
    except ValueError:
        return all(map(is_number, cells))
    return "_" not in "".join(cells) or all(map(is_number, cells))


def number_of(cell: object, factor: float, *, is_bytes: bool) -> float | None:
    """The cell times ``factor``, or in bytes where it is human readable; None when it is no finite number."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, float | int):
        value = float(cell) * factor
    elif isinstance(cell, str) and (match := _NUMBER.fullmatch(cell.strip())):
        number, suffix = float(match[1].replace(",", ".")), match[2]
        if suffix in ("", "%"):
            value = number * factor
        elif is_bytes:
            value = number * _SUFFIX_BYTES[suffix]
        else:
            return None
    else:
        return None
    return value if math.isfinite(value) else None
