"""The parts of a file with fio's normal output: runs, their headers, their status reports, and what fio says between.

A status report is what fio prints at once: job blocks, ``Run status group`` blocks, disk statistics. A run prints one
at its end, with ``--status-interval`` or SIGUSR1 more before it, and a client one for each server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.parse._source import Source
from pipeline.parse.fio._fio_text_block import Group, Header, Job, Run, Status
from pipeline.parse.fio._fio_text_job import JOB, NEW_RATES, OLD_RATES, begins_another, read_line, start_job

MAX_LINE = 2048  # longer than any line of fio's: not worth a regular expression
HEADER = re.compile(r"(.+?): \(g=(\d{1,9})\): rw=(\w+), (bs[^=]*=[^=]*), ioengine=([^=,]+), iodepth=(\d{1,9})$")
_CPU_HEADER = re.compile(r"(.+?): ioengine=(cpu\w*), cpuload=(\d+), cpucycle=(\d+)$")
_VERSION = re.compile(r"fio[- ]v?\d+\.\d[\w.+-]*$")
_HOST = re.compile(r"hostname=(\S+), be=\d, [^,]*, os=([^,]+), arch=([^,]+), fio=([^,]+)(?:, flags=\w+)?$")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?: |$)")  # of a CI log
_PREFIX = re.compile(r"<[\w.:,%/-]{1,255}>(?: |$)")
_PROGRESS = re.compile(r"Jobs: \d+ \(f=\d+\)(?:[^\[]*(?:\[[^\]]*\]\s?)+)?\s*(?=\S.*: \(groupid=|<)")
GROUP = re.compile(r"Run status group (\d{1,9}) \(all jobs\):$")
NEW_GROUP_ROW = re.compile(
    r"(READ|WRITE|TRIM|MIXED): bw=(\S+) \(\S+\), (\S+?)-(\S+) \(\S+\), io=(\S+) \(\S+\), run=(\d{1,15})-(\d{1,15})msec$"
)
OLD_GROUP_ROW = re.compile(
    r"(READ|WRITE|TRIM|MIXED): io=(\S+), aggrb=(\S+), minb=(\S+), maxb=(\S+), mint=(\d{1,15})msec, maxt=(\d{1,15})msec$"
)
_DISKS = "Disk stats (read/write):"
_DISK = re.compile(r"(\S.{0,255}?): (ios=.*(?:, util|, aggrutil)=[\d.]+%)$")
_DEVICE = re.compile(r"[\w./!-]+(?:: ?[a-z].*)?:?$")  # or its beginning
_IDLE = re.compile(r"(system|percpu|unit work): (.*)$")
_JSON_START = re.compile(r'"(?:fio version|client_stats|global options|jobs|disk_util)"')
_TERSE = re.compile(r"[345];fio-\d|2;[^;]*;\d+;-?\d+;\d+;\d+;\d+;")
_NOTES = (
    ("interrupted", re.compile(r"fio: terminating on signal \d+")),
    ("aborted", re.compile(r"fio: pid=\d+(?:,| disappeared).*(?:got signal|disappeared)|fio: job .*hasn't exited in|"
                           r"fio: job startup hung|fio: \d+ jobs? failed to start|fio seems to be stuck|"
                           r"client: host=\S+ disconnected|client <\S+>: (?:exited|timeout)")),
    ("job_error", re.compile(r"fio: pid=\d+, err=\d+|fio: io_u error|.*: No I/O performed by ")),
    ("verify_failed", re.compile(r"verify: |(?:crc\w+|md5|sha\w+|xxhash|meta|pattern): verify failed")),
    ("tool_message", re.compile(r"fio: |note: |.*: rate_(?:iops_)?min=\S+ not met|.*: min (?:iops )?rate \d+ not met")),
)  # fmt: skip
_SILENT = re.compile(r"\.\.\.$|Starting \d|Jobs: \d|.*: Laying out IO files?|All clients$|CPU idleness:$|<\S+>$")


def clean(line: str) -> tuple[str, bool]:
    """A line without indentation, time stamp, progress and a client's ``<host>``; and whether there was a host."""
    text = line.strip().lstrip("> ")
    if len(text) > MAX_LINE:
        return "", False
    if text[:2] == "20":
        text = _STAMP.sub("", text, count=1).strip()
    if text.startswith("Jobs: "):
        text = _PROGRESS.sub("", text, count=1)
    has_host = _PREFIX.match(text) is not None
    return (_PREFIX.sub("", text, count=1).strip() if has_host else text), has_host


def split(source: Source) -> list[Run]:
    """The runs in a file, in their order; lines that are no part of fio's output are passed over."""
    splitter = _Splitter()
    is_json = False
    rest = (1, "")  # what follows the last line feed
    for (number, line), following in _with_next(source.numbered_lines()):
        if is_json or (line == "{" and following is not None and _JSON_START.match(following.strip())):
            is_json = line != "}"
            if splitter.runs:
                splitter.runs[-1].json_lines.append(number)
            continue
        text, has_host = clean(line)
        is_open = following is None and not source.ends_with_newline
        rest = (number, text) if is_open else (number + 1, "")
        if is_open and text[-1:].isdigit() and splitter.job is not None:
            splitter.runs[-1].notes["cut_line"] = [(number, text)]  # the rest of the number may be missing
        elif _TERSE.match(text):
            splitter.take_terse(number)
        elif text:
            splitter.take(number, text, has_host)
    splitter.end_disks(*rest)
    splitter.end_notes()
    return splitter.runs


def _with_next(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], str | None]]:
    """Each numbered line with the one behind it; None behind the last."""
    line = next(lines, None)
    for following in lines:
        if line is not None:
            yield line, following[1]
        line = following
    if line is not None:
        yield line, None


class _Splitter:
    """Takes one line after the other and keeps what it belongs to."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.job: Job | None = None
        self.section = ""
        self.pending: list[tuple[str, int, str]] = []  # said after a run: the next one's, if there is one

    def take(self, line: int, text: str, has_host: bool) -> None:
        if self.job is not None and begins_another(self.job, text):
            self._start_job(Job(line))
        if self.job is not None and read_line(self.job, line, text):
            self.runs[-1].last_line = line
        elif self._take_block(line, text) or self._take_start(line, text, has_host) or self._take_note(line, text):
            if self.runs:
                self.runs[-1].last_line = line
        elif self.section == "disk" and "ios=" in text:
            self._status(line).torn_line = line
        elif self.job is not None:
            self.job.unread = self.job.unread or (line, text)
            self.job.n_unread += 1
            self.job.n_unread_here += 1

    def take_terse(self, line: int) -> None:
        """Note a line of terse output, which fio prints before the normal report of the same figures."""
        self._run(line).terse_lines.append(line)

    def _run(self, line: int, *, is_new: object = False) -> Run:
        if is_new or not self.runs:
            self.runs.append(Run(line, last_line=line))
            self.job, self.section = None, ""
            self.end_notes()
        return self.runs[-1]

    def end_notes(self) -> None:
        """Give the notes that wait to the last run."""
        for code, line, text in self.pending if self.runs else ():
            self.runs[-1].notes.setdefault(code, []).append((line, text))
        self.pending.clear()

    def end_disks(self, line: int, rest: str) -> None:
        """Note a cut end: ``rest`` has no line feed, and the title of the disks stands only above a device.

        A device's whole line ends in a percent sign; behind one of ``Run status`` there may be more.
        """
        is_behind = bool(self.runs) and self.runs[-1].last_line >= line - 1
        is_device = self.section == "disk" and is_behind and _DEVICE.match(rest) and not _DISK.match(rest)
        is_title = self.section == "group" and rest != "" and (is_behind or _DISKS.startswith(rest))
        is_bare = self.section == "disk" and not self.runs[-1].statuses[-1].disks
        if is_device or is_title or is_bare:
            self._status(line).torn_line = self._status(line).torn_line or line

    def _status(self, line: int) -> Status:
        run = self._run(line)
        if not run.statuses:
            run.statuses.append(Status())
        return run.statuses[-1]

    def _take_block(self, line: int, text: str) -> bool:
        if match := JOB.match(text):
            self._start_job(start_job(match, line))
        elif self.job is None and (NEW_RATES.match(text) or OLD_RATES.match(text)):
            job = Job(line)  # the block's first line is missing
            self._start_job(job)
            return read_line(job, line, text)
        elif match := GROUP.match(text):
            self._start_group(line, int(match[1]))
        elif match := NEW_GROUP_ROW.match(text) or OLD_GROUP_ROW.match(text):
            status = self._status(line)
            if not status.groups:
                return False
            status.groups[-1].rows[match[1].lower()] = match.re is OLD_GROUP_ROW, match.groups()[1:]
        elif text == _DISKS:
            self._status(line)
            self.job, self.section = None, "disk"
        elif self.section == "disk" and (match := _DISK.match(text)):
            self._status(line).disks.append((line, match[1], match[2]))
        elif text == "CPU idleness:":
            self.job, self.section = None, "idle"
        elif self.section == "idle" and (match := _IDLE.match(text)):
            self._status(line).idle.append((match[1], match[2]))
        else:
            return False
        return True

    def _start_job(self, job: Job) -> None:
        run = self._run(job.line)
        if not run.statuses or run.statuses[-1].groups:
            run.statuses.append(Status())
        run.statuses[-1].jobs.append(job)
        run.is_client |= job.is_total
        self.job, self.section = job, ""

    def _start_group(self, line: int, number: int) -> None:
        run = self._run(line)
        if not run.statuses or number in {group.number for group in run.statuses[-1].groups}:
            run.statuses.append(Status())
        run.statuses[-1].groups.append(Group(line, number))
        self.job, self.section = None, "group"

    def _take_start(self, line: int, text: str, has_host: bool) -> bool:
        run = self.runs[-1] if self.runs else None
        is_over = run is not None and run.has_status
        if (match := HEADER.match(text)) and ": (g=" not in match[1]:
            name, group, *values = match.groups()
            settings = dict(zip(("rw", "bs", "ioengine", "iodepth"), values, strict=True))
            settings["bs"] = settings["bs"].removeprefix("bs=")
            # Headers come before the version, but for a client's.
            run = self._run(line, is_new=not (has_host and run) and (is_over or (run and run.version is not None)))
            run.headers.append(Header(line, name, int(group), settings))
            run.is_client |= has_host
        elif match := _CPU_HEADER.match(text):
            settings = dict(zip(("ioengine", "cpuload", "cpucycle"), match.groups()[1:], strict=True))
            self._run(line, is_new=is_over).headers.append(Header(line, match[1], None, settings))
        elif match := _HOST.match(text):
            run = self._run(line, is_new=is_over)
            run.hosts.append(match.groups())
            run.is_client = True
        elif _VERSION.match(text):
            self._run(line, is_new=is_over or (run is not None and run.version is not None)).version = text
        elif text == "..." and run is not None and run.headers and not run.has_status:
            run.headers[-1].is_repeated = True
        else:
            return False
        return True

    def _take_note(self, line: int, text: str) -> bool:
        code = next((code for code, pattern in _NOTES if pattern.match(text)), None)
        if code is None and ": (g=" in text and "rw=" in text:  # two servers' headers in one another, or a cut one
            code = "torn_header"
        if code is None:
            return _SILENT.match(text) is not None
        self.pending.append((code, line, text))
        if self.runs and (self.runs[-1].is_client or not self.runs[-1].has_status or self.job is not None):
            self.end_notes()
        return True
