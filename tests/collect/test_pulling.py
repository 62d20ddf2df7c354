"""pull against real sshds on loopback: every source, every fault, and the same tree after all of them."""

import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

from pipeline import ledger
from pipeline.campaign import MANIFEST, Manifest
from pipeline.collect.pull import pulling, unpacking
from pipeline.collect.ssh import hops
from pipeline.collect.ssh.loopback import LoopbackHosts
from pipeline.errors import CollectError
from pipeline.ledger import Entry

SLUG = "2026-11-loopback"
PROJECT = Path(__file__).parents[2]
LOG = "fio.json"


def packed(run_id, n_bytes=2000, members=None):
    """An archive as an agent packs it; ``members`` are (TarInfo, bytes) to go in instead of the usual ones."""
    host = run_id.partition("-")[0]
    described = {"run_id": run_id, "campaign": SLUG, "host": host, "logs": [LOG]}
    usual = {
        "command.json": json.dumps(described).encode(),
        "measure.sh": b"#!/bin/sh\n",
        "stdout": b"",
        "environment-before.txt": b"kernel\t6.1\n",
        LOG: random.Random(run_id).randbytes(n_bytes),
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for member, content in members if members is not None else [_folder(run_id), *_files(run_id, usual)]:
            tar.addfile(member, io.BytesIO(content))
    return zstandard.ZstdCompressor().compress(buffer.getvalue())


def _folder(name):
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o700
    return member, b""


def _files(run_id, contents):
    for name, content in contents.items():
        member = tarfile.TarInfo(f"{run_id}/{name}")
        member.size = len(content)
        yield member, content


class Campaign:
    """A project with a ledger, and the spools of its hosts: what ``run`` leaves behind."""

    def __init__(self, folder, slug=SLUG):
        self.root, self.spools = folder / "project", folder / "spools"
        self.slug = slug
        (self.root / "data/campaigns").mkdir(parents=True)
        (self.root / "data/campaigns/index.yaml").write_text("campaigns: {}\ncollected: {}\n")
        self.entries = {}

    @property
    def raw(self):
        return self.root / "data/raw" / self.slug

    @property
    def archive(self):
        return self.root / "data/archive"

    def ran(self, alias, n_runs=1, n_bytes=2000, state="complete", data=None):
        new = []
        for _ in range(n_runs):
            repeat = 1 + sum(entry.ssh == alias for entry in self.entries.values())
            run_id = f"{alias}-fio-read-r{repeat}"
            content = packed(run_id, n_bytes) if data is None else data(run_id)
            path = self.spools / alias / "done" / f"{run_id}.tar.zst"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            self.entries[run_id] = (
                Entry(
                    run_id=run_id, host=alias, tool="fio", point="read", repeat=repeat, attempt=1, state=state,
                    exit_status=0, started_at="2026-11-21T08:00:00Z", stopped_at="2026-11-21T08:01:00Z",
                    command="fio job.fio", sha256=hashlib.sha256(content).hexdigest(), n_bytes=len(content),
                    work="5" * 64, ssh=alias, archive=str(path),
                )
            )  # fmt: skip
            new.append(self.entries[run_id])
        with ledger.writer(self.root, self.slug) as book:
            book.add(new)
        return new

    def pull(self):
        return pulling.pull(self.slug, self.root)

    def process(self, environment):
        command = [sys.executable, "-m", "pipeline", "pull", self.slug]
        paths = {"PYTHONPATH": str(PROJECT), **environment}
        return subprocess.Popen(
            command, cwd=self.root, env={**os.environ, **paths}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def tree(self):
        """What is in raw, by path and hash; archives too."""
        places = self.root / "data/raw", self.archive
        paths = [path for place in places for path in sorted(place.rglob("*")) if path.is_file()]
        wanted = [path for path in paths if path.suffix != ".lock"]
        return {str(path.relative_to(self.root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in wanted}


@pytest.fixture(scope="module")
def loopback():
    with LoopbackHosts(3) as hosts:
        yield hosts


@pytest.fixture
def hosts(loopback, monkeypatch):
    for name, value in loopback.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pulling, "WAITS_S", (0.05, 0.1, 0.2))
    return loopback


@pytest.fixture
def campaign(tmp_path):
    return Campaign(tmp_path)


@contextmanager
def absent(hosts, name):
    hosts.stop(name)
    try:
        yield
    finally:
        hosts.start(name)


@pytest.mark.usefixtures("hosts")
def test_runs_come_in_whole_with_manifest_and_archive(campaign, capsys):
    (entry,) = campaign.ran("host1")
    campaign.ran("host2", 2, state="failed")
    assert campaign.pull() == 0
    assert "of 3 runs 0 were here, 3 came in: 3 from hosts" in capsys.readouterr().out
    manifest = Manifest.load(campaign.raw / entry.run_id / MANIFEST)
    assert (manifest.run_id, manifest.campaign, manifest.host, manifest.tool) == (entry.run_id, SLUG, "host1", "fio")
    assert {file.path: file.is_log for file in manifest.files} == {
        "command.json": False, "environment-before.txt": True, LOG: True, "measure.sh": False, "stdout": False,
    }  # fmt: skip
    for file in manifest.files:
        assert hashlib.sha256((campaign.raw / entry.run_id / file.path).read_bytes()).hexdigest() == file.sha256
    assert Manifest.load(campaign.raw / "host2-fio-read-r2" / MANIFEST).state == "failed"
    kept = {path.name for path in campaign.archive.glob("*.tar.zst")}
    assert kept == {f"{entry.sha256}.tar.zst" for entry in campaign.entries.values()}


@pytest.mark.usefixtures("hosts")
def test_nothing_missing_asks_nobody_and_loads_no_ssh(campaign):
    campaign.ran("host1", 2)
    assert campaign.pull() == 0
    code = (
        "import sys; from pathlib import Path; from pipeline.collect.pull import pulling;"
        f"assert pulling.pull({SLUG!r}, Path({str(campaign.root)!r})) == 0;"
        "print(sorted({'fabric', 'paramiko', 'dvc', 'pandas', 'pyarrow', 'tarfile'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PIPELINE_SSH_CONFIG": "/nowhere"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == f"{SLUG}: all 2 runs are here\n[]\n"


def test_grown_ledger_fetches_only_the_new(campaign, hosts, capsys):
    campaign.ran("host1", 2)
    assert campaign.pull() == 0
    before = {path: path.stat().st_mtime_ns for path in campaign.raw.rglob("*")}
    campaign.ran("host1")
    with absent(hosts, "host2"):
        assert campaign.pull() == 0
    assert "of 3 runs 2 were here, 1 came in" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.usefixtures("hosts")
def test_ledger_that_grows_during_a_pull_is_pulled_to_its_end(campaign, monkeypatch, capsys):
    """DVC notes the ledger's hash when the pull has ended: what is not pulled by then would never be."""
    campaign.ran("host1")
    late = ["host2", "host3"]

    def add_more(_host, _n_bytes):
        while late:
            campaign.ran(late.pop())

    monkeypatch.setattr("pipeline.collect.pull.bars.bars", lambda _: nullcontext(add_more))
    assert campaign.pull() == 0
    assert "of 3 runs 0 were here, 3 came in" in capsys.readouterr().out
    assert len(list(campaign.raw.iterdir())) == 3


def test_raw_comes_back_from_the_archive_without_a_host(campaign, hosts):
    campaign.ran("host1", 2)
    assert campaign.pull() == 0
    tree = campaign.tree()
    shutil.rmtree(campaign.raw)
    with absent(hosts, "host1"):
        assert campaign.pull() == 0
    assert campaign.tree() == tree


def test_one_absent_host_of_three_leaves_the_others_data(campaign, hosts, capsys):
    for alias in hosts.aliases:
        campaign.ran(alias, 2)
    with absent(hosts, "host2"):
        assert campaign.pull() == 1
        said = capsys.readouterr().err
    assert "error: host host2: host2 (" in said and "not here: 2 runs: host2-fio-read-r1, host2-fio-read-r2" in said
    assert f"python -m pipeline pull {SLUG}" in said
    assert sorted(path.name[:5] for path in campaign.raw.iterdir()) == ["host1", "host1", "host3", "host3"]
    assert campaign.pull() == 0
    assert len(list(campaign.raw.iterdir())) == 6


def test_broken_transfer_is_continued_not_repeated(campaign, hosts, monkeypatch):
    (entry,) = campaign.ran("host1", n_bytes=40 << 20)
    killed = []

    def kill(_host, _n_bytes):
        part = campaign.archive / f".{entry.sha256}.part"
        if len(killed) < 3 and part.stat().st_size > (len(killed) + 1) * 8 << 20:
            killed.append(part.stat().st_size)
            hosts.kill_connections("host1")

    came = []
    monkeypatch.setattr(
        "pipeline.collect.pull.bars.bars", lambda _: nullcontext(lambda host, n: (came.append(n), kill(host, n)))
    )
    assert pulling.pull(SLUG, campaign.root) == 0
    assert len(killed) == 3
    assert sum(came) == entry.n_bytes  # no byte twice


def test_frozen_connection_is_noticed_and_given_up(campaign, hosts, monkeypatch, capsys):
    monkeypatch.setattr(hops, "DEFAULT_LIMITS", hops.Limits(connect_s=1, silence_s=1.5, probe_s=0.5))
    monkeypatch.setattr(pulling, "WAITS_S", (0.05,))
    campaign.ran("host1", n_bytes=40 << 20)
    campaign.ran("host3")
    frozen = threading.Event()

    def freeze(host, _n_bytes):
        if host == "host1" and not frozen.is_set():
            frozen.set()
            hosts.freeze("host1")

    started = time.monotonic()
    try:
        monkeypatch.setattr("pipeline.collect.pull.bars.bars", lambda _: nullcontext(freeze))
        assert pulling.pull(SLUG, campaign.root) == 1
    finally:
        hosts.thaw("host1")
    assert time.monotonic() - started < 15
    assert "silent for" in capsys.readouterr().err
    assert (campaign.raw / "host3-fio-read-r1").is_dir()
    (part,) = campaign.archive.glob(".*.part")
    assert part.stat().st_size > 0
    assert campaign.pull() == 0


@pytest.mark.usefixtures("hosts")
def test_archive_corrupted_on_the_host_is_kept_aside_once(campaign, capsys):
    (entry,) = campaign.ran("host1")
    (good,) = campaign.ran("host2")
    path = Path(entry.archive)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    for _ in range(2):
        assert campaign.pull() == 1
        assert "is damaged: expected sha256" in capsys.readouterr().err
    assert (campaign.archive / f"{entry.sha256}.damaged-1").read_bytes() == path.read_bytes()
    assert not list(campaign.archive.glob("*.damaged-2"))
    assert [run.name for run in campaign.raw.iterdir()] == [good.run_id]
    path.write_bytes(whole)
    assert campaign.pull() == 0


@pytest.mark.parametrize("damage", ["shorter", "absent"])
@pytest.mark.usefixtures("hosts")
def test_archive_cut_or_gone_on_the_host(campaign, capsys, damage):
    (entry,) = campaign.ran("host1")
    path = Path(entry.archive)
    if damage == "shorter":
        path.write_bytes(path.read_bytes()[:-7])
    else:
        path.unlink()
    assert campaign.pull() == 1
    said = capsys.readouterr().err
    assert str(path) in said and ("7 bytes too early" in said or "No such file" in said)
    assert not campaign.raw.exists() or not list(campaign.raw.iterdir())


@pytest.mark.usefixtures("hosts")
def test_archive_corrupted_here_is_fetched_anew(campaign, capsys):
    (entry,) = campaign.ran("host1")
    assert campaign.pull() == 0
    tree = campaign.tree()
    kept = campaign.archive / f"{entry.sha256}.tar.zst"
    kept.write_bytes(b"x" * entry.n_bytes)
    shutil.rmtree(campaign.raw)
    assert campaign.pull() == 0
    assert "was damaged; it is kept as" in capsys.readouterr().err
    aside = campaign.archive / f"{entry.sha256}.damaged-1"
    assert aside.read_bytes() == b"x" * entry.n_bytes
    aside.unlink()
    assert campaign.tree() == tree


@pytest.mark.usefixtures("hosts")
def test_part_that_rotted_is_fetched_once_more_from_the_start(campaign):
    (entry,) = campaign.ran("host1", n_bytes=3 << 20)
    campaign.archive.mkdir()
    for rotten in (b"x" * 1_000_000, b"x" * entry.n_bytes, b"x" * (entry.n_bytes + 5)):
        (campaign.archive / f".{entry.sha256}.part").write_bytes(rotten)
        assert campaign.pull() == 0
        shutil.rmtree(campaign.raw)
        (campaign.archive / f"{entry.sha256}.tar.zst").unlink()
    assert not list(campaign.archive.glob("*.damaged-*"))


@pytest.mark.usefixtures("hosts")
def test_raw_that_is_there_is_never_touched(campaign, capsys):
    first, second = campaign.ran("host1", 2)
    (campaign.raw / first.run_id).mkdir(parents=True)
    (campaign.raw / first.run_id / "mine.txt").write_text("mine")
    assert campaign.pull() == 1
    assert f"{campaign.raw / first.run_id}: expected a run with manifest.json" in capsys.readouterr().err
    assert (campaign.raw / first.run_id / "mine.txt").read_text() == "mine"
    assert (campaign.raw / second.run_id / MANIFEST).is_file()


def test_no_ledger_says_what_to_do(campaign):
    with pytest.raises(CollectError, match=r"ledger\.json: expected the campaign's ledger; .* run 2026-11-loopback"):
        campaign.pull()


def _member(name, kind=tarfile.REGTYPE, size=0, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, link
    return member, b"x" * (size if kind == tarfile.REGTYPE else 0)


ANOTHER = b'{"run_id": "x", "campaign": 1, "host": []}'
HOSTILE = {
    "parent": lambda run: [_member(f"{run}/../../../escaped", size=3)],
    "absolute": lambda _: [_member("/tmp/escaped", size=3)],  # noqa: S108
    "other folder": lambda _: [_member("other/escaped", size=3)],
    "the folder as a file": lambda run: [_member(run, size=3)],
    "symlink": lambda run: [_member(f"{run}/a", tarfile.SYMTYPE, link="/etc"), _member(f"{run}/a/escaped", size=3)],
    "hard link": lambda run: [_member(f"{run}/link", tarfile.LNKTYPE, link="/etc/passwd")],
    "device": lambda run: [_member(f"{run}/null", tarfile.CHRTYPE)],
    "pipe": lambda run: [_member(f"{run}/pipe", tarfile.FIFOTYPE)],
    "sparse": lambda run: [_member(f"{run}/holes", tarfile.GNUTYPE_SPARSE)],
    "newline": lambda run: [_member(f"{run}/a\nb", size=3)],
    "backslash": lambda run: [_member(f"{run}/..\\..\\a", size=3)],
    "twice": lambda run: [_member(f"{run}/a", size=3), _member(f"{run}/a", size=3)],
    "file below a file": lambda run: [_member(f"{run}/a", size=3), _member(f"{run}/a/b", size=3)],
    "manifest": lambda run: [_member(f"{run}/{MANIFEST}", size=3)],
    "deep": lambda run: [_member(f"{run}/" + "a/" * 50 + "b", size=3)],
    "no description": lambda run: [_folder(run)],
    "another run's": lambda run: [_folder(run), *_files(run, {"command.json": ANOTHER})],
    "a list for description": lambda run: [_folder(run), *_files(run, {"command.json": b"[" * 100_000})],
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archive_is_refused_and_others_come_in(tmp_path, capsys, kind):
    refused_by_pull(tmp_path, lambda run_id: packed(run_id, members=HOSTILE[kind](run_id)), capsys)


BOMBS = {
    "a huge file": lambda run: _header(f"{run}/zeros", 1 << 60),
    "a huge header": lambda _: _header("./PaxHeaders/x", 1 << 40, tarfile.XHDTYPE),
    "a huge long name": lambda _: _header("././@LongLink", 1 << 40, tarfile.GNUTYPE_LONGNAME),
    "a huge folder": lambda run: _header(run, 1 << 60, tarfile.DIRTYPE),
    "headers without end": lambda _: _header("x", 0, tarfile.XHDTYPE) * 20_000,
    "not a tar": lambda _: b"abc" * 10_000,
}


def _header(name, size, kind=tarfile.REGTYPE):
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT) + bytes(4096)


@pytest.mark.parametrize("kind", BOMBS)
def test_bomb_is_refused_and_others_come_in(tmp_path, capsys, kind):
    refused_by_pull(tmp_path, lambda run_id: zstandard.compress(BOMBS[kind](run_id)), capsys)


def test_bomb_of_zeros_stops_at_the_free_disk(tmp_path, capsys, monkeypatch):
    free = SimpleNamespace(free=unpacking.DISK_MARGIN_BYTES + (8 << 20))  # whatever else is written meanwhile
    monkeypatch.setattr(unpacking.shutil, "disk_usage", lambda _: free)

    def zeros(run_id):
        return packed(run_id, members=[_folder(run_id), _member(f"{run_id}/zeros", size=64 << 20)])

    refused_by_pull(tmp_path, zeros, capsys)


@pytest.mark.parametrize(
    "data", [b"", b"no zstd at all", zstandard.compress(b"x" * 5000)[:-5]], ids=["empty", "text", "cut"]
)
def test_what_is_no_archive_is_refused(tmp_path, capsys, data):
    refused_by_pull(tmp_path, lambda _: data or b"\0", capsys)


def refused_by_pull(folder, data, capsys):
    """Archives straight in data/archive: no host is needed to hold them against unpacking."""
    campaign = Campaign(folder)
    (bad,) = campaign.ran("host1", data=data)
    (good,) = campaign.ran("host2")
    campaign.archive.mkdir()
    for entry in (bad, good):
        shutil.copy(entry.archive, campaign.archive / f"{entry.sha256}.tar.zst")
    assert campaign.pull() == 1
    assert f"error: {bad.run_id}" in capsys.readouterr().err.replace(f"{campaign.raw}/.incoming-", "")
    assert [run.name for run in campaign.raw.iterdir()] == [good.run_id]
    assert not [path for path in folder.rglob("*") if "escaped" in path.name]
    assert not Path("/tmp/escaped").exists()  # noqa: S108


def test_two_pulls_at_once_make_one_tree(campaign, hosts):
    campaign.ran("host1", 3, n_bytes=4 << 20)
    processes = [campaign.process(hosts.environment) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert any(b"another pull works (process" in output for output in outputs)
    assert len(list(campaign.raw.iterdir())) == 3 and not list(campaign.archive.glob(".*.part"))


def test_killed_at_any_moment_it_ends_with_the_same_tree(tmp_path, hosts):
    undisturbed, campaign = Campaign(tmp_path / "a"), Campaign(tmp_path / "b")
    for one in (undisturbed, campaign):
        for alias in hosts.aliases[:2]:
            one.ran(alias, 3, n_bytes=6 << 20)
    assert undisturbed.pull() == 0
    chance = random.Random(20261121)
    for _ in range(20):
        process = campaign.process(hosts.environment)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.2, 1.2))
            raise subprocess.TimeoutExpired("pull", 0)  # it was done already: another moment, from the start
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for run in campaign.raw.glob("host*"):
            assert (run / MANIFEST).is_file()
        if len(list(campaign.raw.glob("host*"))) == 6:
            shutil.rmtree(campaign.raw)
            shutil.rmtree(campaign.archive)
    assert campaign.pull() == 0
    assert campaign.tree() == undisturbed.tree()


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 24 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("is_noticed_before", [True, False])
@pytest.mark.usefixtures("hosts")
def test_full_disk_keeps_the_part_and_nothing_half(small_disk, monkeypatch, capsys, is_noticed_before):
    from pipeline.collect.pull import archive

    margin = 1 << 20 if is_noticed_before else -(1 << 40)
    for module in (archive, unpacking):
        monkeypatch.setattr(module, "DISK_MARGIN_BYTES", margin)
    campaign = Campaign(small_disk)
    campaign.spools = small_disk.parent / "spools"
    campaign.ran("host1")
    campaign.ran("host1", n_bytes=16 << 20)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(18 << 20))
    assert campaign.pull() == 1
    said = capsys.readouterr().err
    assert "host1-fio-read-r2" in said and ("disk is full" in said or "than the disk has free" in said)
    assert [run.name for run in campaign.raw.iterdir()] == ["host1-fio-read-r1"]
    assert len(list(campaign.archive.glob(".*.part"))) == (0 if is_noticed_before else 1)
    ballast.unlink()
    assert campaign.pull() == 1  # the archive comes in, and there is no room to unpack it
    assert "make room" in capsys.readouterr().err
    assert [run.name for run in campaign.raw.iterdir()] == ["host1-fio-read-r1"]


def test_comes_back_from_dvc_without_host_and_archive(tmp_path, hosts, monkeypatch, capfd):
    from dvc import cli

    campaign = Campaign(tmp_path)
    campaign.ran("host1", 2)
    stage = {
        "cmd": f"{sys.executable} -m pipeline pull {SLUG}",
        "deps": [f"data/campaigns/{SLUG}.ledger.json"],
        "outs": [{f"data/raw/{SLUG}": {"persist": True}}],
    }
    (campaign.root / "dvc.yaml").write_text(json.dumps({"stages": {"pull": stage}}))

    monkeypatch.chdir(campaign.root)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")

    def dvc(*arguments):
        capfd.readouterr()
        assert cli.main(list(arguments)) == 0, capfd.readouterr()
        return capfd.readouterr().out

    dvc("init", "--no-scm", "-q")
    dvc("remote", "add", "-q", "-d", "store", str(tmp_path / "store"))
    dvc("repro", "-q")
    dvc("push", "-q")
    tree = {path: digest for path, digest in campaign.tree().items() if "/raw/" in path}
    with absent(hosts, "host1"):
        shutil.rmtree(campaign.raw)
        shutil.rmtree(campaign.archive)
        assert "2 from DVC" in dvc("repro")  # inside a stage, while DVC holds its locks
        shutil.rmtree(campaign.raw)
        shutil.rmtree(campaign.root / ".dvc/cache")
        assert campaign.pull() == 0  # from the remote now
        assert "2 from DVC" in capfd.readouterr().out
        assert {path: digest for path, digest in campaign.tree().items() if "/raw/" in path} == tree
    campaign.ran("host1")
    assert "of 3 runs 2 were here, 1 came in" in dvc("repro")


@pytest.mark.usefixtures("hosts")
def test_entry_of_another_spelling_never_reaches_a_shell(campaign):
    (entry,) = campaign.ran("host1")
    path = Path(entry.archive).with_name("it's $(touch escaped); `x` & -rf.tar.zst")
    Path(entry.archive).rename(path)
    book = json.loads(ledger.path_of(campaign.root, SLUG).read_text())
    book["runs"][entry.run_id]["archive"] = str(path)
    ledger.path_of(campaign.root, SLUG).write_text(json.dumps(book))
    assert campaign.pull() == 0
    assert replace(entry, archive=str(path)) == ledger.Ledger.load(campaign.root, SLUG).entries[entry.run_id]
