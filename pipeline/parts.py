"""Long tables on disk: the rows that a report hands over while it is read, as Parquet in a file of their own.

``<out>/<table>.parquet`` is then a folder with one file (a part) a raw log; pandas, pyarrow, dask and DuckDB read it as
one table.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import arrow, schema
from pipeline.errors import PipelineError
from pipeline.parse._report import Block, Report, Row
from pipeline.parse._source import Source, shown
from pipeline.project import is_remote
from pipeline.tidy import check_extremes


@dataclass(frozen=True)
class Part:
    """A file of a long table: its table, its place and its rows."""

    table: str
    file: Path
    n_rows: int


class Parts:
    """Where the reports of one raw file hand over their rows (see ``Source.spill``): files below ``out``."""

    def __init__(self, out: Path, source: Source) -> None:
        self._out = out
        digest = hashlib.sha256(source.path.encode()).hexdigest()[:12]
        # Arrow and dask take no notice of names that begin with a dot or an underscore.
        self._name = f"{re.sub(r'[^A-Za-z0-9._-]+', '-', source.stem).strip('._-')[:100]}-{digest}"
        self._open: dict[tuple[int, str], _Part] = {}

    def take(self, report: Report, table: str, rows: list[Row], blocks: list[Block]) -> None:
        """Write rows of a table. SchemaError when a value is not of its column's type."""
        for piece in pieces(report, table, rows, blocks):
            with _writing(self._out):
                part = self._open.get((id(report), table))
                if part is None:
                    file = self._out / f"{table}.parquet" / f"{self._name}-{len(self._open)}.parquet"
                    part = self._open[id(report), table] = _Part(file, table, report)
                part.write(piece)

    def close(self, reports: list[Report]) -> list[Part]:
        """Write what is left of the tables that were begun, and put the parts of the reports in their place.

        SchemaError when a value breaks the contract.
        """
        wanted = {id(report) for report in reports}
        kept = []
        for (owner, table), part in self._open.items():
            if owner not in wanted:  # a report that the reader gave up
                part.discard()
                continue
            report = part.report
            self.take(report, table, report.rows.pop(table, []), report.blocks.pop(table, []))
            with _writing(self._out):
                kept.append(part.finish())
        return kept

    def discard(self) -> None:
        """Leave nothing behind of a file that could not be read."""
        for part in self._open.values():
            part.discard()


def pieces(report: Report, table: str, rows: list[Row], blocks: list[Block]) -> Iterator[pa.Table]:
    """Arrow tables of a report's rows and blocks, with their keys; texts as dictionaries."""
    keys = {"run_id": report.run_id, "tool": report.tool}
    if rows:
        yield arrow.table_of_rows(table, [{**keys, **row} for row in rows], is_compact=True)
    for block in blocks:
        yield arrow.table_of_blocks(table, [{**keys, **block}], is_compact=True)


def rename_run(part: Part, old: str, new: str) -> None:
    """Give the rows of a run another run id: which one they get may be known only when all files are read."""
    other = part.file.with_name(f".{part.file.name}.renamed")
    with part.file.open("rb") as file, other.open("wb") as target:
        batches = pq.ParquetFile(file).iter_batches()
        writer = _writer(target, part.table)
        for batch in batches:
            piece = arrow.replace_run_id(pa.Table.from_batches([batch]), old, new)
            writer.write_table(piece.cast(arrow.compact_schema(part.table)))
        writer.close()
    replace(other, part.file)


class _Part:
    """One Parquet file that grows; it bears its name only when it is whole."""

    def __init__(self, file: Path, table: str, report: Report) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.report = report
        self._final, self._table, self._run_id = file, table, report.run_id
        # Of its own: a cluster may run a task again while a worker that it gave up still writes.
        self._temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
        self._n_rows = 0
        self._extremes: dict[str, arrow.Extremes] = {}
        self._file = self._temporary.open("wb")
        self._writer = _writer(self._file, table)

    def write(self, piece: pa.Table) -> None:
        for name, ends in arrow.extremes(self._table, piece).items():
            self._extremes.setdefault(name, arrow.Extremes()).widen(ends)
        self._writer.write_table(piece)
        self._n_rows += len(piece)

    def finish(self) -> Part:
        """Put the part in its place. SchemaError when a value breaks the contract."""
        check_extremes(self._table, self._extremes)
        self._writer.close()
        self._file.close()
        if self.report.run_id != self._run_id:  # the file held several reports, which is known only at its end
            part = Part(self._table, self._temporary, self._n_rows)
            rename_run(part, self._run_id, self.report.run_id)
        replace(self._temporary, self._final)
        return Part(self._table, self._final, self._n_rows)

    def discard(self) -> None:
        with suppress(pa.ArrowException, ValueError, OSError):
            self._writer.close()
        with suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)
        self._final.unlink(missing_ok=True)
        with suppress(OSError):
            self._final.parent.rmdir()  # if nothing else is there


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """A full disk is no fault of the log that is read: it ends everything, and is not kept as what came of the log."""
    try:
        yield
    except OSError as error:
        raise PipelineError(f"{shown(place)}: cannot be written: {error}") from error


def replace(old: Path, new: Path) -> None:
    """Rename a file over another; a store of objects copies and deletes."""
    if is_remote(old):
        old.fs.cp_file(old.path, new.path)  # type: ignore[attr-defined]
        old.unlink()
    else:
        old.replace(new)


def _writer(file: object, table: str) -> pq.ParquetWriter:
    """Write dictionaries, but say that they are plain texts: so every reader gives the schema's own types.

    The settings were measured on latency logs of ten million rows: texts and settings are constant, figures hardly
    repeat, so that a dictionary or a stronger compression of figures costs time and saves nothing.
    """
    compact = arrow.compact_schema(table)
    columns = schema.TABLES[table].columns
    writer = pq.ParquetWriter(
        file, compact, store_schema=False, compression="lz4", write_batch_size=1 << 16, data_page_size=1 << 22,
        use_dictionary=[c.name for c in columns if c.dtype in ("text", "integer")],
        write_statistics=[c.name for c in columns if c.dtype == "number"],
    )  # fmt: skip
    plain = arrow.arrow_schema(table).serialize().to_pybytes()
    writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(plain).decode()})
    return writer
