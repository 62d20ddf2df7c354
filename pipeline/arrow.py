"""The schema in Arrow: rows and blocks → tables of the schema's types, with units in the fields' metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import schema
from pipeline.errors import SchemaError

_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_(),
          "time": pa.timestamp("us", tz="UTC")}  # fmt: skip
_SHARED_TEXT = pa.dictionary(pa.int32(), pa.string())  # of a constant text: one copy, whatever the number of rows


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
    return pa.schema([f.with_type(_SHARED_TEXT) if f.type == pa.string() else f for f in plain], plain.metadata)


def table_of_rows(name: str, rows: Sequence[Mapping[str, Any]], *, is_compact: bool = False) -> pa.Table:
    """An Arrow table of rows; what a row leaves out is null. SchemaError names the column and the value."""
    columns = [_listed(name, column, [row.get(column.name) for row in rows]) for column in schema.TABLES[name].columns]
    table = pa.Table.from_arrays(columns, schema=arrow_schema(name))
    return table.cast(compact_schema(name)) if is_compact else table


def table_of_block(name: str, block: Mapping[str, Any], *, is_compact: bool = False) -> pa.Table:
    """An Arrow table of a block: arrays of one length, and scalars that stand for all its rows."""
    arrays = {key: values for key, values in block.items() if is_array(values)}
    n_rows = len(next(iter(arrays.values()))) if arrays else 1
    target = compact_schema(name) if is_compact else arrow_schema(name)
    first = pa.array(np.zeros(n_rows, np.int32)) if is_compact else None
    columns = []
    for column, field in zip(schema.TABLES[name].columns, target, strict=True):
        if column.name in arrays:
            values = _array(name, column, arrays[column.name])
            columns.append(values if values.type == field.type else values.cast(field.type))
        elif (value := block.get(column.name)) is None:
            columns.append(pa.nulls(n_rows, field.type))
        elif field.type == _SHARED_TEXT:
            columns.append(pa.DictionaryArray.from_arrays(first, pa.array([str(value)])))
        else:
            columns.append(pa.repeat(_listed(name, column, [value])[0], n_rows))
    return pa.Table.from_arrays(columns, schema=target)


def is_array(values: object) -> bool:
    """Whether a value of a block is a column of many rows; anything else is a scalar."""
    return hasattr(values, "__len__") and not isinstance(values, str)


def _listed(name: str, column: schema.Column, values: list[Any]) -> pa.Array:
    """Values in the column's type: NaN is null, a text may be any object. SchemaError on what does not fit."""
    try:
        if column.dtype == "time":
            times = pd.to_datetime(pd.Series(values, dtype=object), utc=True, format="ISO8601")
            return pa.Array.from_pandas(times.astype("datetime64[us, UTC]"))
        if column.dtype == "text":
            values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
        elif column.dtype == "number":
            values = [value if value is None or isinstance(value, float) else float(value) for value in values]
        elif column.dtype == "integer" and any(isinstance(value, float) and value % 1 for value in values):
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
        if not isinstance(values, pa.Array):
            if values.dtype == object:
                return _listed(name, column, list(values))
            values = pa.array(values, from_pandas=True)
        return values if pa.types.is_dictionary(values.type) else values.cast(_TYPES[column.dtype])
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
