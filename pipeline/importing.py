"""Take in logs that someone already has: copy them under ``data/raw/``, with manifests and hashes, as a campaign."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path, PurePosixPath

import yaml

from pipeline import campaign
from pipeline.campaign import MANIFEST, Manifest, RawFile
from pipeline.errors import SpecError
from pipeline.indexing import add_to_index
from pipeline.parse._source import Source
from pipeline.project import raw_folder
from pipeline.tools import TOOLS, find_reader, load_reader

_TOOL_OF_READER = {reader: tool.name for tool in TOOLS for reader in tool.readers}


def import_folder(folder: Path, slug: str, host: str, root: Path) -> int:
    """Copy the logs of ``folder`` into campaign ``slug``, a run folder a run; what is there already is left alone.

    A file that no reader knows is taken in too: nothing is lost. A file whose content came in before is not taken
    again, so that a second import changes nothing. SpecError when no file is a known log.
    """
    campaign.check_slug(slug)
    campaign.check_host(host)
    campaign.load_index(root)  # a broken index must show before anything is copied
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise SpecError(f"{folder}: expected a folder with logs, found {found}")
    raw = raw_folder(slug, root)
    data, source = (root / "data").resolve(), folder.resolve()
    if data.is_relative_to(source) or source.is_relative_to(data):
        raise SpecError(f"{folder}: holds the project's own data or lies in it; expected logs from elsewhere")
    known = _known_files(raw)
    files = [path for path in campaign.files_below(folder) if not path.is_symlink()]
    fresh = [path for path in files if (host, _origin(path, folder), RawFile.of(path).sha256) not in known]
    readers = {path: find_reader(Source(path)) for path in fresh}
    if not known and not any(readers.values()):
        raise SpecError(
            f"{folder}: expected logs of {', '.join(t.name for t in TOOLS)}, found none in {len(files)} files"
        )
    logs = _logs_of(readers)
    for path, reader in readers.items():
        if not any(path in beside for beside in logs.values()):
            _take([path, *logs.get(path, [])], folder, reader, raw, host)
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


def _known_files(raw: Path) -> set[tuple[str, str, str]]:
    """(Host, where it came from, hash) of every file that was imported into the campaign."""
    manifests = campaign.manifests_below(raw).values()
    return {(m.host, str(file.imported_from), file.sha256) for m in manifests for file in m.files}


def _safe(name: str) -> str:
    """A name from outside made safe as a folder or file name."""
    return re.sub(r"[^A-Za-z0-9._+]+", "-", name).strip(".-") or "log"


def _logs_of(readers: dict[Path, str | None]) -> dict[Path, list[Path]]:
    """The logs that belong to a report beside them, by the report's file: together they are one run."""
    logs: dict[Path, list[Path]] = {}
    for path, reader in readers.items():
        home_of = getattr(load_reader(reader), "home", None) if reader else None
        home = home_of(Source(path)) if home_of else None
        if home is not None and readers.get(home.file):
            logs.setdefault(home.file, []).append(path)
    return logs


def _take(paths: list[Path], folder: Path, reader: str | None, raw: Path, host: str) -> None:
    """Copy the files of a run into a folder of its own; a new content of the same file is the next repeat.

    The first file names the run. Another file whose name looks the same when made safe gets a hash into its point.
    The folder is filled under a temporary name and renamed: it is there whole, with its manifest, or not at all.
    """
    tool, origin = _TOOL_OF_READER[reader] if reader else None, _origin(paths[0], folder)
    point, repeat = _safe(str(PurePosixPath(origin).with_suffix("")))[:90], 1
    if _is_of_another(raw / f"{host}-{tool or 'file'}-{point}-r1", origin):
        point = f"{point}-{hashlib.sha256(origin.encode()).hexdigest()[:8]}"
    while (raw / (run_id := f"{host}-{tool or 'file'}-{point}-r{repeat}")).exists():
        repeat += 1
    incoming = raw / f".importing-{run_id}"  # a pull clears away what begins with .incoming-
    shutil.rmtree(incoming, ignore_errors=True)  # left by an import that was interrupted
    incoming.mkdir(parents=True)
    files = []
    for path in paths:
        name = _safe(path.name)[-150:].lstrip(".-") or "log"  # a hidden file would not be read
        if name == MANIFEST or (incoming / name).exists():
            name = f"{hashlib.sha256(path.name.encode(errors='replace')).hexdigest()[:8]}-{name}"
        shutil.copyfile(path, incoming / name)
        files.append(RawFile.of(incoming / name, _origin(path, folder)))
    Manifest(run_id, raw.name, host, tool, point, repeat, files=tuple(files)).save(incoming)
    incoming.rename(raw / run_id)


def _is_of_another(run: Path, origin: str) -> bool:
    """Whether a run folder is there that came from another file."""
    manifest = Manifest.load(run / MANIFEST) if (run / MANIFEST).is_file() else None
    return manifest is not None and all(file.imported_from != origin for file in manifest.files)


def _describe(root: Path, slug: str, host: str) -> None:
    """Write the campaign's description, if there is none, and add it to the index."""
    path = campaign.spec_path(root, slug)
    if not path.exists():
        hint = "# Say what was measured, where and why: title, question, source, notes.\n"
        campaign.write_atomically(path, hint + yaml.safe_dump({"title": f"{slug}: logs from {host}"}))
    add_to_index(root, slug)
