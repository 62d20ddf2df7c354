"""Add a campaign to ``data/campaigns/index.yaml``, which ``dvc.yaml`` goes through; ``import`` and ``run`` do."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import yaml

from pipeline.campaign import read_index, write_atomically
from pipeline.locks import lock
from pipeline.project import INDEX

_HEADER = "# The campaigns that dvc.yaml iterates over; written by `python -m pipeline import` and `run`.\n"


def add_to_index(root: Path, slug: str, *, is_collected: bool = False) -> None:
    """Add a campaign to the index; nothing changes if it is there.

    Of a collected one DVC pulls the raw logs by its ledger; of any other they are in git.
    """
    path = root / INDEX
    with _alone(path):
        content = old = read_index(root)
        for group in ("campaigns", "collected") if is_collected else ("campaigns",):
            content = {**content, group: {name: {} for name in sorted({*content[group], slug})}}
        if content != old:
            write_atomically(path, _HEADER + yaml.safe_dump(content))


def _alone(path: Path) -> AbstractContextManager[None]:
    """Let processes whose campaigns end together write one after another; Windows, which only imports, has no locks."""
    if os.name == "nt":
        return nullcontext()
    return lock(path.with_name(f".{path.name}.lock"), f"{path.name}: another process writes it", is_waiting=True)
