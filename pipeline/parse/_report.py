"""What a reader returns: one report of one tool, as rows of the tidy tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pipeline import schema
from pipeline.parse._source import Source

Row = dict[str, Any]
Block = Mapping[str, Any]  # column → numpy or Arrow array, or scalar; arrays of one length
ROWS_IN_MEMORY = 1 << 18  # of a table of a report; beyond it they go where ``Source.spill`` says


class Spill(Protocol):
    """Where rows go that are too many for memory."""

    def take(self, report: Report, table: str, rows: list[Row], blocks: list[Block]) -> None:
        """Write rows of a table, in this order."""


class Report:
    """One report of one tool: the columns of its ``runs`` row, and its rows in the other tables.

    Keys (``run_id``, ``tool``) and the source columns are filled in by ``pipeline.reading``; a reader adds the rest.
    A report is complete until the reader says otherwise by ``incomplete``. A long table may leave memory while the
    reader still adds to it, so that readers never read back what they added.
    """

    def __init__(self, tool: str, source: Source, **run: Any) -> None:
        self.tool = tool
        self.source = source
        self.run: Row = {"is_complete": True}
        self.rows: dict[str, list[Row]] = {}
        self.blocks: dict[str, list[Block]] = {}
        self.alone: tuple[int | None, str, str] | None = None
        self.home: str | None = None
        self.is_part = False  # decided by pipeline.joining: no row of its own in ``runs``
        self._n_rows: dict[str, int] = {}  # in memory, a table
        self.describe(**run)

    def describe(self, **run: Any) -> None:
        """Set columns of the ``runs`` row."""
        _check("runs", run)
        self.run.update(run)

    def add(self, table: str, **columns: Any) -> None:
        """Add a row; a column that is left out is null. KeyError on an unknown table or column."""
        _check(table, columns)
        self.rows.setdefault(table, []).append(columns)
        self._count(table, 1)

    def add_block(self, table: str, columns: Block) -> None:
        """Add many rows at once: numpy or Arrow arrays of one length, or scalars."""
        _check(table, columns)
        lengths = [
            len(values) for values in columns.values() if hasattr(values, "__len__") and not isinstance(values, str)
        ]
        self.blocks.setdefault(table, []).append(columns)
        self._count(table, max(lengths, default=1))

    def _count(self, table: str, n_rows: int) -> None:
        """Let a table that grew long leave memory, where there is somewhere to go."""
        self._n_rows[table] = self._n_rows.get(table, 0) + n_rows
        if self._n_rows[table] >= ROWS_IN_MEMORY and self.source.spill is not None:
            self.source.spill.take(self, table, self.rows.pop(table, []), self.blocks.pop(table, []))
            self._n_rows[table] = 0

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

    def part_of(self, home: Source) -> None:
        """Say that the file is a log of the run whose report is the file ``home`` beside it.

        Where both are read, its rows become part of that report.
        """
        self.home = str(home.file)
        self.run["run_id"] = self.source.run_id or home.stem

    @property
    def run_id(self) -> str:
        """The run: by the manifest, or as the report itself says; else the file's stem."""
        return str(self.run.get("run_id") or self.source.run_id or self.source.stem)


_COLUMNS = {name: frozenset(table.column_names) for name, table in schema.TABLES.items()}


def _check(table: str, columns: Mapping[str, Any]) -> None:
    """A programming error in a reader, found at once: an unknown table or column."""
    unknown = columns.keys() - _COLUMNS[table]
    if unknown:
        raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
