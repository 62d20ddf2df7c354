"""Write a folder of tidy tables: ``<table>.parquet``, a file, or where rows are too many for memory a folder of parts.

Tables are made beside the old ones and put in their place when all are whole.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import arrow, schema
from pipeline.errors import PipelineError
from pipeline.parse._source import shown
from pipeline.parts import Part, rename_run
from pipeline.project import is_remote

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

INCOMING = ".incoming"
_ROWS_AT_ONCE, _TABLES_AT_ONCE = 1 << 16, 1 << 10
_ALWAYS = ("runs", "warnings")


class Output:
    """The tables of one ``parse``: rows go in file by file, in order; ``finish`` puts the tables in their place."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._new = out / INCOMING / "tables"
        remove(self._new)
        self._new.mkdir(parents=True)
        self._waiting: dict[str, list[pa.Table]] = {}
        self._n_waiting: Counter[str] = Counter()
        self._parts: set[Path] = set()
        self._writers: dict[str, tuple[pq.ParquetWriter, object]] = {}
        self.names: set[str] = set()

    def add(self, name: str, table: pa.Table) -> None:
        """Add rows of a table."""
        waiting = self._waiting.setdefault(name, [])
        waiting.append(table)
        self._n_waiting[name] += len(table)
        if self._n_waiting[name] >= _ROWS_AT_ONCE or len(waiting) >= _TABLES_AT_ONCE:
            self._flush(name)

    def add_part(self, part: Part, renames: dict[str, str]) -> None:
        """Take in a part, under the run ids that ``renames`` gives."""
        folder = self._new / f"{part.table}.parquet"
        folder.mkdir(exist_ok=True)
        file = folder / part.file.name
        while file in self._parts:  # of two files whose names look alike when shown
            file = file.with_stem(f"{file.stem}-again")
        self._parts.add(file)
        target = Part(part.table, file, part.n_rows)
        copy(part.file, target.file)
        for old, new in renames.items():
            rename_run(target, old, new)
        self.names.add(part.table)

    def finish(self) -> list[str]:
        """Write what waits, replace the old tables, and return the names of the new ones."""
        for name in _ALWAYS:
            if name not in self._writers and name not in self._waiting:
                self.add(name, arrow.arrow_schema(name).empty_table())
        for name in list(self._waiting):
            self._flush(name)
        for writer, file in self._writers.values():
            writer.close()
            file.close()  # type: ignore[attr-defined]
        with _uninterrupted():
            for name in schema.TABLES:
                self._put(name)
        remove(self._out / INCOMING)
        return sorted(self.names)

    def _put(self, name: str) -> None:
        old, rows, parts = (folder / f"{name}.parquet" for folder in (self._out, self._new / "rows", self._new))
        if rows.exists() and parts.exists():
            move(rows, parts / "rows.parquet")
        new = parts if parts.exists() else rows
        if old.is_dir() or parts.exists() or not rows.exists():
            remove(old)
        if new.exists():
            move(new, old)

    def _flush(self, name: str) -> None:
        table = pa.concat_tables(self._waiting.pop(name))
        self._n_waiting[name] = 0
        if name not in self._writers:
            path = self._new / "rows" / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True)
            file = path.open("wb")
            self._writers[name] = pq.ParquetWriter(file, arrow.arrow_schema(name), compression="zstd"), file
            self.names.add(name)
        self._writers[name][0].write_table(table)


@contextmanager
def sole_writer(out: Path) -> Iterator[None]:
    """Make the folder and write there alone; PipelineError when another process does. Its end frees the folder."""
    out.mkdir(parents=True, exist_ok=True)
    folder = None if is_remote(out) or fcntl is None else os.open(out, os.O_RDONLY)
    try:
        if folder is not None:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
        if not any(out.iterdir()):
            out.rmdir()
    except BlockingIOError:
        raise PipelineError(f"{shown(out)}: another parse is writing there; wait until it has ended") from None
    finally:
        if folder is not None:
            os.close(folder)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits: some old tables beside some new ones would be neither."""
    if current_thread() is not main_thread():
        yield
        return
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def write(tables: dict[str, pa.Table], out: Path) -> list[str]:
    """Write whole tables into a folder; see ``Output``."""
    output = Output(out)
    for name, table in tables.items():
        output.add(name, table)
    return output.finish()


def copy(old: Path, new: Path) -> None:
    """Copy a file: by a hard link where that is possible, on the server where it is remote."""
    if is_remote(old):
        old.fs.copy(old.path, new.path)  # type: ignore[attr-defined]
        return
    try:
        new.hardlink_to(old)
    except OSError:
        shutil.copyfile(old, new)


def move(old: Path, new: Path) -> None:
    """Rename a file or a folder; a store of objects copies and deletes."""
    if not is_remote(old):
        old.replace(new)
        return
    fs, start = old.fs, old.path  # type: ignore[attr-defined]
    for file in fs.find(start):
        fs.cp_file(file, new.path + file.removeprefix(start))  # type: ignore[attr-defined]
    fs.rm(start, recursive=True)


def remove(path: Path) -> None:
    """Delete a file or a folder, if it is there."""
    if not path.exists():
        return
    if is_remote(path):
        path.fs.rm(path.path, recursive=True)  # type: ignore[attr-defined]
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
