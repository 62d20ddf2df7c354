"""A connection to a host, through its jump hosts: run a script, stream a file. Fabric and paramiko, made strict.

* Every hop's key is checked against known_hosts before anything else is said to it.
* A connection that is silent for ``Limits.silence_s`` is broken off, however its packets got lost: while it is open the
  host is asked every ``probe_s`` whether it is there.
* What a broken connection would have said is never made up: it is an UnreachableError.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import fabric
import paramiko

from pipeline.collect.ssh import hops
from pipeline.collect.ssh.hops import BROKEN, Limits, Transport, connect
from pipeline.collect.ssh.pieces import Pieces
from pipeline.collect.ssh.routes import Route
from pipeline.errors import CollectError, UnreachableError, printable

STDOUT_BYTES, STDERR_BYTES = 16 << 20, 1 << 20
LINE_BYTES = 100_000  # below Linux' limit of an argument, 128 KiB
BLOCK_BYTES = 1 << 18  # in which files are read on the host; must be a power of two
_STREAM_WINDOW, _STREAM_PACKET, _READ_BYTES = 8 << 20, 1 << 18, 4 << 20
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]")
_STREAM = f'exec dd if="$1" bs={BLOCK_BYTES} skip="$2" count="$3"'


@dataclass(frozen=True)
class Result:
    """What a script wrote, and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_status: int


class Remote:
    """A host over SSH. Opened by ``open`` or its first use; ``close`` may come from another thread."""

    def __init__(self, route: Route, limits: Limits | None = None) -> None:
        self._route, self._limits = route, limits or hops.DEFAULT_LIMITS
        self.alias = route[-1].alias
        self._hops: list[fabric.Connection] = []
        self._transport: Transport | None = None
        self._problem: str | None = None
        self._is_over = threading.Event()  # of one connection; a new one gets its own
        self._is_closed = threading.Event()
        self._heard_at = 0.0

    def __enter__(self) -> Remote:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def open(self) -> None:
        """Connect, if it is not connected; UnreachableError, or CollectError where another try would not help."""
        if self._is_closed.is_set():
            raise UnreachableError(f"{self.alias}: the connection was closed here")
        if self._transport is not None and self._transport.is_active():
            return
        self._end()
        self._problem, self._is_over = None, threading.Event()
        for hop in self._route:
            self._hops.append(connect(hop, self._route, self._hops[-1] if self._hops else None, self._limits))
        self._transport = self._hops[-1].transport
        self._heard_at = time.monotonic()
        if self._is_closed.is_set():  # by another thread, meanwhile
            self._end()
            raise UnreachableError(f"{self.alias}: the connection was closed here")
        threading.Thread(target=self._watch, args=(self._transport, self._is_over), daemon=True).start()

    def close(self) -> None:
        """Close for good; whoever waits for the host gets an UnreachableError at once."""
        self._is_closed.set()
        self._end()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed for good, here."""
        return self._is_closed.is_set()

    def pause(self, seconds: float) -> None:
        """Wait; UnreachableError as soon as the connection is closed here."""
        if self._is_closed.wait(seconds):
            raise UnreachableError(f"{self.alias}: the connection was closed here")

    def run(
        self,
        script: str,
        *arguments: str,
        input: bytes | None = None,  # noqa: A002
        timeout_s: float = 60.0,
    ) -> Result:
        """Run a POSIX-sh script with arguments ``$1`` … and LC_ALL=C; ``input`` is its stdin (None: empty).

        CollectError where stdout exceeds ``STDOUT_BYTES``; of stderr the first ``STDERR_BYTES`` are kept.
        """
        line = shlex.join(["env", "LC_ALL=C", "sh", "-c", script, "sh", *arguments])
        return self.execute(f"exec {line}", input=input, timeout_s=timeout_s)

    def execute(self, line: str, *, input: bytes | None = None, timeout_s: float = 60.0) -> Result:  # noqa: A002
        """Run a line by the user's own shell on the host, whatever that is; see ``run``."""
        if len(line.encode()) > LINE_BYTES or "\0" in line:
            raise CollectError(f"{self.alias}: expected a command of at most {LINE_BYTES} bytes and without NUL")
        deadline = time.monotonic() + timeout_s
        with self._channel(line) as channel:
            stderr = bytearray()
            helpers = [threading.Thread(target=_drain, args=(channel, stderr), daemon=True)]
            helpers.append(threading.Thread(target=_feed, args=(channel, input or b""), daemon=True))
            for helper in helpers:
                helper.start()
            stdout = self._read(channel, deadline)
            for helper in helpers:
                helper.join(max(0.0, deadline - time.monotonic()))
            return Result(stdout, bytes(stderr), self._exit_status(channel, deadline))

    def stream(self, path: str, offset: int, n_bytes: int) -> Iterator[bytes]:
        """``n_bytes`` of a file from ``offset`` on, in pieces of a packet's size (by SFTP, of up to 4 MiB).

        CollectError where the file can't be read or is shorter; UnreachableError where the connection breaks.
        """
        if _WINDOWS_PATH.match(path):
            yield from self._stream_by_sftp(path, offset, n_bytes)
            return
        skip, surplus = divmod(offset, BLOCK_BYTES)
        count = -(-(surplus + n_bytes) // BLOCK_BYTES)
        line = shlex.join(["env", "LC_ALL=C", "sh", "-c", _STREAM, "sh", path, str(skip), str(count)])
        remaining = n_bytes
        with self._channel(f"exec {line}", Pieces()) as channel:
            channel.shutdown_write()
            while remaining and (piece := channel.recv(_STREAM_PACKET)):
                self._heard_at = time.monotonic()
                piece, surplus = piece[surplus:], max(0, surplus - len(piece))
                if piece:
                    yield piece[:remaining]
                    remaining -= min(remaining, len(piece))
            if remaining:
                status = self._exit_status(channel, time.monotonic() + self._limits.silence_s)
                said = channel.recv_stderr(1 << 12).decode("utf-8", "replace").splitlines() if status else []
                reason = printable(said[0]) if said else f"it ends {remaining} bytes too early"
                raise CollectError(f"{self.alias}: {path}: expected {n_bytes} bytes from {offset} on, found: {reason}")

    def _stream_by_sftp(self, path: str, offset: int, n_bytes: int) -> Iterator[bytes]:
        """The same of a host without dd."""
        self.open()
        assert self._transport is not None  # noqa: S101  # for mypy
        try:
            with (
                paramiko.SFTPClient.from_transport(self._transport) as sftp,
                sftp.open("/" + path.replace("\\", "/"), "rb") as file,
            ):
                file.seek(offset)
                file.prefetch(offset + n_bytes)
                while n_bytes and (piece := file.read(min(_READ_BYTES, n_bytes))):
                    self._heard_at = time.monotonic()
                    n_bytes -= len(piece)
                    yield piece
        except FileNotFoundError as error:
            raise CollectError(f"{self.alias}: {path}: expected an archive, found none") from error
        except BROKEN as error:
            raise self._lost(error) from error
        if n_bytes:
            raise CollectError(f"{self.alias}: {path}: it ends {n_bytes} bytes too early")

    def _read(self, channel: Any, deadline: float) -> bytes:
        stdout = bytearray()
        while True:
            channel.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                piece = channel.recv(_READ_BYTES)
            except TimeoutError:
                raise UnreachableError(f"{self.alias}: a command did not end in the time it was given") from None
            if not piece:
                return bytes(stdout)
            self._heard_at = time.monotonic()
            stdout += piece
            if len(stdout) > STDOUT_BYTES:
                raise CollectError(f"{self.alias}: expected at most {STDOUT_BYTES} bytes of output, found more")

    def _exit_status(self, channel: Any, deadline: float) -> int:
        if not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
            raise UnreachableError(f"{self.alias}: a command did not end in the time it was given")
        if channel.exit_status >= 0:
            return int(channel.exit_status)
        if self._transport is None or not self._transport.is_active():
            raise self._lost()
        raise CollectError(f"{self.alias}: a command was ended by a signal")

    @contextlib.contextmanager
    def _channel(self, line: str, pieces: Pieces | None = None) -> Iterator[Any]:
        """A channel that runs a line, to ``pieces`` if much comes; whatever breaks in it is an UnreachableError."""
        self.open()
        assert self._transport is not None  # noqa: S101  # for mypy
        channel = None
        try:
            sizes = (_STREAM_WINDOW, _STREAM_PACKET) if pieces is not None else ()
            channel = self._transport.open_session(*sizes, timeout=self._limits.connect_s)
            if pieces is not None:
                channel.in_buffer = pieces
            channel.exec_command(line)
            yield channel
        except BROKEN as error:
            raise self._lost(error) from error
        finally:
            if channel is not None:
                with contextlib.suppress(*BROKEN):
                    channel.close()

    def _lost(self, error: Exception | None = None) -> UnreachableError:
        reason = self._problem or (f"{error}" if error and str(error) else "it was closed at the other end")
        return UnreachableError(f"{self.alias}: the connection was lost: {reason}")

    def _end(self) -> None:
        self._is_over.set()
        while self._hops:
            connection = self._hops.pop()
            with contextlib.suppress(*BROKEN):
                connection.client.close()

    def _watch(self, transport: Transport, is_over: threading.Event) -> None:
        """Ask the host now and then whether it is there, and break the connection off when it stays silent."""
        asked_at, answer = time.monotonic(), None
        tick_s = min(1.0, self._limits.probe_s / 4)
        while not is_over.wait(tick_s) and transport.is_active():
            now = time.monotonic()
            if answer is not None and answer.is_set():
                self._heard_at, answer = now, None
            if now - self._heard_at > self._limits.silence_s:
                self._problem = f"the host was silent for {self._limits.silence_s:.0f} s"
                self._end()
            elif answer is None and now - asked_at > self._limits.probe_s:
                asked_at, answer = now, threading.Event()
                # In a thread of its own: to a host that takes nothing in, sending blocks.
                threading.Thread(target=transport.ask, args=(answer,), daemon=True).start()


def _drain(channel: Any, kept: bytearray) -> None:
    """Read stderr, so that it never blocks the command."""
    with contextlib.suppress(*BROKEN):
        while piece := channel.recv_stderr(1 << 16):
            kept += piece[: max(0, STDERR_BYTES - len(kept))]


def _feed(channel: Any, data: bytes) -> None:
    """Write stdin, and its end; a command need not read it all."""
    with contextlib.suppress(*BROKEN):
        view = memoryview(data)
        while view:
            view = view[channel.send(view[: 1 << 16]) :]
        channel.shutdown_write()
