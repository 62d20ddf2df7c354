"""Private to ``fio_log`` and ``fio_hist_log``: a log's sums against what fio's report beside it says."""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio._fio_log_beside import Beside
from pipeline.parse.fio._fio_log_documents import BesideJob
from pipeline.parse.fio._fio_log_statistics import OPS, Latencies

_TOLERANCE = 0.01  # of means: text reports round to some digits
_UNIT_FACTOR = 100


def report_beside(source: Source, around: Beside) -> Report:
    """A report of a log: part of the run whose report is beside it, or that the manifest names."""
    report = Report("fio", source, tool_version=around.version_text)
    if around.home is not None:
        report.part_of(around.home)
    elif source.run_id is not None:  # in a run's folder it is part of whatever report of fio is there
        report.supplement(None, "no_report", "expected fio's report beside its log, found none")
    return report


def check_counts(report: Report, job: BesideJob | None, n_rows: list[int]) -> None:
    """Warn where the log holds other numbers of I/Os than the report states."""
    if job is None:
        return
    found = dict(zip(OPS, n_rows, strict=True))
    if "mixed" in job.counts and not any(job.counts.get(op) for op in OPS):
        found = {"mixed": sum(n_rows)}
    for op, n in found.items():
        stated = job.counts.get(op)
        if stated and n not in stated:
            message = f"expected {max(stated)} I/Os of {op} by fio's report, found {n} rows"
            report.warn(None, "count_mismatch", message)


def check_means(report: Report, job: BesideJob | None, latencies: Latencies, phase: str) -> None:
    """Warn where a mean is not the report's: a unit that is wrong, or I/Os that are missing."""
    for number, op in enumerate(OPS if job is not None else ()):
        stated = job.means_s.get((phase, op)) if job is not None else None
        if not stated or not latencies.n[number]:
            continue
        mean = latencies.mean_s(number)
        if abs(mean - stated) > _TOLERANCE * stated:
            is_unit = not 1 / _UNIT_FACTOR < mean / stated < _UNIT_FACTOR
            code = "unit_mismatch" if is_unit else "mean_mismatch"
            report.warn(None, code, f"expected a mean {phase} latency of {op} of {stated:.6g} s, found {mean:.6g} s")
