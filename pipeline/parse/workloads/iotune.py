"""IOTune: what ``iotune --evaluation-directory DIR …`` (ScyllaDB's ``scylla_io_setup``) prints.

Grammar
    ``Measuring sequential write bandwidth: 3971 MB/s``, sequential read, ``Measuring random write IOPS: 1111 IOPS``,
    random read, in this order for each mount point, with `` (deviation 14%)`` behind a figure that varied more than
    --accuracy allows (3 %). Between them may stand ``Measuring write saturation length: N`` (bytes), ``Evaluating
    various buffer sizes for choosing the best IOPS: [512, 4096]`` with a pair of random figures for each size, and
    ``Detecting physical block size: N bytes``. Before them the log on stderr: ``DIR passed sanity checks``, ``Disk
    parameters: max_iodepth=64 disks_per_array=1 minimum_io_size=512``, ``Forcing buffer_size=4096 for random IO!``,
    warnings; after them ``Writing result to FILE``. Before 2018: ``Maximum throughput: N IOPS`` (random 4 KiB reads).
Versions
    Every form of the program's history: MB/s (2018) and MiB/s (2024), with and without deviation (2021).
Traps
    * ``MB/s`` is 2^20 B/s, as ``MiB/s`` is; both are cut to whole MiB.
    * Several results may stand on one line, and a message of the log between a label and its figure.
    * Which directory was measured stands only in the log; without it several disks are told apart by their order.
    * Random operations have the disk's minimum_io_size, but at least the file system's alignment (up to 4 KiB), which
      only versions from 2023 log: without it a minimum of 512 says nothing.
Sample
    tests/parse/iotune/synthetic_two_mountpoints/
Gives
    operations: a row a measurement, op read or write, scope device, target the directory, job ``sequential`` or
    ``random`` (``random_4096`` where several sizes were tried). block_size_bytes: of random ones from the log; of
    sequential ones 1 MiB where the unit is MB/s, else null, as newer versions can be told another size and do not
    print it. metric_series: deviation, saturation lengths, physical block size. A report ends with ``Writing result
    to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline import units
from pipeline.parse._figures import integer, without_colour
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._iotune_disk import Disk

EXPECTED = "`Measuring sequential write bandwidth: … MB/s`"
FORM = "text"
VERSIONS = "2015 – 2026"
NOT_READ = ""
UNSEEN_CUTS = "between two disks, or between the last figure and `Writing result to`, the end of a line looks whole"

_LABEL = re.compile(
    r"Measuring (sequential|random) (write|read) (?:bandwidth|IOPS):|Measuring (write|read) saturation length:"
    r"|Detecting (physical block size):"
)
_VALUE = re.compile(r"\s*([0-9]+)(?: (MB/s|MiB/s|IOPS|bytes)\b)?(?: \(deviation ([0-9]+)%\))?")
_LOG = re.compile(r"(TRACE|DEBUG|INFO|WARN|ERROR) {1,2}\d{4}-\d\d-\d\d ")
_CHECKED = re.compile(r"iotune - (.+) passed sanity checks")
_FORCED = re.compile(r"Forcing buffer_size=(\d+) for random (read |write |)IO!")
_SETTING = re.compile(r"([a-z_]+)=(\d+)")
_ALIGNMENT = re.compile(r"(read|write) alignment (\d{1,9})\b")
_OLD_RESULT = re.compile(r"Maximum throughput: (\d+) +IOPS")
_RECOMMENDED = re.compile(r"Recommended --([a-z-]+): (\d+)")
_COMMAND = re.compile(r"(?:.{0,200}?[$#>%] )?((?:sudo )?(?:\S{0,200}/)?(?:iotune|scylla_io_setup)(?: +-.*)?)")
_PROBLEM = re.compile(r"(?i)\b(?:error|exception|failed|not supported|is not XFS|not qualified|no data collected)")
_WARNING = re.compile(r"(?i)\bwarn(?:ing)?\b")
_NOISE = ("Refining search", "Generating evaluation file", "Written the above", "tuning", "Warming up")
_LONGEST = 20_000  # characters of a line that can hold results


def recognise(head: str) -> bool:
    """Whether one of IOTune's results is announced, or its evaluation begins."""
    return (
        "Measuring sequential write bandwidth:" in head
        or "Measuring random read IOPS:" in head
        or "Starting Evaluation. This may take a while..." in head
        or "Recommended --max-io-requests:" in head
    )


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when no figure was printed."""
    runs = [_Run()]
    lines = source.lines
    for line, raw in enumerate(lines, 1):
        text = without_colour(raw[:_LONGEST]).strip()
        if (runs[-1].is_written and _begins(text)) or runs[-1].ends_before(text):
            runs.append(_Run())
        if text:
            runs[-1].read(line, text, is_cut=line == len(lines))
    if not any(run.has_figures for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.report(source) for run in runs]


def _begins(text: str) -> bool:
    """Whether a line behind ``Writing result to`` belongs to the next run."""
    return bool(_LABEL.search(text) or _CHECKED.search(text) or "Starting Evaluation" in text)


class _Run:
    """The lines of one run: disks in the order in which they were measured."""

    def __init__(self) -> None:
        self.disks = [Disk()]
        self.command: str | None = None
        self.parameters: list[tuple[str, str]] = []
        self.notes: dict[str, list[tuple[int, str]]] = {}  # code → lines with their texts
        self.pending: tuple[str, ...] | None = None  # a label that waits for its figure
        self.is_written = False
        self.cut: int | None = None
        self.last_line = 1

    @property
    def has_figures(self) -> bool:
        """Whether anything was measured."""
        return any(disk.has_figures for disk in self.disks)

    def ends_before(self, text: str) -> bool:
        """Whether a line is a command, or checks a directory that this run has measured: without a result file."""
        match = _CHECKED.search(text)
        if match is None:
            return _COMMAND.fullmatch(text[:2000]) is not None and self.has_figures
        return any(disk.has_figures and disk.directory == match[1] for disk in self.disks)

    def read(self, line: int, text: str, *, is_cut: bool) -> None:
        """Read a line; ``is_cut``: the file ends in it without a line feed, so it may have been longer."""
        self.last_line = line
        if is_cut:
            self.cut = line
        start = _LABEL.search(text)
        if _LOG.search(text[: start.start() if start else 200]) is not None:
            self._read_log(line, text)
        elif start is None and self.pending is None:
            self._read_other(line, text)
        else:
            self._read_results(line, text)

    def _read_results(self, line: int, text: str) -> None:
        """Read labels and figures from left to right; a label may wait for its figure on a later line."""
        position = 0
        for label in (*_LABEL.finditer(text), None):
            between = text[position : label.start() if label else len(text)]
            rest = self._take_value(line, between)
            if rest.strip():
                self._read_other(line, rest.strip())
            if label is not None:
                if self.pending is not None:
                    self._note(line, "no_figure", "a label without its figure")
                self.pending = tuple(part for part in label.groups() if part)
                position = label.end()
                self._disk_for(self.pending)

    def _take_value(self, line: int, text: str) -> str:
        """Give the figure at the start of a text to the label that waits; return what is left of the text."""
        match = _VALUE.match(text)
        if self.pending is None or match is None:
            return text
        value = integer(match[1])
        has_unit = match[2] is not None or (len(self.pending) == 1 and self.pending[0] != "physical block size")
        if value is None or not has_unit or (self.cut == line and match[2] is None):
            return text  # too long for a figure, or cut inside it
        self.disks[-1].take(self.pending, value, match[2], match[3])
        self.pending = None
        return text[match.end() :]

    def _disk_for(self, label: tuple[str, ...]) -> None:
        """Begin the next disk where the log did not: its first label comes again."""
        if label == ("sequential", "write") and self.disks[-1].has_figures:
            self.disks.append(Disk())

    def _read_log(self, line: int, text: str) -> None:
        """Read a message of the log: whose disk it is, what it is like, or a problem."""
        if match := _CHECKED.search(text):
            if self.disks[-1].has_figures:
                self.disks.append(Disk())
            self.disks[-1].directory = match[1]
        elif match := _FORCED.search(text):
            self.disks[-1].force(match[2].strip(), integer(match[1]))
        elif "Disk parameters:" in text:
            self.disks[-1].settings |= dict(_SETTING.findall(text))
        elif "Filesystem parameters:" in text:
            self.disks[-1].alignments |= {op: int(size) for op, size in _ALIGNMENT.findall(text)}
        level = _LOG.search(text)
        if level is not None and level[1] in ("WARN", "ERROR"):
            self._note(line, "tool_warning" if level[1] == "WARN" else "tool_error", text)

    def _read_other(self, line: int, text: str) -> None:
        """Read a line of stdout that is no result."""
        if "Starting Evaluation" in text:
            if before := text.split("Starting Evaluation", 1)[0].strip():
                self.parameters.append(("heading", before))
            if self.disks[-1].has_figures:
                self.disks.append(Disk())
        elif text.startswith("Evaluating various buffer sizes"):
            self.disks[-1].sizes = [int(size) for size in re.findall(r"\d{1,12}", text)]
        elif text.startswith("Writing result to "):
            self.is_written = True
            self.parameters.append(("result_file", text.removeprefix("Writing result to ")))
        elif match := _OLD_RESULT.search(text):
            self.disks[-1].take(("random", "read"), integer(match[1]) or 0, "IOPS", None, size=4 * units.KIBI)
        elif match := _RECOMMENDED.search(text):
            self.parameters.append((match[1], match[2]))
        elif (match := _COMMAND.fullmatch(text[:2000])) and self.command is None:
            self.command = match[1]
        elif _WARNING.search(text):
            self._note(line, "tool_warning", text)
        elif _PROBLEM.search(text):
            self._note(line, "tool_error", text)
        elif not text.startswith(_NOISE):
            self._note(line, "unknown_line", text)

    def _note(self, line: int, code: str, text: str) -> None:
        self.notes.setdefault(code, []).append((line, text))

    def report(self, source: Source) -> Report:
        """The report of this run, with what is missing."""
        report = Report("iotune", source, command=self.command)
        for name, value in self.parameters:
            report.parameter(name, value)
        disks = [disk for disk in self.disks if disk.has_figures or disk.directory]
        for code, found in self.notes.items():
            line, text = found[0]
            report.warn(line, code, f"found {len(found)}, the first: {text[:300]}")
        for number, disk in enumerate(disks, 1):
            target = disk.directory or (f"evaluation {number}" if len(disks) > 1 else None)
            disk.add(report, target)
        if len(disks) > 1 and not all(disk.directory for disk in disks):
            report.warn(None, "unnamed_disks", "expected `DIR passed sanity checks`, found none: disks by their order")
        for problem in self._missing(disks):
            report.incomplete(self.cut or self.last_line, "truncated", f"expected {problem}, found the end of the run")
            break
        return report

    def _missing(self, disks: list[Disk]) -> Iterator[str]:
        """What a run lacks that was cut or failed."""
        if self.pending is not None:
            yield "a figure behind its label"
        if self.cut is not None:
            yield "a line feed at the end of the last line"
        for disk in disks:
            if disk.missing:
                yield f"the {disk.missing}"
        if not disks:
            yield "a measurement"
