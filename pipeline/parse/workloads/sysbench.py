r"""sysbench: what ``sysbench TEST … run`` prints, of cpu, memory, threads, mutex, fileio, oltp_* and scripts.

Grammar
    ``sysbench 1.0.20 (using …)`` (``sysbench 0.5:  multi-threaded …``), the settings, ``Threads started!``, with
    --report-interval lines ``[ 10s ] thds: 4 tps: … qps: … (r/w/o: …) lat (ms,95%): … err/s: … reconn/s: …`` (other
    tests: ``eps``, ``reads: … MiB/s``, ``… MiB/sec``; 0.5: ``[  10s] threads: 4, tps: …, response time: …ms (95%)``),
    with --histogram a table ``value | **** count``, and the block of results: ``SQL statistics``, ``File
    operations``, ``Throughput``, ``General statistics``, ``Latency (ms)``, ``Threads fairness``. With
    --report-checkpoints the block also stands below ``[ 60s ] Checkpoint report:``.
Versions
    0.4.8 to 1.1.0.
Traps
    * Latencies are in ms (up to 0.5 with ``ms`` behind them), rounded to 0.01: a memory test's are all 0.00.
    * A value of the histogram is the centre of a bin of a logarithmic scale (1024 of them from 0.001 ms to 100 s,
      src/sb_logger.c and sb_histogram.c), so that it may exceed the maximum; the edges are computed from it. Bins that
      are printed alike (below 0.05 ms) are put together. Percentiles are such centres as well.
    * Each checkpoint resets the counters: the last block then counts from the last checkpoint on, and has interval
      keys.
    * Up to 0.5 MB and Mb stand for 1024² bytes; from 1.0 MiB does.
    * With --rate operations wait in a queue: queue_depth is null.
Sample
    tests/parse/sysbench/fileio_histogram/
Gives
    operations, scope ``total``: op ``event`` with the latencies (queue_depth: threads), and as the test has them
    ``read``, ``write``, ``sync``, ``other``, ``query``, ``transaction``, ``total``, ``prepare``; with interval keys a
    row a line of --report-interval. latency_summary, latency_percentiles, latency_bins: op ``event`` (an interval's
    percentile of a SQL test: ``transaction``), phase ``total``. metric_series: thread fairness, errors, reconnects,
    queue length. A report for each run in the file.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._sysbench_lines import PREPARED, RUNNING, VERSION
from pipeline.parse.workloads._sysbench_run import Run

EXPECTED = "sysbench's `sysbench 1.0.20 (using …)` or `Running the test with following options:`"
FORM = "text"
VERSIONS = "0.4.8 – 1.1.0"
NOT_READ = "histograms that a script prints itself, per-thread statistics (--debug)"
UNSEEN_CUTS = ""
_SIGN = re.compile(
    rf"{VERSION.pattern}|^{re.escape(RUNNING)}\s*$|^(?:General statistics|Test execution"
    rf" summary):\s*\n\s{{1,20}}total time: |^{PREPARED.pattern}"
    r"|^\[ {0,9}\d{1,9}s ?\] (?:thds|threads): \d{1,9},? [te]ps: ",
    re.MULTILINE | re.ASCII,
)

_LAST = re.compile(r"execution time \(avg/stddev\):\s{1,20}\d{1,20}\.\d{4}/\d{1,20}\.\d\d", re.ASCII)


def recognise(head: str) -> bool:
    """Whether a line is one of sysbench's first, its results' title or an interval's."""
    return _SIGN.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each run; ParseError when there is no figure."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    runs = [Run(source, 1)]
    for line in source.whole_lines():
        _read_line(runs, *line)
    cut = None
    if source.torn is not None and _LAST.fullmatch(source.torn[1].strip()[:200]):
        _read_line(runs, *source.torn)
    elif source.torn is not None:
        cut = source.torn[0]
    runs = [run for run in runs if run.has_figures]
    if not runs:
        raise source.error(1, EXPECTED, source.head)
    return [run.finish(cut=cut) for run in runs]


def _read_line(runs: list[Run], line: int, text: str) -> None:
    run = runs[-1]
    begins = text.strip() == RUNNING or VERSION.search(text, 0, 2000) is not None
    if begins and (run.has_figures or run.is_complete):
        runs.append(Run(run.report.source, line))
    runs[-1].read(line, text)
