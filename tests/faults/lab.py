"""A project and its hosts for fault tests: real sshd, fio and command line; and what must hold at the end."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import yaml

from pipeline.collect import plan, spec
from pipeline.ledger import Ledger

ROOT = Path(__file__).parents[2]
SLUG = "2026-11-faults"


class Lab:
    """A project folder with one campaign on loopback hosts, each with a spool of its own."""

    def __init__(self, folder, hosts):
        self.project, self.hosts, self.folder = folder / "project", hosts, folder
        path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, **hosts.environment, "PYTHONPATH": str(ROOT), "PATH": path}
        (self.project / "data/campaigns").mkdir(parents=True)
        (self.project / "data/campaigns/index.yaml").write_text("campaigns: {}\ncollected: {}\n", "utf-8")

    def spool(self, host):
        return self.folder / "spools" / host / SLUG

    def describe(self, hosts=None, *, aliases=None, repeats=2, devices=None, target=None, **entry):
        """Write the spec: a short fio run a point, two points, on each host; ``entry`` changes its run."""
        names = hosts or list(self.hosts.aliases)
        held = {}
        for name in names:
            scratch = self.folder / "scratch" / name
            scratch.mkdir(parents=True, exist_ok=True)
            held[name] = {
                "ssh": (aliases or {}).get(name, name), "spool": str(self.folder / "spools" / name),
                "directories": {"scratch": {"path": str(scratch)}}, **({"devices": devices} if devices else {}),
            }  # fmt: skip
            (self.folder / "spools" / name).mkdir(parents=True, exist_ok=True)
        run = {
            "tool": "fio", "target": target or {"directory": "scratch", "file": "test.dat", "size_bytes": 1 << 20},
            "parameters": {"rw": ["read", "randread"], "bs": "4k", "ioengine": "psync"}, **entry,
        }  # fmt: skip
        content = {"title": "Faults", "seed": 7, "repeats": repeats, "hosts": held, "runs": [run]}
        (self.project / f"data/campaigns/{SLUG}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")

    def start(self, *arguments, **options):
        """The command line, in the background."""
        return subprocess.Popen(
            [sys.executable, "-m", "pipeline", arguments[0], SLUG, *arguments[1:]], cwd=self.project,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            **options,
        )  # fmt: skip

    def call(self, *arguments, exit_status=0, timeout=180):
        """The command line; its output."""
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            process.kill()
        assert process.returncode == exit_status, output
        return output

    @property
    def ledger(self):
        return Ledger.load(self.project, SLUG).entries

    @property
    def raw(self):
        return self.project / "data/raw" / SLUG

    def planned(self):
        """The ids of all runs of the campaign."""
        plans = plan.make(spec.load(self.project, SLUG))
        return {run.run_id for held in plans for run in held.runs}

    def wait_for(self, condition, timeout=60):
        """Wait until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.05)

    def is_running(self, host):
        """Whether the host measures right now."""
        return any(path.read_text().strip() == "running" for path in self.spool(host).glob("runs/*/status"))

    def assert_complete(self, *, n_incomplete=0):
        """Each planned run is complete exactly once; ledger, hosts' archives, data/archive and raw folders agree."""
        entries = self.ledger
        complete = Counter(plan.run_of(name) for name, entry in entries.items() if entry.state == "complete")
        assert complete == dict.fromkeys(self.planned(), 1)
        assert len(entries) - len(complete) == n_incomplete
        for name, entry in entries.items():
            assert digest(Path(entry.archive)) == entry.sha256, name
        self.assert_pulled()

    def assert_pulled(self):
        """What the ledger names is in raw, byte for byte as its manifest says, and nothing else is."""
        entries = self.ledger
        assert {path.name for path in self.raw.iterdir()} == set(entries)
        for name, entry in entries.items():
            archive = self.project / "data/archive" / f"{entry.sha256}.tar.zst"
            assert digest(archive) == entry.sha256
            manifest = json.loads((self.raw / name / "manifest.json").read_bytes())
            assert (manifest["run_id"], manifest["state"]) == (name, entry.state)
            held = {file["path"]: file["sha256"] for file in manifest["files"]}
            found = [path for path in (self.raw / name).rglob("*") if path.is_file() and path.name != "manifest.json"]
            assert held == {path.relative_to(self.raw / name).as_posix(): digest(path) for path in found}
        assert {path.name for path in (self.project / "data/archive").iterdir() if not path.name.startswith(".")} == {
            f"{entry.sha256}.tar.zst" for entry in entries.values()
        }


def digest(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
