"""Read a raw file or a run folder into tidy tables: ``pipeline.read``.

A run folder is one that holds a ``manifest.json``: its reports share the manifest's run id. Any other folder is
read file by file. What no reader knows in a folder is named in a warning; it is no error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.campaign import MANIFEST, Manifest, files_below, manifests_below
from pipeline.errors import ParseError, UnknownFormatError
from pipeline.parse._report import Report
from pipeline.parse._source import Source, shown
from pipeline.tidy import Tables, tables_of
from pipeline.tools import find_reader, load_reader, readers_of


@dataclass
class Reading:
    """What came of reading some paths: the reports, and the files that were not read, each with the reason.

    ``tool_of`` has the tool of every file that was read, also of those whose rows became part of another's report.
    """

    reports: list[Report] = field(default_factory=list)
    tool_of: dict[str, str] = field(default_factory=dict)
    failed: list[ParseError] = field(default_factory=list)
    unknown: list[ParseError] = field(default_factory=list)

    def tables(self) -> Tables:
        """The tidy tables of all reports."""
        return tables_of(self.reports)


def read(path: str | Path, tool: str | None = None) -> Tables:
    """Read a raw log or a run folder.

    ``tool`` (``fio``, ``diskspd``, …) restricts the readers; without it the content decides. Returns the tidy tables,
    by attribute or by key. Raises ParseError when nothing can be read; in a folder, when no file could be read.
    """
    reading = read_paths([Path(path)], tool)
    if not reading.reports:
        raise (reading.failed + reading.unknown)[0]
    return reading.tables()


def read_paths(paths: list[Path], tool: str | None = None) -> Reading:
    """Read files and folders. A file that is named itself and that no reader knows counts as failed."""
    reading = Reading()
    for path in paths:
        if not path.is_dir():
            _read_into(reading, path, tool, None, is_named=True)
            continue
        before = len(reading.reports) + len(reading.failed) + len(reading.unknown)
        for file, manifest in _walk(path):
            _read_into(reading, file, tool, manifest, is_named=False)
        if len(reading.reports) + len(reading.failed) + len(reading.unknown) == before:
            reading.failed.append(ParseError(shown(path), None, "files to read", "an empty folder"))
    reading.tool_of = {report.source.path: report.tool for report in reading.reports}
    reading.reports = _join_supplements(reading.reports)
    _number_equal_runs(reading.reports)
    return reading


def read_file(path: Path, tool: str | None = None, manifest: Manifest | None = None) -> list[Report]:
    """Reports of one file, with their keys filled in; ParseError when nothing can be read."""
    source = Source(path)
    if not path.is_file():
        raise ParseError(shown(path), None, "a file or a folder", "nothing there" if not path.exists() else "neither")
    name = find_reader(source, tool)
    if name is None:
        expected = " or ".join(load_reader(reader).EXPECTED for reader in readers_of(tool)) if tool else "a known log"
        error = source.error(1, expected, source.head or "an empty file")
        raise UnknownFormatError(error.path, error.line, error.expected, error.got)
    reports = load_reader(name).parse(source)
    for number, report in enumerate(reports, 1):
        run_id = manifest.run_id if manifest else source.stem
        report.describe(run_id=run_id if len(reports) == 1 else f"{run_id}#{number}")
        if source.damage:
            report.incomplete(None, "damaged_compression", source.damage)
        if manifest:
            _describe_by_manifest(report, manifest)
    return reports


def _describe_by_manifest(report: Report, manifest: Manifest) -> None:
    report.describe(campaign=manifest.campaign, host=manifest.host, point=manifest.point, repeat=manifest.repeat)
    if report.tool == manifest.tool:
        # The manifest knows of the run as a whole; what the tool itself says of command and start comes first.
        known = {"command": manifest.command, "exit_status": manifest.exit_status, "started_at": manifest.started_at}
        report.describe(**{name: value for name, value in known.items() if report.run.get(name) is None})


def _read_into(reading: Reading, path: Path, tool: str | None, manifest: Manifest | None, *, is_named: bool) -> None:
    try:
        reading.reports += read_file(path, tool, manifest)
    except ParseError as error:
        is_unknown = isinstance(error, UnknownFormatError) and not is_named
        (reading.unknown if is_unknown else reading.failed).append(error)
    except OSError as error:
        reading.failed.append(ParseError(shown(path), None, "a readable file", str(error)))


def _walk(folder: Path) -> Iterator[tuple[Path, Manifest | None]]:
    """Files of a folder in a fixed order, each with the manifest of its own folder, if there is one."""
    manifests = manifests_below(folder)
    for file in files_below(folder):
        if file.name != MANIFEST:
            yield file, manifests.get(file.parent)


def _join_supplements(reports: list[Report]) -> list[Report]:
    """Let logs beside a tool's report become part of it; those that stand alone are incomplete.

    A file with several reports is no such log: one of them without a summary is a run that was killed.
    """
    n_of_file = Counter(report.source.path for report in reports)
    whole = {(report.run["run_id"], report.tool): report for report in reports if report.alone is None}
    kept = []
    for report in reports:
        is_beside = report.run.get("campaign") is not None and n_of_file[report.source.path] == 1
        home = whole.get((report.run["run_id"], report.tool)) if is_beside else None
        if report.alone is None:
            kept.append(report)
        elif home is not None:
            home.take_in(report)
        else:
            report.incomplete(*report.alone)
            kept.append(report)
    return kept


def _number_equal_runs(reports: list[Report]) -> None:
    """Keep (run_id, tool) unique: files of one tool with one run id become ``#1``, ``#2`` and so on."""
    keys = Counter((report.run["run_id"], report.tool) for report in reports)
    seen: Counter[tuple[str, str]] = Counter()
    for report in reports:
        key = (report.run["run_id"], report.tool)
        if keys[key] > 1:
            seen[key] += 1
            report.describe(run_id=f"{key[0]}#{seen[key]}")
