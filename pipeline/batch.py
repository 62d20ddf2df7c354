"""Read many raw files at once: the commands ``parse PATH…`` and ``parse --campaign SLUG``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline import arrow
from pipeline.assembling import write_entries
from pipeline.campaign import MANIFEST, Manifest, check_slug, manifests_below
from pipeline.errors import SpecError
from pipeline.output import INCOMING, remove, sole_writer
from pipeline.parse._source import Source, shown
from pipeline.project import raw_folder, store_folder, tidy_folder
from pipeline.reading import failure_row, items_of, no_log
from pipeline.store import Entry, prune
from pipeline.workers import read_all

Manifests = dict[Path, Manifest]
Rows = list[dict[str, Any]]


def parse_paths(paths: list[Path], out: Path, tool: str | None, scheduler: str | None = None) -> int:
    """Read files and folders into ``out/<table>.parquet``; 1 when a file failed (the others are still written)."""
    items = list(items_of(paths, tool))
    store = out.absolute() / INCOMING / "read"
    with sole_writer(out):
        remove(store)
        store.mkdir(parents=True)
        try:
            entries = read_all(items, store, scheduler)
            n_reports = sum(len(entry.runs) for entry in entries)
            warnings = None
            if n_reports:
                names, warnings = write_entries(entries, out)
                print(f"{n_reports} reports → {len(names)} tables in {shown(out)}")
            _tell(entries, warnings)
        finally:
            remove(out / INCOMING)
    return 1 if _failed(entries) or not n_reports else 0


def parse_campaign(slug: str, root: Path, scheduler: str | None = None) -> int:
    """Read ``data/raw/<slug>`` into ``data/tidy/<slug>``.

    A file that fails becomes a row of ``warnings`` and of ``files``, and the rest is still read; only a campaign of
    which nothing can be read is an error. The bytes are held against the manifests' hashes. What was read of a file
    is kept in ``data/cache/<slug>``, and not read again while the file and the readers stay the same.
    """
    check_slug(slug)
    raw, store, out = raw_folder(slug, root), store_folder(slug, root), tidy_folder(slug, root)
    if not raw.is_dir():
        raise SpecError(f"{raw.relative_to(root)}: expected the campaign's raw logs, found no folder")
    store.mkdir(parents=True, exist_ok=True)
    with sole_writer(out):
        try:
            # Names are relative to the project: the tables must not depend on where it lies.
            entries = read_all(list(items_of([raw], base=root)), store, scheduler)
            n_files = _write_campaign(slug, root, entries)
        finally:
            remove(out / INCOMING)
        prune(entries, store)
    print(f"{slug}: {sum(len(entry.runs) for entry in entries)} reports of {n_files} files")
    return 0


def _write_campaign(slug: str, root: Path, entries: list[Entry]) -> int:
    """Write the tables of a campaign, and tell what was not read; the number of files."""
    raw = raw_folder(slug, root)
    if not any(entry.runs for entry in entries):
        errors = [entry.error for entry in sorted(entries, key=lambda entry: entry.is_unknown) if entry.error]
        raise errors[0] if errors else no_log(str(raw.relative_to(root)))
    manifests = manifests_below(raw)
    files = _files(raw, entries, manifests)
    problems = [*_failure_rows(entries, manifests), *_hash_rows(raw, root, files, manifests)]
    more = {"files": arrow.table_of_rows("files", files), "warnings": arrow.table_of_rows("warnings", problems)}
    _, warnings = write_entries(entries, tidy_folder(slug, root), slug, more)
    _tell(entries, warnings)
    return len(files)


def _failed(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.error and not entry.is_unknown]


def _files(raw: Path, entries: list[Entry], manifests: Manifests) -> Rows:
    """The table ``files``: every raw file with its hash and what became of it."""
    rows: Rows = []
    for entry in entries:
        path = entry.item.path
        if path.name == MANIFEST:
            continue
        manifest = manifests.get(path.parent)
        expected = {file.path: file.sha256 for file in manifest.files} if manifest else {}
        is_changed = entry.sha256 and expected.get(path.name, entry.sha256) != entry.sha256
        rows.append({"run_id": _run_id(path, manifests), "path": shown(path.relative_to(raw)),
                     "n_bytes": entry.n_bytes, "sha256": entry.sha256,
                     "status": "changed" if is_changed else _status(entry),
                     "tool": entry.runs[0].tool if entry.runs else None})  # fmt: skip
    return rows


def _status(entry: Entry) -> str:
    if entry.error is None:
        return "read" if entry.runs else "not_a_log"
    return "not_read" if entry.is_unknown else "failed"


def _run_id(path: Path, manifests: Manifests) -> str:
    """Run id of a raw file by its folder's manifest; its stem without one."""
    manifest = manifests.get(path.parent)
    return manifest.run_id if manifest else Source(path).stem


def _failure_rows(entries: list[Entry], manifests: Manifests) -> Rows:
    return [failure_row(entry.error, _run_id(entry.item.path, manifests)) for entry in _failed(entries) if entry.error]


def _hash_rows(raw: Path, root: Path, files: Rows, manifests: Manifests) -> Rows:
    """Warnings for files that are no longer what the manifest names, or that are gone."""
    base = raw.relative_to(root)
    other = "expected the manifest's SHA-256, found other bytes"
    changed = [row for row in files if row["status"] == "changed"]
    problems = [(row["run_id"], base / row["path"], "changed_file", other) for row in changed]
    present = {row["path"] for row in files}
    for folder, manifest in manifests.items():
        below = folder.relative_to(raw)
        lost = [below / file.path for file in manifest.files if str(below / file.path) not in present]
        problems += [
            (manifest.run_id, base / name, "lost_file", "expected a file that the manifest names, found none")
            for name in lost
        ]
    return [{"run_id": run_id, "tool": "unknown", "source_path": str(path), "code": code, "message": message}
            for run_id, path, code, message in problems]  # fmt: skip


def _tell(entries: list[Entry], warnings: pa.Table | None) -> None:
    """Print each warning as ``path:line: message``, then the files that were not read."""
    for row in warnings.to_pylist() if warnings is not None else []:
        line = "" if row["line"] is None else f":{row['line']}"
        print(shown(f"{row['source_path']}{line}: {row['message']}"), file=sys.stderr)
    for entry in entries:
        if entry.error and entry.is_unknown:
            why = "no reader knows this format" if entry.error.line else entry.error.got
            print(f"{entry.item.name}: not read: {why}", file=sys.stderr)
    for entry in _failed(entries):
        print(f"failed: {entry.error}", file=sys.stderr)
