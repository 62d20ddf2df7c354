"""Private to ``fio_terse``: which lines are of one run, and which of them one status report of it.

Terse output says neither. A report is a line a job, printed at once: so its lines have one version, rising groups and
the same disk counters. Reports of the same jobs whose totals only grow, and whose extremes only widen, are one run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.parse._source import Source
from pipeline.parse.fio._fio_terse_line import Disk, Line, Statistics, begins, disks_of, line_of
from pipeline.parse.fio._fio_text_block import Header
from pipeline.parse.fio._fio_text_split import HEADER

_VERSION = re.compile(r"fio[- ]\d+\.\d[\w.+-]*$")
_PREFIX = re.compile(r"(?:> ?|<[\w.:,%/-]{1,255}> )*\s*")
_SILENT = re.compile(r"$|\.\.\.$|Starting \d|Jobs: \d|.*: Laying out IO file|hostname=.*, be=|```")
_MESSAGE = re.compile(r"fio: |note: |warning\b|error\b|.*\berr(?:or)?=", re.IGNORECASE)
_SIGNAL = re.compile(r"fio: terminating on signal")
ALL_CLIENTS = "All clients"
_STEP_MS = 100  # jobs that ran side by side differ less in their times
_MANY = 3  # reports that cannot look like the status of one run by chance


@dataclass
class Run:
    """A run: its last report, those before it, and what else was printed."""

    lines: list[Line] = field(default_factory=list)
    earlier: list[list[Line]] = field(default_factory=list)
    headers: list[Header] = field(default_factory=list)
    version: str | None = None
    disks: list[Disk] = field(default_factory=list)  # of a client, on a line of their own
    messages: list[tuple[int, str]] = field(default_factory=list)
    signals: list[tuple[int, str]] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)  # lines that begin like terse output and are none
    shifted: list[int] = field(default_factory=list)  # with the separator in a name or a description
    is_client: bool = False
    is_open: bool = False  # the file ends without a line feed

    @property
    def is_ambiguous(self) -> bool:
        """Whether equal lines may be jobs of a run or runs of a job: disks that were used, or headers, would tell."""
        is_repeated = len({line.key for line in self.lines}) < len(self.lines)
        has_counts = any(count for line in self.lines for disk in line.disks for count in disk.counts)
        return is_repeated and not (has_counts or self.headers or self.is_client or self.earlier)

    @property
    def last_line(self) -> int:
        """The number of the run's last line."""
        return max([line.number for line in self.lines] + self.bad, default=1)


def runs_of(source: Source) -> list[Run]:
    """The runs of a file, in their order; none where there is no line of terse output."""
    taken = _Taker()
    held: tuple[int, str] | None = None
    for line in source.numbered_lines():
        if held:
            taken.take(*held)
        held = line
    if held:
        taken.take(*held, is_open=not source.ends_with_newline)
    taken.end()
    return taken.runs


class _Taker:
    """Takes one line of text after the other."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.run = Run()
        self.has_ended = False  # a client's sum came: what follows is another run

    def take(self, number: int, raw: str, *, is_open: bool = False) -> None:
        """Take a line; ``is_open``: the file ends without a line feed, so that it may be cut."""
        text = _PREFIX.sub("", raw, count=1) if raw[:1] in "<> \t" else raw
        start = begins(text)
        if start is not None:
            self._take_terse(number, text[start:], is_open=is_open)
        elif text.startswith(";") and self.run.lines:
            self.run.is_open = is_open
            if not is_open:
                self._take_continuation(number, text)
        elif match := HEADER.match(text.rstrip()):
            self._start_after_lines()
            name, group, *values = match.groups()
            settings = dict(zip(("rw", "bs", "ioengine", "iodepth"), values, strict=True))
            settings["bs"] = settings["bs"].removeprefix("bs=")
            self.run.headers.append(Header(number, name, int(group), settings))
        elif _VERSION.match(text.rstrip()):
            self._start_after_lines()
            self.run.version = text.rstrip()
        elif text.strip() == "..." and self.run.headers and not self.run.lines:
            self.run.headers[-1].is_repeated = True
        elif _SIGNAL.match(text):
            self.run.signals.append((number, text))
        elif _MESSAGE.match(text) and not _SILENT.match(text):
            self.run.messages.append((number, text))

    def _take_terse(self, number: int, text: str, *, is_open: bool) -> None:
        line = line_of(number, text, is_open=is_open)
        if line is None:
            self.run.bad.append(number)
            return
        if self.has_ended:
            self.end()
        if ";" in line.name or ";" in (line.description or ""):
            self.run.shifted.append(number)
        self.run.lines.append(line)
        self.run.is_open = is_open
        self.run.is_client |= line.name == ALL_CLIENTS and len(self.run.lines) > 1
        self.has_ended = line.name == ALL_CLIENTS and len(self.run.lines) > 1

    def _take_continuation(self, number: int, text: str) -> None:
        """A line ``;…`` behind a terse one: a client's disks, or the description of version 2 and of fio 2.0."""
        disks, rest = disks_of(text)
        if disks and not rest:
            self.run.is_client = True
            self.run.disks += disks
        elif self.run.lines[-1].description is None:
            self.run.lines[-1].description = text[1:]
            if ";" in text[1:]:
                self.run.shifted.append(number)

    def _start_after_lines(self) -> None:
        if self.run.lines:
            self.end()

    def end(self) -> None:
        """Divide what was taken since the last run's end into runs."""
        taken, self.run, self.has_ended = self.run, Run(), False
        if not taken.lines:
            if self.runs and taken.bad:
                self.runs[-1].bad += taken.bad
            return
        chains = [[taken.lines]] if taken.is_client else _chains(_reports(taken.lines))
        for place, chain in enumerate(chains):
            run = taken if place == len(chains) - 1 else Run(headers=taken.headers, version=taken.version)
            run.lines, run.earlier = chain[-1], chain[:-1]
            self.runs.append(run)
        for run in self.runs[len(self.runs) - len(chains) :]:
            numbers = {line.number for report in (*run.earlier, run.lines) for line in report}
            run.shifted = [number for number in taken.shifted if number in numbers or number - 1 in numbers]


def _reports(lines: list[Line]) -> Iterator[list[Line]]:
    """What was printed at once."""
    report: list[Line] = []
    for line in lines:
        if report and not _goes_with(report[-1], line):
            yield from _status_reports(report)
            report = []
        report.append(line)
    yield from _status_reports(report)


def _goes_with(earlier: Line, later: Line) -> bool:
    is_same = (earlier.version, earlier.fio, earlier.is_old) == (later.version, later.fio, later.is_old)
    return is_same and later.group >= earlier.group and (later.is_cut or _counts(earlier) == _counts(later))


def _counts(line: Line) -> list[tuple[str, list[int | None]]]:
    return [(disk.name, disk.counts) for disk in line.disks]


def _status_reports(lines: list[Line]) -> Iterator[list[Line]]:
    """Lines with the same disk counters, or without: reports, where these jobs come again and only grow."""
    n_jobs = len({line.key for line in lines})
    period = next((n for n in range(n_jobs, len(lines) // 2 + 1) if _is_period(lines, n)), len(lines))
    for place in range(0, len(lines), period):
        yield lines[place : place + period]


def _is_period(lines: list[Line], n: int) -> bool:
    if len(lines) % n or any(later.key != earlier.key for earlier, later in zip(lines, lines[n:], strict=False)):
        return False
    pairs = [(lines[place : place + n], lines[place + n : place + 2 * n]) for place in range(0, len(lines) - n, n)]
    if not all(_continues(earlier, later) for earlier, later in pairs):
        return False
    return len(pairs) + 1 >= _MANY or all(_step_ms(earlier, later) >= _STEP_MS for earlier, later in pairs)


def _chains(reports: Iterator[list[Line]]) -> list[list[list[Line]]]:
    """The reports of each run."""
    chains: list[list[list[Line]]] = []
    for report in reports:
        if chains and _continues(chains[-1][-1], report):
            chains[-1].append(report)
        else:
            chains.append([report])
    return chains


def _continues(earlier: list[Line], later: list[Line]) -> bool:
    """Whether a report is a later one of the same run: of the same jobs, and everything in it has only grown."""
    if [line.key for line in earlier] != [line.key for line in later] or _step_ms(earlier, later) <= 0:
        return False
    return all(_grows(old, new) for old, new in zip(earlier, later, strict=True))


def _step_ms(earlier: list[Line], later: list[Line]) -> int:
    return max(
        (new.runtime_ms or 0) - (old.runtime_ms or 0)
        for first, second in zip(earlier, later, strict=True)
        for old, new in zip(first.directions, second.directions, strict=False)
    )


def _grows(old: Line, new: Line) -> bool:
    if (old.version, old.fio) != (new.version, new.fio):
        return False
    pairs = [(before, after) for before, after in zip(old.directions, new.directions, strict=False)]
    totals = [((a.kib or 0, a.runtime_ms or 0), (b.kib or 0, b.runtime_ms or 0)) for a, b in pairs]
    if any(later[0] < first[0] or later[1] < first[1] for first, later in totals):
        return False
    if any(int(b) < int(a) for a, b in zip(old.tail[2:5], new.tail[2:5], strict=False)):  # context switches, faults
        return False
    counted = [(a, b) for first, second in zip(old.disks, new.disks, strict=False)
               for a, b in zip(first.counts, second.counts, strict=True)]  # fmt: skip
    if any((b or 0) < (a or 0) for a, b in counted):
        return False
    return all(_widens(a.phases[name], b.phases[name]) for a, b in pairs for name in a.phases)


def _widens(old: Statistics, new: Statistics) -> bool:
    """Whether the extremes of a report are those of an earlier one or lie beyond them."""
    if not old.is_measured:
        return True
    return (new.low or 0) <= (old.low or 0) and (new.high or 0) >= (old.high or 0)


def labels_of(lines: list[Line], *, is_client: bool) -> list[str | None]:
    """Names that tell the lines apart: ``name#2`` of equal ones; None for the sum of all clients."""
    names = [None if is_client and line.name == ALL_CLIENTS else line.name for line in lines]
    counts, seen = Counter(names), Counter[str | None]()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name}#{seen[name]}" if name is not None and counts[name] > 1 else name)
    return labels
