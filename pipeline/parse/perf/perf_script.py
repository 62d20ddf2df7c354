"""perf script: the samples of perf record as text, with or without call graphs.

Grammar
    A sample is ``comm pid [cpu] time: period event:``, then a line a frame from the innermost outwards (``address
    symbol+0xoffset (file)``), then an empty line. ``pid`` may be ``pid/tid``; -F leaves fields out or adds some. A
    tracepoint's fields follow the event on its line. A sample without a call graph has its one frame there, or none,
    and no empty line. ``#`` begins the lines of --header.
Versions
    perf of Linux 3.2 to 6.18, and what hand or tool made of it (spaces for tabs, no indentation, CRLF).
Traps
    * Commands hold spaces and are indented in a text without call graphs, as frames are.
    * ``-F +srcline`` puts a line below each frame, ``-F +brstack`` a line of branches in place of the empty line.
    * Where an event has no period on its line, it is null, not 1.
    * The text may hold several events, whose periods must never be added.
Sample
    tests/parse/perf_script/cpu_clock_all_processors/
Gives
    perf_stacks: a row an event, command and stack (root;…;leaf, without the command), in the order of their first
    sample; n_samples, and the sum of their periods. Frames are written as stackcollapse-perf.pl writes them: no
    offsets and arguments, ``[file]`` for an unknown symbol of a known file, ``;`` in a name as ``:``, inlined frames of
    ``a->b`` with ``_[i]``, Java's ``L`` left out. ``command;stack period`` (n_samples without periods) is its line of
    one event, where it writes the command's spaces as ``_``. Other than there, ``(anonymous namespace)`` may begin a
    frame, and parentheses in a template's types stay (``std::function<int (int)>::operator``). A sample without a
    stack has null. Lines of --header are parameters; a second header begins a second report. Tracepoints' fields,
    source lines, branches and PERF_RECORD lines are left out.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_script_lines import is_frame, read_head, read_short_head
from pipeline.parse.perf._perf_script_samples import Samples, Section
from pipeline.parse.perf._perf_stack_rows import Stack, add_stacks
from pipeline.units import MILLI

EXPECTED = "a sample of perf script such as `fio 1234 [000] 24.5: 2004008 cpu-clock:` and its frames"
FORM = "script"
VERSIONS = "3.2 – 6.18"
NOT_READ = "fields of tracepoints, branch stacks, registers; samples on one line without event or time (-F comm,ip,sym)"
UNSEEN_CUTS = "samples without call graphs have no end mark; with them, the text may end after any sample"
_BLOCK_BYTES = 1 << 16  # small enough for the processor's cache
_LINES = 400  # of the head that are looked at
_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ms")


def recognise(head: str) -> bool:
    """Whether the first lines that are no comments hold a sample with its time, or with frames below it."""
    lines = [line for line in head.encode("utf-8", "replace").split(b"\n")[:_LINES] if not line.startswith(b"#")]
    lines = [line for line in lines if line.strip()][:60]
    for number, line in enumerate(lines):
        found = read_head(line)
        if found is not None and (found.event or found.frame):
            return True
        below = lines[number + 1 : number + 2]
        if found is None and (not line.startswith((b"\t", b"  ")) or number == 0):
            found = read_short_head(line) if not is_frame(line) else None
        if found is not None and below and _is_sure_frame(below[0]):
            return True
    return len(lines) > 1 and all(map(_is_sure_frame, lines[:-1]))


def parse(source: Source) -> list[Report]:
    """Return a report for each header, at least one; ParseError when there is no sample."""
    samples = Samples()
    samples.read(source.blocks(_BLOCK_BYTES))
    sections = [section for section in samples.sections if section.sums]
    if not sections:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [_report(source, section) for section in sections]


def _is_sure_frame(line: bytes) -> bool:
    """A frame with its file in parentheses, or indented by a tab."""
    return is_frame(line) and (line.rstrip().endswith(b")") or line.startswith(b"\t"))


def _report(source: Source, section: Section) -> Report:
    report = Report("perf_script", source)
    for name, value in section.comments:
        _describe(report, name, value)
    rows = [
        Stack(event, command, stack, n, None if event in section.without_period else period)
        for (event, command, stack), (n, period) in section.sums.items()
    ]
    add_stacks(report, rows)
    if section.n_lost:
        report.warn(None, "lost_events", f"expected all events, found that perf lost {section.n_lost}")
    if section.first_unknown is not None:
        place, text = section.first_unknown
        found = f"{section.n_unknown} other lines such as {text!r}"
        report.warn(_line_at(source, place), "unknown_line", f"expected samples, frames and comments, found {found}")
    if section.cut:
        report.incomplete(None, "truncated", f"expected an empty line, found the end of the file: {section.cut}")
    return report


def _line_at(source: Source, place: int) -> int:
    """The number of the line that begins at a place: counted only when it is asked for."""
    n_lines = 0
    for block in source.blocks():
        n_lines += block.count(b"\n", 0, place)
        if place <= len(block):
            break
        place -= len(block)
    return n_lines + 1


def _describe(report: Report, name: str, value: str) -> None:
    """A line of --header as the run's column, or else as a parameter."""
    if name == "cmdline":
        report.describe(command=value)
    elif name == "perf version":
        report.describe(tool_version=value)
    elif name == "sample duration" and (match := _DURATION.fullmatch(value)):
        report.describe(duration_s=float(match[1]) * MILLI)
    else:
        report.parameter(name, value)
