"""Helpers of the tests of the host's scripts: a spool on this machine, and the agent in it."""

import io
import json
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

HOST = Path(__file__).parents[2] / "pipeline" / "collect" / "host"
LIMITS = {"TIME_LIMIT_S": 20, "WARM_UP_S": 0, "COOL_DOWN_S": 0, "FREE_BYTES": 0}
FINAL = {"complete", "failed", "timed_out", "cancelled", "interrupted", "refused"}


def script(*lines):
    return "\n".join(("#!/bin/sh", "set -eu", *lines, ""))


def attempt_files(*measure, targets="", **files):
    """The files of an attempt; further ones by name with `_` for `-` and `.`: monitor_x=…, limits={…}."""
    limits = LIMITS | files.pop("limits", {})
    named = {f"{name.replace('_', '-')}.sh": script(text) for name, text in files.items()}
    return {
        "command.json": json.dumps({"run_id": "x", "tool": "sh", "command": " && ".join(measure)}, indent=1),
        "measure.sh": script(*measure),
        "targets": targets,
        "limits": "".join(f"{name}={value}\n" for name, value in limits.items()),
        **named,
    }


def tar_of(attempts, queue=None):
    """What a client submits."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        lines = attempts if queue is None else queue
        add(archive, "queue", "".join(f"{name}\n" for name in lines))
        for attempt, files in attempts.items():
            for name, text in files.items():
                add(archive, f"runs/{attempt}/{name}", text)
    return buffer.getvalue()


def add(archive, name, text):
    member = tarfile.TarInfo(name)
    member.size = len(text.encode())
    archive.addfile(member, io.BytesIO(text.encode()))


class Spool:
    """A campaign's spool folder, with the scripts in it; `shell` runs them."""

    def __init__(self, folder, shell=("sh",)):
        self.folder, self.shell = folder, shell
        folder.mkdir(exist_ok=True)
        for path in HOST.glob("*.sh"):
            shutil.copy(path, folder)

    def verb(self, verb, *arguments, data=b"", ok=True):
        command = [*self.shell, self.folder / "agent.sh", verb, self.folder, *arguments]
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=100)
        assert (done.returncode == 0) == ok, (done.stdout, done.stderr)
        return (done.stdout if ok else done.stderr).decode()

    def submit(self, attempts, **options):
        return self.verb("submit", data=tar_of(attempts), **options)

    def run(self, attempts):
        self.submit(attempts)
        assert self.verb("start") == "started\n"
        return self.wait()

    def status(self):
        """The agent's word, the status of runs in hand, and what is done."""
        lines = [line.split("\t") for line in self.verb("status").splitlines()]
        done = [json.loads(line[1]) for line in lines if line[0] == "done"]
        agent = next(line[1] for line in lines if line[0] == "agent")
        return agent, {line[1]: line[2] for line in lines if line[0] == "run"}, {item["attempt"]: item for item in done}

    def wait(self, until=None, limit_s=60):
        """Wait until the agent has ended, or for a condition of the status; returns the status."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            status = self.status()
            if until(*status) if until else status[0] != "working":
                return status
            time.sleep(0.1)
        raise AssertionError(f"not in {limit_s} s: {status}, {self.log()}")

    def wait_for(self, attempt, word):
        self.wait(lambda _, runs, __: runs.get(attempt) == word)

    def log(self):
        path = self.folder / "agent.log"
        return path.read_text() if path.exists() else ""

    @property
    def agent_pid(self):
        return int((self.folder / "agent.pid").read_text().split()[0])

    def unpack(self, attempt, to):
        """The files of an archive by their name; checks its form."""
        archive = self.folder / "done" / f"{attempt}.tar.zst"
        data = subprocess.run(["zstd", "-dcq", archive], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            members = tar.getmembers()
            assert all(member.name == attempt or member.name.startswith(f"{attempt}/") for member in members)
            assert all(member.isfile() or member.isdir() for member in members)
            tar.extractall(to, filter="data")
        return {path.name: path.read_text(errors="replace") for path in (to / attempt).iterdir() if path.is_file()}
