"""``make demo``: the whole way on one machine, from a spec to a page, against a private sshd, in a temporary clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import yaml

from pipeline.collect.ssh.loopback import LoopbackHosts
from pipeline.errors import CollectError

# program → Debian's package
NEEDS = {
    "git": "git", "fio": "fio", "sshd": "openssh-server", "ssh": "openssh-client", "iostat": "sysstat",
    "perf": "linux-perf", "zstd": "zstd",
}  # fmt: skip
_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
FILE_BYTES = 128 << 20
STAGES = ("parse", "notebook@02-littles-law")  # and what they need, pull; all notebooks would take four minutes more


def demo(root: Path) -> int:
    """Run, pull, parse and publish a campaign of two minutes; ends with the path of its page.

    Whatever is written is in a temporary folder, which stays for the page to be looked at. CollectError names what is
    not installed.
    """
    missing = {package: program for program, package in NEEDS.items() if shutil.which(program, path=_PATH) is None}
    if missing:
        packages = " ".join(sorted(missing))
        raise CollectError(f"demo: expected {', '.join(missing.values())}, found none; sudo apt-get install {packages}")
    folder = Path(tempfile.mkdtemp(prefix="benchmark-demo-"))
    project = _clone(root, folder)
    slug = f"{datetime.now(UTC):%Y-%m}-demo"
    (project / "data/campaigns" / f"{slug}.yaml").write_text(yaml.safe_dump(spec(folder), sort_keys=False), "utf-8")
    with LoopbackHosts(1) as hosts:
        environment = {**os.environ, **hosts.environment}
        for command in (["run", slug, "--dry-run"], ["doctor", slug], ["run", slug]):
            _call([sys.executable, "-m", "pipeline", *command], project, environment)
        _call(["dvc", "repro", *STAGES], project, environment)
    _call(["dvc", "repro", "--single-item", "site"], project, environment)
    page = project / "data/site" / f"campaign-{slug}.html"
    if not page.is_file():
        raise CollectError(f"{page}: expected the campaign's page, found none")
    print(f"\nThe page of the campaign: {page}\nAll of it is below {folder}: rm -r it when you have seen it.")
    return 0


def spec(folder: Path) -> dict[str, object]:
    """A sweep of fio over a file in ``folder``, with iostat, and with perf stat where the kernel lets us."""
    monitors: list[object] = ["iostat"]
    if _can_count():
        monitors.append("perf_stat")
    (folder / "scratch").mkdir()
    is_direct = _takes_direct(folder / "scratch")
    return {
        "title": "Demo: a file of this machine by fio over queue depth",
        "question": "How do rate and latency follow the queue depth?",
        "notes": f"Made by `make demo`; {'O_DIRECT' if is_direct else 'through the page cache'}, 3 repeats of 4 s.",
        "seed": 1,
        "repeats": 3,
        "hosts": {
            "demo": {
                "ssh": "host1", "spool": str(folder / "spool"),
                "directories": {"scratch": {"path": str(folder / "scratch")}},
            }
        },
        "runs": [
            {
                "tool": "fio",
                "target": {"directory": "scratch", "file": "demo.dat", "size_bytes": FILE_BYTES},
                "parameters": {
                    "rw": ["randread", "randwrite"], "iodepth": [1, 8], "bs": "4k", "ioengine": "libaio",
                    "direct": int(is_direct), "time_based": 1, "runtime": 4,
                },
                "warm_up_s": 1,
                "cool_down_s": 1,
                "monitors": monitors,
            }
        ],
    }  # fmt: skip


def _clone(root: Path, folder: Path) -> Path:
    """A clone of the project's last commit, with what DVC has cached of it: nothing is computed again."""
    project = folder / "project"
    _call(["git", "clone", "--quiet", "--no-hardlinks", str(root), str(project)], folder, dict(os.environ))
    cache = root / ".dvc/cache"
    if cache.is_dir():
        shutil.copytree(cache, project / ".dvc/cache", dirs_exist_ok=True)
    return project


def _call(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    print(f"\n$ {' '.join(command)}", flush=True)
    ended = subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603
    if ended.returncode:
        raise CollectError(f"demo: `{' '.join(command)}` ended with {ended.returncode}; its folder is {folder}")


def _can_count() -> bool:
    """Whether perf may count on all processors: the kernel, or a container, may forbid it."""
    command = ["perf", "stat", "-a", "-e", "task-clock", "true"]
    ended = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PATH": _PATH})  # noqa: S603
    if ended.returncode:
        print("perf stat may not count on this machine (kernel.perf_event_paranoid?): the demo goes without it")
    return not ended.returncode


def _takes_direct(folder: Path) -> bool:
    """Whether files there may be opened past the page cache; tmpfs often refuses."""
    place = folder / ".direct"
    try:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600))
    except OSError:
        return False
    finally:
        place.unlink(missing_ok=True)
    return True
