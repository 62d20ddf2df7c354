"""Private to ``sysbench``: its lines of figures as regular expressions, and its histogram's bins."""

from __future__ import annotations

import math
import re

from pipeline import units
from pipeline.parse._figures import number

VERSION = re.compile(
    r"(?:^|\s)sysbench (v?[0-9][0-9A-Za-z.+-]{0,30})(?: \(using .{1,100}\)|: {1,3}multi-threaded system"
    r" evaluation benchmark)"
)
RUNNING = "Running the test with following options:"
_F = r"(-?[0-9.]{1,30})"
INTERVAL = re.compile(r"\[ {0,9}([0-9]{1,9})s ?\] (.{1,400})")
SQL_INTERVAL = re.compile(rf"thds: ([0-9]{{1,9}}) tps: {_F} qps: {_F} \(r/w/o: {_F}/{_F}/{_F}\) lat"
                          rf" \(ms,\s{{0,9}}([0-9]{{1,3}})%\): {_F}"
                          rf" err/s:? {_F} reconn/s: {_F}")  # fmt: skip
EVENT_INTERVAL = re.compile(rf"thds: ([0-9]{{1,9}}) eps: {_F} lat \(ms,\s{{0,9}}([0-9]{{1,3}})%\): {_F}")
FILE_INTERVAL = re.compile(rf"reads: {_F} Mi?B/s,? writes: {_F} Mi?B/s,? fsyncs: {_F}/s,? (?:latency"
                           rf" \(ms,\s{{0,9}}([0-9]{{1,3}})%\): {_F}"
                           rf"|response time: {_F}ms \(([0-9]{{1,3}})%\))")  # fmt: skip
MEMORY_INTERVAL = re.compile(rf"{_F} Mi?B/sec,?")
OLD_INTERVAL = re.compile(rf"threads: ([0-9]{{1,9}}), tps: {_F}, reads(?:/s)?: {_F}, writes(?:/s)?: {_F},?"
                          rf" response time: {_F}ms"
                          rf" \(([0-9]{{1,3}})%\)(?:, errors: {_F}, reconnects:\s{{1,9}}{_F})?")  # fmt: skip
QUEUE = re.compile(r"queue length: ([0-9]{1,18}),? concurrency: ([0-9]{1,18})")

SETTING = re.compile(r"([A-Z][A-Za-z /]{2,60}|block size|total size|operation|scope): {1,3}(\S.{0,200})")
INTERVAL_OF = re.compile(r"Report intermediate results every ([0-9]{1,9}) second\(s\)")
BLOCK = re.compile(r"(?:block size: |Block size |Memory block size: )([0-9.]{1,12}[KMG]?)(?:i?B|b)?")
TITLES = re.compile(r"(?:CPU speed|General statistics|Test execution summary|Latency \(ms\)|Throughput|Threads"
                     r" fairness|File operations"
                     r"|SQL statistics|OLTP test statistics|queries performed|response time|per-request statistics"
                     r"|(?:Creating|Reusing existing|Extending existing) (?:files? .{1,200}|table .{1,200}|a"
                     r" secondary index .{1,200}|.{1,60} records .{1,200})"
                     r"|Inserting .{1,200}|Removing test files|Dropping table .{1,200}|[0-9]{1,9} files,"
                     r" [0-9]{1,19}Kb each, .{1,60}"
                     r"|Extra file open flags: .{1,100}|Initializing worker threads\.\.\.|Threads started!"
                     r"|Done\.|percentile stats:\s{1,60}disabled"
                     r"|Time limit exceeded, exiting\.\.\.|\(last message repeated .{1,40}\)|Maintaining"
                     r" .{1,60})[.:]?")  # fmt: skip
FAILED = re.compile(r"(?:.{0,60}\s)?(FATAL|ALERT): .{0,400}")
WARNED = re.compile(r"(?:WARNING|DEBUG|INFO): .{0,400}")

LATENCY = re.compile(rf"(min|avg|max|sum):\s{{1,60}}{_F}(ms|s)?")
PERCENTILE = re.compile(rf"(?:approx\.\s{{1,9}})?([0-9]{{1,3}})(?:th)? percentile:\s{{1,60}}{_F}(ms|s)?")
TOTAL_TIME = re.compile(rf"(?:total time|time elapsed):\s{{1,60}}{_F}s")
TOTAL_EVENTS = re.compile(r"total number of events:\s{1,60}([0-9]{1,19})")
EXECUTION = re.compile(rf"total time taken by event execution:\s{{1,60}}{_F}s?")
EVENT_RATE = re.compile(rf"events (?:per second|/s \(eps\))?:?\s{{1,60}}{_F}|events/s \(eps\):\s{{1,60}}{_F}")
FAIRNESS = re.compile(rf"(events|execution time) \(avg/stddev\):\s{{1,60}}{_F}/{_F}")
QUERIES = re.compile(r"(read|write|other|total):\s{1,60}([0-9]{1,19})")
COUNTED = re.compile(rf"(transactions|deadlocks|queries|read/write requests|other operations|ignored errors"
                     rf"|reconnects):\s{{1,60}}"
                     rf"([0-9]{{1,19}})\s{{1,20}}\({_F} per sec\.\)")  # fmt: skip
FILE_RATE = re.compile(rf"(read|write|fsync)s/s:\s{{1,60}}{_F}")
FILE_BYTES = re.compile(rf"(read|written), MiB/s:\s{{1,60}}{_F}")
FILE_IOPS = re.compile(rf"(read|write|fsync):\s{{1,20}}IOPS={_F}(?: {_F} MiB/s \({_F} MB/s\))?")
FILE_OLD = re.compile(
    r"Operations performed:\s{1,9}([0-9]{1,18}) [Rr]eads?, ([0-9]{1,18}) [Ww]rites?, ([0-9]{1,18}) Other ="
    r" ([0-9]{1,18}) Total"
)
_SIZE = r"([0-9.]{1,30}[KMGT]?)i?[bB]"
FILE_OLD_BYTES = re.compile(
    rf"Read {_SIZE}\s{{1,9}}Written {_SIZE}\s{{1,9}}Total transferred {_SIZE}\s{{1,9}}\({_SIZE}/sec\)"
)
FILE_OLD_RATE = re.compile(rf"{_F} Requests/sec executed")
MEMORY_OPS = re.compile(
    rf"(?:Total operations|Operations performed): ([0-9]{{1,19}}) \(\s{{0,9}}{_F} (?:per second|ops/sec)\)"
)
MEMORY_BYTES = re.compile(rf"{_F} Mi?B transferred \({_F} Mi?B/sec\)")
PREPARED = re.compile(rf"([0-9]{{1,19}}) bytes written in {_F} seconds \({_F} Mi?B/sec\)\.")
UNFINISHED = re.compile(r"Number of unfinished transactions on forced shutdown: ([0-9]{1,9})")
BIN = re.compile(r"\s{0,12}([0-9]{1,12}\.[0-9]{3}) \|[* ]{0,60}\s([0-9]{1,19})\s{0,9}")
BINS_TITLE = "Latency histogram (values are in milliseconds)"
BINS_HEADER = re.compile(r"\s{0,12}value\s{1,9}-{2,40} distribution -{2,40} count")

# src/sb_logger.c: the bins' centres are 1024 values from 0.001 ms to 100 s, at equal distances of their logarithm.
N_BINS, FIRST_MS, LAST_MS = 1024, 1e-3, 1e5
_STEP = math.log(LAST_MS / FIRST_MS) / (N_BINS - 1)


def bin_edges(text: str) -> tuple[float, float | None] | None:
    """Edges in seconds of all bins whose centre is printed so (three decimals of ms); None if there is none.

    sysbench counts a latency in the bin whose centre is nearest on the logarithmic scale: its edges are half a step
    from the centre. Below 0.05 ms several bins are printed alike: together they reach from the first's lower to the
    last's upper edge. The first bin takes whatever is smaller, the last whatever is larger.
    """
    value = number(text)
    if value is None:
        return None
    lowest, highest = _index(value - 0.0005), _index(value + 0.0005)
    found = [i for i in range(max(lowest - 1, 0), min(highest + 2, N_BINS)) if f"{_centre_ms(i):.3f}" == text]
    if not found:
        return None
    lower = 0.0 if found[0] == 0 else _centre_ms(found[0] - 0.5) * units.MILLI
    return lower, None if found[-1] == N_BINS - 1 else _centre_ms(found[-1] + 0.5) * units.MILLI


def _centre_ms(index: float) -> float:
    return FIRST_MS * math.exp(index * _STEP)


def _index(value_ms: float) -> int:
    return round(math.log(min(max(value_ms, FIRST_MS), LAST_MS) / FIRST_MS) / _STEP)
