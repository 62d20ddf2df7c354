"""A device is overwritten only when everything holds; else every reason is told and nothing is begun."""

import os
import subprocess
from pathlib import Path

import pytest
from lab import SLUG

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="loop devices need root")


@pytest.fixture
def disk(tmp_path):
    """A loop device with a name in /dev/disk/by-id; its serial is its backing file."""
    backing = tmp_path / "disk.img"
    with backing.open("wb") as file:
        file.truncate(64 << 20)
    device = run("losetup", "-f", "--show", str(backing)).strip()
    link = Path("/dev/disk/by-id") / f"loop-test-{os.getpid()}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(device)
    yield Disk(device, str(link), str(backing))
    link.unlink()
    subprocess.run(["umount", device], check=False, stderr=subprocess.DEVNULL)
    run("losetup", "-d", device)


class Disk:
    def __init__(self, device, link, serial):
        self.device, self.link, self.serial = device, link, serial

    def spec(self, *, is_destructive=True, serial=None):
        return {"disk": {"id": self.link, "serial": serial or self.serial, "destructive": is_destructive}}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


WRITE = {"rw": "randwrite", "bs": "4k", "ioengine": "psync", "size": "4m"}


def content(disk):
    return Path(disk.serial).read_bytes()


def test_a_device_is_overwritten_by_whoever_names_its_serial(make_lab, disk):
    lab = make_lab()
    lab.describe(devices=disk.spec(), target="disk", parameters=WRITE, repeats=1)
    assert disk.serial in lab.call("run", exit_status=1)  # says what to pass
    assert "expected serials" in lab.call("run", "--destroy", "another", exit_status=1)
    assert content(disk) == bytes(64 << 20)
    assert "WRITTEN" in lab.call("run", "--dry-run").upper()
    lab.call("run", "--destroy", disk.serial)
    lab.call("pull")
    lab.assert_complete()
    assert content(disk) != bytes(64 << 20)


def test_reading_needs_no_consent_and_writes_nothing(make_lab, disk):
    lab = make_lab()
    lab.describe(devices=disk.spec(is_destructive=False), target="disk", repeats=1)
    lab.call("run")
    assert content(disk) == bytes(64 << 20)
    assert all("--readonly" in entry.command for entry in lab.ledger.values())


def test_writing_is_refused_by_default(make_lab, disk):
    lab = make_lab()
    lab.describe(devices=disk.spec(is_destructive=False), target="disk", parameters=WRITE)
    assert "destructive" in lab.call("run", "--destroy", disk.serial, exit_status=1)
    assert not any(lab.spool("host1").glob("runs/*"))


def test_a_file_that_was_there_before_is_not_laid_out_over(make_lab):
    lab = make_lab()
    lab.describe(repeats=1)
    file = lab.folder / "scratch/host1/test.dat"
    file.write_text("precious data", "utf-8")
    for verb in ("doctor", "run"):
        assert "no campaign noted that it made it" in " ".join(lab.call(verb, exit_status=1).split())
    assert file.read_text("utf-8") == "precious data"
    assert not any(lab.spool("host1").glob("runs/*"))
    file.unlink()
    lab.call("run")
    lab.call("doctor")
    lab.describe(repeats=2)
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def occupy(kind, disk):
    """Put the device to use; what ends it."""
    if kind in ("mounted", "a file system"):
        run("mkfs.ext4", "-q", disk.device)
    if kind == "mounted":
        run("mount", disk.device, "/mnt")
        return lambda: run("umount", "/mnt")
    if kind == "LVM member":
        run("pvcreate", "-q", "-f", disk.device)
    if kind == "swap":  # not in use: the kernel could move the whole machine's memory there
        run("mkswap", disk.device)
    if kind == "in use":
        holder = subprocess.Popen(["sleep", "100"], stdin=open(disk.device, "rb"))  # noqa: PTH123, SIM115
        return holder.kill
    return lambda: None


@pytest.mark.parametrize("kind", ["mounted", "a file system", "LVM member", "swap", "in use", "wrong serial"])
def test_a_device_that_is_anything_else_is_refused(make_lab, disk, kind):
    free = occupy(kind, disk)
    before = content(disk)
    try:
        lab = make_lab()
        serial = "another" if kind == "wrong serial" else disk.serial
        lab.describe(devices=disk.spec(serial=serial), target="disk", parameters=WRITE)
        output = lab.call("run", "--destroy", serial, exit_status=1)
        assert "nothing was begun" in output
        assert disk.link in output
        assert not any(lab.spool("host1").glob("runs/*"))
        assert content(disk) == before
    finally:
        free()


def test_the_host_looks_again_just_before_it_writes(make_lab, disk):
    """Between the submission and the run somebody makes a file system: the agent refuses, and says so."""
    lab = make_lab()
    lab.describe(devices=disk.spec(), target="disk", parameters=WRITE, repeats=1, warm_up_s=0)
    slow = {"rw": "randread", "bs": "4k", "ioengine": "psync", "runtime": 6, "time_based": 1}
    spec = lab.project / f"data/campaigns/{SLUG}.yaml"
    import yaml

    held = yaml.safe_load(spec.read_text("utf-8"))
    held["seed"] = 2
    held["runs"].insert(0, {"tool": "fio", "name": "first", "target": "disk", "parameters": slow, "repeats": 1})
    spec.write_text(yaml.safe_dump(held, sort_keys=False), "utf-8")
    client = lab.start("run", "--destroy", disk.serial)
    lab.wait_for(lambda: lab.is_running("host1"))
    run("mkfs.ext4", "-q", disk.device)
    before = content(disk)
    output, _ = client.communicate(timeout=120)
    assert client.returncode == 1, output
    states = {entry.state for entry in lab.ledger.values()}
    assert "refused" in states
    assert content(disk)[1024:2048] == before[1024:2048]  # the file system's superblock
    lab.call("pull")
    refused = next(name for name, entry in lab.ledger.items() if entry.state == "refused")
    assert "ext4" in (lab.raw / refused / "stderr").read_text("utf-8")
