"""From what was read of each file to one folder of tables: join the runs, then write file by file, in order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pipeline import arrow, tidy
from pipeline.joining import join
from pipeline.output import Output
from pipeline.store import Entry


def write_entries(
    entries: list[Entry], out: Path, campaign: str | None = None, more: dict[str, pa.Table] | None = None
) -> tuple[list[str], pa.Table]:
    """Write the tables of all files into ``out``, and those of ``more``; the names of the tables, and all warnings."""
    before = [[run.run_id for run in entry.runs] for entry in entries]
    join(run for entry in entries for run in entry.runs)
    output = Output(out)
    warnings = [arrow.arrow_schema("warnings").empty_table()]
    for entry, old_ids in zip(entries, before, strict=True):
        renames = {old: run.run_id for old, run in zip(old_ids, entry.runs, strict=True) if old != run.run_id}
        for part in entry.parts:
            output.add_part(part, renames)
        for name, table in _tables(entry, renames, campaign).items():
            output.add(name, table)
            if name == "warnings":
                warnings.append(table)
    for name, table in (more or {}).items():
        tidy.check(name, table)
        output.add(name, table)
        if name == "warnings":
            warnings.append(table)
    return output.finish(), pa.concat_tables(warnings)


def _tables(entry: Entry, renames: dict[str, str], campaign: str | None) -> dict[str, pa.Table]:
    """The tables of a file as joining left them: final run ids, no row in ``runs`` for a part of another report."""
    tables = entry.tables()
    if not tables:
        return {}
    for name, table in tables.items():
        for old, new in renames.items():
            tables[name] = arrow.replace_run_id(table, old, new)
    runs = tables["runs"]
    is_complete = pc.and_(runs["is_complete"], pa.array([not run.is_alone for run in entry.runs]))
    runs = _with(runs, "is_complete", is_complete)
    if campaign is not None:
        runs = _with(runs, "campaign", pc.fill_null(runs["campaign"], campaign))
    tables["runs"] = runs.filter(pa.array([not run.is_part for run in entry.runs]))
    if rows := list(_alone_rows(entry)):
        more = arrow.table_of_rows("warnings", rows)
        tables["warnings"] = pa.concat_tables([tables["warnings"], more]) if "warnings" in tables else more
    return tables


def _with(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(index), values)


def _alone_rows(entry: Entry) -> Iterable[dict[str, object]]:
    for run, alone in zip(entry.runs, entry.alone, strict=True):
        if run.is_alone and alone is not None:
            line, code, message = alone
            yield {"run_id": run.run_id, "tool": run.tool, "source_path": entry.item.name,
                   "line": line, "code": code, "message": message}  # fmt: skip
