"""PostgreSQL pgbench -l: a line a transaction, or with --aggregate-interval a line an interval; a file a thread.

Grammar
    ``client_id transaction_no time script_no time_epoch time_us [schedule_lag] [retries]``: time in µs from the start
    (under -R from the scheduled start) to the end, whose stamp since 1970 is time_epoch + time_us; for time also
    ``skipped`` (late under -L), ``failed`` or, with --failures-detailed, ``serialization`` and ``deadlock``.
    Aggregated: ``interval_start num_transactions sum_latency sum_latency_2 min_latency max_latency``, from 9.4 under -R
    ``sum_lag sum_lag_2 min_lag max_lag [skipped]``; from 15 always ``… skipped retried retries
    serialization_failures deadlock_failures``, 15 columns, and in development ``other_sql_failures``. Latencies in µs.
Versions
    9.2 to 18. Nothing in the file names the columns, the version or the unit.
Traps
    * The stamp is the end of a transaction, not its start.
    * A seventh column is the lag (-R) or the retries (--max-tries): lag when it says ``skipped`` or exceeds 100, else
      unknown and left out.
    * --sampling-rate leaves lines out: seen by gaps in transaction_no, as is a log without its beginning. A log that
      ends early between two lines cannot be told from a whole one.
    * The first and the last interval of an aggregated log may be partial. Its failures are zeros without
      --failures-detailed, whatever failed: then n_errors is null. A count that is 0 throughout is left out.
Sample
    tests/parse/pgbench_log/first_2000_lines/
Gives
    Tool ``pgbench_log``: beside the summary of the same run it is a measurement of its own, with all its digits.
    operations: op ``transaction``, scope ``total``, all computed from the log: mean, standard deviation of the sample
    (n - 1), duration from the first start to the last end, queue_depth = clients in the log (null under -R); with
    several scripts a row each (scope ``job``, job ``script N``). latency_percentiles: the smallest latency that this
    share of all transactions does not exceed (inverted CDF), exact, from counts of values; where one exceeds a second,
    the file is read again to look inside the range that was counted. latency_series: a row a transaction (job = client,
    time_s = its end since the first start) or an interval; phase ``schedule_lag`` under -R. throughput_series: of an
    aggregated log its intervals, else the transactions that ended in each second since the first start (the last row's
    window is what is left of a second). metric_series: of an aggregated log transactions_skipped, _failed, _retried
    and _retries an interval; parameter ``retries``: their sum. The lines of a log are never in memory together.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.postgres._pgbench_intervals import read_intervals
from pipeline.parse.postgres._pgbench_log_lines import Lines
from pipeline.parse.postgres._pgbench_transactions import read_transactions

FORM = "-l log"
VERSIONS = "9.2 – 18"
NOT_READ = ""
UNSEEN_CUTS = "nothing ends the log; only transactions that are missing in the middle are seen"
EXPECTED = "lines of pgbench -l such as `0 1 7852 0 1795216271 31907`"
_TRANSACTION = re.compile(
    r"\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock|other) \d+ \d{9,10} \d{1,6}(?: \d+){0,2}"
)
_INTERVAL = re.compile(r"\d{9,10}(?: \d{1,18}){5,15}")
_INTERVAL_COLUMNS = (6, 10, 11, 15, 16)


def recognise(head: str) -> bool:
    """Whether nearly all lines are of one of the two forms."""
    return _form(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no whole line."""
    form = _form(source.head)
    if form is None:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    is_aggregated, n_columns = form
    lines = Lines(source, n_columns, of_one=not is_aggregated)
    report = (read_intervals if is_aggregated else read_transactions)(source, lines)
    if report is None:
        raise source.error(1, EXPECTED, source.head)
    if lines.n_bad:
        report.incomplete(None, "bad_line", f"expected lines of {n_columns} fields, found {lines.n_bad} others")
    if lines.is_torn:
        found = "the end of the file: the line is left out"
        report.incomplete(lines.n_lines + 1, "truncated", f"expected a line feed, found {found}")
    return [report]


def _form(head: str) -> tuple[bool, int] | None:
    """(whether it is aggregated, number of columns) by the first lines; None when they are something else."""
    lines = head.split("\n")
    sample = [line for line in lines[: max(1, len(lines) - 1)] if line.strip()][:50]
    transactions = [line for line in sample if _TRANSACTION.fullmatch(line)]
    intervals = [line for line in sample if _is_interval(line)]
    good = max(transactions, intervals, key=len)
    if not good or len(good) < 0.8 * len(sample):
        return None
    widths = [line.count(" ") + 1 for line in good]
    return good is intervals, max(set(widths), key=widths.count)


def _is_interval(line: str) -> bool:
    """Whether the sums agree with the extremes: mere columns of integers are not enough."""
    if not _INTERVAL.fullmatch(line):
        return False
    _, n, total, squares, low, high, *rest = map(int, line.split())
    return len(rest) + 6 in _INTERVAL_COLUMNS and n * low <= total <= n * high and squares >= n * low * low
