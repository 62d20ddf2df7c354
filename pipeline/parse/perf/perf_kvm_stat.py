"""perf kvm stat: ``perf kvm stat report|live [--event=vmexit|mmio|ioport] [--vcpu N]``, exits of a guest by reason.

Grammar
    ``Analyze events for all VMs, all VCPUs:`` (or of some), names of columns beginning with ``VM-EXIT``, ``MMIO
    Access``, ``IO Port Access`` or ``Event name``, a row a reason, ``Total Samples:N, Total events handled
    time:T us.``
Versions
    3.7 (no columns of extremes) – 6.15.
Traps
    Reasons hold spaces and colons (``0xfee00380:W``). ``( +- 8.46% )`` is the standard error of the mean, in per cent.
    Percentages are shares of samples and of time. live repeats the table: each is a report.
Sample
    tests/parse/perf_kvm_stat/synthetic_vmexit/
Gives
    latency_summary: the reason in lower case as op, phase ``total``, scope ``total``; metric_series ``sample_ratio``,
    ``time_ratio``, ``mean_stderr_ratio`` by reason, ``n_samples`` and ``handled_time_s`` in all. parameters: who was
    observed.
"""

from __future__ import annotations

import json
import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_lines import Lines, printable
from pipeline.units import PERCENT, seconds

EXPECTED = "perf kvm stat's table: `VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time`"
FORM = "perf kvm stat report, live"
VERSIONS = "3.7 – 6.15"
NOT_READ = ""
UNSEEN_CUTS = ""

_TITLE = re.compile(r" *Analyze events for (.{1,200}?):\s*$")
_HEADER = re.compile(
    r"^ *(VM-EXIT|MMIO Access|IO Port Access|Event name|HCALL-EVENT|[A-Z][\w -]{1,30}?) +Samples +Samples% +Time%(.*)$",
    re.MULTILINE,
)
_ROW = re.compile(
    r" *(\S.{0,80}?) +(\d{1,18}) +(\d{1,3}\.\d\d)% +(\d{1,3}\.\d\d)%((?: +\d{1,15}\.\d\d[un]s){1,3})"
    r" \( \+- +(\d{1,15}\.\d\d|-?nan|inf)% \)\s*$"
)
_TOTAL = re.compile(r"Total Samples: ?(\d{1,18}), Total events handled time: ?(\d{1,18}(?:\.\d+)?)([un]s)\.\s*$")
_LOST = re.compile(r"Lost events: (\d{1,18})")
_MAX_LENGTH = 512


def recognise(head: str) -> bool:
    """Whether the head has the names of the columns."""
    match = _HEADER.search(head)
    return match is not None and "vg time" in match[2]


def parse(source: Source) -> list[Report]:
    """Return a report a table; ParseError where there is none."""
    tables: list[_Table] = []
    title = ""
    lines = Lines(source)
    for number, line in lines:
        if not line.strip():
            continue
        if match := _TITLE.match(line[:_MAX_LENGTH]):
            title = match[1]
        elif _HEADER.match(line[:_MAX_LENGTH]):
            tables.append(_Table(source, title))
        elif tables:
            tables[-1].take(line, number)
    tables = [table for table in tables if table.n_rows or table.is_closed]
    if not tables:
        raise source.error(1, EXPECTED, "no exits")
    return [table.finish() for table in tables]


class _Table:
    """The rows of a table."""

    def __init__(self, source: Source, title: str) -> None:
        self.report = Report("perf_kvm_stat", source)
        self.n_rows = self._n_samples = self._n_unread = 0
        self.is_closed = False
        self._last: int | None = None
        self._unread: tuple[int, str] = (0, "")
        self._total = 0
        if title:
            self.report.parameter("events_for", title)

    def take(self, line: str, number: int) -> None:
        """Take a line below the names of the columns."""
        line = line[:_MAX_LENGTH]
        if match := _ROW.match(line):
            self._last = number
            self._add(match)
        elif match := _TOTAL.match(line):
            self.is_closed, self._total = True, int(match[1])
            self._metric("n_samples", float(match[1]), None, None)
            self._metric("handled_time_s", seconds(float(match[2]), match[3]), "s", None)
        elif match := _LOST.search(line):
            self.report.warn(number, "lost_events", f"expected all events, found that perf lost {match[1]}")
        else:
            self._unread = self._unread if self._n_unread else (number, line)
            self._n_unread += 1

    def _add(self, match: re.Match[str]) -> None:
        name = match[1].lower()
        times = [round(seconds(float(cell[:-2]), cell[-2:]), 12) for cell in match[5].split()]
        low, high = times[:2] if len(times) == 3 else (None, None)
        n_ops = int(match[2])
        self.n_rows += 1
        self._n_samples += n_ops
        self.report.add(
            "latency_summary", op=name, scope="total", phase="total", n_ops=n_ops, mean_s=times[-1],
            min_s=low, max_s=high,
        )  # fmt: skip
        self._metric("sample_ratio", round(float(match[3]) * PERCENT, 6), "1", name)
        self._metric("time_ratio", round(float(match[4]) * PERCENT, 6), "1", name)
        if match[6][-1].isdigit():
            self._metric("mean_stderr_ratio", round(float(match[6]) * PERCENT, 6), "1", name)

    def _metric(self, metric: str, value: float, unit: str | None, name: str | None) -> None:
        labels = None if name is None else json.dumps({"event": name}, ensure_ascii=False)
        self.report.add("metric_series", metric=metric, value=value, unit=unit, labels=labels)

    def finish(self) -> Report:
        """Compare with the total, write warnings."""
        if self._n_unread:
            number, line = self._unread
            found = f"expected exits, found {self._n_unread} other lines, the first: {printable(line)}"
            self.report.warn(number, "unread_lines", found)
        if not self.is_closed:
            self.report.incomplete(self._last, "truncated", "expected `Total Samples:`, found the end")
        elif self._n_samples != self._total:
            counts = f"expected {self._total} samples as in the total, found {self._n_samples} in the rows"
            self.report.warn(self._last, "count_mismatch", counts)
        return self.report
