"""Connections against real sshds on loopback: host keys, jump hosts, keys and agents, silence, limits."""

import base64
import contextlib
import hmac
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.collect.ssh import hostkeys, loopback, remote, routes
from pipeline.collect.ssh.loopback import ADDRESS, LoopbackHosts
from pipeline.errors import CollectError, UnreachableError

SHORT = remote.Limits(connect_s=2, silence_s=1.5, probe_s=0.5)


@pytest.fixture(scope="module")
def loopback_hosts():
    with LoopbackHosts(3, has_jump=True) as hosts:
        yield hosts


@pytest.fixture
def hosts(loopback_hosts, monkeypatch):
    monkeypatch.setenv("PIPELINE_SSH_CONFIG", str(loopback_hosts.config))
    config = loopback_hosts.config.read_text()
    yield loopback_hosts
    loopback_hosts.config.write_text(config)
    loopback_hosts.write_known_hosts()


def said(alias, kind=CollectError):
    with pytest.raises(kind) as caught, remote.connect(alias, SHORT):
        pass
    assert type(caught.value) is kind
    return str(caught.value)


def names(line, hosts, alias="host1"):
    """Put a line into known_hosts in place of the host's; ``{name}`` and ``{key}`` are filled in."""
    rest = tuple(name for name in hosts.ports if name != alias)
    hosts.write_known_hosts(rest)
    name, key = f"[{ADDRESS}]:{hosts.ports[alias]}", hosts.host_key(alias)
    with hosts.known_hosts.open("a") as file:
        file.write(line.format(name=name, key=key) + "\n")


@pytest.mark.usefixtures("hosts")
def test_run_gives_bytes_status_and_arguments_as_they_are():
    odd = ["a b", "$(touch escaped)", "';`x`", "\n", "", "é\\", "-n"]
    data = bytes(range(256)) * 5000
    with remote.connect("host1") as host:
        result = host.run('printf "%s\\0" "$@"; printf "%s" "$LC_ALL" >&2; exit 37', *odd)
        assert result.stdout.decode().split("\0")[:-1] == odd
        assert (result.stderr, result.exit_status) == (b"C", 37)
        assert host.run("cat", input=data).stdout == data
        assert host.run("true", input=data).exit_status == 0  # which reads nothing of it
        assert host.run("cat; exec >&-; exit 3").exit_status == 3
        both = host.run("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero")
        assert (len(both.stdout), len(both.stderr)) == (3_000_000, 1 << 20)
        with pytest.raises(CollectError, match="at most 16777216 bytes of output"):
            host.run("head -c 17000000 /dev/zero")
        with pytest.raises(CollectError, match="ended by a signal"):
            host.run("kill -9 $$")
        with pytest.raises(UnreachableError, match="did not end in the time"):
            host.run("sleep 20", timeout_s=0.3)
        with pytest.raises(CollectError, match="at most 100000 bytes"):
            host.run("true", "x" * 100_001)
        assert host.run("echo on").stdout == b"on\n"


@pytest.mark.usefixtures("hosts")
def test_stream_gives_any_part_of_a_file(tmp_path):
    data = os.urandom(1_000_000)
    path = tmp_path / "it's $(a) file"
    path.write_bytes(data)
    block = 1 << 18
    with remote.connect("host1") as host:
        for offset, n_bytes in [(0, 1), (0, len(data)), (7, 99), (block, block), (block - 1, 2), (999_999, 1)]:
            assert b"".join(host.stream(str(path), offset, n_bytes)) == data[offset : offset + n_bytes]
        with pytest.raises(CollectError, match="found: it ends 1 bytes too early"):
            list(host.stream(str(path), 0, len(data) + 1))
        with pytest.raises(CollectError, match="No such file"):
            list(host.stream(f"{path}x", 0, 1))


def test_what_the_host_says_of_a_file_does_not_reach_the_terminal(monkeypatch):
    said = "\x1b]0;owned\x07dd: no\x9b2J\nsecond line".encode()
    channel = SimpleNamespace(shutdown_write=lambda: None, recv=lambda _: b"", recv_stderr=lambda _: said)
    monkeypatch.setattr(remote.Remote, "_channel", lambda *_: contextlib.nullcontext(channel))
    monkeypatch.setattr(remote.Remote, "_exit_status", lambda *_: 1)
    host = remote.Remote((SimpleNamespace(alias="db1"),))
    with pytest.raises(CollectError, match="db1: /x: expected 1 bytes from 0 on, found: �]0;owned�dd: no�2J") as caught:
        list(host.stream("/x", 0, 1))
    assert str(caught.value).isprintable()


@pytest.mark.usefixtures("hosts")
def test_a_file_comes_by_sftp_where_there_is_no_dd(tmp_path):
    """Of a Windows host, whose paths have a drive; here the same transfer of a path without one."""
    data = os.urandom(3_000_000)
    (tmp_path / "archive").write_bytes(data)
    with remote.connect("host1") as host:
        for offset, n_bytes in ((0, 3_000_000), (1_234_567, 1_765_433), (2_999_999, 1)):
            got = b"".join(host._stream_by_sftp(str(tmp_path / "archive"), offset, n_bytes))
            assert got == data[offset : offset + n_bytes]
        with pytest.raises(CollectError, match="ends 5 bytes too early"):
            list(host._stream_by_sftp(str(tmp_path / "archive"), 2_999_990, 15))
        with pytest.raises(CollectError, match="expected an archive, found none"):
            list(host._stream_by_sftp(str(tmp_path / "none"), 0, 15))


@pytest.mark.parametrize("alias", ["host1", "behind1"])
def test_unknown_key_is_refused_with_its_fingerprint(hosts, alias):
    hosts.write_known_hosts(("host2", "jump"))
    shown = subprocess.run(
        ["ssh-keygen", "-lf", hosts.folder / "host1/host_key.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    text = said(alias)
    assert f"{alias}: the host key of [{ADDRESS}]:{hosts.ports['host1']} is not known" in text
    assert shown in text and str(hosts.known_hosts) in text
    assert f"by hand: ssh -F {hosts.config} " in text and f"-- {alias} true" in text


@pytest.mark.parametrize("alias", ["host2", "behind2"])
def test_changed_key_is_refused_with_both_fingerprints(hosts, alias):
    old = hostkeys.fingerprint(base64.b64decode(hosts.host_key("host2").split()[1]))
    hosts.change_host_key("host2")
    new = hostkeys.fingerprint(base64.b64decode(hosts.host_key("host2").split()[1]))
    before = hosts.known_hosts.read_bytes()
    text = said(alias)
    assert "has CHANGED" in text and old in text and new in text and f"ssh-keygen -R '[{ADDRESS}]" in text
    assert hosts.known_hosts.read_bytes() == before


def test_key_of_a_jump_host_is_as_strict(hosts):
    hosts.write_known_hosts(hosts.aliases)
    assert f"jump: the host key of [{ADDRESS}]:{hosts.ports['jump']} is not known" in said("behind1")
    other = hosts.host_key("host3")
    with hosts.known_hosts.open("a") as file:
        file.write(f"[{ADDRESS}]:{hosts.ports['jump']} {other}\n")
    assert "jump: the host key of" in said("behind1") and "has CHANGED" in said("behind1")


def hashed(name):
    salt = os.urandom(20)
    parts = (salt, hmac.digest(salt, name.encode(), "sha1"))
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in parts)


@pytest.mark.parametrize(
    "line",
    [
        "{name} {key} a comment",
        "other,{name},[10.0.0.*]:22 {key}",
        "[127.0.0.?]:* {key}",
        "# a comment\n\ngarbage\n{name} ssh-ed25519 notbase64\n{name}\t{key}",
        "{name} ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==\n{name} {key}",
    ],
)
def test_lines_that_name_the_host(hosts, line):
    names(line, hosts)
    with remote.connect("host1") as host:
        assert host.run("echo in").stdout == b"in\n"


def test_hashed_line_names_the_host(hosts):
    names(hashed(f"[{ADDRESS}]:{hosts.ports['host1']}") + " {key}", hosts)
    with remote.connect("host1") as host:
        assert host.run("echo in").stdout == b"in\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("@revoked {name} {key}\n{name} {key}", "which is revoked"),
        ("{name} {key}\n@revoked * {key}", "which is revoked"),
        ("@cert-authority {name} {key}", "certificates of hosts are not read"),
        (ADDRESS + " {key}", "is not known"),  # without the port it is another host
        ("*,!{name} {key}", "is not known"),
        ("[{name}] {key}", "is not known"),
    ],
)
def test_lines_that_do_not_let_in(hosts, line, expected):
    names(line, hosts)
    assert expected in said("host1")


def test_revoked_keys_file_is_honoured(hosts, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(f"{hosts.host_key('host1')} stolen\n")
    hosts.config.write_text(f"RevokedHostKeys {revoked}\n" + hosts.config.read_text())
    assert f"which is revoked ({revoked}:1)" in said("host1")
    revoked.write_bytes(b"SSHKRL\n\0" + bytes(30))
    assert "found a binary list" in said("host1")
    revoked.unlink()
    assert "RevokedHostKeys: expected a readable file" in said("host1")


def test_host_key_alias_names_the_host(hosts):
    hosts.config.write_text("HostKeyAlias the-host\n" + hosts.config.read_text())
    names("the-host {key}", hosts)
    with remote.connect("host1") as host:
        assert host.run("echo in").stdout == b"in\n"


def test_known_key_of_another_kind_is_asked_for(hosts):
    """A host has several keys, and we may know any one of them."""
    path = hosts.folder / "host3/rsa_key"
    command = ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", path]
    subprocess.run(command, check=True)
    hosts.stop("host3")
    settings = hosts.folder / "host3/sshd_config"
    before = settings.read_text()
    settings.write_text(f"{before}HostKey {path}\n")
    hosts.start("host3")
    try:
        names("{name} " + " ".join(path.with_suffix(".pub").read_text().split()[:2]), hosts, "host3")
        with remote.connect("host3") as host:
            assert host.run("echo in").stdout == b"in\n"
    finally:
        hosts.stop("host3")
        settings.write_text(before)
        hosts.start("host3")


def test_routes_are_those_of_ssh(hosts, monkeypatch):
    block = "\nHost {}\n HostName {}.example\n{}"
    jumps = {
        "a": " ProxyJump b,user@c:2200\n",
        "b": " ProxyJump d\n Port 2022\n",
        "c": " ProxyJump never\n",
        "d": " User me\n",
    }
    hosts.config.write_text("".join(block.format(name, name, line) for name, line in jumps.items()))
    found = [(hop.alias, hop.hostname, hop.port, hop.user) for hop in routes.route("a")]
    us = routes.route("b")[-1].user
    assert found == [
        ("d", "d.example", 22, "me"), ("b", "b.example", 2022, us), ("c", "c.example", 2200, "user"),
        ("a", "a.example", 22, us),
    ]  # fmt: skip
    hosts.config.write_text("Host a\n ProxyJump b\nHost b\n ProxyJump a\nHost c\n ProxyCommand nc %h %p\n")
    with pytest.raises(CollectError, match="do jump hosts lead in a circle"):
        routes.route("a")
    with pytest.raises(CollectError, match="c: ProxyCommand is not run here, found 'nc %h %p'; name the jump host"):
        routes.route("c")
    hosts.config.write_text("Host d\n Nonsense 1\n")
    with pytest.raises(CollectError, match=r"(?i)bad configuration option: nonsense"):
        routes.route("d")
    monkeypatch.setenv("PIPELINE_SSH_CONFIG", "/nowhere")
    with pytest.raises(CollectError, match="PIPELINE_SSH_CONFIG: expected an ssh_config file, found none at /nowhere"):
        routes.route("a")


@pytest.mark.parametrize(
    "alias", ["-oProxyCommand=touch escaped", "a b", "a;b", "$(x)", "a\n", "", "ａ", "a@b@c", "@a"]
)
def test_hostile_alias_never_reaches_ssh(alias):
    with pytest.raises(CollectError, match="ssh: expected an alias"):
        routes.route(alias)


def test_no_accepted_key_says_what_to_do(hosts, tmp_path):
    stranger = tmp_path / "stranger"
    loopback.make_key(stranger)
    text = hosts.config.read_text()
    hosts.config.write_text(text.replace(f"{hosts.folder}/user_key", str(stranger)))
    assert "no key was accepted: 1 keys were tried; is the public key in the host's" in said("host1")
    assert "jump host jump" in said("behind1")
    hosts.config.write_text(text.replace(f"{hosts.folder}/user_key", str(tmp_path / "none")))
    assert "there is no key to try" in said("host1")


def test_key_with_a_passphrase_works_through_the_agent(hosts, tmp_path, monkeypatch):
    locked = tmp_path / "locked"
    locked.write_bytes((hosts.folder / "user_key").read_bytes())
    locked.chmod(0o600)
    (tmp_path / "locked.pub").write_bytes((hosts.folder / "user_key.pub").read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], check=True, stdout=subprocess.DEVNULL)
    text = hosts.config.read_text().replace(f"{hosts.folder}/user_key", str(locked))
    hosts.config.write_text(text.replace("IdentityAgent none", "IdentityAgent SSH_AUTH_SOCK"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    assert f"the key {locked} has a passphrase: run `ssh-add {locked}` first" in said("host1")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    with subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.DEVNULL) as agent:
        try:
            while not (tmp_path / "agent").exists():
                time.sleep(0.01)
            subprocess.run(["ssh-add", "-q", hosts.folder / "user_key"], check=True)
            with remote.connect("behind1") as host:
                assert host.run("echo in").stdout == b"in\n"
        finally:
            agent.terminate()


def test_killed_connection_is_unreachable_and_never_a_status(hosts):
    with remote.connect("host1") as host:
        threading.Timer(0.3, hosts.kill_connections, ["host1"]).start()
        with pytest.raises(UnreachableError, match="host1: the connection was lost"):
            host.run("sleep 20")
        assert host.run("echo again").stdout == b"again\n"  # it is opened anew


@pytest.mark.parametrize("alias", ["host1", "behind1"])
def test_frozen_host_is_noticed_in_time(hosts, alias):
    with remote.connect(alias, SHORT) as host:
        started = time.monotonic()
        threading.Timer(0.3, hosts.freeze, ["host1"]).start()
        try:
            with pytest.raises(UnreachableError, match="silent for"):
                host.run("sleep 20", input=bytes(8 << 20))  # sending is stuck, too
            assert time.monotonic() - started < 5
            started = time.monotonic()
            with pytest.raises(UnreachableError):
                host.run("true")  # a new connection, to a host that takes it and says nothing
            assert time.monotonic() - started < 8
        finally:
            hosts.thaw("host1")


@pytest.mark.usefixtures("hosts")
def test_a_long_quiet_command_is_no_silence():
    with remote.connect("host1", SHORT) as host:
        assert host.run("sleep 4; echo done").stdout == b"done\n"


def test_each_keeps_its_limits_and_gives_every_outcome(hosts):
    lock, now, most = threading.Lock(), {"all": 0, "jump": 0}, {"all": 0, "jump": 0}

    def work(alias, host):
        keys = ["all", *(["jump"] if alias.startswith("behind") else [])]
        with lock:
            for key in keys:
                now[key] += 1
                most[key] = max(most[key], now[key])
        said = host.run('sleep 0.3; printf "%s" "$1"', alias).stdout
        with lock:
            for key in keys:
                now[key] -= 1
        if alias == "host3":
            raise CollectError("odd")
        return said

    aliases = [*hosts.behind, *hosts.aliases, "nowhere.invalid", "-x"]
    found = dict(remote.each(aliases, work, n_connections=3, per_gateway=2, limits=SHORT))
    assert set(found) == set(aliases)
    assert {alias: found[alias] for alias in (*hosts.behind, "host1")} == {
        alias: alias.encode() for alias in (*hosts.behind, "host1")
    }
    assert isinstance(found["nowhere.invalid"], UnreachableError) and str(found["host3"]) == "odd"
    assert type(found["-x"]) is CollectError
    assert most == {"all": 3, "jump": 2}


@pytest.mark.usefixtures("hosts")
def test_leaving_each_closes_everything_at_once():
    for error in (KeyboardInterrupt, ZeroDivisionError):

        def work(alias, host, error=error):
            if alias == "host1":
                raise error
            return host.run("sleep 20")

        started = time.monotonic()
        with pytest.raises(error):
            list(remote.each(["host2", "host3", "host1"], work))
        assert time.monotonic() - started < 5
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("host ")]


def test_fifty_hosts_need_little_memory(tmp_path):
    code = """
import os, pathlib
from pipeline.collect.ssh import remote
from pipeline.collect.ssh.loopback import LoopbackHosts
with LoopbackHosts(50) as hosts:
    os.environ.update(hosts.environment)
    found = dict(remote.each(hosts.aliases, lambda alias, host: host.run("echo in").stdout))
assert set(found.values()) == {b"in\\n"} and len(found) == 50, found
print(pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])  # getrusage has the parent's peak
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(tmp_path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(result.stdout) * 1024 < 150 << 20
    assert not list(tmp_path.iterdir())


def test_loopback_names_what_is_not_installed(monkeypatch):
    monkeypatch.setattr(loopback.shutil, "which", lambda *_, **__: None)
    with pytest.raises(CollectError, match=r"sshd: not installed here; .* sudo apt-get install openssh-server"):
        LoopbackHosts().__enter__()


def test_fingerprint_is_that_of_ssh_keygen(tmp_path):
    loopback.make_key(tmp_path / "key")
    blob = base64.b64decode((tmp_path / "key.pub").read_text().split()[1])
    assert (
        hostkeys.fingerprint(blob)
        in subprocess.run(
            ["ssh-keygen", "-lf", tmp_path / "key.pub"], capture_output=True, text=True, check=True
        ).stdout
    )
