"""``pull``: the runs that a ledger names and ``data/raw`` lacks, from where they are nearest.

data/archive, then DVC's cache or remote, then the host. Each run appears whole or not at all, and what is there is
never touched. Where nothing is missing nobody is asked. A host that does not answer is tried again ``len(WAITS_S)``
times in a row without a byte; then it is given up, and the others' runs come in all the same.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.campaign import MANIFEST, check_slug, sync_folder
from pipeline.errors import CollectError, UnreachableError
from pipeline.ledger import Entry, Ledger, path_of
from pipeline.locks import lock
from pipeline.project import raw_folder

if TYPE_CHECKING:
    from pipeline.collect.pull.archive import Archive
    from pipeline.collect.ssh.connection import Remote

WAITS_S: tuple[float, ...] = (1, 4, 15)
_SHOWN = 5


def pull(slug: str, root: Path) -> int:
    """Bring in what is missing and say what came; 1 if something still is, with the hosts and runs, else 0."""
    path = path_of(root, check_slug(slug))
    if not path.is_file():
        raise CollectError(f"{path}: expected the campaign's ledger; `python -m pipeline run {slug}` makes it")
    entries = Ledger.load(root, slug).entries
    pulled = _Pull(slug, root)
    if not pulled.missing(entries.values()) and not pulled.remnants():
        print(f"{slug}: all {len(entries)} runs are here")
        return 0
    with lock(root / "data" / "archive" / f".{slug}.lock", f"{slug}: another pull works", is_waiting=True):
        return pulled.work()


class _Pull:
    """One pull of a campaign."""

    def __init__(self, slug: str, root: Path) -> None:
        self._slug, self._root = slug, root
        self._count: Callable[[str, int], None] = lambda *_: None  # of bytes as they come from a host
        self._raw = raw_folder(slug, root)
        self._guard = threading.Lock()
        self._came: Counter[str] = Counter()  # runs by where from
        self._n_bytes, self._seconds, self._problems = 0, 0.0, list[str]()  # of what came from hosts

    def missing(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries whose runs are not in raw/."""
        return [entry for entry in entries if not (self._raw / entry.run_id / MANIFEST).is_file()]

    def remnants(self) -> list[Path]:
        """What an earlier pull was about to unpack when it was ended."""
        return list(self._raw.glob(".incoming-*")) if self._raw.is_dir() else []

    def work(self) -> int:
        """Bring in what is missing; the caller holds the lock.

        The ledger is read until it has nothing new: DVC notes its hash when the pull has ended, and would not pull
        again for what a run adds to it meanwhile.
        """
        for remnant in self.remnants():
            shutil.rmtree(remnant)
        seen: set[str] = set()
        n_here = 0
        while fresh := [e for name, e in Ledger.load(self._root, self._slug).entries.items() if name not in seen]:
            seen.update(entry.run_id for entry in fresh)
            missing = self.missing(fresh)
            n_here += len(fresh) - len(missing)
            self._from_hosts(self._from_dvc(self._from_archive(self._free(missing))))
        self._say(len(seen), n_here)
        return 1 if self._problems else 0

    def _free(self, missing: list[Entry]) -> list[Entry]:
        """Those of which nothing is in the way; a folder that is no run of ours is left as it is."""
        free = []
        for entry in missing:
            folder = self._raw / entry.run_id
            if folder.exists() or folder.is_symlink():
                self._problem(f"{folder}: expected a run with {MANIFEST}, found none; move it away, then pull again")
            else:
                free.append(entry)
        return free

    def _from_archive(self, missing: list[Entry]) -> list[Entry]:
        from pipeline.collect.pull.archive import Archive

        self._archive: Archive = Archive(self._root, self._tell)
        still_missing = []
        for entry in missing:
            path = self._archive.find(entry)
            if path is None:
                still_missing.append(entry)
            else:
                self._try(lambda entry=entry, path=path: self._put(entry, path, "data/archive"))  # type: ignore[misc]
        return still_missing

    def _from_dvc(self, missing: list[Entry]) -> list[Entry]:
        from pipeline.collect.pull import dvccache

        if not missing or not dvccache.has_output(self._root, self._slug):
            return missing
        came = set()
        for entry in dvccache.restore(self._root, self._slug, missing, self._incoming, self._tell):
            self._reveal(entry, "DVC")
            came.add(entry)
        return [entry for entry in missing if entry not in came]

    def _from_hosts(self, missing: list[Entry]) -> None:
        if not missing:
            return
        from pipeline.collect.pull.bars import bars
        from pipeline.collect.ssh import remote

        wanted: dict[str, list[Entry]] = {}
        for entry in missing:
            wanted.setdefault(entry.ssh, []).append(entry)
        n_bytes: Counter[str] = Counter()
        for entry in missing:
            n_bytes[entry.host] += entry.n_bytes
        started = time.monotonic()
        with bars(n_bytes) as self._count:
            for alias, outcome in remote.each(
                wanted, lambda alias, host: self._drain(host, wanted[alias]), is_opened=False
            ):
                if isinstance(outcome, CollectError):
                    lacking = self.missing(wanted[alias])
                    names = ", ".join(sorted({entry.host for entry in wanted[alias]}))
                    self._problem(f"host {names}: {outcome}\n  not here: {_listed(entry.run_id for entry in lacking)}")
        self._seconds += time.monotonic() - started

    def _drain(self, host: Remote, entries: list[Entry]) -> None:
        """Bring a host's runs in, one after another; it is given up when it stays away."""
        for entry in entries:
            self._try(lambda entry=entry: self._patiently(host, entry))  # type: ignore[misc]

    def _patiently(self, host: Remote, entry: Entry) -> None:
        n_tries, n_bytes = 0, 0

        def count(n_came: int) -> None:
            nonlocal n_bytes
            n_bytes += n_came
            with self._guard:
                self._n_bytes += n_came
            self._count(entry.host, n_came)

        while True:
            n_before = n_bytes
            try:
                path = self._archive.fetch(entry, host, count)
            except UnreachableError as error:
                n_tries = 1 if n_bytes > n_before else n_tries + 1
                if n_tries > len(WAITS_S) or host.is_closed:
                    raise
                self._tell(f"{error}; once more in {WAITS_S[n_tries - 1]:.0f} s")
                host.pause(WAITS_S[n_tries - 1])
            else:
                self._put(entry, path, "hosts")
                return

    def _try(self, bring: Callable[[], None]) -> None:
        """Note what went wrong with one run; a host that stays away concerns all of its runs."""
        try:
            bring()
        except UnreachableError:
            raise
        except CollectError as error:
            self._problem(str(error))

    def _put(self, entry: Entry, archive: Path, source: str) -> None:
        from pipeline.collect.pull.unpacking import unpack

        unpack(archive, entry, self._slug, self._incoming(entry))
        self._reveal(entry, source)

    def _incoming(self, entry: Entry) -> Path:
        return self._raw / f".incoming-{entry.run_id}"

    def _reveal(self, entry: Entry, source: str) -> None:
        self._incoming(entry).rename(self._raw / entry.run_id)
        sync_folder(self._raw)
        with self._guard:
            self._came[source] += 1

    def _tell(self, text: str) -> None:
        with self._guard:
            print(text, file=sys.stderr, flush=True)

    def _problem(self, text: str) -> None:
        with self._guard:
            self._problems.append(text)

    def _say(self, n_entries: int, n_here: int) -> None:
        n_came = sum(self._came.values())
        sources = ", ".join(f"{number} from {source}" for source, number in self._came.items())
        megabytes = self._n_bytes / 1e6
        rate = f" ({megabytes:.1f} MB at {megabytes / self._seconds:.0f} MB/s)" if self._n_bytes else ""
        came = f"{n_came} came in: {sources}{rate}" if n_came else "none came in"
        print(f"{self._slug}: of {n_entries} runs {n_here} were here, {came}", flush=True)
        for problem in self._problems:
            print(f"error: {problem}", file=sys.stderr)
        if self._problems:
            n_lacking = n_entries - n_here - n_came
            print(
                f"{self._slug}: {n_lacking} runs are still missing; to try again: python -m pipeline pull {self._slug}",
                file=sys.stderr,
            )


def _listed(names: Iterable[str]) -> str:
    every = sorted(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{len(every)} runs: {', '.join(every[:_SHOWN])}{more}"
