"""Private to the iperf 2 readers: the lines of a stream, of which the last one stands for the whole run.

A whole-run line looks like an interval's: it begins at 0 again. So a line is held until the next one of its stream
(or the end) tells which it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.parse._report import Report
from pipeline.parse.network._iperf2_tail import Metric
from pipeline.parse.network._iperf_rows import Row, labels_of

EXACT = 9  # decimals of a window's length; iperf 2 prints up to 4


@dataclass
class Stream:
    """A stream: the report that it belongs to, and the line that is held."""

    report: Report
    name: str
    line: int = 1
    n_rows: int = 0  # but for whole-run lines
    is_whole: bool = False  # it has its whole-run line
    n_sent: int | None = None
    held: tuple[Row, str | None, list[Metric]] | None = None
    open_ended: bool = field(default=False)  # the held line is the file's last, without a line feed

    def take(self, row: Row, role: str | None, metrics: list[Metric]) -> None:
        """Hold a line, and write the one before."""
        self.flush(is_last=False)
        self.held = row, role, metrics

    def flush(self, *, is_last: bool) -> None:
        """Write the held line, as the whole run if it begins at 0 and is not followed by its own interval."""
        if self.held is None:
            return
        row, role, metrics = self.held
        self.held = None
        is_whole = row.start_s == 0 and (self.n_rows > 0 or is_last)
        self.is_whole = self.is_whole or is_whole
        self.n_rows += not is_whole
        if is_whole and row.n_datagrams is None:
            row.n_datagrams = self.n_sent
        add(self.report, row, self.name, role, metrics, is_whole=is_whole)


def add(report: Report, row: Row, name: str, role: str | None, metrics: list[Metric], *, is_whole: bool) -> None:
    """Add a line as a row, and what has no column as metrics."""
    time_s = None if is_whole else row.end_s
    if is_whole and row.end_s > report.run.get("duration_s", 0.0):
        report.describe(duration_s=row.end_s)
    window_s = round(row.end_s - row.start_s, EXACT) if row.end_s >= row.start_s else None
    report.add("network_streams", stream=name, role=role, time_s=time_s, window_s=window_s, n_bytes=row.n_bytes,
               bytes_per_s=row.bytes_per_s, jitter_s=row.jitter_s, n_lost=row.n_lost, n_datagrams=row.n_datagrams,
               n_retransmits=row.n_retransmits)  # fmt: skip
    labels = labels_of(stream=name, role=role) if metrics else None
    for metric, value, unit in metrics:
        report.add("metric_series", metric=metric, labels=labels, time_s=time_s, value=value, unit=unit)
