"""Take in logs that someone already has: copy them under ``data/raw/``, with manifests and hashes, as a campaign."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import yaml

from pipeline import campaign
from pipeline.campaign import MANIFEST, Manifest, RawFile
from pipeline.errors import SpecError
from pipeline.parse._source import Source
from pipeline.project import raw_folder
from pipeline.tools import TOOLS, find_reader

_TOOL_OF_READER = {reader: tool.name for tool in TOOLS for reader in tool.readers}


def import_folder(folder: Path, slug: str, host: str, root: Path) -> int:
    """Copy the logs of ``folder`` into campaign ``slug``, a run folder each; what is there already is left alone.

    A file that no reader knows is taken in too: nothing is lost. A file whose content came in before is not taken
    again, so that a second import changes nothing. SpecError when no file is a known log.
    """
    campaign.check_slug(slug)
    campaign.check_host(host)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise SpecError(f"{folder}: expected a folder with logs, found {found}")
    raw = raw_folder(slug, root)
    if raw.resolve() == folder.resolve() or raw.resolve() in folder.resolve().parents:
        raise SpecError(f"{folder}: is the campaign's own raw folder; expected logs from elsewhere")
    known = _known_files(raw)
    files = campaign.files_below(folder)
    fresh = [path for path in files if (_origin(path, folder), RawFile.of(path).sha256) not in known]
    readers = {path: find_reader(Source(path)) for path in fresh}
    if not known and not any(readers.values()):
        raise SpecError(
            f"{folder}: expected logs of {', '.join(t.name for t in TOOLS)}, found none in {len(files)} files"
        )
    for path, reader in readers.items():
        _take(path, _origin(path, folder), reader, raw, host)
    _describe(root, slug, host)
    n_logs = sum(reader is not None for reader in readers.values())
    n_others, n_old = len(fresh) - n_logs, len(files) - len(fresh)
    print(f"{slug}: {n_logs} logs and {n_others} other files taken in, {n_old} were there already")
    if n_links := sum(path.is_symlink() for path in folder.rglob("*")):
        print(f"{n_links} links were not followed: copy what they point to, if it belongs to the campaign")
    print("next: dvc repro" + ("" if fresh else " (nothing changed)"))
    return 0


def _origin(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix().encode(errors="replace").decode()


def _known_files(raw: Path) -> set[tuple[str, str]]:
    """(Where it came from, hash) of every file that was imported into the campaign."""
    manifests = [Manifest.load(path) for path in campaign.files_below(raw) if path.name == MANIFEST]
    return {(str(file.imported_from), file.sha256) for manifest in manifests for file in manifest.files}


def _safe(name: str) -> str:
    """A name from outside made safe as a folder or file name."""
    return re.sub(r"[^A-Za-z0-9._+]+", "-", name).strip(".-") or "log"


def _take(path: Path, origin: str, reader: str | None, raw: Path, host: str) -> None:
    """Copy one file into a run folder of its own; a new content under an old name is the next repeat.

    The folder is filled under a temporary name and renamed: it is there whole, with its manifest, or not at all.
    """
    tool = _TOOL_OF_READER[reader] if reader else None
    point, repeat = _safe(origin.rsplit(".", 1)[0].replace("/", "-"))[:100], 1
    while (raw / (run_id := f"{host}-{tool or 'file'}-{point}-r{repeat}")).exists():
        repeat += 1
    incoming = raw / f".incoming-{run_id}"
    shutil.rmtree(incoming, ignore_errors=True)  # left by an import that was interrupted
    incoming.mkdir(parents=True)
    name = _safe(path.name)[-150:]
    shutil.copyfile(path, incoming / name)
    file = RawFile.of(incoming / name, origin)
    Manifest(run_id, raw.name, host, tool, point, repeat, files=(file,)).save(incoming)
    incoming.rename(raw / run_id)


def _describe(root: Path, slug: str, host: str) -> None:
    """Write the campaign's description, if there is none, and add it to the index."""
    path = campaign.spec_path(root, slug)
    if not path.exists():
        spec = {"title": f"{slug}: imported logs", "host": host, "notes": "Say here what was measured, where and why."}
        campaign.write_atomically(path, yaml.safe_dump(spec, sort_keys=False, allow_unicode=True))
    campaign.add_to_index(root, slug)
