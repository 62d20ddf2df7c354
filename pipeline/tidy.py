"""Tidy tables in memory and as Parquet: reports → frames of the schema's types → files with units in their metadata."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from pipeline import schema
from pipeline.errors import SchemaError
from pipeline.project import filesystem_of, tidy_folder, to_path

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from pipeline.arrow import Extremes
    from pipeline.parse._report import Report

_PANDAS_DTYPE = {
    pa.large_string(): pd.StringDtype(na_value=math.nan),
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


class Tables(Mapping[str, pd.DataFrame]):
    """The tidy tables of a reading, by key or by attribute; a table without rows is an empty frame."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self._frames = {name: frames[name] if name in frames else _empty(name) for name in schema.TABLES}

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


def _empty(name: str) -> pd.DataFrame:
    from pipeline import arrow

    return to_pandas(arrow.arrow_schema(name).empty_table())


def arrow_tables(reports: Iterable[Report]) -> dict[str, pa.Table]:
    """The rows of all reports as Arrow tables of the schema. SchemaError when a value is not of its column's type."""
    from pipeline import arrow

    pieces: dict[str, list[tuple[Mapping[str, str], list[Any], bool]]] = {}
    runs = []
    for report in reports:
        keys = {"run_id": report.run_id, "tool": report.tool}
        source = {"source_path": report.source.path, "source_sha256": report.source.sha256}
        if not report.is_part:
            runs.append({**report.run, **keys, **source})
        for held, is_blocks in ((report.rows, False), (report.blocks, True)):
            for name, piece in held.items():
                pieces.setdefault(name, []).append((keys, piece, is_blocks))
    tables = {name: _joined(name, found) for name, found in pieces.items()}
    return {"runs": arrow.table_of_rows("runs", runs), **tables} if runs else tables


def _joined(name: str, pieces: list[tuple[Mapping[str, str], list[Any], bool]]) -> pa.Table:
    """One table of keys with their rows or blocks, in their order; a small table a report would cost more than rows."""
    from pipeline import arrow

    tables = []
    for is_blocks, group in groupby(pieces, key=itemgetter(2)):
        found = list(group)
        if is_blocks:
            tables.append(
                arrow.table_of_blocks(name, [{**keys, **block} for keys, blocks, _ in found for block in blocks])
            )
        else:
            tables.append(arrow.table_of_rows(name, [{**keys, **row} for keys, rows, _ in found for row in rows]))
    return pa.concat_tables(tables)


def tables_of(reports: Iterable[Report]) -> Tables:
    """Join the rows of all reports into the tables of the schema. SchemaError when a value breaks the contract."""
    tables = arrow_tables(reports)
    for name, table in tables.items():
        check(name, table)
    return Tables({name: to_pandas(table) for name, table in tables.items()})


def check(name: str, table: pa.Table) -> None:
    """Hold a table against the schema (required values, ranges, finite numbers); SchemaError tells."""
    from pipeline import arrow

    if len(table):
        check_extremes(name, arrow.extremes(name, table))


def check_extremes(name: str, extremes: dict[str, Extremes]) -> None:
    """The same for a table of which only the extremes are at hand.

    pandera judges two rows that stand for all, the smallest and the largest value of each column: a range that holds
    for them holds for every row, and a table of ten million rows costs as little as one of ten.
    """
    from pandera.errors import SchemaError as PanderaError

    required = {column.name for column in schema.TABLES[name].columns if column.required}
    rows = {
        column: [ends.low, None if ends.has_null and column in required else ends.high]
        for column, ends in extremes.items()
    }
    try:
        _pandera_schema(name).validate(pd.DataFrame(rows))
    except PanderaError as error:
        cases = error.failure_cases
        example = cases["failure_case"].iloc[0] if isinstance(cases, pd.DataFrame) else cases
        column = getattr(error.schema, "name", None)
        raise SchemaError(f"{name}.{column}: expected {error.check}, found {example!r}") from error


@cache
def _pandera_schema(name: str) -> Any:
    """The table's contract as pandera has it; types are already right, ranges and required values are not."""
    import pandera.pandas as pandera

    columns = {}
    for column in schema.TABLES[name].columns:
        checks = []
        if column.dtype in ("number", "integer"):
            low = -math.inf if column.minimum is None else column.minimum
            high = math.inf if column.maximum is None else column.maximum
            ends = {"include_min": math.isfinite(low), "include_max": math.isfinite(high)}
            checks = [pandera.Check.in_range(low, high, **ends)]
        columns[column.name] = pandera.Column(None, checks, nullable=not column.required)
    return pandera.DataFrameSchema(columns, strict=True)


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A frame of the schema's types."""
    return table.to_pandas(types_mapper=_PANDAS_DTYPE.get)


def load(campaign: str, root: Path | None = None) -> Tables:
    """Load the tidy tables of a parsed campaign, ``data/tidy/<campaign>``."""
    return load_folder(tidy_folder(campaign, root))


def load_folder(folder: Path) -> Tables:
    """Load the tidy tables of a folder that ``parse`` wrote."""
    from pipeline import arrow

    if not (folder / "runs.parquet").exists():
        raise SchemaError(f"{folder}: expected runs.parquet, found none; run `dvc repro` or `python -m pipeline parse`")
    present = [name for name in schema.TABLES if (folder / f"{name}.parquet").exists()]
    return Tables({name: to_pandas(scan(folder, name).to_table().cast(arrow.arrow_schema(name))) for name in present})


def scan(folder: str | Path, table: str) -> Dataset:
    """A table of a folder that ``parse`` wrote, unread: an Arrow dataset to filter, or to give to DuckDB or dask.

    ``folder`` may be an fsspec URL. For logs that do not fit into memory; texts, which are nearly always constant
    there, come as dictionaries (categories in pandas).
    """
    from pyarrow import dataset

    from pipeline import arrow

    path = to_path(folder) / f"{table}.parquet"
    filesystem, place = filesystem_of(path)
    texts = [column.name for column in schema.TABLES[table].columns if column.dtype == "text"]
    parquet = dataset.ParquetFileFormat(dictionary_columns=texts)
    return dataset.dataset(place, arrow.compact_schema(table), filesystem=filesystem, format=parquet)
