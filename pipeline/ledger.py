"""The ledger of a campaign, ``data/campaigns/<slug>.ledger.json`` (in git): what ran, and the hash of its raw archive.

One attempt at a run is one entry, written once: a ledger only grows. Files are replaced whole, so a reader sees the old
ledger or the new one. One process writes at a time; what another one, such as ``git pull``, added meanwhile is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.campaign import STATES, check_host, check_run_id, check_slug, write_atomically
from pipeline.errors import CollectError, SpecError
from pipeline.locks import lock
from pipeline.project import INDEX

FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/].+")
_COMMAND_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Entry:
    """An attempt at a run, as its host packed it; CollectError for what no host of ours would say.

    ``ssh`` is the alias of the host and ``archive`` the absolute path of its archive there.
    """

    run_id: str  # of the attempt: <host>-<tool>-<point>-r<repeat>, +a2 … for another attempt
    host: str
    tool: str
    point: str
    repeat: int
    attempt: int
    state: str
    exit_status: int | None
    started_at: str | None
    stopped_at: str | None
    command: str
    work: str  # SHA-256 of all that was asked for: commands, job files, targets
    sha256: str
    n_bytes: int
    ssh: str
    archive: str

    def __post_init__(self) -> None:
        for field in fields(self):
            if problem := _problem(field.name, getattr(self, field.name)):
                raise CollectError(f"{field.name}: expected {problem}, found {getattr(self, field.name)!r}"[:500])
        expected = f"{self.host}-{self.tool}-{self.point}-r{self.repeat}" + (
            f"+a{self.attempt}" if self.attempt > 1 else ""
        )
        if self.run_id != expected:
            raise CollectError(
                f"run_id: expected {expected!r} of its host, tool, point and repeat, found {self.run_id!r}"
            )

    @property
    def identity(self) -> tuple[str, int]:
        """What makes two entries of an attempt the same: the bytes."""
        return self.sha256, self.n_bytes


class Ledger:
    """The entries of a campaign by attempt; ``add`` only inside ``writer``."""

    def __init__(self, path: Path, entries: dict[str, Entry]) -> None:
        self.path, self.entries, self.is_writable = path, entries, False

    @classmethod
    def load(cls, root: Path, slug: str) -> Ledger:
        """Read a campaign's ledger, empty where there is none; CollectError names file and key of what is wrong."""
        path = path_of(root, slug)
        return cls(path, _read(path, slug))

    def add(self, entries: Iterable[Entry]) -> list[str]:
        """Add entries and write, whole; the attempts that are new. CollectError for an attempt with another hash."""
        if not self.is_writable:
            raise CollectError(f"{self.path}: a ledger is written inside ledger.writer() alone")
        merged = {**_read(self.path, self.slug), **self.entries} if self.path.exists() else dict(self.entries)
        new = []
        for entry in entries:
            old = merged.setdefault(entry.run_id, entry)
            if old.identity != entry.identity:
                raise CollectError(
                    f"{self.path}: {entry.run_id}: has sha256 {old.sha256} of {old.n_bytes} bytes, and now "
                    f"{entry.sha256} of {entry.n_bytes} bytes; an entry never changes. Did two spools use one name?"
                )
            if old is entry:
                new.append(entry.run_id)
        if new:
            _write(self.path, self.slug, merged)
        self.entries = merged
        return new

    @property
    def slug(self) -> str:
        """The campaign."""
        return self.path.name.removesuffix(".ledger.json")


def path_of(root: Path, slug: str) -> Path:
    """``data/campaigns/<slug>.ledger.json``."""
    return root / INDEX.parent / f"{check_slug(slug)}.ledger.json"


@contextmanager
def writer(root: Path, slug: str) -> Iterator[Ledger]:
    """The ledger, for one process alone; CollectError says which other one has it."""
    path = path_of(root, slug)
    with lock(path.with_name(f".{slug}.lock"), f"{slug}: another process runs this campaign"):
        ledger = Ledger.load(root, slug)
        ledger.is_writable = True
        try:
            yield ledger
        finally:
            ledger.is_writable = False


def _read(path: Path, slug: str) -> dict[str, Entry]:
    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=_without_doubles)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise CollectError(f"{path}: expected a ledger in JSON, found: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("campaign") != slug:
        raise CollectError(f"{path}: expected a ledger of format {FORMAT} and campaign {slug}, found another")
    if not isinstance(content.get("runs"), dict) or len(content) != 3:
        raise CollectError(f"{path}: expected format, campaign and a mapping `runs`, found {', '.join(content)}")
    return {run_id: _entry(path, run_id, values) for run_id, values in content["runs"].items()}


def _entry(path: Path, run_id: str, values: Any) -> Entry:
    where = f"{path}: runs: {run_id!r}"[:500]
    expected = [field.name for field in fields(Entry) if field.name != "run_id"]
    if not isinstance(values, dict):
        raise CollectError(f"{where}: expected a mapping, found {type(values).__name__}")
    for key in [*expected, *values]:
        if key not in values or key not in expected:
            raise CollectError(
                f"{where}: {key}: " + ("expected, not found" if key in expected else "not expected here")
            )
    try:
        return Entry(run_id=run_id, **values)
    except CollectError as error:
        raise CollectError(f"{where}: {error}") from error


def _write(path: Path, slug: str, entries: dict[str, Entry]) -> None:
    runs = {run_id: asdict(entries[run_id]) for run_id in sorted(entries)}
    for values in runs.values():
        del values["run_id"]
    content = {"format": FORMAT, "campaign": slug, "runs": runs}
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(path, text)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands twice in a mapping; were two versions merged by hand?")
    return content


def _problem(name: str, value: Any) -> str | None:
    """What was expected of a field, where it is not that."""
    if name in ("repeat", "attempt", "n_bytes"):
        return None if type(value) is int and 1 <= value < 1 << 53 else "a count from 1"
    if name == "exit_status":
        return None if value is None or (type(value) is int and abs(value) < 1 << 31) else "an exit status or null"
    if name in ("started_at", "stopped_at"):
        return None if value is None or _is_time(value) else "a UTC time such as 2026-11-21T08:00:00Z, or null"
    if not isinstance(value, str):
        return "text"
    return _problem_of_text(name, value)


def _problem_of_text(name: str, value: str) -> str | None:
    if name in ("run_id", "host", "tool", "point"):
        return None if _is_name(value, check_run_id if name == "run_id" else check_host) else "letters, digits, . _ - +"
    if name == "state":
        return None if value in STATES else f"one of {', '.join(STATES)}"
    if name in ("sha256", "work"):
        return None if _SHA256.fullmatch(value) else "64 hexadecimal digits in lower case"
    if name == "command":
        return None if len(value) <= _COMMAND_CHARACTERS and "\0" not in value else "a command"
    if name == "ssh":
        return None if value and value.isprintable() and not value.startswith("-") and " " not in value else "an alias"
    return None if _is_archive(value) else "the absolute path of an archive, without '..'"


def _is_name(value: str, check: Callable[[str], str]) -> bool:
    try:
        return ".." not in check(value)
    except SpecError:
        return False


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value[:19])
    except ValueError:
        return False
    return True


def _is_archive(path: str) -> bool:
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return path.isprintable() and ".." not in parts and (path.startswith("/") or bool(_WINDOWS_PATH.fullmatch(path)))
