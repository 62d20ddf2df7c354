"""Locks between processes on one machine: a file that one process holds; its end frees it, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import CollectError

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]


@contextmanager
def lock(path: Path, problem: str, *, is_waiting: bool = False) -> Iterator[None]:
    """Hold the lock file. Where another process has it: wait and say so, or CollectError with its process id."""
    if fcntl is None:
        raise CollectError("expected a system with file locks to run campaigns from (Linux, macOS, WSL), found Windows")
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(file, 100, 0).decode("ascii", "replace").strip() or "an unknown process"
            if not is_waiting:
                raise CollectError(f"{problem} ({holder}); wait until it has ended") from None
            print(f"{problem} ({holder}); waiting until it has ended", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(file)
