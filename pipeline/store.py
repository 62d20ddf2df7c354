"""What was read of each raw file, kept so that an unchanged file of a grown campaign is not parsed again.

An entry is a folder ``<store>/<key>/``: ``entry.json`` (reports, errors; written last), ``tables.arrows`` (their rows,
an Arrow stream a table) and the parts of long tables. The key is a hash of the file's bytes and place, of what the
manifest says of it, and of the readers' code: another version of the project never trusts what this one read.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from pipeline.errors import ParseError, UnknownFormatError
from pipeline.joining import Run, run_of
from pipeline.output import remove
from pipeline.parse._source import Source
from pipeline.parts import Part, replace
from pipeline.reading import FileReading, Item, check_all, read_file

_CODE = ("parse", "arrow.py", "campaign.py", "errors.py", "joining.py", "outcome.py", "parts.py", "project.py",
         "reading.py", "schema.py", "store.py", "tidy.py", "tools.py", "units.py")  # fmt: skip
ENTRY, TABLES = "entry.json", "tables.arrows"
Alone = tuple[int | None, str, str]


@dataclass
class Entry:
    """What came of one file, with its tables on disk."""

    item: Item
    folder: Path
    sha256: str  # empty where there are no bytes to read
    n_bytes: int | None
    runs: list[Run]
    alone: list[Alone | None]
    parts: list[Part]
    error: ParseError | None

    @property
    def is_unknown(self) -> bool:
        """Whether no reader knows the file, and nobody asked for it by name."""
        return isinstance(self.error, UnknownFormatError)

    def tables(self) -> dict[str, pa.Table]:
        """The rows of the reports."""
        if not self.runs:
            return {}
        tables = {}
        with (self.folder / TABLES).open("rb") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            file.seek(0)
            while file.tell() < n_bytes:  # each in memory of its own, so that none keeps the others there
                table = pa.ipc.open_stream(file).read_all()
                tables[table.schema.metadata[b"table"].decode()] = table
        return tables


def read_into(items: list[Item], store: Path) -> list[Entry]:
    """Entries of some files, in their order: read those that the store does not have. The function that workers run."""
    sources = [Source(item.path) for item in items]
    folders = [store / _key(item, source) for item, source in zip(items, sources, strict=True)]
    entries = [_find(*file) for file in zip(items, sources, folders, strict=True)]
    fresh = [number for number, entry in enumerate(entries) if entry is None]
    readings = [read_file(items[n], folders[n], _sha256(sources[n])) for n in fresh]
    for number, reading in zip(fresh, check_all(readings), strict=True):
        entries[number] = _save(reading, sources[number], folders[number])
    return cast(list[Entry], entries)


def lost(item: Item) -> Entry:
    """What there is of a file on which a reading process ends each time."""
    source = Source(item.path)
    error = ParseError(item.name, None, "a file that can be read", "that the process ends on it: out of memory?")
    return Entry(item, Path(), _sha256(source), _n_bytes(source), [], [], [], error)


def prune(entries: list[Entry], store: Path) -> None:
    """Drop what was kept of files that are gone or have changed."""
    used = {entry.folder.name for entry in entries}
    for folder in store.iterdir():
        if folder.name not in used:
            remove(folder)


def _find(item: Item, source: Source, folder: Path) -> Entry | None:
    """The entry of a file that was read before and has not changed since; a damaged one does not count."""
    try:
        content = json.loads((folder / ENTRY).read_bytes())
        is_whole = all((folder / name).stat().st_size == n_bytes for name, n_bytes in content["sizes"].items())
        is_current = content["siblings"] is None or content["siblings"] == _siblings(source)
        return _load(item, folder, content) if is_whole and is_current else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _save(reading: FileReading, source: Source, folder: Path) -> Entry:
    """Keep what came of a file; the parts of its long tables are there already."""
    item, reports, error = reading.item, reading.reports, reading.error
    files = [part.file for part in reading.parts]
    if reports:
        _write(folder / TABLES, lambda file: _write_streams(reading.tables, file))
        files.append(folder / TABLES)
    content = {
        "sha256": _sha256(source),
        "n_bytes": _n_bytes(source),
        "sizes": {file.relative_to(folder).as_posix(): file.stat().st_size for file in files},
        "siblings": _siblings(source) if reading.siblings else None,
        "runs": [asdict(run_of(report, str(item.path), is_only=len(reports) == 1)) for report in reports],
        "alone": [report.alone for report in reports],
        "parts": [(part.table, part.file.relative_to(folder).as_posix(), part.n_rows) for part in reading.parts],
        "error": None if error is None else [error.path, error.line, error.expected, error.got],
        "is_unknown": reading.is_unknown,
    }
    if not reading.is_passing:
        _write(folder / ENTRY, lambda file: file.write(json.dumps(content).encode()))
    return _load(item, folder, content)


def _write(place: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file, whole or not at all: a task that a cluster runs again must not disturb one that reads."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    with temporary.open("wb") as file:
        write(cast(BinaryIO, file))
    replace(temporary, place)


def _write_streams(tables: dict[str, pa.Table], file: BinaryIO) -> None:
    for table in tables.values():
        with pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table.combine_chunks())  # it would write a batch a chunk


def _load(item: Item, folder: Path, content: dict[str, Any]) -> Entry:
    kind = UnknownFormatError if content["is_unknown"] else ParseError
    return Entry(
        item, folder, content["sha256"], content["n_bytes"], [Run(**run) for run in content["runs"]], content["alone"],
        [Part(table, folder / file, n_rows) for table, file, n_rows in content["parts"]],
        None if content["error"] is None else kind(*content["error"]),
    )  # fmt: skip


def _key(item: Item, source: Source) -> str:
    manifest = asdict(item.manifest) if item.manifest else None
    known = [_sha256(source), str(item.path), item.name, item.tool, item.is_named, manifest, _code()]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


def _sha256(source: Source) -> str:
    """Hash of the file's bytes; empty where there are none to read: a pipe would be waited for without end."""
    try:
        return source.sha256 if source.file.is_file() else ""
    except OSError:
        return ""


def _n_bytes(source: Source) -> int | None:
    try:
        return source.file.stat().st_size
    except OSError:
        return None


def _siblings(source: Source) -> dict[str, list[int]]:
    """Size and time of the files beside a log; their hashes would be those of a whole folder, again for each log."""
    states = {beside.file.name: beside.file.stat() for beside in source.siblings()}
    return {name: [state.st_size, state.st_mtime_ns] for name, state in states.items()}


@cache
def _code() -> str:
    """Hash of the code that an entry came from."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for name in _CODE:
        place = package / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
