"""Files written, hashed and synced to the disk side by side; each of the three takes a third as long as a copy."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

BUFFER_BYTES = 1 << 18  # of files that are written
_BATCH_BYTES = 1 << 20  # handing a piece over to the hashing thread costs as much as hashing 50 kB
_BEHIND = 2  # batches that hashing may lag behind
_SYNC_BYTES = 1 << 25  # after which the disk begins to take in what is there, rather than all of it at the end


class Writer:
    """Writes one file after another, each to its last byte on the disk; use it in ``with``."""

    def __init__(self) -> None:
        self._hashing, self._syncing = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._synced: Future[None] | None = None
        self._batch: list[bytes] = []
        self._n_batched = self._n_unsynced = 0

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for pool in (self._hashing, self._syncing):
            pool.shutdown(cancel_futures=True)

    def begin(self, file: BinaryIO, digest: hashlib._Hash | None = None) -> None:
        """Start with a file; ``digest`` has what is in it already."""
        self._file, self._digest = file, digest or hashlib.sha256()
        self._n_unsynced = 0

    def add(self, piece: bytes) -> None:
        """Write the next piece."""
        self._file.write(piece)
        self._batch.append(piece)
        self._n_batched += len(piece)
        if self._n_batched >= _BATCH_BYTES:
            self._hand_over()

    def end(self) -> str:
        """All is on the disk; the file's SHA-256 in hexadecimal."""
        self._hand_over()
        self._file.flush()
        self._await_sync()
        os.fsync(self._file.fileno())
        while self._waiting:
            self._waiting.popleft().result()
        return self._digest.hexdigest()

    def _hand_over(self) -> None:
        if len(self._waiting) == _BEHIND:
            self._waiting.popleft().result()
        self._waiting.append(self._hashing.submit(_update, self._digest, self._batch))
        self._n_unsynced += self._n_batched
        self._batch, self._n_batched = [], 0
        if self._n_unsynced >= _SYNC_BYTES and (self._synced is None or self._synced.done()):
            self._await_sync()
            self._synced = self._syncing.submit(os.fsync, self._file.fileno())
            self._n_unsynced = 0

    def _await_sync(self) -> None:
        """Raise what a sync met: the kernel tells of a failed write once."""
        if self._synced:
            self._synced.result()
            self._synced = None


def _update(digest: hashlib._Hash, pieces: list[bytes]) -> None:
    for piece in pieces:
        digest.update(piece)


def hash_of(path: Path) -> hashlib._Hash:
    """SHA-256 of what is in a file so far."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256")


def sha256_of(path: Path) -> str:
    """A file's SHA-256 in hexadecimal."""
    return hash_of(path).hexdigest()
