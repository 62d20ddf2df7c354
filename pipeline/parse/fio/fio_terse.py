"""fio: its terse output, as ``fio --minimal`` or ``--output-format=terse`` prints it: a line a job.

Grammar
    ``3;fio-3.33;name;groupid;error``, then a block for each direction: KiB, bandwidth (KiB/s), IOPS, runtime (ms);
    minimum, maximum, mean, standard deviation (µs) of slat, and of clat; 20 percentiles ``99.000000%=684`` (µs;
    ``0%=0``: no more); the same four of lat; minimum, maximum, share (%), mean, deviation of the bandwidth in fio's
    windows (KiB/s), in version 5 also their number and the same of the IOPS. Then ``cpu`` (user, system, context
    switches, faults), 7 depths, 22 shares of latencies, each disk (name, reads, writes, merges, ticks, time in queue,
    utilisation; ``slaves`` are its members' means), with continue_on_error the errors and the first, the description.
Versions
    Terse 2 of fio 1.44 – 1.60 (78 fields, no IOPS and percentiles) and 2.0 – 3.43, terse 3 (read and write), 4 (and
    trim) and 5. Version 2 does not name fio's version and prints the description on a line of its own.
    unified_rw_reporting=1 prints one block (from 3.27; before, sums as reads), ``both`` a further one.
Traps
    A ``;`` in a name or a description shifts what follows: the blocks are found by their form. Bandwidth is B/ms to
    2.0.7. From 2.99 minima, maxima and percentiles are cut to whole µs, and so may be 0. lat_percentiles=1 puts those
    of the total latency in the place of clat's. A client prints disks on a line of their own, and ``All clients``,
    which counts everything twice. Nothing tells a status report from a further job or run: see ``_fio_terse_runs``.
Sample
    tests/parse/fio_terse/
Gives
    operations (a direction of a line; of a job without I/O those that are printed; scope total: all clients): n_bytes
    is whole KiB, ops_per_s whole; n_ops is not printed. Block size and queue depth where the jobs' headers stand above.
    latency_summary and latency_percentiles of submission, completion, total; parameters; metric_series and
    device_series as of fio's other forms. Of status reports the last one is the run, the others are intervals from 0.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio._fio_terse_line import begins, line_of
from pipeline.parse.fio._fio_terse_rows import Rows
from pipeline.parse.fio._fio_terse_runs import Run, runs_of

EXPECTED = "fio's terse output, with lines such as `3;fio-3.33;name;0;0;…`"
FORM = "terse (`--minimal`)"
VERSIONS = "1.44 – 3.43, terse 2 – 5"
NOT_READ = "1.20 – 1.43, which print no terse version"
UNSEEN_CUTS = "terse output has no end mark: jobs whose lines are missing as a whole"


def recognise(head: str) -> bool:
    """Whether a line begins like terse output and its figures follow; the last line may be cut."""
    lines = head.split("\n")
    return any(_is_terse(line.lstrip("<> \t") if line[:1] in "<> \t" else line) for line in lines)


def _is_terse(text: str) -> bool:
    start = begins(text)
    if start is None:
        return False
    return line_of(1, text[start:]) is not None or text[start:].count(";") > 5


def parse(source: Source) -> list[Report]:
    """Return a report a run, in their order; ParseError where no line has a whole block."""
    runs = runs_of(source)
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [_report(source, run) for run in runs]


def _report(source: Source, run: Run) -> Report:
    version = next((line.fio for line in run.lines if line.fio), run.version)
    report = Report("fio", source, tool_version=version, duration_s=_duration_s(run))
    rows = Rows(report, run)
    rows.add()
    _note_damage(report, run)
    _note_jobs(report, run)
    first = run.lines[0].number
    if run.shifted:
        message = f"a name or description with the separator `;` shifts the fields of {len(run.shifted)} lines"
        report.warn(run.shifted[0], "shifted_fields", message)
    if rows.n_capped:
        message = f"{rows.n_capped} percentiles stand at the end of fio's histogram: the true ones may be larger"
        report.warn(first, "percentile_capped", message)
    if rows.n_bad:
        report.warn(first, "bad_value", f"expected numbers from 0 to 2^63, found {rows.n_bad} others, now null")
    if run.earlier:
        message = f"{len(run.earlier)} status reports before the last one, given as intervals from the start of the run"
        report.warn(run.earlier[0][0].number, "status_interval", message + "; whether the last one stands at its end, "
                    "fio does not say")  # fmt: skip
    if run.messages:
        number, text = run.messages[0]
        more = f" and {len(run.messages) - 1} more lines" if len(run.messages) > 1 else ""
        report.warn(number, "message", f"fio printed {_short(text)!r}{more}")
    return report


def _duration_s(run: Run) -> float | None:
    times = [direction.runtime_s for line in run.lines for direction in line.directions]
    return max(times) or None if len({line.group for line in run.lines}) == 1 else None


def _note_damage(report: Report, run: Run) -> None:
    cut = [line.number for line in run.lines if line.is_cut] + run.bad
    if cut:
        message = f"expected every field of a terse line, found {len(cut)} lines that lack some"
        report.incomplete(min(cut), "truncated", message)
    elif run.is_open:
        report.incomplete(run.last_line, "truncated", "expected the end of a line, found the end of the file")
    for number, text in run.signals[:1]:
        report.incomplete(number, "interrupted", f"expected a run that ends by itself, found {_short(text)!r}")


def _note_jobs(report: Report, run: Run) -> None:
    failed = [line for line in run.lines if line.error]
    if failed:
        line = failed[0]
        message = f"expected error 0 of every job, found {line.error} of {_short(line.name)!r}"
        report.incomplete(line.number, "job_error", message)
    idle = [line for line in run.lines if all(direction.is_empty for direction in line.directions) and not line.is_cut]
    if idle:
        message = f"expected figures of every job, found no I/O of {_short(idle[0].name)!r}"
        report.incomplete(idle[0].number, "no_io", message)
    if run.is_ambiguous:
        message = "lines of one name without disk counters: jobs of one run, as they are read, or runs of one job"
        report.warn(run.lines[0].number, "ambiguous_lines", message)
    groups = sorted({line.group for line in run.lines})
    if len(groups) > 1 and not run.is_client:
        text = (
            f"job groups {', '.join(map(str, groups[:20]))}: their rates must not be summed, groups may run in sequence"
        )
        report.warn(run.lines[0].number, "sequential_jobs", text)


def _short(text: str) -> str:
    line = "".join(char if char.isprintable() else "�" for char in text.strip())
    return line if len(line) <= 120 else line[:119] + "…"
