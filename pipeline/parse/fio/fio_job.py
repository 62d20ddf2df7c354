"""fio: a job file, the settings of runs as they were given to ``fio job.fio``.

Grammar
    Sections ``[name]``, each a job; one whose name begins with ``global`` holds for the jobs behind it. In a section
    ``option=value`` or ``option`` a line, blanks around both; ``include file`` takes the options of another file.
    ``;`` and ``#`` begin a comment, also behind an option.
Versions
    1.58 – 3.43.
Traps
    A later ``[global]`` holds only for the jobs behind it. Equal section names are different jobs. A job file in a
    template language (``{% … %}``, ``{{ … }}``) or in a shell script is read as it stands.
Sample
    tests/parse/fio_job/
Gives
    parameters alone, an option a row, as it is written (``4k``, ``${SIZE}``): job = its section, ``name#2`` of equal
    ones, null of a global one; an option without a value is null. Tool ``fio_job``, so that nobody takes it for a
    result: what ran is in fio's own report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "a job file of fio: `[name]` and options such as `rw=randread` below it"
FORM = "job file"
VERSIONS = "1.58 – 3.43"
NOT_READ = "the files that it includes"
UNSEEN_CUTS = "job files have no end mark: options and jobs that are missing as a whole"

_SECTION = re.compile(r"\[([^\n]{1,255})\]$")
_OPTION = re.compile(r"([a-z][a-z0-9_.]{0,63})\s*(?:=\s*(.*))?$", re.DOTALL)
_TEMPLATE = re.compile(r"\{[%#].*[%#]\}$")
# A file with one of the first and another of either is none of another program.
_OF_FIO = frozenset(
    ("ioengine", "iodepth", "numjobs", "group_reporting", "stonewall", "time_based", "rwmixread", "rwmixwrite",
     "bssplit", "bsrange", "ramp_time", "norandommap", "randrepeat", "io_size", "fdatasync", "write_bw_log",
     "write_lat_log", "write_iops_log", "log_avg_msec", "gtod_reduce", "new_group", "wait_for", "startdelay",
     "number_ios", "zonemode", "fallocate", "overwrite", "verify", "do_verify", "readwrite", "blocksize", "nrfiles",
     "cpuload", "read_iolog", "rate_iops", "thinktime", "exitall", "create_on_open", "percentile_list")
)  # fmt: skip
_OTHERS = frozenset(
    ("rw", "bs", "size", "filename", "directory", "direct", "runtime", "thread", "sync", "fsync", "name", "offset",
     "loops", "rate", "buffered", "invalidate", "filesize", "openfiles", "timeout", "description", "hostname", "port")
)  # fmt: skip
_MODE = re.compile(r"(?:rand)?(?:read|write|rw|trim)|readwrite|trimwrite|randtrimwrite")
_WELL_FORMED = 0.7  # of the lines


@dataclass
class _Entry:
    """An option of a section; ``text`` is what stands there where it is none."""

    line: int
    section: int  # its place among the sections; -1: before the first
    name: str | None
    value: str | None
    text: str


def recognise(head: str) -> bool:
    """Whether a section comes first, nearly every line is an option, and some options are those of fio."""
    sections, entries = _entries(head.split("\n"))
    options = [entry for entry in entries if entry.name is not None]
    if not sections or not options or any(entry.section < 0 for entry in entries):
        return False
    names = {entry.name for entry in options}
    has_mode = any(e.name in ("rw", "readwrite") and _MODE.match(e.value or "") for e in options)
    n_own, n_others = len(names & _OF_FIO) + has_mode, len(names & _OTHERS)
    is_likely = n_own >= 1 and n_own + n_others >= min(3, len(names)) and 2 * (n_own + n_others) >= len(names)
    return is_likely and len(options) >= _WELL_FORMED * len(entries)


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError where there is no section with an option."""
    text = source.text
    sections, entries = _entries(text.split("\n"))
    if not sections or not any(entry.name for entry in entries):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    report = Report("fio_job", source)
    labels = _labels([name for _, name in sections])
    for entry in entries:
        if entry.name is not None:
            report.parameter(entry.name, entry.value, labels[entry.section] if entry.section >= 0 else None)
    _note(report, sections, entries)
    if text and not text.endswith("\n"):
        last = text.rsplit("\n", 1)[-1].strip()
        message = f"expected the end of a line, found the end of the file: {last[:80]!r}"
        report.incomplete(text.count("\n") + 1, "truncated", message)
    return [report]


def _entries(lines: list[str]) -> tuple[list[tuple[int, str]], list[_Entry]]:
    """The sections, each with its line, and what stands in them."""
    sections: list[tuple[int, str]] = []
    entries: list[_Entry] = []
    for number, line in _contents(lines):
        match = _SECTION.match(line)
        if match:
            sections.append((number, match[1]))
            continue
        option = _OPTION.match(line)
        entry = _Entry(number, len(sections) - 1, option[1] if option else None, option[2] if option else None, line)
        if line.startswith("include "):
            entry.name, entry.value = "include", line[len("include ") :].strip()
        entries.append(entry)
    return sections, entries


def _contents(lines: list[str]) -> Iterator[tuple[int, str]]:
    """What stands in the lines, without comments and empty lines, with the numbers of the lines."""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not _TEMPLATE.match(text):
            kept = re.split("[;#]", text, maxsplit=1)[0].strip()
            is_torn = (
                kept.startswith("[") and not kept.endswith("]") and "]" in text
            )  # a name with the sign of a comment
            text = text[: text.rindex("]") + 1] if is_torn else kept
        if text and not _TEMPLATE.match(text):
            yield number, text


def _labels(names: list[str]) -> list[str | None]:
    """The job of each section: None of a global one, ``name#2`` of equal names."""
    counts, seen = Counter(names), Counter[str]()
    labels: list[str | None] = []
    for name in names:
        seen[name] += 1
        label = f"{name}#{seen[name]}" if counts[name] > 1 else name
        labels.append(None if name.startswith("global") else label)
    return labels


def _note(report: Report, sections: list[tuple[int, str]], entries: list[_Entry]) -> None:
    unread = [entry for entry in entries if entry.name is None]
    if unread:
        shown = "".join(char if char.isprintable() else "�" for char in unread[0].text[:80])
        report.warn(
            unread[0].line, "unread_lines", f"expected options, found {len(unread)} other lines, such as {shown!r}"
        )
    includes = [entry for entry in entries if entry.name == "include"]
    if includes:
        message = f"the options of {len(includes)} included files are not read"
        report.warn(includes[0].line, "include", message)
    is_global = [name.startswith("global") for _, name in sections]
    later = [line for (line, _), is_one, place in zip(sections, is_global, range(len(sections)), strict=True)
             if is_one and not all(is_global[:place])]  # fmt: skip
    if later:
        message = "a global section behind a job: it holds only for the jobs that follow it"
        report.warn(later[0], "later_global", message)
