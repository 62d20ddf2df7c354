"""Who we are to a host: keys of the agent and key files, as ssh tries them. Nothing is ever asked of the person.

A key file with a passphrase is used through the agent (``ssh-add``); passwords are not used at all.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from paramiko.agent import AgentSSH
from paramiko.auth_strategy import AuthStrategy, InMemoryPrivateKey

from pipeline.collect.ssh.routes import Hop

_AGENT_S = 10.0


class Keys(AuthStrategy):  # type: ignore[misc]  # paramiko has no types
    """The keys for a hop: the agent's that the configuration names, then key files, then the agent's others."""

    def __init__(self, hop: Hop) -> None:
        super().__init__(ssh_config=None)
        self._hop = hop
        self.locked: list[Path] = []
        self.n_tried = 0

    def get_sources(self) -> Iterator[Any]:
        """The keys in their order."""
        with _agent_keys(self._hop.agent) as held:
            public = {_public_key(path): path for path in self._hop.identity_files}
            named = [key for key in held if key.asbytes() in public]
            yield from map(self._source, named)
            done = {public[key.asbytes()] for key in named}
            for path in self._hop.identity_files:
                key = self._load(path) if path not in done else None
                if key is not None:
                    yield self._source(key)
            if not self._hop.is_identities_only:
                yield from (self._source(key) for key in held if key.asbytes() not in public)

    @property
    def advice(self) -> str:
        """What to do when no key was taken."""
        if self.locked:
            files = ", ".join(map(str, self.locked))
            return f"the key {files} has a passphrase: run `ssh-add {self.locked[0]}` first"
        if not self.n_tried:
            return "there is no key to try: name one with IdentityFile in ssh_config, or load one with ssh-add"
        tried = f"{self.n_tried} keys were tried"
        return f"{tried}; is the public key in the host's ~/.ssh/authorized_keys? Try: {self._hop.by_hand}"

    def _source(self, key: Any) -> InMemoryPrivateKey:
        self.n_tried += 1
        return InMemoryPrivateKey(self._hop.user, key)

    def _load(self, path: Path) -> Any | None:
        if not path.is_file():
            return None
        try:
            key = paramiko.PKey.from_path(path)
            certificate = path.with_name(f"{path.name}-cert.pub")
            if certificate.is_file():
                key.load_certificate(str(certificate))
        except (paramiko.PasswordRequiredException, TypeError):  # cryptography's word for a missing passphrase
            self.locked.append(path)
            return None
        except (paramiko.SSHException, OSError, ValueError):
            return None  # of a kind that paramiko does not know, such as one on a security token
        return key


def _public_key(path: Path) -> bytes:
    """The public half of a key file from ``<path>.pub``; empty where there is none."""
    try:
        return base64.b64decode(path.with_name(f"{path.name}.pub").read_text("utf-8").split()[1])
    except (OSError, UnicodeDecodeError, IndexError, binascii.Error):
        return b""


@contextlib.contextmanager
def _agent_keys(path: str | None) -> Iterator[tuple[Any, ...]]:
    """The keys that an agent holds; none where there is no agent."""
    if not path:
        yield ()
        return
    agent = AgentSSH()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_AGENT_S)
        try:
            connection.connect(path)
            agent._connect(connection)
            keys = agent.get_keys()
        except (OSError, paramiko.SSHException):
            keys = ()
        yield keys
