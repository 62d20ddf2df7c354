"""Host keys, strictly: what known_hosts trusts is let in, everything else is refused with what to do about it.

Grammar: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT": ``[@marker] names type base64 [comment]``; names are patterns with
``*``, ``?`` and ``!``, or one hashed name ``|1|salt|HMAC-SHA1``; a port other than 22 stands as ``[host]:port``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import paramiko

from pipeline.errors import CollectError

_KRL_MAGIC = b"SSHKRL\n\0"
_RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256")


@dataclass(frozen=True)
class HostKey:
    """A public key, and the line that names it."""

    kind: str  # ssh-ed25519, ssh-rsa …
    blob: bytes
    where: str  # path:line

    @property
    def fingerprint(self) -> str:
        """As ``ssh-keygen -l`` shows it."""
        return f"{self.kind} {fingerprint(self.blob)}"


@dataclass(frozen=True)
class KnownHost:
    """What the known_hosts files say of one host."""

    name: str  # as known_hosts has it: a name, or [name]:port
    files: tuple[Path, ...]
    keys: tuple[HostKey, ...] = ()
    revoked: dict[bytes, str] = field(default_factory=dict)  # key → path:line
    has_authority: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Signature algorithms to ask for first, so that the host shows a key that is known."""
        kinds = dict.fromkeys(key.kind for key in self.keys)
        return tuple(name for kind in kinds for name in (_RSA_SIGNATURES if kind == "ssh-rsa" else (kind,)))


def known_name(hostname: str, port: int) -> str:
    """The name under which known_hosts lists a host."""
    return hostname.lower() if port == 22 else f"[{hostname.lower()}]:{port}"


def fingerprint(blob: bytes) -> str:
    """``SHA256:…`` of a public key."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def load(name: str, files: Iterable[Path], revoked_file: Path | None = None) -> KnownHost:
    """What the files say of a host; files that are not there say nothing."""
    files = tuple(files)
    keys: list[HostKey] = []
    revoked = _revoked_keys(revoked_file) if revoked_file else {}
    has_authority = False
    for file in files:
        for where, line in _lines(file):
            marker, _, rest = line.partition(" ") if line.startswith("@") else ("", "", line)
            names, _, rest = rest.strip().partition(" ")
            if not _names_host(names, name):
                continue
            key = _key(rest, where)
            if key is None:
                continue
            if marker == "@revoked":
                revoked[key.blob] = where
            elif marker == "@cert-authority":
                has_authority = True
            elif not marker:
                keys.append(key)
    trusted = tuple(key for key in keys if key.blob not in revoked)
    return KnownHost(name, files, trusted, revoked, has_authority)


class Strict(paramiko.RejectPolicy):  # type: ignore[misc]  # paramiko has no types
    """Let in what known_hosts trusts. Its client must know no keys by itself, so that every key comes here."""

    def __init__(self, alias: str, known: KnownHost, by_hand: str) -> None:
        self._alias, self._known, self._by_hand = alias, known, by_hand

    def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:  # noqa: ARG002
        """Return if the key is trusted; CollectError that says what to do otherwise."""
        check(self._alias, self._known, HostKey(key.get_name(), key.asbytes(), "offered"), self._by_hand)


def check(alias: str, known: KnownHost, offered: HostKey, by_hand: str) -> None:
    """CollectError unless the offered key is one that is known; ``by_hand`` is ssh's command line to it."""
    if offered.blob in known.revoked:
        raise CollectError(
            f"{alias}: {known.name} shows the key {offered.fingerprint}, which is revoked "
            f"({known.revoked[offered.blob]}); nothing was sent to it. Ask who runs the host for its new key"
        )
    if any(key.blob == offered.blob for key in known.keys):
        return
    if known.keys:
        raise CollectError(_changed(alias, known, offered))
    raise CollectError(_unknown(alias, known, offered, by_hand))


def _changed(alias: str, known: KnownHost, offered: HostKey) -> str:
    expected = ", ".join(f"{key.fingerprint} ({key.where})" for key in known.keys)
    file = known.keys[0].where.rpartition(":")[0]
    return (
        f"{alias}: the host key of {known.name} has CHANGED: expected {expected}, found {offered.fingerprint}; nothing "
        "was sent to it. Either the host was installed anew or somebody is in between: ask who runs it to compare the "
        "fingerprint. Nothing is removed for you; once you are sure: "
        f"ssh-keygen -R '{known.name}' -f '{file}', then add the new key as for a new host"
    )


def _unknown(alias: str, known: KnownHost, offered: HostKey, by_hand: str) -> str:
    files = ", ".join(map(str, known.files)) or "any known_hosts file"
    authority = " (a @cert-authority line does; certificates of hosts are not read here)" if known.has_authority else ""
    return (
        f"{alias}: the host key of {known.name} is not known: it shows {offered.fingerprint}, and no line of {files} "
        f"names the host{authority}. Compare the fingerprint with the host's own (there: ssh-keygen -lf "
        f"/etc/ssh/ssh_host_*_key.pub), then accept it once by hand: {by_hand}"
    )


def _lines(file: Path) -> list[tuple[str, str]]:
    try:
        text = file.read_text("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise CollectError(f"{file}: expected a readable file of known hosts, found: {error.strerror}") from error
    lines = ((number, line.strip().replace("\t", " ")) for number, line in enumerate(text.splitlines(), 1))
    return [(f"{file}:{number}", line) for number, line in lines if line and not line.startswith("#")]


def _key(text: str, where: str) -> HostKey | None:
    """A key from ``type base64 …``; None where it is none, as ssh skips it too."""
    kind, _, rest = text.strip().partition(" ")
    try:
        blob = base64.b64decode(rest.split()[0], validate=True)
    except (IndexError, binascii.Error, ValueError):
        return None
    length = int.from_bytes(blob[:4], "big")
    return HostKey(kind, blob, where) if blob[4 : 4 + length] == kind.encode("utf-8", "replace") else None


def _names_host(names: str, name: str) -> bool:
    """Whether a line's first field names the host; a pattern with ``!`` that matches rules it out."""
    is_named = False
    for pattern in names.split(","):
        if pattern.startswith("|1|"):
            is_named = is_named or _is_hash_of(pattern, name)
        elif pattern.startswith("!"):
            if _matches(name, pattern[1:]):
                return False
        else:
            is_named = is_named or _matches(name, pattern)
    return is_named


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern.lower().replace("[", "[[]"))  # ssh knows no character classes


def _is_hash_of(hashed: str, name: str) -> bool:
    try:
        salt, expected = (base64.b64decode(part, validate=True) for part in hashed[3:].split("|"))
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.digest(salt, name.encode(), "sha1"), expected)


def _revoked_keys(file: Path) -> dict[bytes, str]:
    """The keys that RevokedHostKeys names, a public key a line; without the list no key may be trusted."""
    try:
        if file.read_bytes().startswith(_KRL_MAGIC):
            raise CollectError(f"{file}: RevokedHostKeys: expected public keys, a line each; found a binary list (KRL)")
    except OSError as error:
        raise CollectError(f"{file}: RevokedHostKeys: expected a readable file, found: {error.strerror}") from error
    keys = (_key(line, where) for where, line in _lines(file))
    return {key.blob: key.where for key in keys if key}
