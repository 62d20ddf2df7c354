"""Read raw files into tidy tables: what comes of one file, how files of one run join, and ``pipeline.read``.

A run folder is one that holds a ``manifest.json``: its reports share the manifest's run id. Without one, a log that
names the report it belongs to (fio's logs beside its JSON) joins that report. Any other file is a run of its own. What
no reader knows in a folder is named in a warning; it is no error.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pipeline import tidy
from pipeline.campaign import MANIFEST, Manifest, is_file, manifests_below, paths_below
from pipeline.errors import ParseError, PipelineError, SchemaError, UnknownFormatError
from pipeline.joining import join, run_of
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


@dataclass
class FileReading:
    """What came of one file: its reports, the parts of its long tables on disk, or why there is none."""

    item: Item
    reports: list[Report] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
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
        raise cast(ParseError, errors[0].error)
    runs = [run_of(report, str(reading.item.path), is_only=len(reading.reports) == 1) for report, reading in reports]
    join(runs)
    for run, (report, _) in zip(runs, reports, strict=True):
        report.describe(run_id=run.run_id)
        report.is_part = run.is_part
        if run.is_alone and report.alone:
            report.incomplete(*report.alone)
    return tidy.tables_of(report for report, _ in reports)


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
        below = paths_below(path) if path.is_dir() else []
        files = [file for file in below if file.name != MANIFEST and not _is_open_folder(file)]
        manifests = manifests_below(path) if files else {}
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
            _describe_by_manifest(report, item.manifest)
    return reports


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


def _describe_by_manifest(report: Report, manifest: Manifest) -> None:
    report.describe(campaign=manifest.campaign, host=manifest.host, point=manifest.point, repeat=manifest.repeat)
    if report.tool == manifest.tool:
        # The manifest knows of the run as a whole; what the tool itself says of command and start comes first.
        known = {"command": manifest.command, "exit_status": manifest.exit_status, "started_at": manifest.started_at}
        report.describe(**{name: value for name, value in known.items() if report.run.get(name) is None})


def check_all(readings: list[FileReading]) -> list[FileReading]:
    """Hold all reports against the schema at once; where they fail, each file for itself, so that only one fails."""
    try:
        _check(readings)
    except SchemaError:
        for reading in readings:
            try:
                _check([reading])
            except SchemaError as error:
                reading.error = _as_parse_error(error, reading.reports[0].source.path)
                reading.reports, reading.parts = [], []
    return readings


def _check(readings: list[FileReading]) -> None:
    for name, table in tidy.arrow_tables(report for reading in readings for report in reading.reports).items():
        tidy.check(name, table)
