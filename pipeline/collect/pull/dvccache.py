"""Raw runs out of DVC's cache or remote: what a colleague pushed comes back without a host.

DVC only reads here, and takes no lock for it, so it works inside a stage while ``dvc repro`` runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.campaign import MANIFEST, Manifest
from pipeline.collect.pull.unpacking import sync
from pipeline.collect.pull.writing import sha256_of
from pipeline.errors import PipelineError
from pipeline.ledger import Entry

_PIECE_BYTES = 1 << 20


def has_output(root: Path, slug: str) -> bool:
    """Whether DVC has recorded the campaign's raw data; tells without loading DVC."""
    try:
        content = yaml.safe_load((root / "dvc.lock").read_text("utf-8"))
        outs = [out["path"] for stage in content["stages"].values() for out in stage.get("outs", [])]
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError, AttributeError):
        return False
    return (root / ".dvc").is_dir() and f"data/raw/{slug}" in outs


def restore(
    root: Path, slug: str, entries: Collection[Entry], folder_of: Callable[[Entry], Path], tell: Callable[[str], None]
) -> Iterator[Entry]:
    """Bring runs that DVC has into new folders; the entries of those that came, whole by their own manifests."""
    try:
        from dvc.api import DVCFileSystem

        dvc = DVCFileSystem(str(root))
        held = {Path(path).name for path in dvc.ls(f"data/raw/{slug}", detail=False, dvc_only=True)}
    except FileNotFoundError:
        return
    except Exception as error:  # DVC's remotes fail in ways of their own; a host may have what they don't
        tell(f"{slug}: DVC's cache and remote give nothing: {type(error).__name__}: {error}")
        return
    for entry in entries:
        if entry.run_id not in held:
            continue
        folder = folder_of(entry)
        try:
            _bring(dvc, f"data/raw/{slug}/{entry.run_id}", folder)
            _check(folder, slug, entry)
            sync(folder)
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, FileNotFoundError):  # pushed never, or cleaned away
                tell(f"{entry.run_id}: DVC's copy is not used: {error}")
            continue
        yield entry


def _bring(dvc: Any, source: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in dvc.find(source, dvc_only=True):
        target = folder / Path(path).relative_to(source)
        if not target.resolve().is_relative_to(folder.resolve()):
            raise PipelineError(f"a path that leads out of the run's folder: {path!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with dvc.open(path, "rb") as content, target.open("xb") as file:
            shutil.copyfileobj(content, file, _PIECE_BYTES)


def _check(folder: Path, slug: str, entry: Entry) -> None:
    """Hold the files against their manifest, and the manifest against the ledger; PipelineError otherwise."""
    manifest = Manifest.load(folder / MANIFEST)
    told = manifest.run_id, manifest.campaign, manifest.host, manifest.state, manifest.started_at, manifest.exit_status
    if told != (entry.run_id, slug, entry.host, entry.state, entry.started_at, entry.exit_status):
        raise PipelineError("its manifest is of another attempt than the ledger's")
    for raw in manifest.files:
        if sha256_of(folder / raw.path) != raw.sha256:
            raise PipelineError(f"{raw.path}: expected sha256 {raw.sha256}, found another")
