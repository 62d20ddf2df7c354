"""PostgreSQL pg_test_fsync: how fast each method brings WAL pages to disk, one worker, a few seconds each.

Grammar
    ``N seconds per test`` (9.1: also ``N operations per test``), a line on direct I/O, then sections; a section has a
    title that ends in a colon, remarks in parentheses, and a line a method:
    ``fdatasync  5530.363 ops/sec  181 usecs/op`` or ``fsync_writethrough  n/a`` (``n/a*`` with a footnote). The last
    section is ``Non-sync'ed 8kB writes:``.
Versions
    9.1 (without usecs/op) to 18; a comma as decimal sign.
Traps
    * usecs/op is the time divided by the operations, rounded to 1 µs: no latency was taken, and N = X·W with it says
      nothing (latency_from_rate). ``0 usecs/op`` is less than half a microsecond, not 0: null.
    * An operation of "two 8kB writes" is both writes and the sync; one of ``8 *  2kB`` is eight synchronous writes.
    * A cut behind ``ops/sec`` looks like a line of 9.1: it must have the form of the others.
Sample
    tests/parse/pg_test_fsync/write_has_no_latency/
Gives
    operations, scope ``job``: job = the section (``one_8kb_write``, ``two_8kb_writes``, ``open_sync_write_sizes``,
    ``non_write_descriptor``, ``non_synced_8kb_writes``), op = the method in snake_case (``fdatasync``,
    ``8_x_2kb_open_sync_writes``, ``write_fsync_close``), queue_depth 1, block_size_bytes = bytes of one operation,
    duration_s as configured. A method that is not available is a parameter with the value ``n/a``.
"""

from __future__ import annotations

import math
import re

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "pg_test_fsync's `Compare file sync methods using one 8kB write:`"
FORM = "text"
VERSIONS = "9.1 – 18"
NOT_READ = "messages in other languages than English (13 and later)"
UNSEEN_CUTS = ""
_SECTIONS = (
    (re.compile(r"Compare file sync methods using (one|two) (\d{1,6})kB writes?:"), "{0}_{1}kb_write{s}"),
    (re.compile(r"Compare open_sync with different write sizes:"), "open_sync_write_sizes"),
    (re.compile(r"Test if fsync on non-write file descriptor is honored:"), "non_write_descriptor"),
    (re.compile(r"Non-[Ss]ync'ed (\d{1,6})kB writes:"), "non_synced_{0}kb_writes"),
)
_SECONDS = re.compile(r"(\d{1,9}) (seconds?|operations) per test")
_SIZES = re.compile(r"(\d{1,4})\s*\*?\s*(\d{1,6})kb\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_FAILURE = re.compile(r"(?i)\bfailed\b|could not|error:|fatal:|pg_test_fsync: ")
_REMARK = re.compile(r"\(.*|.*\)|\* This file system.*|I/O, e\.g\. .*|is Linux's default.*|open_sync\.|descriptor\..*")
_DIRECT = re.compile(r"(?:\S+ supported on this platform for|Direct I/O is not supported) .*")


def recognise(head: str) -> bool:
    """Whether a section's title is there."""
    return any(_section(line.strip()) for line in head.split("\n"))


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is no method."""
    runs = [_Run(source)]
    lines = source.lines
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if _SECONDS.fullmatch(text) and runs[-1].methods:
            runs.append(_Run(source))
        if text:
            runs[-1].read(number, text, is_cut=number == len(lines))
    runs = [run for run in runs if run.methods]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for run in runs:
        run.finish()
    return [run.report for run in runs]


def _section(text: str) -> tuple[str, int | None, int] | None:
    """(slug, kB of a write, writes of an operation) of a title; None when the line is none."""
    for pattern, slug in _SECTIONS:
        if match := pattern.fullmatch(text):
            n_writes = 2 if match.groups()[:1] == ("two",) else 1
            size = int(match[match.lastindex]) if match.lastindex else None
            return slug.format(*match.groups(), s="s" if n_writes == 2 else ""), size, n_writes
    return None


class _Run:
    """One run, read line by line."""

    def __init__(self, source: Source) -> None:
        self.report = Report("pg_test_fsync", source)
        self.seconds: float | None = None
        self.section: tuple[str, int | None, int] | None = None
        self.page_kb: int | None = None
        self.methods = 0
        self.has_latency: set[bool] = set()  # whether lines have usecs/op
        self.ended = False  # the last section has its line
        self.line = 1
        self.unread: list[int] = []
        self.failures: list[tuple[int, str]] = []

    def read(self, number: int, text: str, *, is_cut: bool) -> None:
        """Read one line without its indentation; ``is_cut``: the file ends in it without a line feed."""
        self.line = number
        if section := _section(text):
            self.section = section
            self.page_kb = section[1] or self.page_kb
        elif match := _SECONDS.fullmatch(text):
            self.report.parameter(f"{match[2].rstrip('s')}s_per_test", match[1])
            self.seconds = float(match[1]) if match[2].startswith("second") else None
        elif _DIRECT.fullmatch(text):
            self.report.parameter("direct_io", text)
        elif not self._read_method(text, is_cut=is_cut):
            if _FAILURE.search(text):
                self.failures.append((number, text))
            elif not _REMARK.fullmatch(text):
                self.unread.append(number)

    def _read_method(self, text: str, *, is_cut: bool) -> bool:
        """Read ``NAME  X ops/sec  Y usecs/op`` or ``NAME  n/a``; False when the line is neither."""
        words = text.split()
        if self.section is None or len(words) < 2:
            return False
        if words[-1] in ("n/a", "n/a*"):
            self._count(has_latency=None)
            self.report.parameter(_slug(" ".join(words[:-1])), "n/a", self.section[0])
            return True
        at = words.index("ops/sec") if "ops/sec" in words else 0
        if at < 2 or len(words) not in (at + 1, at + 3) or (len(words) == at + 3 and words[-1] != "usecs/op"):
            return False
        has_latency = len(words) == at + 3
        if is_cut and not has_latency and True in self.has_latency:
            return False
        rate = _number(words[at - 1])
        latency = _number(words[at + 1]) if has_latency else None
        self._count(has_latency=has_latency)
        self._add(" ".join(words[: at - 1]), rate, latency)
        return True

    def _count(self, *, has_latency: bool | None) -> None:
        self.methods += 1
        if has_latency is not None:
            self.has_latency.add(has_latency)
        if self.section is not None:
            self.ended = self.section[0].startswith("non_synced")

    def _add(self, name: str, rate: float | None, latency_us: float | None) -> None:
        job, size_kb, n_writes = self.section or ("", None, 1)
        size_kb = size_kb or self.page_kb
        if sizes := _SIZES.match(name.lower()):
            n_writes, size_kb = int(sizes[1]), int(sizes[2])
        self.report.add("operations", job=job, op=_slug(name), scope="job", duration_s=self.seconds, ops_per_s=rate,
                        block_size_bytes=n_writes * size_kb * units.KIBI if size_kb else None, queue_depth=1.0,
                        latency_mean_s=latency_us * units.MICRO if latency_us else None)  # fmt: skip

    def finish(self) -> None:
        """Add the warnings."""
        if self.has_latency:
            self.report.warn(
                None, "sequential_operations", "expected operations side by side, found one after the other"
            )
        if True in self.has_latency:
            self.report.warn(None, "latency_from_rate", "expected measured latencies, found usecs/op = 1e6 / ops/sec")
        if self.unread:
            found = f"found {len(self.unread)} others, the first here"
            self.report.warn(self.unread[0], "unknown_line", f"expected pg_test_fsync's lines, {found}")
        if self.failures:
            self.report.incomplete(self.failures[0][0], "aborted", "expected all methods to run, found a failure")
        if not self.ended or len(self.has_latency) > 1:
            expected = "the line of `Non-sync'ed … writes:` and whole lines"
            self.report.incomplete(self.line, "truncated", f"expected {expected}, found the end")


def _number(text: str) -> float | None:
    """A number, with a point or a comma; None for inf and nan."""
    value = float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _slug(name: str) -> str:
    """The method in snake_case; ``8 *  2kB`` (9.1: ``8 2kB``) becomes ``8_x_2kb``."""
    name = _SIZES.sub(r"\1_x_\2kb", name.lower())
    return re.sub(r"[^a-z0-9]+", "_", name).strip("_") or "unnamed"
