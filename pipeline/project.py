"""Where things are: the folders of a project, found from the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

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


def store_folder(campaign: str, root: Path | None = None) -> Path:
    """``data/cache/<campaign>``: what was read of each raw file; may be deleted at any time."""
    return (root or find_root()) / "data" / "cache" / campaign


def to_path(place: str | Path) -> Path:
    """A path, or where ``place`` is an fsspec URL (``s3://…``) one that behaves alike."""
    if isinstance(place, str) and "://" in place:
        from upath import UPath

        return cast(Path, UPath(place))
    return Path(place) if isinstance(place, str) else place


def is_remote(path: Path) -> bool:
    """Whether a path is of fsspec's kind: there a file appears whole when it is closed, and nothing is renamed."""
    return not isinstance(path, Path)


def filesystem_of(path: Path) -> tuple[Any, str]:
    """The file system of a path as Arrow takes it (None: the machine's own), and the path in it."""
    return (path.fs, path.path) if is_remote(path) else (None, str(path))  # type: ignore[attr-defined]
