"""Hosts for the demo and the tests: private OpenSSH servers on 127.0.0.1 with their own keys, in a temporary folder.

They run as whoever starts them and let only that user in, with a key made for the purpose. ``stop`` ends what was
started here and nothing else; what those hosts were asked to run detached is not ended by it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from pipeline.errors import CollectError

ADDRESS = "127.0.0.1"
JUMP = "jump"
_START_S, _STOP_S = 20.0, 5.0
_SERVER = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
PidFile {folder}/pid
AuthorizedKeysFile {keys}
AllowUsers {user}
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM {pam}
StrictModes no
MaxStartups 100
MaxSessions 50
UseDNS no
PrintMotd no
LogLevel ERROR
Subsystem sftp internal-sftp
"""
_CLIENT = """\
Host {alias}
  HostName {address}
  Port {port}
  User {user}
  IdentityFile "{folder}/user_key"
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile "{folder}/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
"""


class LoopbackHosts:
    """Hosts ``host1`` … ``hostN``, an sshd each; with ``has_jump`` also ``jump``, and ``behind1`` … through it."""

    def __init__(self, n_hosts: int = 1, *, has_jump: bool = False) -> None:
        self.aliases = tuple(f"host{number}" for number in range(1, n_hosts + 1))
        self.behind = tuple(f"behind{number}" for number in range(1, n_hosts + 1)) if has_jump else ()
        self._names = (*self.aliases, JUMP) if has_jump else self.aliases
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._user = pwd.getpwuid(os.getuid()).pw_name
        self.ports: dict[str, int] = {}
        self.folder = Path()

    @property
    def config(self) -> Path:
        """The ssh_config that knows the hosts."""
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """The host keys that the client trusts."""
        return self.folder / "known_hosts"

    @property
    def environment(self) -> dict[str, str]:
        """What the pipeline's environment must hold to reach the hosts by their aliases."""
        return {"PIPELINE_SSH_CONFIG": str(self.config)}

    def __enter__(self) -> LoopbackHosts:
        program("sshd")
        self.folder = Path(tempfile.mkdtemp(prefix="loopback-hosts-"))
        try:
            self._prepare()
            self.start(*self._names)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._remove()

    def _remove(self) -> None:
        for name in list(self._servers):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self) -> None:
        make_key(self.folder / "user_key")
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        if os.getuid() == 0:  # sshd of root wants the folder that its package makes at boot
            Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
        self.ports = dict(zip(self._names, free_ports(len(self._names)), strict=True))
        for name in self._names:
            (self.folder / name).mkdir()
            make_key(self.folder / name / "host_key")
            self._write_server(name)
        self.write_known_hosts()
        self._write_client()

    def _write_server(self, name: str) -> None:
        folder = self.folder / name
        values = {"port": self.ports[name], "address": ADDRESS, "folder": _quoted(folder), "user": self._user}
        keys, pam = _quoted(self.folder / "authorized_keys"), "yes" if _needs_pam() else "no"
        (folder / "sshd_config").write_text(_SERVER.format(**values, keys=keys, pam=pam), "utf-8")

    def _write_client(self) -> None:
        common = {"address": ADDRESS, "user": self._user, "folder": self.folder}
        blocks = [_CLIENT.format(alias=name, port=self.ports[name], **common) for name in self._names]
        for alias, target in zip(self.behind, self.aliases, strict=False):
            block = _CLIENT.format(alias=alias, port=self.ports[target], **common)
            blocks.append(f"{block}  ProxyJump {JUMP}\n")
        self.config.write_text("\n".join(blocks), "utf-8")

    def write_known_hosts(self, names: tuple[str, ...] | None = None) -> None:
        """Trust the present keys of these hosts (default: all) and of no others."""
        lines = [f"[{ADDRESS}]:{self.ports[name]} {self.host_key(name)}\n" for name in names or self._names]
        self.known_hosts.write_text("".join(lines), "utf-8")

    def host_key(self, name: str) -> str:
        """The public key of a host: type and base64."""
        return " ".join((self.folder / name / "host_key.pub").read_text("utf-8").split()[:2])

    def change_host_key(self, name: str) -> None:
        """Give a host another key, as a new installation does; what the client trusts stays."""
        self.stop(name)
        for path in (self.folder / name).glob("host_key*"):
            path.unlink()
        make_key(self.folder / name / "host_key")
        self.start(name)

    def start(self, *names: str) -> None:
        """Start the sshd of hosts and wait until they answer; CollectError with what one said otherwise."""
        for name in names:
            folder = self.folder / name
            command = [program("sshd"), "-D", "-e", "-f", str(folder / "sshd_config"), *_extra_options()]
            with (folder / "log").open("ab") as log:
                self._servers[name] = subprocess.Popen(  # noqa: S603
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
        deadline = time.monotonic() + _START_S
        for name in names:
            while not _answers(self.ports[name]):
                if self._servers[name].poll() is not None or time.monotonic() > deadline:
                    said = (self.folder / name / "log").read_text("utf-8", "replace").strip()
                    self.stop(name)
                    raise CollectError(f"{name}: expected sshd to listen on port {self.ports[name]}, it said: {said}")
                time.sleep(0.02)

    def stop(self, name: str) -> None:
        """End a host's sshd and its connections, as a power cut does."""
        server = self._servers.pop(name, None)
        if server is None:
            return
        connections = descendants(server.pid)
        server.terminate()
        try:
            server.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        _signal(connections, signal.SIGKILL)

    def connections(self, name: str) -> list[int]:
        """The sshd processes behind a host's open connections."""
        server = self._servers.get(name)
        return descendants(server.pid) if server else []

    def kill_connections(self, name: str) -> int:
        """Kill the sshd children of a host's connections; new connections are served. How many processes there were."""
        return _signal(self.connections(name), signal.SIGKILL)

    def freeze(self, name: str) -> int:
        """Let a host's connections, and new ones, hang without an answer until ``thaw``."""
        server = self._servers[name]
        return _signal([server.pid, *self.connections(name)], signal.SIGSTOP)

    def thaw(self, name: str) -> int:
        """Let a frozen host go on."""
        server = self._servers[name]
        return _signal([server.pid, *self.connections(name)], signal.SIGCONT)


def program(name: str) -> str:
    """The path of one of OpenSSH's programs, also where /usr/sbin is not in PATH; CollectError says how to install."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    if path is None:
        package = "openssh-server" if name == "sshd" else "openssh-client"
        raise CollectError(f"{name}: not installed here; on Debian and Ubuntu: sudo apt-get install {package}")
    return path


@functools.cache
def _extra_options() -> tuple[str, ...]:
    """OpenSSH 9.8 and later shut out an address that broke off often, as tests do; earlier ones don't know the word."""
    option = ("-o", "PerSourcePenalties=no")
    found = subprocess.run([program("sshd"), "-T", "-f", os.devnull, *option], capture_output=True, check=False)  # noqa: S603
    return () if b"PerSourcePenalties" in found.stderr else option


def make_key(path: Path) -> None:
    """Make an Ed25519 key pair without a passphrase: ``path`` and ``path.pub``."""
    command = [program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "loopback", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)  # noqa: S603


def free_ports(n_ports: int) -> list[int]:
    """Ports on which nothing listens now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n_ports)]
        for each in sockets:
            each.bind((ADDRESS, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def descendants(pid: int) -> list[int]:
    """The sshd processes below a process, not what they run."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    found = [child for child in children if _name(child).startswith("sshd")]
    return [process for child in found for process in (child, *descendants(child))]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _signal(pids: list[int], number: signal.Signals) -> int:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(pids)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((ADDRESS, port), timeout=1):
            return True
    except OSError:
        return False


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _needs_pam() -> bool:
    """Whether sshd must leave it to PAM to let us in: without PAM it refuses an account whose password is locked."""
    try:
        lines = Path("/etc/shadow").read_text("utf-8", "replace").splitlines()
    except OSError:  # not root: sshd can't see it either
        return False
    name = pwd.getpwuid(os.getuid()).pw_name
    return any(line.startswith(f"{name}:!") for line in lines)
