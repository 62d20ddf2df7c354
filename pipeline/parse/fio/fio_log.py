"""fio's logs over time: write_lat_log (``_lat``, ``_clat``, ``_slat``), write_bw_log and write_iops_log.

Grammar
    A line a sample: ``stamp, value, direction, size[, offset][, priority][, issued]``, all whole numbers. stamp: ms
    since the job began, with log_unix_epoch since 1970, with log_alternate_epoch of the clock that
    log_alternate_epoch_clock_id names; an I/O's end, or the end of a window (log_avg_msec). value: a latency, KiB/s or
    IOPS; with log_window_value=both the mean and, before the direction, the largest. direction: 0 read, 1 write,
    2 trim. size in bytes, 0 of a window. offset with log_offset. priority from 3.18: 0 or 1, with log_prio ``0x`` and
    hexadecimal digits. issued in ns with log_issue_time (0 in ``_lat`` logs).
Versions
    1.58 – 3.42 and fio's development version. Latencies are µs to 2.21, ns from 3.0 (2.99).
Traps
    Nothing inside tells what is measured (the name does), the unit or the columns: fio's JSON or text report, the
    command or the job file beside the log decide, in this order. To 2.9 bandwidth and IOPS are rates over bw_avg_time
    even without log_avg_msec, later the log of single I/Os holds 1 a row, or one I/O's size by its latency. Stamps
    repeat, and fall where per_job_logs=0 lets jobs write one after another. Logs of synchronous engines' submissions
    are empty. Windows without an I/O have no line, so the next one is longer; the last one may be short.
    A histogram of 64 bins a power of two: 1/128 is its resolution.
Sample
    tests/parse/fio_log/
Gives
    Part of the run of the report beside it, whose option write_…_log names the log or which is the only one there; the
    job is that report's job of the log's number, or the only one that asks for a log without a number; without a report
    the number. latency_series: a row an I/O, or a window with window_s (the distance to the job's stamp before; the
    configured length where they agree to 10 %); phase total (lat), completion (clat), submission (slat).
    throughput_series of bw and iops windows; the largest rate of log_window_value=both goes into metric_series. Of
    single I/Os, all of scope ``log``: latency_summary (exact; standard deviation of the sample, as fio's), latency_bins
    in fio's own layout, latency_percentiles as fio takes them: the middle of the bin that holds it, exact to 1/128;
    beyond the last bin the maximum. And throughput_series a second, seconds without an I/O included, once where logs of
    the same I/Os lie beside each other: the operations from iops, else lat, clat, bw, slat, the bytes from bw, else
    iops, lat, clat, slat. The last window ends with the last stamp; what is shorter than half a second is joined to the
    second before.
    offset, priority and issued are null where the log has none.
    Held against the report beside it: rows against total_ios, means against means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_log_layout as layouts
from pipeline.parse.fio._fio_log_beside import Beside, beside
from pipeline.parse.fio._fio_log_checks import check_counts, check_means, report_beside
from pipeline.parse.fio._fio_log_compiled import Kernels
from pipeline.parse.fio._fio_log_kernel import N_OPS, Integers
from pipeline.parse.fio._fio_log_name import (
    COMPRESSED,
    EXPECTED_NAME,
    HISTOGRAM,
    PHASES,
    LogName,
    is_compressed,
    log_name,
)
from pipeline.parse.fio._fio_log_origin import note_origin, origin_ms
from pipeline.parse.fio._fio_log_rows import RATE_SCALES, Clock, IoRows, SecondRows, WindowRows
from pipeline.parse.fio._fio_log_text import Lines

EXPECTED = "lines of a fio log such as `500, 264455, 0, 4096` (time, value, direction, size)"
FORM = "logs of latency, bandwidth and IOPS"
VERSIONS = "1.58 – 3.42"
NOT_READ = "logs stored compressed (.fz)"
UNSEEN_CUTS = (
    "a log has no end mark; a cut shows only inside a line, or by the number of I/Os in fio's report beside it"
)

_WHAT = "{} numbers a line, separated by a comma and a space"
_RATES_FROM = {  # which of the logs of the same I/Os gives the rates: the first that is there
    "ops_per_s": ("iops", "lat", "clat", "bw", "slat"), "bytes_per_s": ("bw", "iops", "lat", "clat", "slat"),
}  # fmt: skip
_MOSTLY = 0.8


def recognise(head: str) -> bool:
    """Whether nearly all lines are of the log, or the bytes of one that was stored compressed."""
    if is_compressed(head):
        return True
    lines = [line for line in head.split("\n")[:-1] if line.strip()][:50]
    good = [line for line in lines if layouts.LINE.fullmatch(line)]
    if not good or len(good) < _MOSTLY * len(lines):
        return False
    sample, has_hex = layouts.sample_of("\n".join(good) + "\n")
    return layouts.layout_of(sample, None, has_hex=has_hex, has_offset=None, has_maximum=None) is not None


def recognise_name(path: str) -> bool:
    """Whether an empty file is a log by its name: synchronous engines leave the log of submissions empty."""
    name = log_name(path)
    return name is not None and name.kind != HISTOGRAM


def home(source: Source) -> Source | None:
    """Fio's report of the run that wrote the log, beside it; None where it cannot be told."""
    name = log_name(source.path)
    return beside(source, name)[0].home if name is not None else None


def parse(source: Source) -> list[Report]:
    """Return one report, part of the run of fio's report where that lies beside the log; ParseError without a line."""
    if is_compressed(source.head):
        raise source.error(1, COMPRESSED, "compressed bytes")
    name = log_name(source.path)
    if name is None or name.kind == HISTOGRAM:
        raise source.error(None, EXPECTED_NAME, f"the name {source.path!r}")
    around, others = beside(source, name)
    report = report_beside(source, around)
    if not source.head:
        report.warn(None, "empty_log", "expected samples, found none: the engine has no such latency, or nothing ran")
        return [report]
    sample, has_hex = layouts.sample_of(source.head)
    layout = _layout(name, around, sample, has_hex=has_hex) if sample else None
    if layout is None:
        raise source.error(1, EXPECTED, source.head)
    _Reader(report, name, around, others, sample=sample, layout=layout, has_hex=has_hex).read()
    return [report]


def _layout(name: LogName, around: Beside, sample: layouts.Sample, *, has_hex: bool) -> layouts.Layout | None:
    is_known = bool(around.options or any(job.options for job in around.jobs))
    value = around.option("log_window_value", name)
    return layouts.layout_of(
        sample, around.version, has_hex=has_hex,
        has_offset=around.flag("log_offset", name) if is_known else None,
        has_maximum=value == "both" if value is not None else None,
    )  # fmt: skip


class _Reader:
    """Goes through a log once."""

    def __init__(
        self, report: Report, name: LogName, around: Beside, others: list[LogName], *, sample: layouts.Sample,
        layout: layouts.Layout, has_hex: bool,
    ) -> None:  # fmt: skip
        self.report, self.name, self.around, self.layout = report, name, around, layout
        self.has_hex = has_hex
        self.keys: dict[str, Any] = {"job": around.label(name)}
        average = around.whole("log_avg_msec", name)
        self.is_windowed, is_guess = layouts.is_windowed(sample, layout, name.kind, around.version, average)
        if is_guess:
            found = "windows" if self.is_windowed else "single I/Os"
            report.warn(
                None, "rows_guessed", f"expected the version of fio beside its log; the rows are taken as {found}"
            )
        self.clock = Clock(origin_ms(report.source, name, around, sample))
        note_origin(report, around, name, self.clock.origin_ms)
        self.ios: IoRows | None = None
        self.windows: WindowRows | None = None
        self.seconds: SecondRows | None = None
        per_us = self._per_us(sample) if name.kind in PHASES else 1
        if name.kind in PHASES:
            self.keys["phase"] = PHASES[name.kind]
        if self.is_windowed:
            scale = RATE_SCALES.get(name.kind, float(per_us * 10**6))
            self.windows = WindowRows(
                report, self.keys, layout, kind=name.kind, scale=scale, window_ms=around.window_ms(name)
            )
            self.windows.is_maximum = self._is_maximum()
            self._note_compression()
        else:
            if name.kind in PHASES:
                self.ios = IoRows(report, self.keys, layout, per_us)
            if rates := self._rates(others):
                self.seconds = SecondRows(report, {"job": self.keys["job"]}, layout, rates)
        self.n_rows = np.zeros(N_OPS, np.int64)  # where they are not in the statistics

    def _is_maximum(self) -> bool:
        value = self.around.option("log_window_value", self.name)
        is_maximum = value == "max" or (value is None and self.around.flag("log_max_value", self.name))
        if is_maximum and self.name.kind not in PHASES:
            message = "log_max_value: each row is the largest rate within its window, not the mean"
            self.report.warn(None, "window_maximum", message)
        return is_maximum

    def _note_compression(self) -> None:
        """With log_compression fio averages what single I/Os log: 1, and one I/O's size by its latency. No rates."""
        if self.name.kind in RATE_SCALES and self.around.option("log_compression", self.name):
            message = "log_compression: each row is a mean over I/Os, not a rate; no rates are given"
            self.report.incomplete(None, "no_rates", message)
            self.windows = None

    def _per_us(self, sample: layouts.Sample) -> int:
        per_us = layouts.per_us_of(self.around.version, self.layout, has_hex=self.has_hex)
        if per_us is not None:
            return per_us
        guess, reason = layouts.guess_per_us(
            sample, self.name.kind, is_since_start=not self.clock.origin_ms, is_io=not self.is_windowed,
            has_number=self.name.number is not None,
        )  # fmt: skip
        unit = "ns" if guess == 1000 else "µs"
        message = f"expected fio's report or command beside the log to tell its unit; taken as {unit}: {reason}"
        self.report.warn(None, "unit_guessed", message)
        return guess

    def _rates(self, others: list[LogName]) -> list[str]:
        """Which rates come from this log, and not from one of the same I/Os beside it."""
        kinds = {other.kind for other in others if other.is_beside(self.name)} | {self.name.kind}
        rates = [rate for rate, order in _RATES_FROM.items() if next(k for k in order if k in kinds) == self.name.kind]
        if self.name.kind in RATE_SCALES:
            message = "the log holds single I/Os: they are counted into rates a second"
            self.report.warn(None, "counted_ios", message)
        return rates

    def read(self) -> None:
        """Add the rows of the whole log, and what they come to."""
        lines = Lines(self.report.source, self.layout.n_columns)
        hex_column = -1 if self.layout.priority is None else self.layout.priority
        for kernels, rows in lines.rows(self.layout.op, hex_column):
            self._take(rows, kernels)
        if not lines.n_rows:
            line, shown = lines.first_bad or (1, self.report.source.head)
            raise self.report.source.error(line, EXPECTED, shown)
        if self.ios is not None:
            self.ios.latencies.report(self.report, self.keys)
        if self.seconds is not None:
            self.seconds.close(self.report)
        self.clock.report(self.report)
        lines.report_damage(self.report, _WHAT.format(self.layout.n_columns))
        if not self.is_windowed:
            n_rows = self.n_rows.tolist() if self.ios is None else self.ios.latencies.n
            check_counts(self.report, self.around.stated(self.name), n_rows)
        if self.ios is not None:
            check_means(self.report, self.around.stated(self.name), self.ios.latencies, self.keys["phase"])

    def _take(self, rows: Integers, kernels: Kernels) -> None:
        times = self.clock.since_start(rows[0])
        if self.ios is None:
            self.n_rows += np.bincount(rows[self.layout.op], minlength=N_OPS)
        if self.windows is not None:
            self.windows.add(rows, times)
            return
        if self.ios is not None:
            self.ios.add(rows, times, kernels)
        if self.seconds is not None:
            self.seconds.add(rows, times, kernels)
