"""The schema in Arrow: rows and blocks → tables of the schema's types, with units in the fields' metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipeline import schema
from pipeline.errors import SchemaError

_TYPES = {"text": pa.large_string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_(),
          "time": pa.timestamp("us", tz="UTC")}  # fmt: skip
_SHARED_TEXT = pa.dictionary(pa.int32(), pa.large_string())  # of a constant text: one copy, whatever the number of rows
_PYTHON = {"text": str, "integer": int, "number": float, "flag": bool}  # what Arrow takes as it is
_ROWS_A_PIECE = 1 << 16  # at most, of a value that is repeated
_LONG_RUN = 64  # rows on the average, for which a chunk of their own is less than themselves


@cache
def arrow_schema(name: str) -> pa.Schema:
    """A table's Arrow schema: unit and description in each field's metadata, the schema's version in the table's."""
    table = schema.TABLES[name]
    fields = [
        pa.field(c.name, _TYPES[c.dtype], not c.required, metadata={"unit": c.unit, "description": c.description})
        for c in table.columns
    ]
    return pa.schema(fields, {"table": name, "grain": table.grain, "schema_version": str(schema.VERSION)})


@cache
def compact_schema(name: str) -> pa.Schema:
    """The same with dictionaries for texts, for long tables: their texts are nearly always constant."""
    plain = arrow_schema(name)
    return pa.schema([f.with_type(_SHARED_TEXT) if f.type == pa.large_string() else f for f in plain], plain.metadata)


def table_of_rows(name: str, rows: Sequence[Mapping[str, Any]], *, is_compact: bool = False) -> pa.Table:
    """An Arrow table of rows; what a row leaves out is null. SchemaError names the column and the value."""
    columns = []
    for column in schema.TABLES[name].columns:
        key = column.name
        columns.append(_listed(name, column, [row.get(key) for row in rows]))
    table = pa.Table.from_arrays(columns, schema=arrow_schema(name))
    return table.cast(compact_schema(name)) if is_compact else table


def table_of_blocks(name: str, blocks: Sequence[Mapping[str, Any]], *, is_compact: bool = False) -> pa.Table:
    """An Arrow table of blocks, one behind another: arrays of one length, and scalars that stand for all its rows."""
    target = compact_schema(name) if is_compact else arrow_schema(name)
    lengths = [next((len(values) for values in block.values() if is_array(values)), 1) for block in blocks]
    columns = [
        _column(name, column, field.type, [block.get(column.name) for block in blocks], lengths)
        for column, field in zip(schema.TABLES[name].columns, target, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=target)


def is_array(values: object) -> bool:
    """Whether a value of a block is a column of many rows; anything else is a scalar."""
    return hasattr(values, "__len__") and not isinstance(values, str)


def _column(
    name: str, column: schema.Column, kind: pa.DataType, parts: list[Any], lengths: list[int]
) -> pa.Array | pa.ChunkedArray:
    """A column of what each block has of it: an array, or a scalar."""
    if all(type(part) is list for part in parts):
        values = _listed(name, column, list(chain.from_iterable(parts)))
        return values if values.type == kind else values.cast(kind)
    if all(isinstance(part, pa.RunEndEncodedArray) or not is_array(part) for part in parts):
        return _column_of_runs(name, column, kind, parts, lengths)
    chunks = []
    for part, length in zip(parts, lengths, strict=True):
        values = _array(name, column, part) if is_array(part) else pa.repeat(_listed(name, column, [part])[0], length)
        chunks.append(values if values.type == kind else values.cast(kind))
    return pa.chunked_array(chunks, kind)


def _column_of_runs(
    name: str, column: schema.Column, kind: pa.DataType, parts: list[Any], lengths: list[int]
) -> pa.Array | pa.ChunkedArray:
    """The same where equal values stand together: each goes through Python once, whatever the number of its rows."""
    if any(is_array(part) for part in parts):
        is_runs = [is_array(part) for part in parts]
        ends = [
            part.run_ends.to_numpy() if runs else [n] for part, n, runs in zip(parts, lengths, is_runs, strict=True)
        ]
        starts = np.cumsum(lengths) - lengths
        n_rows = np.diff(np.concatenate(ends) + np.repeat(starts, list(map(len, ends))), prepend=0)
        pieces = [part.values.to_pylist() if runs else [part] for part, runs in zip(parts, is_runs, strict=True)]
        values = list(chain.from_iterable(pieces))
    else:
        values, n_rows = parts, np.array(lengths)
    return repeated(_listed(name, column, values), n_rows, kind)


def repeated(values: pa.Array, n_rows: NDArray[np.int64], kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """A column that has each value so many times.

    Long runs of a value are slices of one piece: texts that hardly change would be most of a long table's memory.
    """
    if kind == _SHARED_TEXT:
        return values.dictionary_encode().take(pa.array(np.repeat(np.arange(len(values)), n_rows)))
    different = values.unique()
    codes = pc.index_in(values, different).to_numpy()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.add.reduceat(n_rows, starts)
    if lengths.sum() < _LONG_RUN * len(starts):
        return values.take(pa.array(np.repeat(np.arange(len(values)), n_rows)))
    pieces = [pa.repeat(value, min(int(lengths.max()), _ROWS_A_PIECE)) for value in different]
    chunks = []
    for code, length in zip(codes[starts].tolist(), lengths.tolist(), strict=True):
        n_whole, n_left = divmod(length, _ROWS_A_PIECE)
        chunks += [pieces[code]] * n_whole + [pieces[code].slice(0, n_left)]
    return pa.chunked_array(chunks, kind)


def _listed(name: str, column: schema.Column, values: list[Any]) -> pa.Array:
    """Values in the column's type: NaN is null, a text may be any object. SchemaError on what does not fit."""
    try:
        if column.dtype == "time":
            times = pd.to_datetime(pd.Series(values, dtype=object), utc=True, format="ISO8601")
            return pa.Array.from_pandas(times.astype("datetime64[us, UTC]"))
        kinds = set(map(type, values)) - {_PYTHON[column.dtype], type(None)}
        if kinds and column.dtype == "text":
            values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
        elif kinds and column.dtype == "number":
            values = [value if value is None or isinstance(value, float) else float(value) for value in values]
        elif kinds and column.dtype == "integer" and any(isinstance(value, float) and value % 1 for value in values):
            raise ValueError(f"a fraction in {values[:5]}")  # Arrow would cut it off without a word
        return pa.array(values, _TYPES[column.dtype], from_pandas=True)
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise SchemaError(f"{name}.{column.name}: expected {column.dtype}, found {error}") from error


def _array(name: str, column: schema.Column, values: Any) -> pa.Array:
    """The same for a numpy or Arrow array; a dictionary of texts stays one."""
    try:
        if isinstance(values, list):
            return _listed(name, column, values)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.RunEndEncodedArray):
            values = pc.run_end_decode(values)
        if not isinstance(values, pa.Array):
            if values.dtype == object:
                return _listed(name, column, list(values))
            values = pa.array(values, from_pandas=True)
        if pa.types.is_dictionary(values.type):
            if column.dtype == "text":
                return values
            values = values.dictionary.take(values.indices)
        return values.cast(_TYPES[column.dtype])
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise SchemaError(f"{name}.{column.name}: expected {column.dtype}, found {error}") from error


def _text(value: Any) -> str | None:
    return None if pd.isna(value) else str(value)


def replace_run_id(table: pa.Table, old: str, new: str) -> pa.Table:
    """The table with another run id on the rows that bear ``old``."""
    column = table["run_id"]
    renamed = pc.if_else(pc.equal(column, old), new, column)
    return table.set_column(0, table.schema.field(0), renamed)


@dataclass
class Extremes:
    """What stands for all values of a column: the smallest and the largest (of a text any), and whether one is null."""

    low: Any = None
    high: Any = None
    has_null: bool = False

    def widen(self, other: Extremes) -> None:
        """Take in those of further rows."""
        self.low = min((value for value in (self.low, other.low) if value is not None), default=None)
        self.high = max((value for value in (self.high, other.high) if value is not None), default=None)
        self.has_null |= other.has_null


def extremes(name: str, table: pa.Table) -> dict[str, Extremes]:
    """The extremes of each column."""
    found = {}
    for column in schema.TABLES[name].columns:
        values = table[column.name]
        if values.null_count == len(values):
            ends: tuple[Any, Any] = (None, None)
        elif column.dtype in ("integer", "number"):
            ends = tuple(pc.min_max(values).as_py().values())
        else:
            ends = ("", "")
        found[column.name] = Extremes(*ends, values.null_count > 0)
    return found
