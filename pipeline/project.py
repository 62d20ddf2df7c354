"""Where things are: the folders of a project, found from the working directory."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import SpecError

INDEX = Path("data/campaigns/index.yaml")


def find_root(start: Path | None = None) -> Path:
    """The project's folder: the nearest one above ``start`` that holds ``data/campaigns/index.yaml``."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / INDEX).is_file():
            return folder
    raise SpecError(f"{start}: expected a project ({INDEX} here or in a folder above), found none")


def raw_folder(campaign: str, root: Path | None = None) -> Path:
    """``data/raw/<campaign>``."""
    return (root or find_root()) / "data" / "raw" / campaign


def tidy_folder(campaign: str, root: Path | None = None) -> Path:
    """``data/tidy/<campaign>``."""
    return (root or find_root()) / "data" / "tidy" / campaign
