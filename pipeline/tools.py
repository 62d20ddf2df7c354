"""The registry: one line a tool, naming the modules that read its outputs (``pipeline/parse/<name>.py``).

Modules are loaded when needed. The order of the readers is the order in which their ``recognise`` is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pipeline.errors import SpecError

if TYPE_CHECKING:
    from pipeline.parse._report import Report
    from pipeline.parse._source import Source


class Reader(Protocol):
    """What each module of ``pipeline/parse`` offers."""

    EXPECTED: str

    def recognise(self, head: str) -> bool:
        """Whether the first 64 KiB are of this format."""

    def parse(self, source: Source) -> list[Report]:
        """Return the reports of a file."""


@dataclass(frozen=True)
class Tool:
    """A tool: its name, what it is, and its readers."""

    name: str
    description: str
    readers: tuple[str, ...]


TOOLS = (
    Tool("fio", "flexible I/O tester", ("fio_json", "fio_text")),
    Tool("diskspd", "Microsoft DISKSPD", ("diskspd_xml", "diskspd_text")),
    Tool("act", "Aerospike Certification Tool", ("act",)),
    Tool("perf_stat", "Linux perf stat", ("perf_stat_json", "perf_stat_csv", "perf_stat_text")),
    Tool("iostat", "sysstat iostat", ("iostat_json", "iostat_text")),
    Tool("pgbench", "PostgreSQL pgbench", ("pgbench", "pgbench_log")),
    Tool("pg_test_fsync", "PostgreSQL pg_test_fsync", ("pg_test_fsync",)),
    Tool("pg_stat_wal", "PostgreSQL's view pg_stat_wal, as psql -x prints it", ("pg_stat_wal",)),
    Tool("published", "figures that a publication states (YAML)", ("published",)),
)


def load_reader(name: str) -> Reader:
    """Import a reader's module."""
    return cast(Reader, import_module(f"pipeline.parse.{name}"))


def readers_of(tool: str | None) -> list[str]:
    """Names of the readers of a tool (``fio``), or of one reader (``fio_json``); all when ``tool`` is None."""
    names = [reader for entry in TOOLS for reader in entry.readers if tool in (None, entry.name, reader)]
    if not names:
        raise SpecError(f"--tool: expected one of {', '.join(entry.name for entry in TOOLS)}, found {tool!r}")
    return names


def find_reader(source: Source, tool: str | None = None) -> str | None:
    """Name of the first reader that recognises the source's head; None if there is none."""
    for name in readers_of(tool):
        if load_reader(name).recognise(source.head):
            return name
    return None
