"""Campaigns and manifests: what was measured, and which bytes came of it; load, validate, write.

``data/campaigns/<slug>.yaml`` tells what a campaign is; ``data/campaigns/index.yaml`` lists the campaigns for DVC;
``data/raw/<slug>/<run_id>/manifest.json`` names a run's raw files with their hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import SpecError
from pipeline.project import INDEX, find_root

MANIFEST = "manifest.json"
FORMAT = 1
STATES = ("complete", "failed", "timed_out", "cancelled", "interrupted", "refused")
_SLUG = re.compile(r"(?=.*[a-z])[a-z0-9][a-z0-9-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")


@dataclass(frozen=True)
class RawFile:
    """A raw file: its path inside the run folder, its size, its hash, and where an import took it from.

    ``is_log`` is false for what collecting wrote beside the logs (scripts, status files): no reader is asked for it.
    """

    path: str
    n_bytes: int
    sha256: str
    imported_from: str | None = None
    is_log: bool = True

    @classmethod
    def of(cls, path: Path, imported_from: str | None = None, *, is_log: bool = True) -> RawFile:
        """Describe a file on disk."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(path.name, path.stat().st_size, digest, imported_from, is_log)


@dataclass(frozen=True)
class Manifest:
    """What a run folder holds: which run of which campaign it was, how it ran, and its files.

    ``attempt`` counts from 1 how often this repeat was tried; ``state`` is one of ``STATES``.
    """

    run_id: str
    campaign: str
    host: str
    tool: str | None
    point: str | None = None
    repeat: int | None = None
    command: str | None = None
    started_at: str | None = None
    exit_status: int | None = None
    files: tuple[RawFile, ...] = field(default_factory=tuple)
    attempt: int = 1
    state: str = STATES[0]
    stopped_at: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the run ended by itself, as far as is known."""
        return self.state == STATES[0]

    @property
    def is_watched(self) -> bool:
        """Whether it is known how the run ended: of logs that were imported it is not."""
        return not self.is_complete or self.stopped_at is not None

    def may_be_log(self, name: str) -> bool:
        """Whether a reader is to be asked for a file of the folder; also for one that the manifest does not name."""
        return all(file.is_log for file in self.files if file.path == name)

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read ``manifest.json``; SpecError names the file and what is wrong."""
        try:
            content = json.loads(path.read_bytes())
            if content.pop("format") != FORMAT:
                raise SpecError(f"{path}: expected format {FORMAT}; this manifest is of another version")
            files = tuple(RawFile(**entry) for entry in content.pop("files"))
            manifest = cls(**content, files=files)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecError(
                f"{path}: expected a manifest as `python -m pipeline import` writes it: {error!r}"
            ) from error
        check_run_id(manifest.run_id, str(path))
        if manifest.state not in STATES:
            raise SpecError(f"{path}: state: expected one of {', '.join(STATES)}, found {manifest.state!r}")
        if type(manifest.attempt) is not int or manifest.attempt < 1:
            raise SpecError(f"{path}: attempt: expected a count from 1, found {manifest.attempt!r}")
        return manifest

    def save(self, folder: Path) -> None:
        """Write ``folder/manifest.json``, whole or not at all."""
        content = {"format": FORMAT, **asdict(self)}
        write_atomically(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def paths_below(folder: Path) -> list[Path]:
    """What is below a folder in a fixed order; hidden ones, such as a half-made copy, do not count.

    Links to folders are not followed: they may lead in a circle.
    """
    return [
        path
        for path in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def files_below(folder: Path) -> list[Path]:
    """The files below a folder, in that order."""
    return [path for path in paths_below(folder) if is_file(path)]


def is_file(path: Path) -> bool:
    """Whether there is a file; not where the folder does not let us see it."""
    try:
        return path.is_file()
    except PermissionError:
        return False


def manifests_below(folder: Path) -> dict[Path, Manifest]:
    """The manifests below a folder by the run folder that each stands in, in a fixed order."""
    return {path.parent: Manifest.load(path) for path in files_below(folder) if path.name == MANIFEST}


def load_yaml(path: Path) -> Any:
    """Read a YAML file; SpecError names the file and the line."""
    try:
        return yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SpecError(f"{where}: expected YAML, found: {getattr(error, 'problem', error)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: expected a readable YAML file, found: {error}") from error


def check_run_id(run_id: object, where: str = "a run") -> str:
    """A run id, which is a folder name too."""
    return check_name("run_id", run_id, _RUN_ID, where)


def check_slug(slug: str) -> str:
    """A campaign's name: lower-case letters, digits and hyphens, so that it is safe as a folder and in a shell."""
    check_name("campaign", slug, _SLUG, "use lower-case letters, digits and hyphens, e.g. 2026-11-nvme-depth")
    if slug == INDEX.stem:
        raise SpecError(f"campaign: {slug!r} is the name of the list of campaigns; choose another")
    return slug


def check_host(host: str) -> str:
    """A host's name: letters, digits, ``.``, ``_`` and ``-``."""
    return check_name("host", host, _NAME, "use letters, digits, '.', '_' and '-'")


def check_name(what: str, value: object, pattern: re.Pattern[str], where: str) -> str:
    """Return a name that matches; SpecError otherwise."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise SpecError(f"{what}: expected a name matching {pattern.pattern}, found {value!r} ({where})")
    return value


def load_index(root: Path | None = None) -> list[str]:
    """The campaigns of ``data/campaigns/index.yaml``, in its order."""
    return list(read_index(root or find_root())["campaigns"])


def read_index(root: Path) -> dict[str, dict[str, Any]]:
    """The index: all ``campaigns``, and of them the ``collected``; SpecError where it is neither."""
    path = root / INDEX
    content = load_yaml(path)
    if not isinstance(content, dict) or not isinstance(content.get("campaigns"), dict):
        raise SpecError(f"{path}: expected a mapping `campaigns:`, found {type(content).__name__}")
    content.setdefault("collected", {})
    for slug in [*content["campaigns"], *content["collected"]]:
        check_slug(slug)
    return content


def spec_path(root: Path, slug: str) -> Path:
    """``data/campaigns/<slug>.yaml``."""
    return root / INDEX.parent / f"{check_slug(slug)}.yaml"


def load_spec(root: Path, slug: str) -> dict[str, Any]:
    """The campaign's description: at least a ``title``; SpecError otherwise."""
    path = spec_path(root, slug)
    if not path.is_file():
        raise SpecError(f"{path}: expected the campaign's description, found no file")
    content = load_yaml(path)
    if not isinstance(content, dict) or not isinstance(content.get("title"), str):
        raise SpecError(f"{path}: expected a mapping with a `title`, found {type(content).__name__}")
    return content


def write_atomically(path: Path, text: str) -> None:
    """Write under a temporary name and rename: the file is the old one or the new one, even after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let a renaming in the folder survive a power cut; Windows cannot, and does not need to, open a folder for it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
