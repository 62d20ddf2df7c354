"""A channel's incoming data, handed on in the pieces it came in.

paramiko's own buffer copies each byte twice more, into memory that is fresh each time, and wakes its reader at each
packet: a file comes in a quarter slower.
"""

from __future__ import annotations

import time
from collections import deque

from paramiko.buffered_pipe import BufferedPipe, PipeTimeout

_ENOUGH_BYTES = 1 << 20  # that a reader who waits is woken for; must be less than the channel's window
_PATIENCE_S = 0.05  # after which it takes what there is


class Pieces(BufferedPipe):  # type: ignore[misc]  # paramiko has no types
    """A pipe of bytes objects; ``close`` is paramiko's own."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: deque[bytes] = deque()
        self._n_bytes = 0

    def __len__(self) -> int:
        """Bytes that wait."""
        return self._n_bytes

    def feed(self, data: bytes) -> None:
        """Take a packet's data."""
        with self._lock:
            self._pieces.append(data)
            self._n_bytes += len(data)
            if self._n_bytes >= _ENOUGH_BYTES:
                self._cv.notify_all()

    def read(self, nbytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002  # paramiko's signature
        """The next piece, whole, so ``nbytes`` must be at least a packet's; empty at the end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self._pieces and not self._closed:
                if deadline is not None and time.monotonic() >= deadline:
                    raise PipeTimeout
                self._cv.wait(_PATIENCE_S)
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            self._n_bytes -= len(piece)
            return piece
