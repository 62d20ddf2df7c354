"""Private to the iperf readers: a line of a stream, and its sizes and rates in bytes.

Both iperfs count bytes in powers of 1024 (``KBytes``) and bits in powers of 1000 (``Kbits``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pipeline import units
from pipeline.parse._figures import integer, number, positive

ROW = re.compile(
    r"\[ *(?P<star>\*?)(?P<stream>SUM|FD|SUM-[0-9]{1,6}|FD[0-9]{1,6}"
    r"|[0-9]{1,9})\](?:\[(?P<role>[A-Z]{2}-[A-Z])\])?\s{1,9}"
    r"(?P<start>[0-9]{1,12}\.[0-9]{1,9})- *(?P<end>[0-9]{1,12}\.[0-9]{1,9})(?P<gap>\s{1,9})sec\s{1,9}"
    r"(?P<bytes>[0-9.]{1,20}) (?P<unit>[KMGTP]?)Bytes\s{1,9}"
    r"(?P<rate>[0-9.]{1,20}) (?P<rate_unit>[KMGTP]?)(?P<of>bits|Bytes)/sec(?P<tail>.*)"
)
LONGEST_LINE = 2000  # of a line that is looked into; iperf's have up to 250
MAX_COUNT = 1 << 63
_BINARY = {prefix: units.byte_size(f"1{prefix}") for prefix in ("", "K", "M", "G", "T", "P")}
_DECIMAL = {prefix: units.plain_number(f"1{prefix}") for prefix in _BINARY}


@dataclass
class Row:
    """A line of figures of a stream, in SI units; counts that it does not have are None."""

    stream: str
    start_s: float
    end_s: float
    n_bytes: int | None
    bytes_per_s: float | None
    tail: str
    is_reverse: bool = False  # iperf 2 marks the reverse direction by a star
    role: str = ""  # iperf 3 marks the directions of --bidir: TX-C, RX-C, TX-S, RX-S
    jitter_s: float | None = None
    n_lost: int | None = None
    n_datagrams: int | None = None
    n_retransmits: int | None = None


def read_row(line: str) -> Row | None:
    """Read a line of figures wherever it begins in the line (a title or a time stamp may stand before it)."""
    if len(line) > LONGEST_LINE or "sec" not in line or (match := ROW.search(line)) is None:
        return None
    rate = bit_rate(match["rate"], match["rate_unit"]) if match["of"] == "bits" else byte_count(
        match["rate"], match["rate_unit"])  # fmt: skip
    size = byte_count(match["bytes"], match["unit"])
    return Row(match["stream"], float(match["start"]), float(match["end"]),
               round(size) if size is not None and size < MAX_COUNT else None, rate, match["tail"].strip(),
               bool(match["star"]), match["role"] or "")  # fmt: skip


def byte_count(text: str, prefix: str) -> float | None:
    """Bytes of ``738``, ``M``: the prefix is binary."""
    value = positive(text)
    return None if value is None else value * _BINARY[prefix]


def bit_rate(text: str, prefix: str) -> float | None:
    """Bytes a second of ``5.42``, ``G`` (bits a second): the prefix is decimal."""
    value = positive(text)
    return None if value is None else value * _DECIMAL[prefix] / units.BITS_A_BYTE


def count(text: str | None) -> int | None:
    """A count that is not negative; iperf prints -1 for one that it does not know."""
    return integer(text)


def labels_of(**labels: str | None) -> str:
    """The labels of a metric as JSON text; those that are None are left out."""
    return json.dumps({key: value for key, value in labels.items() if value is not None}, ensure_ascii=False)


def milliseconds(text: str | None) -> float | None:
    """Seconds of a figure in ms."""
    value = number(text)
    return None if value is None or value < 0 else value * units.MILLI
