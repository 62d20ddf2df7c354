"""``pull`` against ``scp``: an archive of 500 MB from a private sshd on loopback, both in the same run, taking turns.

``fetch`` is what ``pull`` does in place of ``scp``: connect, transfer, hash, sync to the disk, rename. ``pull`` is the
whole command for a run whose log can't be compressed: Python's start, the fetching, writing 500 MB again while
unpacking, hashing them for the manifest, syncing. ``by hand`` is what it replaces: scp, sha256sum, tar, sha256sum.
Times are of the wall. ``fetch`` must reach 0.7 of scp's throughput, and ``pull`` 0.7 of that by hand, by the best and
by the median of the rounds.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import zstandard
from rich.console import Console
from rich.table import Table

from pipeline import ledger
from pipeline.collect.ssh.loopback import LoopbackHosts
from pipeline.ledger import Entry

SLUG, RUN = "2026-11-bench", "host1-fio-read-r1"
REACH = 0.7
REFERENCES = {"fetch": "scp", "pull": "by hand"}
PROJECT = Path(__file__).parents[2]
_FETCH = """
import sys; from pathlib import Path
from pipeline.collect.ssh import remote
from pipeline.collect.pull.archive import Archive
from pipeline.ledger import Ledger
root = Path(sys.argv[1]); entry, = Ledger.load(root, sys.argv[2]).entries.values()
import time; started = time.monotonic()
with remote.connect(entry.ssh) as host: Archive(root, print).fetch(entry, host, lambda _: None)
print(time.monotonic() - started)
"""


def main() -> int:
    """Print the table; 1 if a row that must hold does not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-pull-") as name, LoopbackHosts(1) as hosts:
        folder = Path(name)
        entry = make(folder, arguments.megabytes * 1_000_000)
        environment = {**os.environ, **hosts.environment, "PYTHONPATH": str(PROJECT)}
        times: dict[str, list[float]] = {"scp": [], "fetch": [], "by hand": [], "pull": []}
        for _ in range(arguments.rounds):
            times["scp"].append(scp(entry, folder, hosts))
            times["fetch"].append(fetch(folder, environment))
            times["by hand"].append(by_hand(entry, folder, hosts))
            times["pull"].append(pull(folder, environment))
    return show(times, entry.n_bytes)


def make(folder: Path, n_bytes: int) -> Entry:
    """A campaign of one run whose archive has about ``n_bytes``, in a ledger."""
    described = json.dumps({"run_id": RUN, "campaign": SLUG, "host": "host1", "logs": ["fio.json"]}).encode()
    path, chance = folder / f"{RUN}.tar.zst", random.Random(1)
    with (
        path.open("wb") as file,
        zstandard.ZstdCompressor(level=1).stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name, size in (("command.json", len(described)), ("fio.json", n_bytes)):
            member = tarfile.TarInfo(f"{RUN}/{name}")
            member.size = size
            tar.addfile(member, io.BytesIO(described) if name == "command.json" else _Noise(chance))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    (folder / "data/campaigns").mkdir(parents=True)
    (folder / "data/campaigns/index.yaml").write_text("campaigns: {}\n")
    entry = Entry(
        run_id=RUN, host="host1", tool="fio", point="read", repeat=1, attempt=1, state="complete", exit_status=0,
        started_at=None, stopped_at=None, command="fio job", work="0" * 64, sha256=digest, n_bytes=path.stat().st_size,
        ssh="host1", archive=str(path),
    )  # fmt: skip
    with ledger.writer(folder, SLUG) as book:
        book.add([entry])
    return entry


class _Noise(io.RawIOBase):
    """Bytes that can't be compressed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def read(self, size: int = -1) -> bytes:
        """Some of them."""
        return self._chance.randbytes(size)


def scp(entry: Entry, folder: Path, hosts: LoopbackHosts) -> float:
    """Seconds that OpenSSH's scp takes."""
    started = time.monotonic()
    _copy(entry, folder, hosts)
    seconds = time.monotonic() - started
    (folder / "copy").unlink()
    return seconds


def by_hand(entry: Entry, folder: Path, hosts: LoopbackHosts) -> float:
    """Seconds to get the archive, look at its hash, unpack it and hash what was in it, by the usual programs."""
    started = time.monotonic()
    _copy(entry, folder, hosts)
    subprocess.run(["sha256sum", folder / "copy"], check=True, stdout=subprocess.DEVNULL)
    (folder / "unpacked").mkdir()
    subprocess.run(["tar", "-x", "--zstd", "-f", folder / "copy", "-C", folder / "unpacked"], check=True)
    files = sorted((folder / "unpacked" / RUN).iterdir())
    subprocess.run(["sha256sum", *files], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    (folder / "copy").unlink()
    shutil.rmtree(folder / "unpacked")
    return seconds


def _copy(entry: Entry, folder: Path, hosts: LoopbackHosts) -> None:
    subprocess.run(["scp", "-q", "-F", hosts.config, f"host1:{entry.archive}", folder / "copy"], check=True)


def fetch(folder: Path, environment: dict[str, str]) -> float:
    """Seconds from connecting to the archive's being here, whole."""
    command = [sys.executable, "-c", _FETCH, folder, SLUG]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    shutil.rmtree(folder / "data/archive")
    return float(done.stdout)


def pull(folder: Path, environment: dict[str, str]) -> float:
    """Seconds of the whole command."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pipeline", "pull", SLUG]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    shutil.rmtree(folder / "data/archive")
    shutil.rmtree(folder / "data/raw")
    return seconds


def show(times: dict[str, list[float]], n_bytes: int) -> int:
    """The table, as bench.py prints its own."""
    table = Table(title=f"pull against scp: {n_bytes / 1e6:.0f} MB over loopback, rounds taking turns")
    for column in ("what", "MB/s, best", "MB/s, median", "reference", "× best", "× median", "reach", ""):
        table.add_column(column, justify="left" if column in ("what", "reference") else "right")
    rates = {what: sorted(n_bytes / 1e6 / seconds for seconds in found) for what, found in times.items()}
    is_held = True
    for what, found in rates.items():
        row = [what, *(f"{rate:.0f}" for rate in _best_and_median(found))]
        if reference := REFERENCES.get(what):
            pairs = zip(_best_and_median(found), _best_and_median(rates[reference]), strict=True)
            ratios = [rate / other for rate, other in pairs]
            holds = min(ratios) >= REACH
            row += [reference, *(f"{ratio:.2f}" for ratio in ratios), f"≥ {REACH}", "holds" if holds else "FAILS"]
            is_held &= holds
        table.add_row(*row)
    Console(width=120).print(table)
    print(
        f"peak memory of the largest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB"
    )
    return 0 if is_held else 1


def _best_and_median(rates: list[float]) -> tuple[float, float]:
    return rates[-1], statistics.median(rates)


if __name__ == "__main__":
    sys.exit(main())
