"""Columns of pgbench's logs, read at once: ten million lines take seconds."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.parse._source import Source

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_ASCII = bytes(range(128)) + b"?" * 128
_BLOCK_BYTES = 1 << 24  # no line of a log is as long


@dataclass
class Cells:
    """The well-formed lines of a log: a column a field. The third may be a word, which is -1 there."""

    numbers: list[Integers]
    is_skipped: Flags
    is_failed: Flags
    n_bad: int  # lines of another form
    is_torn: bool  # the last line has no line feed; it is left out


def read_cells(source: Source, n_columns: int, *, has_words: bool) -> Cells:
    """Read all lines with this number of fields; those with others are counted. ValueError when they are no lines."""
    import pyarrow as pa

    data = _plain(source)
    if not data.isascii():
        data = data.translate(_ASCII)
    end = data.rfind(b"\n") + 1
    is_torn = end < len(data) and data[end:].strip() != b""
    whole = data[:end] if end < len(data) else data
    try:
        table, n_bad = _table(whole, n_columns, "int64")
    except pa.ArrowInvalid:
        table, n_bad = _table(whole, n_columns, "string")
    numbers, is_skipped, is_failed = _columns(table)
    is_word = is_skipped | is_failed if has_words else np.zeros(table.num_rows, bool)
    is_good = np.ones(table.num_rows, bool)
    for index, column in enumerate(numbers):
        is_good &= (column >= 0) | (is_word if index == 2 else False)
    if is_good.all():
        return Cells(numbers, is_word & is_skipped, is_word & is_failed, n_bad, is_torn)
    n_bad += int(len(is_good) - is_good.sum())
    return Cells([c[is_good] for c in numbers], is_skipped[is_good], is_failed[is_good], n_bad, is_torn)


def _plain(source: Source) -> bytes:
    """The bytes as ASCII lines, without a byte order mark."""
    data = source.data
    if b"\0" in data[:1024] or data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) or b"\r" in data[:1024]:
        return source.text.encode()
    return data


def _table(data: bytes, n_columns: int, kind: str) -> tuple[Any, int]:
    import pyarrow as pa
    from pyarrow import csv

    names = [str(i) for i in range(n_columns)]
    if not data:
        return pa.table({name: pa.array([], kind) for name in names}), 0
    bad: list[int] = []

    def skip(_: Any) -> str:
        bad.append(1)
        return "skip"

    table = csv.read_csv(
        io.BytesIO(data),
        read_options=csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, invalid_row_handler=skip),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, kind), null_values=[]),
    )
    return table, len(bad)


def _columns(table: Any) -> tuple[list[Integers], Flags, Flags]:
    """Numbers (-1: none), and which lines have a word for skipped or failed in the third field."""
    import pyarrow.compute as pc

    columns = []
    is_skipped, is_failed = np.zeros(table.num_rows, bool), np.zeros(table.num_rows, bool)
    for index, column in enumerate(table.itercolumns()):
        if column.type == "string":
            is_number = pc.match_substring_regex(column, r"^[0-9]{1,18}$")
            columns.append(pc.if_else(is_number, column, "-1").cast("int64").to_numpy())
            if index == 2:
                is_skipped = pc.equal(column, "skipped").to_numpy()
                is_failed = pc.match_substring_regex(column, r"^(failed|serialization|deadlock|other)$").to_numpy()
        else:
            columns.append(column.to_numpy())
    return columns, is_skipped, is_failed
