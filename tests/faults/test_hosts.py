"""Whatever happens to a host: nothing half is recorded, and continuing ends with every run complete."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab import SLUG
from test_client import small_disk


def kill_agent(lab, host):
    """End the agent and all that it started, as a power cut does; its locks and records stay as they are."""
    spool = str(lab.spool(host))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if spool.encode() in words and int(process.name) != os.getpid():
            os.kill(int(process.name), signal.SIGKILL)


def test_the_host_is_rebooted_in_mid_run(make_lab):
    lab = make_lab()
    lab.describe(
        parameters={"rw": ["read", "randread"], "bs": "4k", "ioengine": "psync", "runtime": 4, "time_based": 1}
    )
    client = lab.start("run")
    lab.wait_for(lambda: lab.is_running("host1"))
    client.kill()
    client.communicate()
    kill_agent(lab, "host1")
    for record in lab.spool("host1").glob("runs/*/boot_id"):
        record.write_text("00000000-0000-0000-0000-000000000000\n")
    assert "stopped" in lab.call("status")
    lab.call("run", exit_status=1)  # the one that was interrupted is recorded as such, the others are complete
    assert sorted(entry.state for entry in lab.ledger.values()).count("interrupted") == 1
    lab.call("run")
    lab.call("pull")
    lab.assert_complete(n_incomplete=1)


def test_the_disk_of_the_host_is_full(make_lab):
    lab = make_lab()
    lab.describe(repeats=2)
    with small_disk(lab.folder / "spools/host1", "80m"):
        filler = lab.folder / "spools/host1/filler"
        filler.write_bytes(bytes(75 << 20))
        assert "disk full" in lab.call("run", exit_status=1)
        assert not lab.ledger
        filler.unlink()
        lab.call("run")
        lab.call("pull")
        lab.assert_complete()


def test_the_disk_fills_up_in_mid_run(make_lab):
    """Whatever became of the runs then, none is lost, none is said to be complete that is not, and all become so."""
    lab = make_lab()
    lab.describe(repeats=3)
    with small_disk(lab.folder / "spools/host1", "80m"):
        filler = lab.folder / "spools/host1/filler"
        client = lab.start("run")
        lab.wait_for(lambda: lab.is_running("host1"))
        with filler.open("wb") as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        client.communicate(timeout=120)
        filler.unlink()
        client = lab.start("run")  # what waits goes on; what failed is only tried again by the next one
        client.communicate(timeout=120)
        lab.call("run")
        lab.call("pull")
        lab.assert_complete(n_incomplete=sum(entry.state != "complete" for entry in lab.ledger.values()))


def test_cancel_stops_the_hosts_and_run_goes_on(make_lab):
    lab = make_lab(2)
    lab.describe(
        parameters={"rw": ["read", "randread"], "bs": "4k", "ioengine": "psync", "runtime": 30, "time_based": 1}
    )
    client = lab.start("run")
    lab.wait_for(lambda: lab.is_running("host1") and lab.is_running("host2"))
    started = time.monotonic()
    lab.call("cancel")
    assert time.monotonic() - started < 40
    client.communicate(timeout=60)
    lab.call("status")
    states = [entry.state for entry in lab.ledger.values()]
    assert states == ["cancelled"] * 2
    lab.call("pull")
    lab.assert_pulled()
    lab.describe()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete(n_incomplete=2)


def test_a_run_that_fails_is_recorded_and_tried_again(make_lab):
    lab = make_lab()
    lab.describe(repeats=1)
    shutil.rmtree(lab.folder / "scratch/host1")
    output = lab.call("run", exit_status=1)
    assert "scratch" in output  # the guard saw it before anything was begun
    assert not lab.ledger
    (lab.folder / "scratch/host1").mkdir()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_the_clock_of_the_host_is_skewed(make_lab, monkeypatch):
    if shutil.which("faketime") is None:
        pytest.skip("needs faketime")
    lab = make_lab()
    lab.describe()
    lab.hosts.stop("host1")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("FAKETIME", "-37h")
    lab.hosts.start("host1")
    monkeypatch.delenv("LD_PRELOAD")
    monkeypatch.delenv("FAKETIME")
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


@pytest.mark.parametrize("alias", ["host1", "behind1"])
@pytest.mark.parametrize("change", ["unknown", "changed"])
def test_a_host_key_is_not_what_it_was(make_lab, alias, change):
    lab = make_lab(1, has_jump=True)
    lab.describe(aliases={"host1": alias})
    if change == "changed":
        lab.hosts.change_host_key("host1")
    else:
        lab.hosts.write_known_hosts(("jump",))
    output = lab.call("run", exit_status=1)
    assert "SHA256:" in output
    assert not lab.ledger
    assert not any(lab.spool("host1").glob("runs/*"))
    lab.hosts.write_known_hosts()
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()


def test_the_key_of_the_jump_host_is_unknown(make_lab):
    lab = make_lab(1, has_jump=True)
    lab.describe(aliases={"host1": "behind1"})
    lab.hosts.write_known_hosts(("host1",))
    assert "jump" in lab.call("run", exit_status=1)
    assert not any(lab.spool("host1").glob("runs/*"))


@pytest.mark.parametrize(
    "name",
    ["../up", "a/b", "$(touch pwned)", "a;touch pwned", "a\nb", "a\u202eb", "-oProxyCommand=touch pwned", "a\0b"],
)
def test_hostile_names_reach_no_host(make_lab, name):
    lab = make_lab()
    lab.describe()
    spec = lab.project / f"data/campaigns/{SLUG}.yaml"
    text = spec.read_text("utf-8")
    escaped = name.encode("unicode_escape").decode().replace('"', '\\"')
    for old, new in (
        ("  host1:", f'  "{escaped}":'),
        ("ssh: host1", f'ssh: "{escaped}"'),
        ("test.dat", f'"{escaped}"'),
    ):
        spec.write_text(text.replace(old, new, 1), "utf-8")
        output = lab.call("run", exit_status=1)
        assert f"{SLUG}.yaml:" in output
    spec.write_text(text, "utf-8")
    slug = subprocess.run(
        ["python3", "-m", "pipeline", "run", name.replace("\0", "")], cwd=lab.project, env=lab.environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert slug.returncode != 0
    assert not list(lab.folder.rglob("pwned"))
    assert not any(lab.spool("host1").glob("runs/*"))
