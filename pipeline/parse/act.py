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
    3.0, 4.0, 5.1, 5.3, 6.1, 6.5, 6.6; 2.0 by its source. 1.x is refused: its bucket BB is [2^BB, 2^(BB+1)).
Traps
    ACT exits with 0 after it gave up; the lines that say so come before the last block, two or three a thread, and
    the last interval of such a run was not a full one. Threads print between the lines of a block. A failed I/O
    prints a line and is in no histogram. Histograms of a block are printed one after the other while I/O goes on:
    the devices' counts may differ from the total by a few. 6.0 and 6.1 list histograms that they never print.
    Several runs may have been appended to one file: a report each.
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

import math
import re

import numpy as np

from pipeline.parse._act_bins import Counts, Intervals
from pipeline.parse._act_log import Log, scan
from pipeline.parse._act_rows import add_rows
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "an ACT log: `ACT version …` or `Aerospike act version … - device IO test`"
_HEAD = re.compile(
    r"^[ \t]*(?:Aerospike act (?:version \S+ )?- device IO test"
    r"|ACT version \d\S*[ \t]*\n\s*(?:Storage|Index) device IO test)[ \t]*$",
    re.MULTILINE,
)


def recognise(head: str) -> bool:
    """Whether the first 64 KiB hold ACT's header; the report of act_latency.py, which quotes it, does not."""
    return _HEAD.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the log; ParseError if none got as far as a block or a configuration."""
    logs, before = scan(source.text.removesuffix("\n").split("\n"))
    if not logs:
        is_too_old = "Aerospike act - device IO test" in source.head
        found = "an ACT 1.x log, whose buckets mean something else" if is_too_old else source.head
        raise source.error(1, EXPECTED, found)
    if not any(log.after for log in logs):
        _refuse_without_blocks(source, logs)
    reports = [_report(source, log) for log in logs]
    if before.count:
        reports[0].warn(before.line, "before_header", f"expected ACT's header, found {before}")
    return reports


def _refuse_without_blocks(source: Source, logs: list[Log]) -> None:
    """Raise a ParseError with what the tool itself said, or when not even a configuration is there."""
    expected = "blocks that begin with `after N sec:`"
    for log in logs:
        if log.failures:
            texts = dict.fromkeys(text for _, text in log.failures)
            raise source.error(log.failures[0][0], expected, "; ".join(list(texts)[:3]))
    if not any(log.settings for log in logs):
        raise source.error(logs[-1].last_line, expected, "the end of the file")


def _report(source: Source, log: Log) -> Report:
    report = Report("act", source, tool_version=log.version)
    report.parameter("test-kind", "index" if log.is_index else "storage")
    for name, value in log.settings:
        report.parameter(name, value)
    if log.failures and not log.after:
        report.incomplete(log.failures[0][0], "failed", f"expected blocks, found {log.failures[0][1][:100]!r}")
        return report
    n_blocks = _count_whole_blocks(report, log)
    after = np.array(log.after[:n_blocks], dtype=np.int64)
    if n_blocks:
        report.describe(duration_s=int(after.max()))
    _check_end(report, log, after)
    _warn_of_messages(report, log)
    _check_blocks(report, log, after)
    _check_histograms(report, add_rows(report, log, after))
    for block, n_queued in log.queued:
        if block < n_blocks:
            report.add("metric_series", metric="requests_queued", time_s=log.after[block], value=n_queued, unit="1")
    return report


def _count_whole_blocks(report: Report, log: Log) -> int:
    """Number of the blocks without the last one if that is torn: no blank line, and not the others' histograms."""
    last = len(log.after) - 1
    if last < 0 or log.is_last_closed:
        return last + 1
    found = {key: histogram for key, histogram in log.histograms.items() if histogram.blocks[-1] == last}
    others = {key for key, histogram in log.histograms.items() if histogram.blocks[0] < last}
    known = others or {(name, False) for name in log.histogram_names if name not in ("device-reads", "device-writes")}
    if known and found.keys() >= known and all(histogram.is_last_sound() for histogram in found.values()):
        return last + 1
    if (cut := log.notes.get("unknown_lines")) and cut.line == log.last_line:
        del log.notes["unknown_lines"]  # the torn line itself
    expected = "expected all of its histograms and a blank line behind them"
    report.incomplete(log.block_lines[last], "truncated", f"{expected}, found the end in line {log.last_line}")
    return last


def _check_end(report: Report, log: Log, after: Counts) -> None:
    """Say that the run did not end by itself: it gave up, was stopped, or its log ends early."""
    duration, last = log.number("test-duration-sec"), int(after[-1]) if len(after) else 0
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


def _check_blocks(report: Report, log: Log, after: Counts) -> None:
    """Say where the time does not rise by the reporting interval from block to block."""
    steps = np.diff(after, prepend=0)
    interval = log.number("report-interval-sec")
    for code, wrong in (("time_decreased", steps <= 0), ("missing_blocks", steps > (interval or math.inf))):
        if wrong.any():
            first = int(wrong.argmax())
            found = f"found `after {after[first]} sec:` behind {after[first] - steps[first]} s"
            message = f"expected a block every {interval or '?'} s, {found}, {int(wrong.sum())} such in all"
            report.incomplete(log.block_lines[first], code, message)


def _check_histograms(report: Report, results: list[Intervals]) -> None:
    """Say which entries of histograms are missing, contradict themselves or fall, once a kind."""
    for code, message, tallies in (
        ("inconsistent_total", "buckets that add up to the total, found {} that do not, left out",
         [result.inconsistent for result in results]),
        ("repeated_histogram", "a histogram once a block, found {} once more, left out",
         [result.repeated for result in results]),
        ("count_decreased", "counts since the start, found {} lower than before, their intervals left out",
         [result.decreased for result in results]),
        ("missing_histograms", "every histogram in every block, found {} missing",
         [result.missing for result in results]),
    ):  # fmt: skip
        if count := sum(n for n, _ in tallies):
            report.incomplete(min(line for n, line in tallies if n), code, "expected " + message.format(count))
