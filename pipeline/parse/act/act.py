"""ACT, Aerospike's certification tool for SSDs: the log of ``act_storage`` or ``act_index`` (before 5.0: ``act``).

Grammar
    6.x: ``ACT version V``, ``Storage device IO test`` or ``Index device IO test``, [``detected N CPUs``], the
    configuration and what was derived from it (``key: value``), ``<device> size = …`` a device, ``HISTOGRAM NAMES``
    and the names; then every report-interval-sec a block: ``after N sec:``, for each histogram ``name (T total)`` and
    its buckets `` (BB: count)``, four a line, empty ones left out, and a blank line. Buckets are counts since the
    start: 00 is [0, 1), BB is [2^(BB-1), 2^BB) ms, or µs with ``microsecond-histograms: yes``.
    5.x: ``requests-queued: N`` first in a block; ``reads`` (``trans-reads`` of an index) with the wait in ACT's
    queue, ``device-reads`` and the devices' without it; likewise writes.
    2.0–4.0: ``Aerospike act version V - device IO test``, ``After N sec:``, upper-case names padded to 18; the
    devices stand behind ``RAW READS`` and, with commit-to-device, under the same name again behind ``RAW WRITES``.
Versions
    3.0, 4.0, 5.1, 5.3, 6.1, 6.5, 6.6; 2.0, 5.0, 5.2, 6.0, 6.2 to 6.4 by their sources. 1.x is refused: its bucket BB is
    [2^BB, 2^(BB+1)).
Traps
    ACT exits with 0 after it gave up; the lines that say so come before the last block, two or three a thread, and
    the last interval of such a run was not a full one. Threads print between the lines of a block. A failed I/O
    prints a line and is in no histogram. Histograms of a block are printed one after the other while I/O goes on:
    the devices' counts may differ from the total by a few. 6.0 and 6.1 list histograms that they never print.
    Several runs may have been appended to one file: a report each. A day at 1 s is 75 MB: blocks are read a chunk of
    whole ones at a time, by NumPy.
Sample
    tests/parse/act/v53-storage-device-reads/
Gives
    latency_bins: job is the histogram's name, phase total; an interval is the time between two blocks (the first
    begins at 0), empty bins are left out. A block that cannot be read makes the next interval longer.
    operations: a row a histogram that counted anything, over the sum of these intervals, which is the whole run
    unless a warning says otherwise. scope total: op read, write (with commit-to-device, or an index), large_block_read
    and large_block_write; scope device, with target: the devices' shares. Reads include those that updates cause.
    Where an I/O is in a histogram with ACT's queue and again in one without (2.0 to 5.x), the latter and its devices
    have the op device_read or device_write. An index's reads are those of its service and cache threads in 6.x; in
    5.x ``trans-reads``, of the service threads, are read, and device_read is all. queue_depth is null (ACT offers a
    rate), latency_mean_s too (bins are too coarse). block_size_bytes where the log fixes it; 4096 of an index, by
    its source. n_errors is 0 without error lines; else they stand in the rows of read or write, since ACT does not
    tell whether a small, a large-block or a tomb-raider I/O failed.
    metric_series: requests_queued. parameters: settings as printed, the offered rates among them; test-kind (storage,
    index), detected-cpus and ``<device> size``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.act._act_bins import Tally
from pipeline.parse.act._act_blocks import read_blocks
from pipeline.parse.act._act_lines import after_second, decoded, is_of_a_block
from pipeline.parse.act._act_log import HEADER, Log, Notes
from pipeline.parse.act._act_rows import add_blocks, add_operations

EXPECTED = "an ACT log: `ACT version …` or `Aerospike act version … - device IO test`"
FORM = "log of act_storage and act_index"
VERSIONS = "2.0 – 6.6"
NOT_READ = "logs of 1.x, whose buckets mean something else"
UNSEEN_CUTS = ""
_MOST_CARRIED = 64 << 20  # bytes of a block; of 128 devices it has some 100 KiB
_HEAD = re.compile(
    r"^[ \t]*(?:Aerospike act (?:version \S+ )?- device IO test"
    r"|ACT version \d\S*[ \t]*\n\s*(?:Storage|Index) device IO test)[ \t]*$",
    re.MULTILINE,
)


def recognise(head: str) -> bool:
    """Whether the first 64 KiB hold ACT's header; the report of act_latency.py, which quotes it, does not."""
    return _HEAD.search(head) is not None


_VERSION = b"ersion "
_FIRST_AFTER = re.compile(rb"^[ \t]*[aA]fter [0-9]{1,12} sec:[ \t]*$", re.MULTILINE)


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the log; ParseError if none got as far as a block or a configuration."""
    scanner = _Scanner(source)
    for data in _chunks(source):
        scanner.feed(data)
    scanner.end_run()
    logs = [log for log, _ in scanner.runs]
    if not logs:
        is_too_old = "Aerospike act - device IO test" in source.head
        found = "an ACT 1.x log, whose buckets mean something else" if is_too_old else source.head
        raise source.error(1, EXPECTED, found)
    if not any(log.has_blocks for log in logs):
        _refuse_without_blocks(source, logs)
    for log, report in scanner.runs:
        _finish(report, log)
    if scanner.before.count:
        found = str(scanner.before)
        scanner.runs[0][1].warn(scanner.before.line, "before_header", f"expected ACT's header, found {found}")
    return [report for _, report in scanner.runs]


def _chunks(source: Source) -> Iterator[bytes]:
    """The file in chunks of whole lines, each but the last ending before an ``after N sec:`` line."""
    carried: list[bytes] = []
    for block in source.blocks():
        cut = _last_after(block)
        if cut is None:
            carried.append(block)
            if sum(map(len, carried)) > _MOST_CARRIED:
                raise source.error(None, f"blocks of at most {_MOST_CARRIED} bytes", "a longer one")
            continue
        yield b"".join([*carried, block[:cut]])
        carried = [block[cut:]]
    if rest := b"".join(carried):
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _last_after(block: bytes) -> int | None:
    """Where the last line ``after N sec:`` begins."""
    place = len(block)
    while (place := block.rfind(b"fter ", 0, place)) >= 0:
        start = block.rfind(b"\n", 0, place) + 1
        end = block.find(b"\n", place)
        if place - start < 100 and end >= 0 and after_second(block[start:end]) is not None:
            return start
    return None


class _Scanner:
    """Goes through the chunks: headers by the line, what follows the first block of a run all at once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: list[tuple[Log, Report]] = []
        self.before = Notes()  # what stands before the first header
        self.line = 1
        self._held: tuple[bytes, int] | None = None  # blocks that may be the run's last

    def feed(self, data: bytes) -> None:
        """Take in a chunk of whole lines."""
        start = 0
        for at, end in _headers(data):
            self._take(data[start:at])
            self.end_run()
            match = HEADER.fullmatch(decoded(data[at:end]))
            if match is not None:
                log = Log(match[1] or match[2], self.line, last_line=self.line)
                self.runs.append((log, Report("act", self.source, tool_version=log.version)))
            self.line += 1
            start = end + 1
        self._take(data[start:])

    def end_run(self) -> None:
        """Take in what was held: the run has no further block."""
        self._flush(is_end=True)

    def _take(self, data: bytes) -> None:
        """Take in lines that hold no header."""
        if not data:
            return
        if not self.runs:
            for raw in data.split(b"\n")[:-1]:
                if is_of_a_block(line := decoded(raw[:1000]).strip()):
                    self.before.add(self.line, line)
                self.line += 1
            return
        log = self.runs[-1][0]
        self._flush(is_end=False)
        if not log.has_blocks:
            match = _FIRST_AFTER.search(data)
            cut = match.start() if match else len(data)
            for raw in data[:cut].split(b"\n")[:-1]:
                log.read_header_line(self.line, decoded(raw))
                self.line += 1
            data = data[cut:]
        if data:
            log.has_blocks = True
            self._held = data, self.line
            self.line += data.count(b"\n")

    def _flush(self, *, is_end: bool) -> None:
        if self._held is None:
            return
        log, report = self.runs[-1]
        add_blocks(report, log, read_blocks(log, *self._held, is_end=is_end))
        self._held = None


def _headers(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines of ACT's headers begin and end."""
    place = data.find(_VERSION)
    while place >= 0:
        start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
        if end - start < 1000 and HEADER.fullmatch(decoded(data[start:end])):
            yield start, end
        place = data.find(_VERSION, end)


def _refuse_without_blocks(source: Source, logs: list[Log]) -> None:
    """Raise a ParseError with what the tool itself said, or when not even a configuration is there."""
    expected = "blocks that begin with `after N sec:`"
    for log in logs:
        if log.failures:
            texts = dict.fromkeys(text for _, text in log.failures)
            raise source.error(log.failures[0][0], expected, "; ".join(list(texts)[:3]))
    if not any(log.settings for log in logs):
        raise source.error(logs[-1].last_line, expected, "the end of the file")


def _finish(report: Report, log: Log) -> None:
    """Add what is known of a run only at its end."""
    report.parameter("test-kind", "index" if log.is_index else "storage")
    for name, value in log.settings:
        report.parameter(name, value)
    if log.failures and not log.has_blocks:
        report.incomplete(log.failures[0][0], "failed", f"expected blocks, found {log.failures[0][1][:100]!r}")
        return
    if log.torn is not None:
        expected = "expected all of its histograms and a blank line behind them"
        report.incomplete(log.torn, "truncated", f"{expected}, found the end in line {log.last_line}")
    if log.n_blocks:
        report.describe(duration_s=log.longest_after)
    _check_end(report, log)
    _warn_of_messages(report, log)
    _check_blocks(report, log)
    add_operations(report, log)
    _check_histograms(report, log)


def _check_end(report: Report, log: Log) -> None:
    """Say that the run did not end by itself: it gave up, was stopped, or its log ends early."""
    duration, last = log.number("test-duration-sec"), log.last_after
    for kind in ("aborted", "interrupted"):
        if note := log.notes.get(kind):
            report.incomplete(
                note.line, kind, f"expected a run of {duration} s, found {note}, the last block at {last} s"
            )
    if duration is None:
        report.incomplete(None, "no_duration", "expected test-duration-sec, which tells whether the log is whole")
    elif last < duration and report.run["is_complete"]:
        report.incomplete(log.last_line, "truncated", f"expected blocks up to {duration} s, found the last at {last} s")
    if log.setting("microsecond-histograms") not in ("yes", "no"):
        report.incomplete(None, "no_unit", "expected microsecond-histograms: yes or no; without it no latency is known")


def _warn_of_messages(report: Report, log: Log) -> None:
    """Warn of what the tool complained of and of lines that are not known, once a kind."""
    if log.io_errors:
        errors = min(log.io_errors.values(), key=lambda note: note.line)
        count = sum(note.count for note in log.io_errors.values())
        report.warn(errors.line, "io_errors", f"expected no failed I/O, found {count}, the first {errors.text[:100]!r}")
    for kind, expected in (("tool_error", "no error"), ("unknown_lines", "lines of an ACT log")):
        if note := log.notes.get(kind):
            report.warn(note.line, kind, f"expected {expected}, found {note}")


def _check_blocks(report: Report, log: Log) -> None:
    """Say where the time does not rise by the reporting interval from block to block."""
    interval = log.number("report-interval-sec") or "?"
    for code, tally in (("time_decreased", log.time_decreased), ("missing_blocks", log.missing_blocks)):
        if tally.count:
            message = f"expected a block every {interval} s, {tally.found}, {tally.count} such in all"
            report.incomplete(tally.line, code, message)


def _check_histograms(report: Report, log: Log) -> None:
    """Say which entries of histograms are missing, contradict themselves or fall, once a kind."""
    found = list(log.histograms.values())
    for code, message, tallies in (
        ("inconsistent_total", "buckets that add up to the total, found {} that do not, left out",
         [histogram.inconsistent for histogram in found]),
        ("repeated_histogram", "a histogram once a block, found {} once more, left out",
         [histogram.repeated for histogram in found]),
        ("count_decreased", "counts since the start, found {} lower than before, their intervals left out",
         [histogram.decreased for histogram in found]),
        ("missing_histograms", "every histogram in every block, found {} missing",
         [histogram.missing(log.n_blocks) for histogram in found]),
    ):  # fmt: skip
        _check(report, code, message, [tally for tally in tallies if tally.count])


def _check(report: Report, code: str, message: str, tallies: list[Tally]) -> None:
    if tallies:
        count = sum(tally.count for tally in tallies)
        report.incomplete(min(tally.line for tally in tallies), code, "expected " + message.format(count))
