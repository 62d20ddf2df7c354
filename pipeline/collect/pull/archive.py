"""``data/archive/<sha256>.tar.zst`` (of Windows ``.tar.gz``): archives as they came, fetched once.

None is used unless its hash fits. ``.<sha256>.part`` is one on its way; ``<sha256>.damaged-<n>`` is one whose bytes
were others than the ledger says.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pipeline.campaign import sync_folder
from pipeline.collect.pull.unpacking import DISK_MARGIN_BYTES, DamagedError, NoSpaceError, no_space_named
from pipeline.collect.pull.writing import BUFFER_BYTES, Writer, hash_of, sha256_of
from pipeline.collect.ssh.connection import Remote
from pipeline.ledger import Entry

SUFFIX, WINDOWS_SUFFIX = ".tar.zst", ".tar.gz"


class Archive:
    """The folder of archives; ``tell`` hears of what was noticed."""

    def __init__(self, root: Path, tell: Callable[[str], None]) -> None:
        self.folder, self._tell = root / "data" / "archive", tell

    def find(self, entry: Entry) -> Path | None:
        """An entry's archive, if it is here and whole; a damaged one is kept aside and told of."""
        path = self._path(entry)
        if not path.exists():
            return None
        if path.stat().st_size == entry.n_bytes and sha256_of(path) == entry.sha256:
            return path
        aside = self._keep_aside(path, entry)
        self._tell(f"{entry.run_id}: {path} was damaged; it is kept as {aside.name} and fetched anew")
        return None

    def fetch(self, entry: Entry, remote: Remote, count: Callable[[int], None]) -> Path:
        """Bring an entry's archive in from its host, going on where an earlier try ended; ``count`` hears of bytes.

        UnreachableError: what came is kept for the next try. DamagedError: the host's archive is another one.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{entry.sha256}.part"
        n_here = part.stat().st_size if part.exists() else 0
        if n_here > entry.n_bytes:
            part.unlink()
            n_here = 0
        while self._bring(entry, remote, part, n_here, count) != entry.sha256:
            if not n_here:
                break
            part.unlink()  # perhaps only what an earlier try left was wrong: once more, from the start
            n_here = 0
        else:
            part.replace(self._path(entry))
            sync_folder(self.folder)
            return self._path(entry)
        aside = self._keep_aside(part, entry)
        raise DamagedError(
            f"{entry.run_id}: {entry.archive} on {remote.alias} is damaged: expected sha256 {entry.sha256}, "
            f"found another; it is kept as {aside} and not used"
        )

    def _path(self, entry: Entry) -> Path:
        suffix = WINDOWS_SUFFIX if entry.archive.endswith(WINDOWS_SUFFIX) else SUFFIX
        return self.folder / f"{entry.sha256}{suffix}"

    def _bring(self, entry: Entry, remote: Remote, part: Path, n_here: int, count: Callable[[int], None]) -> str:
        """Add what is missing to the part; the hash of it all, which is made beside the transfer."""
        needed = entry.n_bytes - n_here
        if needed > shutil.disk_usage(self.folder).free - DISK_MARGIN_BYTES:
            raise NoSpaceError(
                f"{entry.run_id}: {self.folder}: {needed} bytes are more than the disk has free; make room"
            )
        with no_space_named(self.folder, entry.run_id), part.open("ab", BUFFER_BYTES) as file, Writer() as writer:
            writer.begin(file, hash_of(part))
            for piece in remote.stream(entry.archive, n_here, needed) if needed else ():
                writer.add(piece)
                count(len(piece))
            return writer.end()

    def _keep_aside(self, path: Path, entry: Entry) -> Path:
        """Rename what is damaged; the same damage is kept once."""
        digest, number = sha256_of(path), 1
        while (aside := self.folder / f"{entry.sha256}.damaged-{number}").exists():
            if sha256_of(aside) == digest:
                path.unlink()
                return aside
            number += 1
        path.replace(aside)
        sync_folder(self.folder)
        return aside
