"""IOTune's result for ScyllaDB: ``io_properties.yaml``, and the tables of such results by instance type.

Grammar
    ``disks:`` with a list of mappings: mountpoint, read_iops, read_bandwidth, write_iops, write_bandwidth (B/s), and
    where measured read_saturation_length, write_saturation_length, physical_block_size (B). Tables of cloud instances
    (``aws_io_params.yaml``) are keyed by instance type, with the four figures below it or a ``disks`` list.
Versions
    2018 – 2026; the first of them says ``write_bandwdith``.
Traps
    * Bandwidths are bytes a second here, where IOTune's stdout says MB/s and means MiB/s.
    * Seastar reads figures with a suffix: ``500M`` is 500 × 2^20, also of IOPS.
    * It is read line by line, so that damage names its line; YAML's flow style ({…}, anchors) is not of the grammar.
Sample
    tests/parse/iotune_yaml/synthetic_two_disks/
Gives
    operations: scope device, op read and write, job ``random`` (ops_per_s) and ``sequential`` (bytes_per_s), target
    the mount point or the instance type; lengths in metric_series. Other keys become parameters, with one warning.
"""

from __future__ import annotations

import json
import re

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "`disks:` with read_iops, read_bandwidth, write_iops and write_bandwidth"
FORM = "io_properties.yaml"
VERSIONS = "2018 – 2026"
NOT_READ = "YAML's flow style"
UNSEEN_CUTS = "between two disks or instance types, or before the saturation lengths, the end of a line looks whole"

_FIGURES = {
    "read_iops": ("read", "random", "ops_per_s"), "write_iops": ("write", "random", "ops_per_s"),
    "read_bandwidth": ("read", "sequential", "bytes_per_s"),
    "write_bandwidth": ("write", "sequential", "bytes_per_s"),
}  # fmt: skip
_LENGTHS = ("read_saturation_length", "write_saturation_length", "physical_block_size")
_TYPO = {"write_bandwdith": "write_bandwidth"}
_KEY = r"[A-Za-z0-9_.-]{1,200}"
_LINE = re.compile(rf"""( *)((?:- +)?)(?:({_KEY})|"([^"]{{1,200}})"|'([^']{{1,200}})')\s*:(?:[ \t]+(.*))?""")
_FIGURE_LINE = re.compile(r"^[ ]*(?:- +)?((?:read|write)_(?:iops|bandwidth|bandwdith)):[ \t]+\d", re.MULTILINE)
_VALUE = re.compile(r"\d{1,18}(?:\.\d{1,18})?[kMGT]?")
_LARGEST = 2.0**62


def recognise(head: str) -> bool:
    """Whether keys of both kinds, rates and bandwidths, stand at the start of lines with a figure."""
    kinds = {key.partition("_")[2][:4] for key in _FIGURE_LINE.findall(head)}
    return not head.lstrip().startswith(("{", "[")) and kinds == {"iops", "band"}


def parse(source: Source) -> list[Report]:
    """Return one report of all disks; ParseError when there is no figure."""
    report = Report("iotune", source)
    document = _Document()
    last = len(source.lines)
    for line, raw in enumerate(source.lines, 1):
        text = raw.split(" #", 1)[0].rstrip()
        if not text or text.lstrip().startswith(("#", "---", "...")):
            continue
        if line == last:  # no line feed: the figure may have been longer
            report.incomplete(line, "truncated", "expected a line feed at the end of the last line, found none")
            break
        document.read(line, text)
    if not any(disk.figures for disk in document.disks):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for code, (first, count, what) in document.notes.items():
        report.warn(first, code, f"expected lines of io_properties.yaml, found {count} others, the first: {what[:200]}")
    _add(report, document.disks)
    return [report]


class _Disk:
    """The keys of one disk."""

    def __init__(self, line: int, owner: str | None) -> None:
        self.line = line
        self.owner = owner  # the instance type
        self.figures: dict[str, float] = {}
        self.others: dict[str, str] = {}


class _Document:
    """The lines read so far: whose disk the next key belongs to."""

    def __init__(self) -> None:
        self.disks: list[_Disk] = []
        self.notes: dict[str, tuple[int, int, str]] = {}
        self._owner: str | None = None
        self._is_new = True  # the next key begins a disk

    def read(self, line: int, text: str) -> None:
        """Read a line with its indentation."""
        match = _LINE.fullmatch(text[:1000])
        if match is None:
            self._note("unknown_line", line, text.strip())
            return
        indent, dash = len(match[1]), bool(match[2])
        key = match[3] or match[4] or match[5]
        value = (match[6] or "").strip().strip("\"'")
        if not value:
            if key != "disks":
                self._owner = key
            elif indent == 0:
                self._owner = None
            self._is_new = True
            return
        if dash or self._is_new or (indent == 0 and not dash):
            if indent == 0 and not dash:
                self._note("unknown_key", line, text)
                return
            self.disks.append(_Disk(line, self._owner))
            self._is_new = False
        self._take(line, self.disks[-1], _TYPO.get(key, key), value)

    def _take(self, line: int, disk: _Disk, key: str, value: str) -> None:
        if key in disk.figures or key in disk.others:
            self._note("duplicate_key", line, f"{key}: {value}")  # YAML readers take the last
        if key in _FIGURES or key in _LENGTHS:
            figure = units.byte_size(value) if _VALUE.fullmatch(value) else None
            if figure is None or figure > _LARGEST:
                self._note("not_a_figure", line, f"{key}: {value}")
            else:
                disk.figures[key] = figure
        else:
            disk.others[key] = value
            if key != "mountpoint":
                self._note("unknown_key", line, f"{key}: {value}")

    def _note(self, code: str, line: int, what: str) -> None:
        first, count, shown = self.notes.get(code, (line, 0, what))
        self.notes[code] = (first, count + 1, shown)


def _add(report: Report, disks: list[_Disk]) -> None:
    """Add the rows, and say which disks lack a figure."""
    lacking = [disk for disk in disks if not _FIGURES.keys() <= disk.figures.keys()]
    if lacking:
        what = ", ".join(sorted(_FIGURES.keys() - lacking[0].figures.keys()))
        report.incomplete(lacking[0].line, "truncated", f"expected four figures a disk, found {len(lacking)} without, "
                          f"the first without {what}")  # fmt: skip
    seen: dict[str | None, int] = {}
    for disk in disks:
        target = _target(disk, seen)
        for key, value in disk.others.items():
            report.parameter(key, value, job=target)
        for key, figure in disk.figures.items():
            if key in _FIGURES:
                op, job, column = _FIGURES[key]
                report.add("operations", op=op, scope="device", target=target, job=job, **{column: figure})
            else:
                labels = None if target is None else json.dumps({"target": target})
                report.add("metric_series", metric=key, value=figure, unit="B", labels=labels)


def _target(disk: _Disk, seen: dict[str | None, int]) -> str | None:
    """The instance type, the mount point, or both; the second disk of the same name gets its number."""
    mountpoint = disk.others.get("mountpoint")
    name = ":".join(part for part in (disk.owner, mountpoint) if part) or None
    seen[name] = seen.get(name, 0) + 1
    if seen[name] == 1:
        return name
    return f"{name or 'disk'}#{seen[name]}"
