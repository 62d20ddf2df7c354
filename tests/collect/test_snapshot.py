"""snapshot.sh on this machine: what it says is what the kernel says, and its reader takes all of it."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from _host import HOST

import pipeline


def snapshot(folder, shell=("sh",), moment="before", targets="", **environment):
    (folder / "targets").write_text(targets)
    command = [*shell, HOST / "snapshot.sh", moment, folder / "targets"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60, env=os.environ | environment)
    path = folder / f"environment-{moment}.txt"
    path.write_bytes(done.stdout)
    return path


def values(path):
    parameters = pipeline.read(path).parameters
    return dict(zip(parameters["name"], parameters["value"], strict=True))


@pytest.mark.parametrize("shell", [("dash",), ("bash",), ("busybox", "ash")], ids=" ".join)
def test_it_says_what_the_kernel_says(tmp_path, shell):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"needs {shell[0]}")
    path = snapshot(tmp_path, shell, targets=f"file\t{tmp_path}\tx\t5\n")
    tables = pipeline.read(path)
    assert list(tables.runs["is_complete"]) == [True]
    assert list(tables.warnings["code"]) == []
    assert set(tables.parameters["job"]) == {"before"}
    found = values(path)
    assert found["kernel.release"] == os.uname().release
    for key, file in {
        "sysctl.vm.swappiness": "/proc/sys/vm/swappiness",
        "sysctl.vm.dirty_ratio": "/proc/sys/vm/dirty_ratio",
        "sysctl.fs.aio-max-nr": "/proc/sys/fs/aio-max-nr",
        "numa.node0.cpulist": "/sys/devices/system/node/node0/cpulist",
        "cpu.online": "/sys/devices/system/cpu/online",
        "clocksource.current_clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "transparent_hugepage.enabled": "/sys/kernel/mm/transparent_hugepage/enabled",
    }.items():
        if Path(file).exists():
            assert found[key] == Path(file).read_text().strip(), key
    for file in Path("/sys/devices/system/cpu/vulnerabilities").iterdir():
        assert found[f"mitigation.{file.name}"] == file.read_text().strip()
    for disk in Path("/sys/block").iterdir():
        if not disk.name.startswith("loop") and int((disk / "size").read_text()):  # tests take and leave those
            for name in ("scheduler", "nr_requests", "logical_block_size", "max_sectors_kb", "write_cache"):
                assert found[f"block.{disk.name}.queue.{name}"] == (disk / "queue" / name).read_text().strip()
    assert found["target.1.path"] == str(tmp_path)
    assert "block" in found["target.1.file_system"]
    if shutil.which("fio"):
        assert found["version.fio"].startswith("fio-")


def test_it_is_quick_and_says_nothing_secret(tmp_path):
    start = time.monotonic()
    path = snapshot(tmp_path, MARKED="hunter2-of-the-environment")
    assert time.monotonic() - start < 10  # on a busy machine; 0.5 s on an idle one
    text = path.read_text()
    assert "hunter2" not in text
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4
    assert all(line.isascii() and line.isprintable() for line in text.replace("\t", " ").split("\n"))


def test_the_snapshot_after_joins_the_one_before(tmp_path):
    snapshot(tmp_path, moment="after")
    snapshot(tmp_path, moment="before")
    (tmp_path / "targets").unlink()
    tables = pipeline.read(tmp_path)
    assert len(tables.runs) == 1
    assert set(tables.parameters["job"]) == {"before", "after"}
    assert list(tables.runs["source_path"]) == [str(tmp_path / "environment-before.txt")]


def test_hostile_targets_are_data(tmp_path):
    lines = [f"file\t/none/$(touch {tmp_path}/evil)\tx\t5", f"device\t`touch {tmp_path}/evil`\tx", "nonsense",
             "read\t\x1b[31m\t-rf", "file\t-rf\tx\t5", "device\t/dev/disk/by-id/../../null\tx"]  # fmt: skip
    path = snapshot(tmp_path, targets="\n".join(lines) + "\n")
    assert not (tmp_path / "evil").exists()
    assert pipeline.read(path).runs["is_complete"].all()
    assert values(path)["target.1.path"] == f"/none/$(touch {tmp_path}/evil)"


def test_nothing_there_is_no_failure(tmp_path):
    """A host without any of the tools, as far as that can be had."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("od", "tr", "cat", "date", "uname", "readlink", "sort", "uniq", "head", "timeout", "stat"):
        (tools / name).symlink_to(shutil.which(name))
    script = (HOST / "snapshot.sh").read_text().replace("PATH=$PATH:", "PATH=$PATH #")
    (tmp_path / "snapshot.sh").write_text(script)
    done = subprocess.run(
        ["/bin/sh", tmp_path / "snapshot.sh"], env={"PATH": str(tools)}, capture_output=True, check=True
    )
    (tmp_path / "environment.txt").write_bytes(done.stdout)
    tables = pipeline.read(tmp_path / "environment.txt")
    assert tables.runs["is_complete"].all()
    assert set(tables.parameters["job"].isna()) == {True}
    assert not [name for name in tables.parameters["name"] if name.startswith("version.")]
