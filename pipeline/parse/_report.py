"""What a reader returns: one report of one tool, as rows of the tidy tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline import schema
from pipeline.parse._source import Source

Row = dict[str, Any]
Block = Mapping[str, Any]  # column → array or scalar, of one length


class Report:
    """One report of one tool: the columns of its ``runs`` row, and its rows in the other tables.

    Keys (``run_id``, ``tool``) and the source columns are filled in by ``pipeline.reading``; a reader adds the rest.
    A report is complete until the reader says otherwise by ``incomplete``.
    """

    def __init__(self, tool: str, source: Source, **run: Any) -> None:
        self.tool = tool
        self.source = source
        self.run: Row = {"is_complete": True}
        self.rows: dict[str, list[Row]] = {}
        self.blocks: dict[str, list[Block]] = {}
        self.alone: tuple[int | None, str, str] | None = None
        self.describe(**run)

    def describe(self, **run: Any) -> None:
        """Set columns of the ``runs`` row."""
        _check("runs", run)
        self.run.update(run)

    def add(self, table: str, **columns: Any) -> None:
        """Add a row; a column that is left out is null. SchemaError on an unknown table or column."""
        _check(table, columns)
        self.rows.setdefault(table, []).append(columns)

    def add_block(self, table: str, columns: Block) -> None:
        """Add many rows at once: arrays of one length, or scalars."""
        _check(table, columns)
        self.blocks.setdefault(table, []).append(columns)

    def parameter(self, name: str, value: object, job: str | None = None) -> None:
        """Add a setting as the tool recorded it."""
        self.add("parameters", name=name, value=None if value is None else str(value), job=job)

    def warn(self, line: int | None, code: str, message: str) -> None:
        """Note something for the reader of the figures: ``line`` from 1, ``code`` a fixed snake_case name."""
        self.add("warnings", source_path=self.source.path, line=line, code=code, message=message)

    def incomplete(self, line: int | None, code: str, message: str) -> None:
        """Mark the report as not whole, and say what is missing."""
        self.run["is_complete"] = False
        self.warn(line, code, message)

    def supplement(self, line: int | None, code: str, message: str) -> None:
        """Mark the file as a log beside the tool's own report: in a run folder its rows become part of that report.

        Where that report is not there, this one is not whole, for the reason given here.
        """
        self.alone = (line, code, message)

    def take_in(self, other: Report) -> None:
        """Make the rows of a supplement part of this report."""
        for name, rows in other.rows.items():
            self.rows.setdefault(name, []).extend(rows)
        for name, blocks in other.blocks.items():
            self.blocks.setdefault(name, []).extend(blocks)


_COLUMNS = {name: frozenset(table.column_names) for name, table in schema.TABLES.items()}


def _check(table: str, columns: Mapping[str, Any]) -> None:
    """A programming error in a reader, found at once: an unknown table or column."""
    unknown = columns.keys() - _COLUMNS[table]
    if unknown:
        raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
