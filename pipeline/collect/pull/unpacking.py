"""Unpack a run's archive, tar + zstd (of Windows tar + gzip), into a new folder; nothing in it is trusted.

Only regular files and folders below the folder of the run's name; no links, no devices, no ``..``; names that can be
printed; no more bytes than the free disk takes. What is read of a header is bounded too.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, NoReturn

import zstandard

from pipeline.campaign import MANIFEST, Manifest, RawFile, sync_folder
from pipeline.collect.pull.writing import BUFFER_BYTES, Writer
from pipeline.errors import CollectError
from pipeline.ledger import Entry

DESCRIPTION = "command.json"
ENVIRONMENT = "environment-*.txt"
MAX_FILES, MAX_DEPTH, MAX_NAME_BYTES = 100_000, 8, 255
DISK_MARGIN_BYTES = 64 << 20
_MAX_HEADER_BYTES, _MAX_DESCRIPTION_BYTES = 1 << 16, 1 << 22
_GZIP = b"\x1f\x8b"
_WINDOW_BYTES = 1 << 27  # zstd's own default limit; less memory than `--long=31` may ask for
_PIECE_BYTES = 1 << 16  # larger ones get fresh memory from the kernel each time, which costs more than the copying
_HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAMED_LOGS = ("logs", "job_files")  # in command.json: names or patterns of files that readers know
_UNREADABLE = (
    tarfile.TarError, zstandard.ZstdError, EOFError, ValueError, RecursionError, MemoryError,
    FileExistsError, NotADirectoryError, FileNotFoundError, IsADirectoryError,
)  # fmt: skip
_MEMBERS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)


class DamagedError(CollectError):
    """An archive that is not what its host packed, or not what an honest host packs."""


class NoSpaceError(CollectError):
    """The local disk is full."""


def unpack(archive: Path, entry: Entry, campaign: str, into: Path) -> None:
    """Unpack into the new folder ``into``, with a manifest; DamagedError or NoSpaceError, and nothing is left."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    try:
        with no_space_named(into, entry.run_id):
            files = list(_extract(archive, entry.run_id, into))
            _manifest(entry, campaign, files, _description(into, entry, campaign)).save(into)
            sync(into)
    except BaseException:
        shutil.rmtree(into, ignore_errors=True)
        raise


@contextmanager
def no_space_named(folder: Path, run_id: str) -> Iterator[None]:
    """A full disk is a NoSpaceError that says where, and for which run."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise NoSpaceError(f"{run_id}: {folder}: the disk is full ({error.strerror}); make room, then go on") from error


def _extract(archive: Path, run_id: str, into: Path) -> Iterator[RawFile]:
    remaining = shutil.disk_usage(into).free - DISK_MARGIN_BYTES
    try:
        with archive.open("rb") as packed, _opened(packed) as tar, Writer() as writer:
            for number, member in enumerate(tar, 1):
                path = into.joinpath(*_parts(member.name, run_id))
                remaining -= member.size
                if number > MAX_FILES:
                    raise DamagedError(f"expected at most {MAX_FILES} files, found more")
                if remaining < 0:
                    raise NoSpaceError(f"{run_id}: {into} takes more than the disk has free; make room, then go on")
                if member.isdir():
                    path.mkdir(exist_ok=path == into)
                else:
                    yield _write(tar, member, path, into, writer)
    except DamagedError as error:
        raise DamagedError(f"{run_id}: {archive}: {error}; it is not unpacked") from error
    except _UNREADABLE as error:
        raise DamagedError(f"{run_id}: {archive}: expected a tar archive in zstd or gzip, found: {error}") from error


@contextmanager
def _opened(packed: IO[bytes]) -> Iterator[tarfile.TarFile]:
    is_gzip = packed.read(len(_GZIP)) == _GZIP
    packed.seek(0)
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    with (
        gzip.open(packed)
        if is_gzip
        else decompressor.stream_reader(packed, read_size=_PIECE_BYTES, read_across_frames=True) as plain,
        tarfile.open(fileobj=plain, mode="r|", tarinfo=_Member, bufsize=_PIECE_BYTES) as tar,
    ):
        yield tar


class _Member(tarfile.TarInfo):
    """A member of one of the few kinds that a run's archive has; the others are refused before they are read."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type not in (*_HEADERS, *_MEMBERS):
            raise DamagedError(f"expected files and folders alone, found {self.name!r} of type {self.type!r}"[:300])
        if self.size < 0 or (self.type in _HEADERS and self.size > _MAX_HEADER_BYTES):
            raise DamagedError(f"expected headers of at most {_MAX_HEADER_BYTES} bytes, found {self.size}")
        return super()._proc_member(archive)  # type: ignore[misc]  # typeshed does not know it

    def _refuse(self, *_: object) -> NoReturn:
        raise DamagedError("expected whole files, found one with holes")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse


def _parts(name: str, run_id: str) -> list[str]:
    """The path below the run's folder; DamagedError for a name that leads elsewhere or can't be shown."""
    top, *parts = name.rstrip("/").split("/")
    if top != run_id or len(parts) > MAX_DEPTH:
        raise DamagedError(f"expected paths below {run_id}/, found {name!r}"[:500])
    for part in parts:
        is_odd = part in ("", ".", "..") or not part.isprintable() or "\\" in part
        if is_odd or len(part.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES:
            raise DamagedError(f"expected names of files, found {name!r}"[:500])
    if parts == [MANIFEST]:
        raise DamagedError(f"expected no {MANIFEST}, which is made here, found one")
    return parts


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path, into: Path, writer: Writer) -> RawFile:
    content = tar.extractfile(member)
    if content is None or path == into:
        raise DamagedError(f"expected a file in the run's folder, found {member.name!r}")
    with path.open("xb", BUFFER_BYTES) as file:
        writer.begin(file)
        while piece := content.read(_PIECE_BYTES):
            writer.add(piece)
        digest = writer.end()
    return RawFile(path.relative_to(into).as_posix(), member.size, digest)


def _description(folder: Path, entry: Entry, campaign: str) -> dict[str, Any]:
    """What the run's command.json says, which must be of this run."""
    path = folder / DESCRIPTION
    try:
        if path.stat().st_size > _MAX_DESCRIPTION_BYTES:
            raise ValueError("a file too large")
        content = json.loads(path.read_bytes())
        found = content["run_id"], content["campaign"], content["host"]
        names = [name for key in _NAMED_LOGS for name in content.get(key, [])]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"{entry.run_id}: expected {DESCRIPTION} of the run in its archive: {error!r}") from error
    if found != (entry.run_id, campaign, entry.host) or not all(isinstance(name, str) for name in names):
        raise DamagedError(f"{entry.run_id}: expected {DESCRIPTION} of {campaign}, found one of {found}"[:500])
    return {"logs": names}


def _manifest(entry: Entry, campaign: str, files: list[RawFile], description: dict[str, Any]) -> Manifest:
    patterns = (*description["logs"], ENVIRONMENT)
    return Manifest(
        run_id=entry.run_id,
        campaign=campaign,
        host=entry.host,
        tool=entry.tool,
        point=entry.point,
        repeat=entry.repeat,
        command=entry.command,
        started_at=entry.started_at,
        exit_status=entry.exit_status,
        files=tuple(
            replace(file, is_log=any(fnmatchcase(file.path, pattern) for pattern in patterns))
            for file in sorted(files, key=lambda file: file.path)
        ),
        attempt=entry.attempt,
        state=entry.state,
        stopped_at=entry.stopped_at,
    )


def sync(folder: Path) -> None:
    """Let the manifest and the names in a new folder survive a power cut; its other files are synced as written."""
    with (folder / MANIFEST).open("rb") as file:
        os.fsync(file.fileno())
    for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync_folder(path)
