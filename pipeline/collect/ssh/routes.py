"""The way to a host: what ssh itself makes of an alias (``ssh -G``), jump host by jump host.

Asking ssh means that ``Include``, ``Match``, tokens and defaults are exactly those of ``ssh ALIAS`` by hand. The
environment variable ``PIPELINE_SSH_CONFIG`` names another configuration than ``~/.ssh/config``.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pipeline.collect.ssh import hostkeys
from pipeline.collect.ssh.hostkeys import KnownHost
from pipeline.errors import CollectError

CONFIG_VARIABLE = "PIPELINE_SSH_CONFIG"
_ALIAS = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,63}@)?[A-Za-z0-9_][A-Za-z0-9._:-]{0,254}")
_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@\s]+)@)?(?:\[(?P<v6>[0-9A-Fa-f:]+)\]|(?P<host>[^:@\s\[\]]+))(?::(?P<port>\d+))?/?"
)
_MAX_HOPS = 8
_ASK_S = 30.0
_NONE = ("", "none")


@dataclass(frozen=True)
class Hop:
    """A host on the way, as ssh would go to it."""

    alias: str
    hostname: str
    port: int
    user: str
    identity_files: tuple[Path, ...]
    is_identities_only: bool
    agent: str | None  # the agent's socket
    known: KnownHost
    by_hand: str  # the command that goes there

    def __str__(self) -> str:
        return f"{self.alias} ({self.user}@{self.hostname}:{self.port})"


Route = tuple[Hop, ...]  # the outermost jump host first, the host itself last


def check_alias(alias: str) -> str:
    """An alias that is safe to hand to ssh: ``[user@]host``; CollectError otherwise."""
    if not isinstance(alias, str) or not _ALIAS.fullmatch(alias):
        raise CollectError(f"ssh: expected an alias as in ssh_config, or user@host, found {alias!r}")
    return alias


def config_file() -> Path | None:
    """The ssh_config that PIPELINE_SSH_CONFIG names (None: ssh's own)."""
    name = os.environ.get(CONFIG_VARIABLE)
    if not name:
        return None
    if not Path(name).is_file():
        raise CollectError(f"{CONFIG_VARIABLE}: expected an ssh_config file, found none at {name}")
    return Path(name).absolute()


def route(alias: str) -> Route:
    """The hops to a host; CollectError where ssh's configuration can't be followed."""
    return _route(check_alias(alias), None, None, None)


def _route(alias: str, user: str | None, port: str | None, jumps: str | None, depth: int = 0) -> Route:
    """``jumps`` (None: as configured) are the hops before this one, as ``ssh -J`` takes them."""
    if depth > _MAX_HOPS:
        raise CollectError(f"{alias}: ProxyJump: more than {_MAX_HOPS} hops; do jump hosts lead in a circle?")
    settings = _ask(alias, user, port)
    hop = _hop(alias, settings)
    if jumps is None:
        jumps = _one(settings, "proxyjump")
        command = _one(settings, "proxycommand")
        if jumps.lower() in _NONE and command.lower() not in _NONE:
            raise CollectError(
                f"{alias}: ProxyCommand is not run here, found {command!r}; "
                "name the jump host with ProxyJump in ssh_config"
            )
    if jumps.lower() in _NONE:
        return (hop,)
    before, _, last = jumps.rpartition(",")
    match = _HOP.fullmatch(last.strip())
    if not match or last.strip().startswith("-"):
        raise CollectError(f"{alias}: ProxyJump: expected [user@]host[:port], found {last!r}")
    name = match["v6"] or match["host"]
    # As ssh does: the hop next to the host is reached through those named before it, else by its own configuration.
    return (*_route(name, match["user"], match["port"], before or None, depth + 1), hop)


def _ask(alias: str, user: str | None, port: str | None) -> dict[str, list[str]]:
    """What ``ssh -G`` says of an alias: values by keyword in lower case."""
    options = [*(("-l", user) if user else ()), *(("-p", port) if port else ())]
    command = ["ssh", *_config_option(), *options, "-G", "--", alias]
    try:
        answer = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        )
    except FileNotFoundError:
        raise CollectError(
            "ssh: not installed here; on Debian and Ubuntu: sudo apt-get install openssh-client"
        ) from None
    except subprocess.TimeoutExpired:
        raise CollectError(f"{alias}: `{shlex.join(command)}` gave no answer within {_ASK_S:.0f} s") from None
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip()
        raise CollectError(f"{alias}: expected an ssh_config that ssh can read, it says: {said}")
    settings: dict[str, list[str]] = {}
    for line in answer.stdout.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key.lower(), []).append(value.strip())
    return settings


def _hop(alias: str, settings: dict[str, list[str]]) -> Hop:
    hostname, user = _one(settings, "hostname") or alias, _one(settings, "user") or getpass.getuser()
    port = int(_one(settings, "port") or 22)
    tokens = {"h": hostname, "n": alias, "p": str(port), "r": user, "u": getpass.getuser(), "d": str(Path.home())}
    tokens |= {"L": socket.gethostname().partition(".")[0], "l": socket.gethostname(), "%": "%"}
    files = [path for key in ("userknownhostsfile", "globalknownhostsfile") for path in _paths(_one(settings, key))]
    revoked = _one(settings, "revokedhostkeys")
    name = _one(settings, "hostkeyalias")
    known = hostkeys.load(
        name.lower() if name.lower() not in _NONE else hostkeys.known_name(hostname, port),
        [path for path in files if path != Path(os.devnull)],
        _path(revoked, tokens) if revoked.lower() not in _NONE else None,
    )
    identities = [file for file in settings.get("identityfile", []) if file.lower() not in _NONE]
    command = shlex.join(["ssh", *_config_option(), "-p", str(port), "-l", user, "--", alias, "true"])
    return Hop(
        alias=alias,
        hostname=hostname,
        port=port,
        user=user,
        identity_files=tuple(_path(file, tokens) for file in identities),
        is_identities_only=_one(settings, "identitiesonly") == "yes",
        agent=_agent(_one(settings, "identityagent"), tokens),
        known=known,
        by_hand=command,
    )


def _config_option() -> tuple[str, ...]:
    file = config_file()
    return ("-F", str(file)) if file else ()


def _one(settings: dict[str, list[str]], key: str) -> str:
    return settings.get(key, [""])[0]


def _paths(text: str) -> list[Path]:
    """Paths with blanks between them; ssh doesn't quote one that holds a blank, so a file that exists wins."""
    words, paths = text.split(), []
    while words:
        n_words = next((n for n in range(len(words), 1, -1) if Path(" ".join(words[:n])).exists()), 1)
        paths.append(_path(" ".join(words[:n_words]), {}))
        words = words[n_words:]
    return paths


def _path(text: str, tokens: dict[str, str]) -> Path:
    text = text.removeprefix('"').removesuffix('"')
    text = re.sub(r"\$\{(\w+)\}", lambda match: os.environ.get(match[1], ""), text)
    text = re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)
    return Path(text).expanduser()


def _agent(text: str, tokens: dict[str, str]) -> str | None:
    """The socket of the agent to ask; None for none."""
    if text.lower() == "none":
        return None
    if text in ("", "SSH_AUTH_SOCK"):
        return os.environ.get("SSH_AUTH_SOCK")
    return os.environ.get(text[1:]) if text.startswith("$") and "{" not in text else str(_path(text, tokens))
