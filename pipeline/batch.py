"""Read many raw files at once: the commands ``parse PATH…`` and ``parse --campaign SLUG``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline import tidy
from pipeline.campaign import MANIFEST, Manifest, RawFile, check_slug, files_below, manifests_below
from pipeline.errors import ParseError, SpecError
from pipeline.parse._source import Source, shown
from pipeline.project import raw_folder, tidy_folder
from pipeline.reading import Reading, read_paths
from pipeline.tidy import Tables

Manifests = dict[Path, Manifest]


def parse_paths(paths: list[Path], out: Path, tool: str | None) -> int:
    """Read files and folders into ``out/<table>.parquet``; 1 when a file failed (the others are still written)."""
    reading = read_paths(paths, tool)
    tables = reading.tables()
    _tell(reading, tables)
    if reading.reports:
        written = tidy.write(tables, out)
        print(f"{len(reading.reports)} reports → {len(written)} tables in {out}")
    return 1 if reading.failed or not reading.reports else 0


def parse_campaign(slug: str, root: Path) -> int:
    """Read ``data/raw/<slug>`` into ``data/tidy/<slug>``.

    A file that fails becomes a row of ``warnings`` and of ``files``, and the rest is still read; only a campaign of
    which nothing can be read is an error. The bytes are held against the manifests' hashes.
    """
    check_slug(slug)
    raw = raw_folder(slug, root).relative_to(root)
    if not (root / raw).is_dir():
        raise SpecError(f"{raw}: expected the campaign's raw logs, found no folder")
    reading = read_paths([raw])  # relative: the tables must not depend on where the project lies
    if not reading.reports:
        raise (reading.failed + reading.unknown)[0]
    tables = reading.tables()
    tables.runs["campaign"] = tables.runs["campaign"].fillna(slug)
    manifests = manifests_below(raw)
    files = _files(raw, reading, manifests)
    warnings = [tables.warnings, _failure_rows(reading.failed, manifests), _hash_rows(raw, files, manifests)]
    warnings = [frame for frame in warnings if len(frame)]
    frames = {**tables, "files": files}
    if warnings:
        frames["warnings"] = pd.concat(warnings, ignore_index=True)
    tidy.write(frames, tidy_folder(slug, root))
    _tell(reading, Tables(frames))
    print(f"{slug}: {len(reading.reports)} reports of {len(files)} files")
    return 0


def _files(raw: Path, reading: Reading, manifests: Manifests) -> pd.DataFrame:
    """The table ``files``: every raw file with its hash and what became of it."""
    failures = {error.path for error in reading.failed}
    rows: list[dict[str, Any]] = []
    for path in (path for path in files_below(raw) if path.name != MANIFEST):
        found, name = RawFile.of(path), shown(path)
        manifest = manifests.get(path.parent)
        expected = {file.path: file.sha256 for file in manifest.files} if manifest else {}
        status = "read" if name in reading.tool_of else "failed" if name in failures else "not_read"
        if expected.get(path.name, found.sha256) != found.sha256:
            status = "changed"
        rows.append({"run_id": _run_id(path, manifests), "path": shown(path.relative_to(raw)),
                     "n_bytes": found.n_bytes, "sha256": found.sha256, "status": status,
                     "tool": reading.tool_of.get(name)})  # fmt: skip
    return tidy.frame_of("files", rows)


def _run_id(path: Path, manifests: Manifests) -> str:
    """Run id of a raw file by its folder's manifest; its stem without one."""
    manifest = manifests.get(path.parent)
    return manifest.run_id if manifest else Source(path).stem


def _failure_rows(failed: list[ParseError], manifests: Manifests) -> pd.DataFrame:
    rows = [
        {"run_id": _run_id(Path(error.path), manifests), "tool": "unknown", "source_path": error.path,
         "line": error.line, "code": "not_readable", "message": f"expected {error.expected}, found {error.got}"}
        for error in failed
    ]  # fmt: skip
    return tidy.frame_of("warnings", rows)


def _hash_rows(raw: Path, files: pd.DataFrame, manifests: Manifests) -> pd.DataFrame:
    """Warnings for files that are no longer what the manifest names, or that are gone."""
    changed = files[files["status"] == "changed"]
    problems = [(row.run_id, str(raw / row.path), "changed_file", "expected the manifest's SHA-256, found other bytes")
                for row in changed.itertuples()]  # fmt: skip
    present = {str(raw / path) for path in files["path"]}
    for folder, manifest in manifests.items():
        lost = [str(folder / file.path) for file in manifest.files if str(folder / file.path) not in present]
        problems += [
            (manifest.run_id, name, "lost_file", "expected a file that the manifest names, found none") for name in lost
        ]
    rows = [{"run_id": run_id, "tool": "unknown", "source_path": path, "code": code, "message": message}
            for run_id, path, code, message in problems]  # fmt: skip
    return tidy.frame_of("warnings", rows)


def _tell(reading: Reading, tables: Tables) -> None:
    """Print each warning as ``path:line: message``, then the files that were not read."""
    for row in tables.warnings.itertuples():
        line = "" if pd.isna(row.line) else f":{row.line}"
        print(f"{row.source_path}{line}: {row.message}", file=sys.stderr)
    for error in reading.unknown:
        print(f"{error.path}: not read: no reader knows this format", file=sys.stderr)
    for error in reading.failed:
        print(f"failed: {error}", file=sys.stderr)
