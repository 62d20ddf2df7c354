"""fio: its normal output, as ``fio job.fio`` prints it (``--output-format=normal``).

Grammar
    ``name: (g=0): rw=randread, bs=…, ioengine=…, iodepth=…`` a job (``...``: and more of it), ``fio-3.33`` or
    ``fio 1.58``, ``Starting 2 processes``; then a status report: job blocks that begin with
    ``name: (groupid=0, jobs=1): err= 0: pid=…: <local time>``, in each a line a direction –
    ``read : io=…, bw=…KB/s, iops=…, runt=…msec`` (to 2.16), ``read: IOPS=…, BW=…MiB/s (…MB/s)(…MiB/…msec)`` (since) –
    with its latencies (``clat (usec): min=…``) and percentiles, each in a unit of its own (nsec, usec, msec), then what
    the job's directions share (``cpu``, ``IO depths``, ``issued …: total=…``); ``Run status group 0 (all jobs):`` with
    a line a direction; ``Disk stats``; ``CPU idleness``. Status intervals repeat the report; a client prefixes
    ``<host>``, prints a report a server and ``All clients:``.
Versions
    1.58, 2.0.9, 2.1.7 – 2.16, 2.21, 3.0 – 3.42.
Traps
    To 2.16 ``KB`` is 1024 B (1000 with kb_base=1000: only the counts tell), T is printed as P, and to 2.19 what
    follows the point is no decimal fraction; to 3.25 14.97 is printed ``14.0``. ``bw (kB/s)`` is KiB/s. IOPS are cut
    to whole numbers. With ``numjobs`` equal blocks follow each other; with ``group_reporting`` a block stands for
    several jobs, of the group's first name. fdatasync is not counted in ``issued``. An error leaves a full report.
    Percentiles end at the last bin (16.7 s, 17.1 s). gtod_reduce leaves no latencies. Progress lines run into others.
    A sum with unified_rw_reporting=both says IOPS=0; a client's sum has no B/s.
Sample
    tests/parse/fio_text/nutanix-excerpt-without-header/excerpt.txt
Gives
    operations (a direction of a job block; job = its name, ``name#2`` of equal ones; op = read, write, trim, mixed,
    sync; scope total = all clients) – n_ops as issued; ops_per_s = n_ops/duration where that prints as the IOPS that
    stand there, else these; n_bytes and bytes_per_s likewise from n_ops × block size, else the rounded print; syncs a
    second over the longest direction; latency_summary and latency_percentiles (slat, clat, lat, sync: submission,
    completion, total, sync; of a priority: total_prio_1_0), parameters, device_series (busy_ratio and mean times),
    metric_series (bytes_per_s_min …, job_user_ratio, iodepth_ratio, latency_ratio, group_bytes_per_s, disk_reads …).
    The start is not printed (the time of the end, without a zone, is the parameter ``time``). Of status reports the
    last whole one is the run; those before it are intervals from 0 to the longest runtime in them, cumulative as fio
    prints them, in operations, latency_summary and latency_percentiles. Complete is a report that has every block to
    its end, and Run status of every group.
"""

from __future__ import annotations

import re

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_text_split as fio_lines
from pipeline.parse.fio._fio_intervals import Intervals
from pipeline.parse.fio._fio_text_figures import of_milliseconds
from pipeline.parse.fio._fio_text_job import JOB, NEW_RATES, OLD_RATES
from pipeline.parse.fio._fio_text_metrics import Metrics
from pipeline.parse.fio._fio_text_result import Result, results
from pipeline.parse.fio._fio_text_rows import Rows, times_of
from pipeline.parse.fio._fio_text_workers import labels_of

EXPECTED = "fio's normal output, with lines such as `name: (groupid=0, jobs=1): err= 0: pid=…`"
FORM = "normal output"
VERSIONS = "1.58 – 3.43"
NOT_READ = "block lifetimes"
UNSEEN_CUTS = "not every report has disk statistics or CPU idleness: one that lacks them, and later reports, as a whole"

_FIGURES = (JOB, NEW_RATES, OLD_RATES, fio_lines.NEW_GROUP_ROW, fio_lines.OLD_GROUP_ROW)
_MANY_HEADERS = 16 * 1024  # characters: what announces the run may stand behind the head
_STARTED = re.compile(r"fio[- ]v?\d|Starting \d|hostname=")
_OTHER_FORMATS = re.compile(r'\{$|[2-5];|"fio version"')  # JSON, terse


def recognise(head: str) -> bool:
    """Whether fio's figures stand in the head, or its header and a start without the beginning of another format.

    A header alone is what fio prints of a command line's jobs before it comes to an --output or --output-format there.
    """
    lines = [fio_lines.clean(line)[0] for line in head.split("\n")]
    if any(pattern.match(line) for line in lines for pattern in _FIGURES):
        return True
    if not any(map(fio_lines.HEADER.match, lines)) or any(map(_OTHER_FORMATS.match, lines)):
        return False
    return len(head) > _MANY_HEADERS or any(map(_STARTED.match, lines))


def parse(source: Source) -> list[Report]:
    """Return a report a run, in their order; ParseError if there is none."""
    runs = fio_lines.split(source)
    reports = [_report(source, result) for run in runs for result in results(run)]
    if not reports:
        raise source.error(1, EXPECTED, source.head)
    return reports


def _report(source: Source, result: Result) -> Report:
    run = result.run
    version = run.version or (run.hosts[0][3] if run.hosts else None)
    report = Report("fio", source, tool_version=version, duration_s=_duration(result))
    _add_intervals(report, result)
    labels = labels_of(result.jobs)
    rows = Rows(report, result)
    rows.add(labels)
    Metrics(report, result).add(labels)
    for line, code, message in result.gaps:
        report.incomplete(line, code, message)
    for line, code, message in result.remarks + rows.doubts:
        report.warn(line, code, message)
    _warn_of_lines(report, result)
    return report


def _add_intervals(report: Report, result: Result) -> None:
    """Rows of the status reports before the last one."""
    intervals = Intervals()
    for status in result.earlier:
        labels = labels_of(status.jobs)
        part = Result(result.run, result.headers, status)
        Rows(report, part).add(labels, intervals.next(times_of(status.jobs, labels)))


def _warn_of_lines(report: Report, result: Result) -> None:
    """One warning a kind of line whose figures are left out."""
    left_out: dict[str, list[int]] = {}
    for job in result.jobs:
        for what, lines in job.left_out.items():
            left_out.setdefault(what, []).extend(lines)
    for what, lines in left_out.items():
        report.warn(lines[0], "left_out", f"{what}: {len(lines)} lines that no table has a place for")
    unread = [job for job in result.jobs if job.unread is not None]
    for line, text in [job.unread for job in unread if job.unread is not None][:1]:
        n_lines = sum(job.n_unread for job in unread)
        message = f"expected lines of fio's job blocks, found {n_lines} others, the first: {text[:80]!r}"
        report.warn(line, "unread_lines", message)


def _duration(result: Result) -> float | None:
    """How long the longest direction ran; None of several groups, which may have run one after the other."""
    times = [direction.runtime_ms or 0 for job in result.jobs for direction in job.directions]
    times += [int(texts[-1]) for group in result.status.groups for _, texts in group.rows.values()]
    n_groups = len({job.group for job in result.jobs} | {group.number for group in result.status.groups})
    return of_milliseconds(max(times)) or None if times and n_groups == 1 else None
