"""Read raw files into tidy tables: what comes of one file, how files of one run join, and ``pipeline.read``.

A run folder is one that holds a ``manifest.json``: its reports share the manifest's run id. Without one, a log that
names the report it belongs to (fio's logs beside its JSON) joins that report. Any other file is a run of its own.
What no reader knows in a folder, and what its reader gave up, is named in a warning; it is no error. The manifest of a
run that did not end well is read itself, so that the run shows also where no log of it can be read.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline import tidy
from pipeline.campaign import MANIFEST, Manifest, is_file, manifests_below, paths_below
from pipeline.errors import ParseError, PipelineError, SchemaError, UnknownFormatError
from pipeline.joining import join, run_of
from pipeline.outcome import describe, record
from pipeline.parse._report import Report
from pipeline.parse._source import Source, shown
from pipeline.parts import Part, Parts
from pipeline.project import is_remote, to_path
from pipeline.tidy import Tables
from pipeline.tools import Reader, find_reader, load_reader, readers_of


@dataclass(frozen=True)
class Item:
    """A file to read, and what is known of it beforehand."""

    path: Path
    name: str  # in messages and tables
    tool: str | None = None  # restricts the readers
    manifest: Manifest | None = None
    is_named: bool = False  # by the user, not found in a folder: it must be readable

    @property
    def is_record(self) -> bool:
        """Whether collecting wrote the file to tell of a run: no reader is asked for it."""
        return self.manifest is not None and (
            self.path.name == MANIFEST or not self.manifest.may_be_log(self.path.name)
        )

    @property
    def run_id(self) -> str:
        """The run that the file is of, whatever it holds: by its folder's manifest; its stem without one."""
        return self.manifest.run_id if self.manifest else Source(self.path).stem


@dataclass
class FileReading:
    """What came of one file: its reports, the parts of its long tables on disk, or why there is none."""

    item: Item
    reports: list[Report] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)  # of the reports' rows, once they were checked
    siblings: bool = False  # whether the reader looked at the files beside it
    error: ParseError | None = None
    is_passing: bool = False  # the error is of the machine, and may be gone next time

    @property
    def is_unknown(self) -> bool:
        """Whether no reader knows the file, and nobody asked for it by name."""
        return isinstance(self.error, UnknownFormatError) and not self.item.is_named


def read(path: str | Path, tool: str | None = None) -> Tables:
    """Read a raw log or a run folder.

    ``tool`` (``fio``, ``diskspd``, …) restricts the readers; without it the content decides. Returns the tidy tables,
    by attribute or by key. Raises ParseError when nothing can be read; in a folder, when no file could be read.
    """
    with _without_collector():
        readings = [read_file(item) for item in items_of([to_path(path)], tool)]
        try:
            return _tables(readings)
        except SchemaError:  # of one file: the others are still good
            return _tables(check_all(readings))


def _tables(readings: list[FileReading]) -> Tables:
    """The tables of files in memory; ParseError when none was read, SchemaError when a value breaks the contract."""
    reports = [(report, reading) for reading in readings for report in reading.reports]
    if not reports:
        errors = sorted((reading for reading in readings if reading.error), key=lambda reading: reading.is_unknown)
        raise errors[0].error if errors and errors[0].error else no_log(readings[0].item.name)
    runs = [run_of(report, str(reading.item.path), is_only=len(reading.reports) == 1) for report, reading in reports]
    join(runs)
    for run, (report, _) in zip(runs, reports, strict=True):
        report.describe(run_id=run.run_id)
        report.is_part = run.is_part
        if run.is_alone and report.alone:
            report.incomplete(*report.alone)
    return tidy.tables_of([*(report for report, _ in reports), *_failures(readings)])


def _failures(readings: list[FileReading]) -> Iterator[Report]:
    """For each file that gave no report, one that holds but the warning, and has no row in ``runs``."""
    for reading in readings:
        if reading.error:
            report = Report("unknown", Source(reading.item.path, b"", name=reading.item.name))
            report.is_part = True
            code = "not_read" if reading.is_unknown else "not_readable"
            report.add("warnings", **failure_row(reading.error, reading.item.run_id, code))
            yield report


def failure_row(error: ParseError, run_id: str, code: str = "not_readable") -> dict[str, Any]:
    """The row of ``warnings`` for a file that gave no report."""
    return {"run_id": run_id, "tool": "unknown", "source_path": error.path, "line": error.line, "code": code,
            "message": f"expected {error.expected}, found {error.got}"}  # fmt: skip


def no_log(name: str) -> ParseError:
    """The error of a folder in which collecting left no log: none was refused, there is none."""
    return UnknownFormatError(name, None, "a log", "none: the manifest says that no file is one")


def items_of(paths: list[Path], tool: str | None = None, base: Path | None = None) -> Iterator[Item]:
    """The files to read; a path that is no folder is one, whatever there is. ``base``: names are relative to it.

    What is neither a file nor a folder that can be gone through is there too, so that it is told. A file is read once,
    however often it is named.
    """
    seen = set()

    def item(path: Path, manifest: Manifest | None = None, *, is_named: bool = False) -> Item:
        # Absolute, so that a worker on another machine that shares the folder finds it.
        return Item(path.absolute(), shown(path.relative_to(base) if base else path), tool, manifest, is_named)

    for path in paths:
        below = [file for file in paths_below(path) if not _is_open_folder(file)] if path.is_dir() else []
        manifests = manifests_below(path) if below else {}
        failed = [folder / MANIFEST for folder, manifest in manifests.items() if not manifest.is_complete]
        # What tells of a run as a whole comes last, so that a log which has figures gives its row.
        files = [file for file in below if file.name != MANIFEST] + failed
        items = [item(file, manifests.get(file.parent)) for file in files] or [item(path, is_named=True)]
        for found in items:
            if found.path not in seen:
                seen.add(found.path)
                yield found


def _is_open_folder(path: Path) -> bool:
    """Whether a path is a folder whose files are found by going through it."""
    try:
        is_folder = path.is_dir() and not path.is_symlink()
    except PermissionError:
        return False
    return is_folder and (is_remote(path) or os.access(path, os.R_OK | os.X_OK))


def read_file(item: Item, out: Path | None = None, sha256: str | None = None) -> FileReading:
    """Read one file; with ``out``, its long tables go there as Parquet. Whatever the file holds, nothing is raised.

    ``sha256`` is the hash of its bytes where that is known, so that they are not read twice for it.
    """
    reading = FileReading(item)
    source = Source(item.path, name=item.name)
    if sha256 is not None:
        source.sha256 = sha256
    spill = source.spill = Parts(out, source) if out is not None else None
    try:
        with _without_collector():
            reading.reports = _reports(source, item)
            if spill is not None:
                reading.parts = spill.close(reading.reports)
    except Exception as error:  # a reader's own mistake must not cost the other files either
        if spill is not None:
            spill.discard()
        if isinstance(error, PipelineError) and not isinstance(error, ParseError | SchemaError):
            raise
        reading.error = _as_parse_error(error, source.path)
        reading.is_passing = isinstance(error, OSError | MemoryError)
        reading.reports = []
    reading.siblings = source.saw_siblings
    return reading


@contextmanager
def _without_collector() -> Iterator[None]:
    """Rows are many objects and no cycles: looking for cycles among them takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _as_parse_error(error: Exception, name: str) -> ParseError:
    if isinstance(error, ParseError):
        return error
    if isinstance(error, SchemaError):
        result = ParseError(name, None, "figures that the schema allows", str(error))
    elif isinstance(error, OSError):
        result = ParseError(name, None, "a readable file", str(error))
    else:
        result = ParseError(name, None, "what its reader knows", f"{type(error).__name__}: {error} (please report it)")
    result.__cause__ = error
    return result


def _reports(source: Source, item: Item) -> list[Report]:
    """Reports of one file, with their keys filled in; ParseError when nothing can be read."""
    if not is_file(item.path):
        raise UnknownFormatError(source.path, None, "a file or a folder with files", _kind(item.path))
    if item.is_record:
        return _record(source, item)
    name = find_reader(source, item.tool)
    if name is None:
        wanted = " or ".join(load_reader(reader).EXPECTED for reader in readers_of(item.tool)) if item.tool else ""
        error = source.error(1, wanted or "a known log", source.head or "an empty file")
        raise UnknownFormatError(error.path, error.line, error.expected, error.got)
    if item.manifest:
        source.run_id = item.manifest.run_id
    reports = read_source(source, load_reader(name))
    if item.manifest:
        for report in reports:
            describe(report, item.manifest)
    return reports


def _record(source: Source, item: Item) -> list[Report]:
    """What the manifest tells of a run that did not end well; nothing of any other file that is no log."""
    manifest = item.manifest
    if manifest is None or item.path.name != MANIFEST or item.tool not in (None, manifest.tool):
        return []
    return [record(source, manifest)]


def _kind(path: Path) -> str:
    """What there is in place of a file."""
    try:
        if path.is_dir():
            is_open = _is_open_folder(path)
            link = "a link to a folder, which is not followed" if path.is_symlink() else "a folder that is closed to us"
            return "an empty folder" if is_open else link
        if path.exists():
            return "a pipe, a socket or a device"
        return "a link that leads nowhere" if path.is_symlink() else "nothing there"
    except PermissionError:
        return "a folder that is closed to us"


def read_source(source: Source, reader: Reader) -> list[Report]:
    """Reports of a source by one reader, with their run ids; ParseError when nothing can be read."""
    reports = reader.parse(source)
    for number, report in enumerate(reports, 1):
        report.describe(run_id=report.run_id if len(reports) == 1 else f"{report.run_id}#{number}")
        if source.damage:
            report.incomplete(None, "damaged_compression", source.damage)
    return reports


def check_all(readings: list[FileReading]) -> list[FileReading]:
    """Make each file's tables, and hold all of them against the schema at once; where that fails, each for itself."""
    for reading in readings:
        try:
            reading.tables = tidy.arrow_tables(reading.reports)
        except SchemaError as error:
            _refuse(reading, error)
    try:
        _check(readings)
    except SchemaError:
        for reading in readings:
            try:
                _check([reading])
            except SchemaError as error:
                _refuse(reading, error)
    return readings


def _check(readings: list[FileReading]) -> None:
    for name in dict.fromkeys(name for reading in readings for name in reading.tables):
        tidy.check(name, pa.concat_tables(reading.tables[name] for reading in readings if name in reading.tables))


def _refuse(reading: FileReading, error: SchemaError) -> None:
    """Give a file up, so that only it fails."""
    reading.error = _as_parse_error(error, reading.reports[0].source.path)
    reading.reports, reading.parts, reading.tables = [], [], {}
