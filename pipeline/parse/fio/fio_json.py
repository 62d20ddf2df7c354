"""fio: its JSON and JSON+ reports, as made by ``fio --output-format=json`` or ``json+``, alone or among other output.

Grammar
    A document is one object: ``fio version``, ``timestamp`` and ``timestamp_ms`` (when it was written), ``global
    options``, ``jobs`` – with ``--client`` ``client_stats``, each with hostname and port –, ``disk_util``. A job has
    ``job options`` and the directions ``read``, ``write``, ``trim``, ``sync``, or ``mixed`` with
    unified_rw_reporting=1, or ``mixed`` beside the others with ``both``. A direction has io_bytes, bw (KiB/s), iops,
    runtime (ms), total_ios, and ``slat``, ``clat``, ``lat``: min, max, mean, stddev, N, percentile and, of JSON+,
    ``bins``. A bin's key is the middle of the bin: 64 bins for each power of two, one a unit below 128, the last one
    (from 2³⁴ − 2²⁷ ns, or 2²⁴ − 2¹⁷ µs) open above.
Versions
    2.0.10 to 3.42, HEAD. µs to 2.21, ns in ``…_ns`` from 2.99. io_bytes is KiB to 2.20. total_ios from 2.1.14,
    time stamps from 2.2.5, job options from 2.14, JSON+ from 2.2.12 (keys are indices to 2.19), bw_bytes from 3.2,
    ``sync`` from 3.7, N from 3.18, priorities as ``clat_high_prio`` from 3.18 and ``prios`` from 3.30, job_start from
    3.36.
Traps
    Several documents without a separator: status snapshots (cumulative) or runs. Error lines, a BOM, terse lines before
    and a normal report behind a document. Keys that repeat: ``0.00`` pads percentiles to 3.3, ``filename``, all global
    options of two clients. ``All clients`` counts everything twice. A job may be one of numjobs or all of them
    together; to 3.38 options without a value (group_reporting, time_based, stonewall) are not recorded. With fdatasync
    ``sync`` has total_ios 0 and N > 0. From 3.2 to 3.12 lat_percentiles=1 puts the total latency's percentiles under
    clat_ns. N may exceed total_ios by the I/Os in flight at the end. Statistics of what was not measured are zeros.
    ``nan`` is printed as it is. eta 2147483647 means unknown.
Sample
    tests/parse/fio_json/
Gives
    One report a run, of its last whole document. Its earlier status documents are intervals: rows of operations,
    latency_summary, latency_percentiles and latency_bins from 0 to the document's runtime, cumulative as fio has them,
    and in ``throughput_series`` their differences (time_s: since the job's start); a job that had ended gives no more.
    ``operations`` at scope job, of ``All clients`` total with no job. Equal names become ``name#1``, ``name#2``; of
    several servers ``host:port/name``. latency_summary, latency_percentiles and latency_bins of the phases submission
    (slat), completion (clat), total (lat), sync, and of each priority ``completion_prio_<class>_<level>[_<hint>]`` or
    ``completion_high_prio``; percentiles are fio's, the middle of a bin. Without total_ios n_ops is derived from iops ×
    runtime, with a warning. ops_per_s and bytes_per_s are fio's, but counts / runtime where fio cut them to fewer than
    four digits. queue_depth is iodepth × workers, 1 × workers of synchronous engines. started_at is the first
    job_start; ``time`` is when the document was written, and a parameter. metric_series, of the last document alone:
    CPU of the job, bandwidth and IOPS windows (``bytes_per_s_min`` …), depths, shares of latencies, steady state,
    disks; device_series: mean waits and busy ratio of the disks over an interval that fio does not state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio._fio_json_around import note_text, note_torn_end
from pipeline.parse.fio._fio_json_jobs import DIRECTIONS, Figures, Job, jobs_of
from pipeline.parse.fio._fio_json_metrics import Metrics, unknown_keys
from pipeline.parse.fio._fio_json_runs import Run, is_sequential, runs_of, unfinished
from pipeline.parse.fio._fio_json_text import START, Documents

EXPECTED = 'fio JSON: a document that begins with { "fio version" : "fio-'
FORM = "JSON and JSON+"
VERSIONS = "2.0.10 – 3.43"
NOT_READ = ""
UNSEEN_CUTS = ""

_VERSION = re.compile(r'"fio version"\s*:\s*"fio')
_FIRST_START_MS = 946_684_800_000  # 2000-01-01: an earlier job_start is of another clock than the wall's


def recognise(head: str) -> bool:
    """Whether a document of fio begins in the first 64 KiB, after whatever else."""
    if '"fio version"' in head:
        is_known = _VERSION.search(head) is not None
    else:
        is_known = '"jobname"' in head and ('"io_bytes"' in head or '"clat' in head)
    return is_known and START.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report a run; ParseError when no job in the file is whole enough to give a row."""
    runs: list[Run] = []
    lost: list[int] = []
    found = Documents(source)
    for run in runs_of(found, source):
        _finish(run)
        if run.last.is_cut and not run.rows.n_operations and not _has_steady_state(run):
            lost.append((run.torn or run.last).last_line)
        else:
            runs.append(run)
    if not runs:
        if lost:
            raise source.error(lost[0], "at least one job with its figures", "a document that is cut before")
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for number in lost[:1]:
        message = f"expected whole documents, found {len(lost)} that are cut before their first figure"
        runs[-1].report.incomplete(number, "truncated", message)
    _read_around(runs, found)
    return [run.report for run in runs]


def _has_steady_state(run: Run) -> bool:
    held = [job.entry.get("steadystate") for job in jobs_of(run.last)]
    return any(isinstance(steady, dict) and isinstance(steady.get("data"), dict) for steady in held)


def _read_around(runs: list[Run], found: Documents) -> None:
    """Note what stands around the documents, and what it says of the end of the runs."""
    last = runs[-1]
    if not last.last.is_cut and last.torn is None:
        note_torn_end(last.report, last, found.gap, found.line)
    last.texts.append((found.line, found.gap))
    for run in runs:
        was_stopped = note_text(run.report, run)
        reason = unfinished(run.last, jobs_of(run.last))
        if reason is not None and not was_stopped:
            run.report.incomplete(run.last.last_line, "interrupted", reason)


def _finish(run: Run) -> None:
    """Add what the run's last whole document says."""
    document, report = run.last, run.report
    jobs = jobs_of(document)
    report.describe(started_at=_started_at(jobs), duration_s=_duration_s(jobs))
    run.rows.add(document, jobs)
    Metrics(report, run.figures).add(document, jobs)
    _note_damage(report, run)
    _note_jobs(report, run, jobs)
    _note_figures(report, run)


def _started_at(jobs: Sequence[Job]) -> datetime | None:
    starts = [job.entry.get("job_start") for job in jobs if not job.options.has_any("job_start_clock_id")]
    known = [start for start in starts if isinstance(start, int) and _FIRST_START_MS < start < 10 * _FIRST_START_MS]
    return datetime.fromtimestamp(min(known) * units.MILLI, UTC) if known else None


def _duration_s(jobs: Sequence[Job]) -> float | None:
    figures = Figures()
    runtimes = [figures.scaled(job.direction(op) or {}, "runtime", units.MILLI) for job in jobs for op in DIRECTIONS]
    longest = max((runtime for runtime in runtimes if runtime), default=None)
    if longest is None and len(jobs) == 1:
        return figures.scaled(jobs[0].entry, "job_runtime", units.MILLI) or None
    return longest


def _note_damage(report: Report, run: Run) -> None:
    document = run.last
    cut = document if document.is_cut else run.torn
    if cut is not None:
        kept = f"; the one before it, from line {document.first_line}, is given" if cut is run.torn else ""
        report.incomplete(cut.last_line, "truncated", f"expected the end of the document, found a cut{kept}")
    if document.n_skipped and not document.is_cut:
        report.incomplete(
            document.first_line, "malformed_json", f"expected JSON, found {document.n_skipped} parts that are none"
        )
    if document.repeated:
        names = ", ".join(sorted(document.repeated))
        report.warn(document.first_line, "repeated_key", f"expected each key once, found more of {names}")


def _note_jobs(report: Report, run: Run, jobs: list[Job]) -> None:
    document = run.last
    failed = [number for number, job in enumerate(jobs) if job.entry.get("error") and job.scope == "job"]
    if failed:
        job = jobs[failed[0]]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        message = f"expected error 0 of every job, found {str(job.entry['error'])[:40]} of {job.name!r}{more}"
        places = re.finditer(r'"jobname"', document.text)
        offset = next((match.start() for number, match in enumerate(places) if number == failed[0]), 0)
        line = document.first_line + document.text.count("\n", 0, offset)
        report.incomplete(line, "job_error", message)
    if not any(job.direction(op) for job in jobs for op in DIRECTIONS) and not document.is_cut:
        report.incomplete(document.first_line, "no_jobs", "expected jobs with their figures, found none")
    merged = [job.name for job in jobs if job.is_merged]
    if merged:
        message = f"group_reporting merged several sections into {merged[0]!r}: only the global options hold for it"
        report.warn(document.first_line, "merged_jobs", message)
    if is_sequential(jobs):
        message = "jobs ran, or may have run, one after another: do not add their rates"
        report.warn(document.first_line, "sequential_jobs", message)


def _note_figures(report: Report, run: Run) -> None:
    line, rows, figures = run.last.first_line, run.rows, run.figures
    if rows.n_derived:
        message = f"expected total_ios, found none: n_ops of {rows.n_derived} rows is iops × runtime, and iops is cut"
        report.warn(line, "derived_count", message)
    if figures.bad:
        shown = ", ".join(f"{key} ({count})" for key, count in sorted(figures.bad.items())[:5])
        report.warn(line, "bad_value", f"expected numbers from 0 to 2^63, found others, now null: {shown}")
    if rows.unknown_bins:
        found = f"{rows.unknown_bins[0]!r} and {len(rows.unknown_bins) - 1} more"
        report.warn(line, "unknown_bin", f"expected keys of fio's histogram, found {found}")
    for mismatch in rows.mismatches[:1]:
        report.warn(line, "bins_mismatch", f"expected as many in the bins as were measured, found {mismatch}")
    for found in rows.impossible[:1]:
        report.warn(line, "impossible_latency", f"expected a mean that holds its parts, found {found}")
    unknown = unknown_keys(run.last)
    if unknown:
        report.warn(line, "unknown_key", f"not read: {', '.join(sorted(unknown)[:10])}")
