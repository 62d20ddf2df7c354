"""Whole campaigns of other tools, of many hosts, through DVC, and the demo."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from lab import ROOT, SLUG, digest

import pipeline


def rewrite(lab, change):
    """Change the spec."""
    path = lab.project / f"data/campaigns/{SLUG}.yaml"
    content = yaml.safe_load(path.read_text("utf-8"))
    change(content)
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")


def read_all(lab):
    return {name: pipeline.read(lab.raw / name) for name in lab.ledger}


def test_iperf3_between_two_hosts(make_lab):
    lab = make_lab(2)
    lab.describe()

    def change(content):
        content["hosts"]["host2"]["address"] = "127.0.0.1"
        parameters = {"server": "host2", "port": 5299, "time": 1}
        content["runs"] = [{"tool": "iperf3", "hosts": ["host1"], "parameters": parameters}]

    rewrite(lab, change)
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()
    assert all((tables.network_streams["bytes_per_s"] > 0).any() for tables in read_all(lab).values())
    command = ["sh", lab.spool("host2") / "agent.sh", "status", lab.spool("host2")]
    assert "service\tiperf3-5299\tended" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_stress_ng_with_monitors(make_lab):
    lab = make_lab()
    lab.describe()

    def change(content):
        content["repeats"] = 1
        content["runs"] = [
            {"tool": "stress_ng", "parameters": {"cpu": 1, "timeout": 3}, "monitors": ["iostat", "mpstat"]}
        ]

    rewrite(lab, change)
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()
    (tables,) = read_all(lab).values()
    assert set(tables.runs["tool"]) == {"stress_ng", "iostat", "mpstat", "environment"}
    assert tables.runs["is_complete"].all()


def test_steps_through_sudo(make_lab):
    if shutil.which("sudo") is None:
        pytest.skip("needs sudo")
    lab = make_lab()
    lab.describe(repeats=1, sudo=True)
    lab.call("run")
    lab.call("pull")
    lab.assert_complete()
    assert all(entry.command.startswith("sudo -n ") for entry in lab.ledger.values())


def test_other_settings_under_the_same_name_are_refused(make_lab):
    lab = make_lab()
    lab.describe(repeats=1)
    lab.call("run")
    lab.describe(repeats=1, parameters={"rw": ["read", "randread"], "bs": "8k", "ioengine": "psync"})
    assert "found others under the same names" in lab.call("run", exit_status=1)
    lab.describe(repeats=1, name="8k", parameters={"rw": ["read", "randread"], "bs": "8k", "ioengine": "psync"})
    lab.call("run")
    assert len(lab.ledger) == 4


def test_fifty_hosts_and_four_runs_each(make_lab):
    lab = make_lab(50)
    lab.describe()
    client = lab.start("run")
    peak = 0
    while client.poll() is None:
        try:
            status = Path(f"/proc/{client.pid}/status").read_text("utf-8")
            peak = int(status.split("VmHWM:")[1].split()[0]) << 10
        except (OSError, IndexError):
            break
        time.sleep(0.2)
    output, _ = client.communicate(timeout=900)
    assert client.returncode == 0, output
    assert len(lab.ledger) == 200
    assert peak < 300 << 20, f"{peak / 1e6:.0f} MB"
    lab.call("pull")
    lab.assert_complete()


@pytest.fixture
def in_clone(make_lab):
    """A lab whose project is a clone of this one, so that DVC's stages are there."""
    lab = make_lab(2)
    shutil.rmtree(lab.project)
    subprocess.run(["git", "clone", "--quiet", ROOT, lab.project], check=True)
    (lab.project / ".dvc/config.local").write_text("[cache]\n    dir = cache\n", "utf-8")
    lab.describe()
    return lab


def repro(lab, exit_status=0):
    done = subprocess.run(
        ["dvc", "repro", "--single-item", f"pull@{SLUG}"], cwd=lab.project, env=lab.environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == exit_status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_dvc_asks_a_host_only_for_what_is_nowhere_else_and_never_runs_anything(in_clone):
    lab = in_clone
    lab.call("run")
    repro(lab)
    lab.assert_complete()
    spools = {host: sorted(path.name for path in lab.spool(host).rglob("*")) for host in lab.hosts.aliases}
    for host in lab.hosts.aliases:
        lab.hosts.stop(host)
    repro(lab)  # nothing is missing
    shutil.rmtree(lab.raw)
    repro(lab)  # from data/archive
    lab.assert_complete()
    shutil.rmtree(lab.raw)
    shutil.rmtree(lab.project / "data/archive")
    repro(lab)  # from DVC's cache
    assert {path.name for path in lab.raw.iterdir()} == set(lab.ledger)
    lab.describe(repeats=3)  # more is asked for in the spec: no stage sees to it
    repro(lab)
    path = lab.project / f"data/campaigns/{SLUG}.ledger.json"
    content = json.loads(path.read_bytes())
    run = content["runs"]["host1-fio-read-r1"]
    content["runs"]["host1-fio-read-r9"] = {**run, "repeat": 9, "sha256": "0" * 64}
    path.write_text(json.dumps(content), "utf-8")
    assert "host1" in repro(lab, exit_status=255)  # now it must ask, and the host is away
    assert spools == {host: sorted(path.name for path in lab.spool(host).rglob("*")) for host in lab.hosts.aliases}


def test_the_demo_ends_with_a_page_and_its_records_agree(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "demo"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (project,) = tmp_path.glob("benchmark-demo-*/project")
    (page,) = (project / "data/site").glob("campaign-*-demo.html")
    slug = page.stem.removeprefix("campaign-")
    runs = json.loads((project / f"data/campaigns/{slug}.ledger.json").read_bytes())["runs"]
    assert len(runs) == 12
    for name, run in runs.items():
        assert run["state"] == "complete"
        assert name in page.read_text("utf-8")
        assert digest(project / f"data/archive/{run['sha256']}.tar.zst") == run["sha256"]
        manifest = json.loads((project / f"data/raw/{slug}/{name}/manifest.json").read_bytes())
        assert all(
            digest(project / f"data/raw/{slug}/{name}/{file['path']}") == file["sha256"] for file in manifest["files"]
        )
    assert before == subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout
    assert not list(tmp_path.glob("loopback-hosts-*"))
