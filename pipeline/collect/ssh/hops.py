"""One hop of the way to a host: a connection by Fabric and paramiko, made strict, and never waited for without end."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from dataclasses import dataclass
from typing import Any

import fabric
import paramiko
from paramiko.auth_strategy import AuthFailure
from paramiko.common import cMSG_GLOBAL_REQUEST

from pipeline.collect.ssh.hostkeys import Strict
from pipeline.collect.ssh.identities import Keys
from pipeline.collect.ssh.routes import Hop, Route
from pipeline.errors import CollectError, UnreachableError

BROKEN = (paramiko.SSHException, EOFError, OSError)  # what paramiko raises where a connection breaks
FAST_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
_HELD_BYTES = 1 << 18  # of a socket's data, read ahead

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # else it prints tracebacks of dropped connections


@dataclass(frozen=True)
class Limits:
    """How long to wait for a host, in seconds."""

    connect_s: float = 20.0  # for each of: TCP, its greeting, keys, a channel, through each hop
    silence_s: float = 45.0
    probe_s: float = 15.0


DEFAULT_LIMITS = Limits()


class Transport(paramiko.Transport):  # type: ignore[misc]  # paramiko has no types
    """Prefers ciphers that processors do by themselves, and knows how to ask the other end for a sign of life."""

    _preferred_ciphers = tuple(dict.fromkeys((*FAST_CIPHERS, *paramiko.Transport._preferred_ciphers)))

    def ask(self, answer: threading.Event) -> None:
        """Ask; ``answer`` is set when anything is answered, a refusal too."""
        message = paramiko.Message()
        message.add_byte(cMSG_GLOBAL_REQUEST)
        message.add_string("keepalive@openssh.com")
        message.add_boolean(True)
        self.completion_event = answer
        with contextlib.suppress(*BROKEN):
            self._send_user_message(message)


class _Buffered:
    """A socket that is read in large pieces: paramiko asks for a packet's head and its rest by themselves.

    Each asking is a system call during which other threads take over the interpreter: with fewer of them a file comes
    in a quarter faster.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._held = memoryview(bytearray(_HELD_BYTES))
        self._start = self._end = 0

    def recv(self, n_bytes: int) -> bytes:
        """Up to ``n_bytes``, as the socket's own; empty at the end."""
        if self._start == self._end:
            self._start, self._end = 0, self._socket.recv_into(self._held)
        piece = bytes(self._held[self._start : min(self._end, self._start + n_bytes)])
        self._start += len(piece)
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def connect(hop: Hop, route: Route, gateway: fabric.Connection | None, limits: Limits) -> fabric.Connection:
    """Connect to a hop through the one before it."""
    keys = Keys(hop)
    connection = fabric.Connection(
        hop.hostname,
        user=hop.user,
        port=hop.port,
        # Neither fabric.yaml nor ssh_config is read by Fabric: ssh itself was asked. False: no gateway.
        config=fabric.Config(lazy=True, ssh_config=paramiko.SSHConfig()),
        gateway=gateway or False,
        forward_agent=False,
        connect_timeout=max(1, round(limits.connect_s)),
        connect_kwargs={
            "auth_strategy": keys,
            "transport_factory": _factory(hop),
            "banner_timeout": limits.connect_s,
            "auth_timeout": limits.connect_s,
            "channel_timeout": limits.connect_s,
        },
    )
    connection.client.set_missing_host_key_policy(Strict(hop.alias, hop.known, hop.by_hand))
    name = str(hop) if hop is route[-1] else f"{route[-1].alias}: its jump host {hop}"
    try:
        connection.open()
    except BaseException as error:
        with contextlib.suppress(*BROKEN):
            connection.client.close()
        if isinstance(error, AuthFailure) and _is_refusal(error):
            raise CollectError(f"{name}: no key was accepted: {keys.advice}") from error
        if isinstance(error, BROKEN):
            reason = str(error).strip() or type(error).__name__
            raise UnreachableError(f"{name}: no connection: {reason}") from error
        raise
    return connection


def _is_refusal(error: AuthFailure) -> bool:
    """Whether the host said no, or there was nothing to offer; else the connection broke in the middle of it."""
    reasons = [result for _, result in error.result]
    refused = "Authentication failed."
    return not reasons or any(isinstance(e, paramiko.BadAuthenticationType) or str(e) == refused for e in reasons)


def _factory(hop: Hop) -> Any:
    def make(sock: Any, **options: Any) -> Transport:
        if isinstance(sock, socket.socket):  # else each small message of a command waits for the last one's answer
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock = _Buffered(sock)
        transport = Transport(sock, **options)
        security = transport.get_security_options()
        known = [kind for kind in hop.known.kinds if kind in security.key_types]
        security.key_types = [*known, *(kind for kind in security.key_types if kind not in known)]
        return transport

    return make
