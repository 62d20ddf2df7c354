"""Tidy tables in memory and as Parquet: reports → frames of the schema's types → files with units in their metadata."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pipeline import schema
from pipeline.errors import SchemaError
from pipeline.project import tidy_folder

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.parse._report import Report

_PANDAS_DTYPE = {
    "text": "str",
    "integer": "Int64",
    "number": "float64",
    "flag": "boolean",
    "time": "datetime64[us, UTC]",
}


class Tables(Mapping[str, pd.DataFrame]):
    """The tidy tables of a reading, by key or by attribute; a table without rows is an empty frame."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self._frames = {name: frames[name] if name in frames else _frame(name, []) for name in schema.TABLES}

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self._frames[name]

    def __getattr__(self, name: str) -> pd.DataFrame:
        try:
            return self.__dict__["_frames"][name]
        except KeyError:
            raise AttributeError(f"no table {name!r}; there are {', '.join(schema.TABLES)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._frames]

    def __repr__(self) -> str:
        return "Tables(" + ", ".join(f"{name}: {len(frame)}" for name, frame in self.items() if len(frame)) + ")"


def tables_of(reports: Iterable[Report]) -> Tables:
    """Join the rows of all reports into the tables of the schema. SchemaError when a value breaks the contract."""
    blocks: dict[str, list[Any]] = {name: [] for name in schema.TABLES}
    for report in reports:
        keys = {"run_id": report.run["run_id"], "tool": report.tool}
        run = {**report.run, **keys, "source_path": report.source.path, "source_sha256": report.source.sha256}
        blocks["runs"].append([run])
        for name, rows in report.rows.items():
            blocks[name].append([{**keys, **row} for row in rows])
        for name, columns_list in report.blocks.items():
            blocks[name] += [{**keys, **columns} for columns in columns_list]
    return Tables({name: _join(name, parts) for name, parts in blocks.items()})


def frame_of(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A checked frame of one table from rows that carry their keys."""
    return check(name, _frame(name, rows))


def _join(name: str, parts: list[Any]) -> pd.DataFrame:
    """One checked frame of lists of rows and blocks of columns, in their order."""
    rows: list[dict[str, Any]] = []
    frames: list[pd.DataFrame] = []
    for part in parts:
        if isinstance(part, list):
            rows += part
        else:
            frames.append(_typed(name, pd.DataFrame(part)))
    if rows or not frames:
        frames.insert(0, _frame(name, rows))
    return check(name, pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0])


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = schema.TABLES[name].column_names
    data = {column: [row.get(column) for row in rows] for column in columns}
    return _typed(name, pd.DataFrame(data, columns=columns, dtype=object))


def _typed(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Give each column the schema's type; a missing one becomes null. SchemaError names the column and the value."""
    typed = {}
    for column in schema.TABLES[name].columns:
        values = frame[column.name] if column.name in frame else pd.Series(None, index=frame.index, dtype=object)
        try:
            if column.dtype == "time":
                typed[column.name] = pd.to_datetime(values, utc=True, format="ISO8601").astype(_PANDAS_DTYPE["time"])
            else:
                typed[column.name] = values.astype(_PANDAS_DTYPE[column.dtype])
        except (ValueError, TypeError, OverflowError) as error:
            raise SchemaError(f"{name}.{column.name}: expected {column.dtype}, found {error}") from error
    return pd.DataFrame(typed, index=frame.index)


def check(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Validate a frame against the schema (required values, ranges, finite numbers); SchemaError tells."""
    from pandera.errors import SchemaError as PanderaError

    if frame.empty:
        return frame
    try:
        _pandera_schema(name).validate(frame)
    except PanderaError as error:
        cases = error.failure_cases
        example = cases["failure_case"].iloc[0] if isinstance(cases, pd.DataFrame) else cases
        column = getattr(error.schema, "name", None)
        raise SchemaError(f"{name}.{column}: expected {error.check}, found {example!r}") from error
    return frame


@cache
def _pandera_schema(name: str) -> Any:
    """The table's contract as pandera has it; types are already right, ranges and required values are not."""
    import pandera.pandas as pa

    columns = {}
    for column in schema.TABLES[name].columns:
        checks = []
        if column.dtype in ("number", "integer"):
            low = -math.inf if column.minimum is None else column.minimum
            high = math.inf if column.maximum is None else column.maximum
            checks = [pa.Check.in_range(low, high, include_min=math.isfinite(low), include_max=math.isfinite(high))]
        columns[column.name] = pa.Column(None, checks, nullable=not column.required)
    return pa.DataFrameSchema(columns, strict=True)


def to_arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    """An Arrow table with unit and description in each field's metadata and the schema's version in the table's."""
    import pyarrow as pa

    kinds = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_(),
             "time": pa.timestamp("us", tz="UTC")}  # fmt: skip
    table = schema.TABLES[name]
    fields = [
        pa.field(c.name, kinds[c.dtype], metadata={"unit": c.unit, "description": c.description}) for c in table.columns
    ]
    metadata = {"table": name, "grain": table.grain, "schema_version": str(schema.VERSION)}
    arrow_schema = pa.schema(fields, metadata=metadata)
    return pa.Table.from_pandas(frame, schema=arrow_schema, preserve_index=False).replace_schema_metadata(metadata)


def write(tables: Mapping[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Write each table that has rows, and runs and warnings in any case, to ``folder/<table>.parquet``.

    Each file is written under a temporary name and renamed, so that a reader never sees half of one.
    """
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in tables.items():
        path = folder / f"{name}.parquet"
        if frame.empty and name not in ("runs", "warnings"):
            path.unlink(missing_ok=True)
            continue
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        pq.write_table(to_arrow(name, frame), temporary, compression="zstd")
        temporary.replace(path)
        written.append(path)
    return written


def load(campaign: str, root: Path | None = None) -> Tables:
    """Load the tidy tables of a parsed campaign, ``data/tidy/<campaign>``."""
    return load_folder(tidy_folder(campaign, root))


def load_folder(folder: Path) -> Tables:
    """Load the tidy tables of a folder that ``write`` made."""
    if not (folder / "runs.parquet").is_file():
        raise SchemaError(f"{folder}: expected runs.parquet, found none; run `dvc repro` or `python -m pipeline parse`")
    frames = {}
    for name in schema.TABLES:
        path = folder / f"{name}.parquet"
        if path.is_file():
            frames[name] = _typed(name, pd.read_parquet(path))
    return Tables(frames)
