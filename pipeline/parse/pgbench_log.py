"""PostgreSQL pgbench -l: a line a transaction, or with --aggregate-interval a line an interval; a file a thread.

Grammar
    ``client_id transaction_no time script_no time_epoch time_us [schedule_lag] [retries]``: time in µs from the start
    (under -R from the scheduled start) to the end, whose stamp since 1970 is time_epoch + time_us; for time also
    ``skipped`` (late under -L), ``failed`` or, with --failures-detailed, ``serialization`` and ``deadlock``.
    Aggregated: ``interval_start num_transactions sum_latency sum_latency_2 min_latency max_latency``, from 9.4 under -R
    ``sum_lag sum_lag_2 min_lag max_lag [skipped]``; from 15 always ``… skipped retried retries failures
    serialization_failures deadlock_failures``. Latencies in µs.
Versions
    9.2 to 18. Nothing in the file names the columns, the version or the unit.
Traps
    * The stamp is the end of a transaction, not its start.
    * A seventh column is the lag (-R) or the retries (--max-tries): lag when it says ``skipped`` or exceeds 100, else
      unknown and left out.
    * --sampling-rate leaves lines out: seen by gaps in transaction_no, as is a log without its beginning. A log that
      ends early between two lines cannot be told from a whole one.
    * The first and the last interval of an aggregated log may be partial.
Sample
    tests/parse/pgbench_log/first_2000_lines/
Gives
    operations: op ``transaction``, scope ``total``, all computed from the log: mean, standard deviation of the sample
    (n - 1), duration from the first start to the last end, queue_depth = clients in the log (null under -R); with
    several scripts a row each (scope ``job``, job ``script N``). latency_percentiles: the smallest latency that this
    share of all transactions does not exceed (inverted CDF). latency_series: a row a transaction (job = client, time_s
    = its end since the first start) or an interval; throughput_series of intervals; phase ``schedule_lag`` under -R.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline import units
from pipeline.parse._pgbench_transactions import Cells, Flags, Integers, read_cells
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "lines of pgbench -l such as `0 1 7852 0 1795216271 31907`"
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
_TRANSACTION = re.compile(
    r"\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock|other) \d+ \d{9,10} \d{1,6}(?: \d+){0,2}"
)
_INTERVAL = re.compile(r"\d{9,10}(?: \d{1,18}){5,16}")
_INTERVAL_COLUMNS = (6, 10, 11, 16, 17)
_MAX_EPOCH_S = 10**10
_OP = {"op": "transaction", "scope": "total"}


def recognise(head: str) -> bool:
    """Whether nearly all lines are of one of the two forms."""
    return _form(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no whole line."""
    form = _form(source.head)
    if form is None:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    is_aggregated, n_columns = form
    try:
        cells = read_cells(source, n_columns, has_words=not is_aggregated)
    except ValueError as error:  # a line longer than any log's
        raise source.error(None, EXPECTED, str(error)) from error
    report = Report("pgbench", source)
    is_filled = (_add_intervals if is_aggregated else _add_transactions)(report, cells)
    if not is_filled:
        raise source.error(1, EXPECTED, source.head)
    if cells.n_bad:
        report.incomplete(None, "bad_line", f"expected lines of {n_columns} fields, found {cells.n_bad} others")
    if cells.is_torn:
        n_lines = source.data.count(b"\n") + 1
        report.incomplete(n_lines, "truncated", "expected a line feed, found the end of the file: the line is left out")
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


def _add_transactions(report: Report, cells: Cells) -> bool:
    """Add all rows of a log of transactions; False when there are none."""
    client, number, latency, script, epoch, micro = cells.numbers[:6]
    stamp = np.minimum(epoch, _MAX_EPOCH_S) * 1_000_000 + np.minimum(micro, 999_999)
    if not len(stamp):
        return False
    is_done = ~(cells.is_skipped | cells.is_failed)
    start = int((stamp - np.where(is_done, latency, 0)).min())
    end = int(stamp.max())
    _describe(report, start, end)
    lag = _lag(report, cells, is_done)
    n_failed, n_skipped = int(cells.is_failed.sum()), int(cells.is_skipped.sum())
    duration = (end - start) * units.MICRO
    n_ops = int(is_done.sum())
    report.add("operations", **_OP, n_ops=n_ops, duration_s=duration, n_errors=n_failed,
               ops_per_s=n_ops / duration if duration else None, queue_depth=_queue_depth(client, lag),
               **_statistics(latency[is_done], "latency_"))  # fmt: skip
    if n_skipped:
        report.warn(None, "transactions_skipped", f"expected all scheduled transactions to run, found {n_skipped} skipped")
    if not n_failed + n_skipped:
        _check_numbers(report, client, number)
    time_s = (stamp[is_done] - start) * units.MICRO
    jobs = _names(client[is_done])
    _add_latencies(report, "total", latency[is_done], time_s, jobs)
    if lag is not None:
        _add_latencies(report, "schedule_lag", lag[is_done], time_s, jobs)
    _add_scripts(report, script[is_done], latency[is_done])
    return True


def _describe(report: Report, start_us: int, end_us: int) -> None:
    report.describe(duration_s=(end_us - start_us) * units.MICRO)
    if start_us >= 0:
        report.describe(started_at=datetime.fromtimestamp(start_us // 1_000_000, UTC).replace(
            microsecond=start_us % 1_000_000))  # fmt: skip


def _queue_depth(client: Integers, lag: Integers | None) -> float | None:
    return float(len(np.unique(client))) if lag is None else None


def _lag(report: Report, cells: Cells, is_done: Flags) -> Integers | None:
    """The schedule lag, if the log has one; the retries become a parameter."""
    extra = cells.numbers[6:]
    if not extra:
        return None
    is_lag = len(extra) == 2 or bool(cells.is_skipped.any()) or int(extra[0].max(initial=0)) > 100
    if bool((extra[0] > cells.numbers[2])[is_done].any()):
        is_lag = False  # part of the latency is never longer
    if len(extra) == 2:
        report.parameter("retries", int(extra[1].sum()))
    elif not is_lag:
        report.warn(None, "unknown_column", "expected schedule_lag or retries, found a seventh column that may be either")
    return extra[0] if is_lag else None


def _statistics(latency: Integers, prefix: str = "") -> dict[str, Any]:
    """Mean, standard deviation of the sample, minimum and maximum in seconds; nothing of no transactions."""
    n = len(latency)
    if not n:
        return {}
    stddev = float(latency.std(ddof=1)) * units.MICRO if n > 1 else None
    return {f"{prefix}mean_s": float(latency.mean()) * units.MICRO, f"{prefix}stddev_s": stddev,
            f"{prefix}min_s": int(latency.min()) * units.MICRO, f"{prefix}max_s": int(latency.max()) * units.MICRO}  # fmt: skip


def _add_latencies(report: Report, phase: str, latency: Integers, time_s: Any, jobs: Any) -> None:
    """Summary, percentiles and series of one phase."""
    n = len(latency)
    if not n:
        return
    report.add("latency_summary", **_OP, phase=phase, n_ops=n, **_statistics(latency))
    ordered = np.sort(latency)
    for percentile in PERCENTILES:
        rank = -(-n * round(percentile * 100) // 10_000)  # in integers: 99.9 % of 1000 is rank 999, not 1000
        report.add("latency_percentiles", **_OP, phase=phase, percentile=percentile,
                   latency_s=int(ordered[rank - 1]) * units.MICRO)  # fmt: skip
    report.add_block("latency_series", {"op": "transaction", "job": jobs, "phase": phase, "time_s": time_s,
                                        "latency_s": latency * units.MICRO})  # fmt: skip


def _names(client: Integers) -> Any:
    values, inverse = np.unique(client, return_inverse=True)
    return np.array([str(value) for value in values], dtype=object)[inverse]


def _add_scripts(report: Report, script: Integers, latency: Integers) -> None:
    scripts = np.unique(script)
    for number in scripts if len(scripts) > 1 else []:
        part = latency[script == number]
        report.add("operations", op="transaction", scope="job", job=f"script {number}", n_ops=len(part),
                   **_statistics(part, "latency_"))  # fmt: skip


def _check_numbers(report: Report, client: Integers, number: Integers) -> None:
    """Each client counts its transactions from 0 (1 in newer versions): gaps are lines that were not logged."""
    clients, inverse = np.unique(client, return_inverse=True)
    last = np.zeros(len(clients), np.int64)
    np.maximum.at(last, inverse, number)
    is_from_1 = bool((number > 0).all())
    expected = int(last.sum()) + (0 if is_from_1 else len(clients))
    if expected > len(number):
        found = f"{len(number)}: a sample (--sampling-rate), or lines are missing"
        report.incomplete(None, "transactions_missing", f"expected {expected} transactions by their numbers, found {found}")
