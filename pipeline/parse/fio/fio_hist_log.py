"""fio's logs of completion latency histograms over time: write_hist_log with log_hist_msec (``_clat_hist``).

Grammar
    A line an interval and direction: ``stamp, direction, size, count, …``: ms since the job began (since 1970 with
    log_unix_epoch), 0 read, 1 write, 2 trim, bytes of the I/O that ended the interval, and the I/Os in each bin since
    the line of this direction before. 1216 bins to 2.21 (µs), 1856 from 3.0 (ns), divided by 2^log_hist_coarseness:
    so many neighbours are one.
Versions
    2.14 – 3.42 and fio's development version.
Traps
    An interval ends with the first I/O after log_hist_msec, so that stamps drift and differ between jobs and
    directions. What comes after the last line is in no line. Nothing inside names the unit: the number of bins does.
    The last bin takes all that is above it.
Sample
    tests/parse/fio_hist_log/
Gives
    Part of the run of the report beside it, as ``fio_log``. latency_bins, scope job, phase completion, job as there:
    a row a line and bin that is not empty, interval_start_s the line before of this direction, at a job's first 0. The
    I/Os are held against fio's report: a log has fewer, by those after its last line.
    Jobs are merged and percentiles taken in ``pipeline.analyse.distributions.over_time``.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_bins as bins
from pipeline.parse.fio._fio_log_beside import beside
from pipeline.parse.fio._fio_log_checks import report_beside
from pipeline.parse.fio._fio_log_documents import BesideJob
from pipeline.parse.fio._fio_log_kernel import N_OPS, Integers
from pipeline.parse.fio._fio_log_name import COMPRESSED, EXPECTED_NAME, HISTOGRAM, is_compressed, log_name
from pipeline.parse.fio._fio_log_origin import note_origin, origin_ms
from pipeline.parse.fio._fio_log_rows import Clock, ops_of
from pipeline.parse.fio._fio_log_statistics import OPS
from pipeline.parse.fio._fio_log_text import Lines

EXPECTED = "lines of a fio histogram log: time, direction, size and 1856 or 1216 counts, or these by a power of two"
FORM = "logs of latency histograms"
VERSIONS = "2.14 – 3.42"
NOT_READ = "logs stored compressed (.fz)"
UNSEEN_CUTS = (
    "a log has no end mark; a cut shows only inside a line, or by the number of I/Os in fio's report beside it"
)

_WHAT = "time, direction, size and {} counts, separated by a comma and a space"
_FEWEST_COLUMNS = 3 + (1216 >> bins.MAX_COARSENESS)
_DIGITS = frozenset("0123456789")
_SAFE = 1 << 32  # counts below it cannot overflow when a block of them is added
_LINE = re.compile(r"[0-9]{1,20}, [012](?:, [0-9]{1,20})+")


def recognise(head: str) -> bool:
    """Whether the first whole lines have as many counts as fio's histograms have bins."""
    return _n_columns(head) is not None


def recognise_name(path: str) -> bool:
    """Whether an empty file is such a log by its name: no interval ended."""
    name = log_name(path)
    return name is not None and name.kind == HISTOGRAM


def home(source: Source) -> Source | None:
    """Fio's report of the run that wrote the log, beside it; None where it cannot be told."""
    name = log_name(source.path)
    return beside(source, name)[0].home if name is not None else None


def parse(source: Source) -> list[Report]:
    """Return one report, part of the run of fio's report where that lies beside the log; ParseError without a line."""
    if is_compressed(source.head):
        raise source.error(1, COMPRESSED, "compressed bytes")
    name = log_name(source.path)
    if name is None or name.kind != HISTOGRAM:
        raise source.error(None, EXPECTED_NAME, f"the name {source.path!r}")
    around, _ = beside(source, name)
    report = report_beside(source, around)
    if not source.head:
        report.warn(None, "empty_log", "expected histograms, found none: the run was shorter than log_hist_msec")
        return [report]
    n_columns = _n_columns(source.head)
    layout = bins.layout_of(n_columns - 3) if n_columns else None
    if n_columns is None or layout is None:
        raise source.error(1, EXPECTED, source.head)
    stamps = [[int(line.split(",")[0])] for line in _heads(source.head, n_columns) if _is_line(line)]
    clock = Clock(origin_ms(source, name, around, stamps or [[0]]))
    note_origin(report, around, name, clock.origin_ms)
    lines = Lines(source, n_columns)
    n_ops = _add_rows(report, around.label(name), lines, layout, clock)
    if not lines.n_rows:
        line, shown = lines.first_bad or (1, source.head)
        raise source.error(line, EXPECTED, shown)
    clock.report(report)
    lines.report_damage(report, _WHAT.format(n_columns - 3))
    _check(report, around.stated(name), n_ops)
    return [report]


def _heads(head: str, n_columns: int | None = None) -> list[str]:
    """The first lines that may be of the log: digits, commas and spaces alone, and many of them."""
    found = []
    for line in head.split("\n")[:-1][:50]:
        width = line.count(", ") + 1
        if width >= _FEWEST_COLUMNS and (n_columns is None or width == n_columns) and line[:1] in _DIGITS:
            found.append(line)
    return found


def _n_columns(head: str) -> int | None:
    """The usual number of columns, if it is one of fio's and nearly all lines have it."""
    lines = _heads(head)
    widths = [line.count(", ") + 1 for line in lines]
    usual = max(set(widths), key=widths.count, default=0)
    if usual == 0 or bins.layout_of(usual - 3) is None:
        return None
    good = [line for line in lines if line.count(", ") + 1 == usual and _is_line(line)]
    n_lines = sum(bool(line.strip()) for line in head.split("\n")[:-1][:50])
    return usual if len(good) >= 0.8 * n_lines else None


def _is_line(line: str) -> bool:
    return _LINE.fullmatch(line) is not None


def _add_rows(report: Report, job: str | None, lines: Lines, layout: tuple[int, int], clock: Clock) -> list[int]:
    """Add the rows of all lines; return the I/Os of each direction."""
    per_us, coarseness = layout
    edges = bins.lower_edges(bins.N_BINS[per_us], coarseness) / (per_us * 10**6)
    keys = {"job": job, "scope": "job", "phase": "completion"}
    ends = np.zeros(N_OPS, np.int64)
    n_ops = [0] * N_OPS
    for heads, cells in lines.histograms():
        times, ops = clock.since_start(heads[:, 0]), heads[:, 1]
        starts = _starts(times, ops, ends)
        n_cells, index, counts = heads[:, 3], cells[:, 0], cells[:, 1].copy()
        own_ops = np.repeat(ops, n_cells)
        for op in np.unique(ops).tolist():
            own = counts[own_ops == op]
            n_ops[op] += int(own.sum()) if own.max(initial=0) < _SAFE else sum(own.tolist())
        if len(cells):
            report.add_block("latency_bins", {
                **keys, "op": ops_of(own_ops), "interval_start_s": np.repeat(starts / 1000, n_cells),
                "interval_end_s": np.repeat(times / 1000, n_cells), "lower_s": edges[index],
                "upper_s": pa.array(edges[index + 1], mask=index == len(edges) - 2), "count": counts,
            })  # fmt: skip
    return n_ops


def _starts(times: Integers, ops: Integers, ends: Integers) -> Integers:
    """Where each line's interval begins; ``ends`` has the last end of each direction before and after.

    Intervals of a job last at least 1 ms: where an end does not rise, the next job of a log of several jobs begins.
    """
    starts = np.empty(len(times), np.int64)
    for op in np.unique(ops).tolist():
        is_op = ops == op
        own = times[is_op]
        previous = np.concatenate([ends[op : op + 1], own[:-1]])
        starts[is_op] = np.where(previous < own, previous, 0)
        ends[op] = own[-1]
    return starts


def _check(report: Report, job: BesideJob | None, n_ops: list[int]) -> None:
    """Warn where the log does not hold what fio counted."""
    differences: list[Any] = []
    for op, n in zip(OPS, n_ops, strict=True):
        stated = job.counts.get(op) if job is not None else None
        if stated and n not in stated:
            differences.append(f"{max(stated)} I/Os of {op}, found {n}")
    if differences:
        message = f"expected by fio's report {', '.join(differences)}: what follows the last interval is not logged"
        report.warn(None, "count_mismatch", message)
