"""Whatever happens to the client, to its connection or to its disk: continuing ends with the undisturbed campaign."""

import os
import random
import signal
import subprocess
import time

import pytest
from lab import SLUG, digest

SEED = 20261121


def test_an_undisturbed_campaign(make_lab):
    lab = make_lab(2)
    lab.describe()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()
    again = lab.ledger
    lab.call("run")  # never repeats what is complete
    assert lab.ledger == again


def test_the_client_is_killed_at_twenty_moments_of_a_run(make_lab):
    lab = make_lab(2)
    lab.describe(repeats=3)
    moments = random.Random(SEED)
    for _ in range(20):
        client = lab.start("run")
        try:
            client.wait(moments.uniform(0.1, 6))
        except subprocess.TimeoutExpired:
            client.send_signal(signal.SIGKILL)
        client.communicate()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()  # no attempt more: the hosts noticed nothing


def test_pull_is_killed_at_twenty_moments(make_lab):
    lab = make_lab(2)
    lab.describe(repeats=3, logs=["latency"])
    lab.call("run")
    moments = random.Random(SEED)
    for _ in range(20):
        client = lab.start("pull")
        try:
            client.wait(moments.uniform(0.05, 2.5))
        except subprocess.TimeoutExpired:
            client.send_signal(signal.SIGKILL)
        client.communicate()
    lab.call("pull")
    lab.assert_complete()


def test_ctrl_c_detaches_and_run_attaches_again(make_lab):
    lab = make_lab()
    lab.describe()
    client = lab.start("run")
    lab.wait_for(lambda: lab.is_running("host1"))
    client.send_signal(signal.SIGINT)
    output, _ = client.communicate(timeout=30)
    assert client.returncode == 130
    assert "the hosts go on" in output
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_the_connection_is_killed_in_mid_run(make_lab):
    lab = make_lab()
    lab.describe(repeats=3)
    client = lab.start("run")
    while client.poll() is None:
        lab.hosts.kill_connections("host1")
        time.sleep(1.5)
    client.communicate()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_the_connection_is_frozen_in_mid_run(make_lab):
    lab = make_lab(2)
    lab.describe()
    client = lab.start("run")
    lab.wait_for(lambda: lab.is_running("host1"))
    lab.hosts.freeze("host1")
    time.sleep(5)
    status = lab.start("status")
    assert client.poll() is None
    output, _ = status.communicate(timeout=180)
    assert status.returncode == 1
    assert "host1" in output
    lab.hosts.thaw("host1")
    client.communicate(timeout=180)
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_two_runs_at_once(make_lab):
    lab = make_lab()
    lab.describe()
    first = lab.start("run")
    lab.wait_for(lambda: lab.is_running("host1"))
    assert "another process runs this campaign" in lab.call("run", exit_status=1)
    output, _ = first.communicate(timeout=120)
    assert first.returncode == 0, output
    lab.call("pull")
    lab.assert_complete()


def test_a_grown_campaign_fetches_only_what_is_new(make_lab):
    lab = make_lab(2)
    lab.describe(repeats=1)
    lab.call("run")
    lab.call("pull")
    before = {path: path.stat().st_mtime_ns for path in (lab.project / "data/archive").glob("*.zst")}
    lab.describe(repeats=2)
    lab.call("run")
    output = lab.call("pull")
    assert "4 " in output
    assert {path: path.stat().st_mtime_ns for path in before} == before
    lab.assert_complete()


def test_one_of_three_hosts_is_absent(make_lab):
    lab = make_lab(3)
    lab.describe()
    lab.call("run")
    lab.hosts.stop("host2")
    output = lab.call("pull", exit_status=1)
    assert "host2" in output
    here = {path.name for path in lab.raw.iterdir() if not path.name.startswith(".")}
    assert here == {name for name in lab.ledger if not name.startswith("host2-")}
    lab.hosts.start("host2")
    lab.call("pull")
    lab.assert_complete()


def test_an_absent_host_does_not_stop_the_others(make_lab):
    lab = make_lab(2)
    lab.describe()
    lab.hosts.stop("host1")
    assert "host1" in lab.call("run", exit_status=1)
    assert {entry.host for entry in lab.ledger.values()} == {"host2"}
    lab.hosts.start("host1")
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_raw_comes_back_without_a_host(make_lab):
    lab = make_lab()
    lab.describe()
    lab.call("run")
    lab.call("pull")
    lab.hosts.stop("host1")
    subprocess.run(["rm", "-r", lab.raw], check=True)
    lab.call("pull")
    lab.assert_complete()


@pytest.mark.parametrize("place", ["on the host", "in data/archive"])
def test_a_corrupted_archive_is_not_used(make_lab, place):
    lab = make_lab()
    lab.describe()
    lab.call("run")
    entry = next(iter(lab.ledger.values()))
    if place == "on the host":
        archive = lab.spool("host1") / "done" / f"{entry.run_id}.tar.zst"
        good = archive.read_bytes()
        archive.write_bytes(good[:-40] + bytes(40))
        assert entry.run_id in lab.call("pull", exit_status=1)
        assert not (lab.raw / entry.run_id).exists()
        assert len(list(lab.raw.iterdir())) == len(lab.ledger) - 1  # the others came
        archive.write_bytes(good)
    else:
        lab.call("pull")
        archive = lab.project / "data/archive" / f"{entry.sha256}.tar.zst"
        archive.write_bytes(archive.read_bytes()[:-40] + bytes(40))
        subprocess.run(["rm", "-r", lab.raw], check=True)
    lab.call("pull")
    aside = [path for path in (lab.project / "data/archive").iterdir() if "damaged" in path.name]
    assert len(aside) == 1
    aside[0].unlink()
    lab.assert_complete()


def test_the_local_disk_is_full(make_lab):
    lab = make_lab()
    lab.describe(repeats=4, logs=["latency"])
    lab.call("run")
    (lab.project / "data/raw").mkdir(parents=True)
    (lab.project / "data/archive").mkdir()
    with small_disk(lab.project / "data/archive", "64k"):
        assert "make room" in lab.call("pull", exit_status=1)
    lab.call("pull")
    lab.assert_complete()


def small_disk(folder, size):
    return _Mounted(folder, size)


class _Mounted:
    """A small tmpfs over a folder."""

    def __init__(self, folder, size):
        self._folder, self._size = folder, size

    def __enter__(self):
        if os.getuid():
            pytest.skip("mounting a small disk needs root")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self._size}", "none", self._folder], check=True)

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self._folder], check=True)


def test_hashes_agree_with_the_bytes_on_the_host(make_lab):
    lab = make_lab()
    lab.describe()
    lab.call("run")
    done = lab.spool("host1") / "done"
    assert {path.name for path in done.iterdir()} == {
        f"{name}{end}" for name in lab.ledger for end in (".tar.zst", ".json")
    }
    assert all(digest(done / f"{name}.tar.zst") == entry.sha256 for name, entry in lab.ledger.items())
    assert SLUG in (lab.project / "data/campaigns/index.yaml").read_text("utf-8")
