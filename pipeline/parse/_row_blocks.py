"""Rows of interval reports, gathered by column and handed to the report in blocks: a day at 1 s is 10^5 intervals."""

from __future__ import annotations

from pipeline.parse._report import Report

_ROWS_A_BLOCK = 1 << 15


class RowBlocks:
    """Rows that wait for their block. Each table gets the same columns in every row."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tables: dict[str, dict[str, list[object]]] = {}

    def put(self, table: str, **columns: object) -> None:
        """Add a row."""
        lists = self._tables.get(table)
        if lists is None:
            lists = self._tables[table] = {name: [] for name in columns}
        for name, value in columns.items():
            lists[name].append(value)
        if len(lists["op" if "op" in lists else "metric"]) >= _ROWS_A_BLOCK:
            self._report.add_block(table, self._tables.pop(table))

    def flush(self) -> None:
        """Hand over what waits."""
        for table, columns in self._tables.items():
            self._report.add_block(table, columns)
        self._tables = {}
