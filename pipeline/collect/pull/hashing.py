"""SHA-256 of what is read and written, made in a thread beside it: hashing takes a third as long as a copy."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from types import TracebackType

_BEHIND = 2  # pieces that hashing may lag behind; pieces are up to 4 MiB


class Hashing:
    """Hashes one file after another; use it in ``with``."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._digest = hashlib.sha256()

    def __enter__(self) -> Hashing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._thread.shutdown(cancel_futures=True)

    def begin(self, file: FileIO | None = None) -> None:
        """Start anew, with the rest of a file if one is given."""
        self._drain()
        self._digest = hashlib.file_digest(file, "sha256") if file else hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """The next piece, which must not change any more."""
        if len(self._waiting) == _BEHIND:
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(self._digest.update, piece))

    def hexdigest(self) -> str:
        """The hash of all pieces since ``begin``."""
        self._drain()
        return self._digest.hexdigest()

    def _drain(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()


def sha256_of(path: Path) -> str:
    """A file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_all(file: FileIO, piece: bytes) -> None:
    """Write every byte to an unbuffered file, which may take fewer at a time."""
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]
