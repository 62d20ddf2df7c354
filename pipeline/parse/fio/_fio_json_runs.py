"""Private to ``fio_json``: which documents are one run, and what they say of its course and its end.

With ``--status-interval`` fio writes a document every interval: totals since the start, one behind another. The last
one is the run's result; the differences are its course.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_json_options as fio_options
from pipeline.parse.fio._fio_intervals import Intervals
from pipeline.parse.fio._fio_json_jobs import (
    DIRECTIONS,
    Amounts,
    Figures,
    Job,
    amounts_of,
    entries_of,
    host_of,
    jobs_of,
    version_of,
)
from pipeline.parse.fio._fio_json_rows import Rows
from pipeline.parse.fio._fio_json_text import Document

_UNKNOWN_ETA = 2**31 - 1  # what fio prints before it can tell, and for jobs that were too short to tell
_SLACK_S = 2.0  # elapsed is in whole seconds and counts from before the first I/O
_ENOUGH = 0.99  # of the runtime, or of the size, that was asked for
# Options with which a job may end before its runtime and its size.
_EARLY_ENDS = (
    "steadystate", "number_ios", "io_size", "exitall", "exitall_on_error", "exit_what", "latency_target",
    "max_latency", "ramp_time", "loops", "read_iolog", "rate_process", "thinktime", "fill_device", "zonesize",
    "zonemode", "offset", "verify", "stonewall", "startdelay", "flow", "filesize", "nrfiles",
    "create_only", "file_service_type",
)  # fmt: skip

State = dict[tuple[str | None, str], Amounts]


@dataclass
class Run:
    """A run: its last whole document, what its earlier ones say of its course, and the text around them."""

    last: Document
    source: Source
    n_documents: int = 1
    torn: Document | None = None
    texts: list[tuple[int, str]] = field(default_factory=list)  # (line, text)
    intervals: Intervals = field(default_factory=Intervals)

    def __post_init__(self) -> None:
        name = self.last.value.get("fio version")
        self.report = Report("fio", self.source, tool_version=name if isinstance(name, str) else None)
        self.figures = Figures()
        self.rows = Rows(self.report, self.figures, version_of(self.last))

    def advance(self, document: Document) -> None:
        """Take the next status document of the run: the one before it becomes an interval from the start."""
        before, after = _state(self.last), _state(document)
        if self.n_documents == 1:
            self._add_windows(self.last, {}, before)
        ends = self.intervals.next({key: amounts.runtime_s or 0.0 for key, amounts in before.items()})
        self.rows.add(self.last, jobs_of(self.last), ends)
        self._add_windows(document, before, after)
        self.last, self.n_documents = document, self.n_documents + 1

    def _add_windows(self, document: Document, before: State, after: State) -> None:
        targets = {job.label: fio_options.target_of(job.options) for job in jobs_of(document) if job.scope == "job"}
        for window in _windows(before, after):
            self.report.add("throughput_series", target=targets.get(window["job"]), **window)


def runs_of(documents: Iterable[Document], source: Source) -> Iterator[Run]:
    """Yield the runs, each with all its documents."""
    run: Run | None = None
    for document in documents:
        text = (document.first_line - document.before.count("\n"), document.before)
        if run and document.is_cut and (not entries_of(document) or continues(run.last, document)):
            run.torn = document
        elif run and not document.is_cut and not run.last.is_cut and continues(run.last, document):
            run.advance(document)
        else:
            if run:
                yield run
            run = Run(document, source)
        if not run.texts or text[1].strip():
            run.texts.append(text)
    if run:
        yield run


def continues(earlier: Document, later: Document) -> bool:
    """Whether ``later`` is a further status of the run of ``earlier``, and no other run of the same jobs."""
    if "client_stats" in earlier.value or "client_stats" in later.value:
        return False  # a client reports once, at the end
    names, later_names = _names(earlier), _names(later)
    if later.is_cut:
        names = names[: len(later_names)]
    before, after = _state(earlier), _state(later)
    if names != later_names or version_of(earlier) != version_of(later) or _starts_differ(earlier, later):
        return False
    if any(_falls(before[key], after[key], is_cut=later.is_cut) for key in before.keys() & after.keys()):
        return False
    times = [_written_s(document) for document in (earlier, later)]
    if times[0] is None or times[1] is None:
        return _grows(earlier, later)
    passed = times[1] - times[0]
    first, second = (_elapsed_s(document) for document in (earlier, later))
    if passed < -_SLACK_S or (first is not None and second is not None and abs(second - first - passed) > _SLACK_S):
        return False
    lasted = max([amounts.runtime_s or 0.0 for amounts in after.values()] + [(second or 0.0) - _SLACK_S])
    return later.is_cut or passed < lasted + 0.5 * units.MILLI  # it had begun before the earlier one was written


def _names(document: Document) -> list[tuple[Any, ...]]:
    return [(str(entry.get("jobname")), str(entry.get("groupid")), host_of(entry)) for entry in entries_of(document)]


def _starts_differ(earlier: Document, later: Document) -> bool:
    pairs = zip(entries_of(earlier), entries_of(later), strict=False)
    starts = ((old.get("job_start"), new.get("job_start")) for old, new in pairs)
    return any(old and new and old != new for old, new in starts)


def _state(document: Document) -> State:
    """What each job had done in each direction when the document was written."""
    if document.state is None:
        version = version_of(document)
        document.state = {
            (job.label, op): amounts
            for job in jobs_of(document)
            for op in DIRECTIONS
            if (amounts := amounts_of(job, op, version)) is not None
        }
    return cast(State, document.state)


def _falls(before: Amounts, after: Amounts, *, is_cut: bool) -> bool:
    """Whether a total is smaller than it was; what a cut document does not tell does not count."""
    pairs = ((before.n_ops, after.n_ops), (before.n_bytes, after.n_bytes), (before.runtime_s, after.runtime_s))
    return any((new or 0) < (old or 0) * _ENOUGH for old, new in pairs if not (is_cut and new is None))


def _written_s(document: Document) -> float | None:
    value = document.value.get("timestamp_ms")
    if isinstance(value, int | float):
        return value * units.MILLI
    value = document.value.get("timestamp")
    return float(value) if isinstance(value, int | float) else None


def _elapsed_s(document: Document) -> float | None:
    values = [entry.get("elapsed") for entry in entries_of(document)]
    return max((float(value) for value in values if isinstance(value, int | float)), default=None)


def _grows(earlier: Document, later: Document) -> bool:
    """Without time stamps (to 2.2.4): longer runtimes, and no maximum that has fallen nor minimum that has risen."""
    has_grown = False
    for old, new in zip(jobs_of(earlier), jobs_of(later), strict=False):
        for op in DIRECTIONS:
            before, after = old.direction(op) or {}, new.direction(op) or {}
            has_grown |= _figure(after, "runtime") > _figure(before, "runtime")
            for base in ("clat", "lat"):
                first, second = before.get(base), after.get(base)
                if not (isinstance(first, dict) and isinstance(second, dict) and _figure(before, "runtime")):
                    continue
                if _figure(second, "max") < _figure(first, "max") or _figure(second, "min") > _figure(first, "min"):
                    return False
    return has_grown


def _figure(holder: dict[str, Any], key: str) -> float:
    value = holder.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _windows(before: State, after: State) -> Iterator[dict[str, Any]]:
    for (label, op), new in after.items():
        old = before.get((label, op))
        window_s = (new.runtime_s or 0.0) - ((old.runtime_s if old else None) or 0.0)
        if window_s > 0 and not new.is_empty:
            yield {
                "job": label, "op": op, "time_s": new.runtime_s, "window_s": window_s,
                "ops_per_s": _rate(old.n_ops if old else 0, new.n_ops, window_s),
                "bytes_per_s": _rate(old.n_bytes if old else 0, new.n_bytes, window_s),
            }  # fmt: skip


def _rate(old: int | None, new: int | None, window_s: float) -> float | None:
    return None if new is None else max(new - (old or 0), 0) / window_s


def unfinished(document: Document, jobs: list[Job]) -> str | None:
    """What shows that the run had not ended by itself when the document was written; None when nothing does."""
    version = version_of(document)
    for job in jobs:
        eta = job.entry.get("eta")
        if isinstance(eta, int) and 0 < eta < _UNKNOWN_ETA:
            return f"expected the report of an ended run, found one with {eta} s to go"
        if document.is_cut or job.scope != "job" or job.entry.get("error"):
            continue
        asked_s = fio_options.seconds_of(job.options.get("runtime"))
        amounts = [a for op in DIRECTIONS if (a := amounts_of(job, op, version))]
        ran_s = max((a.runtime_s or 0.0 for a in amounts if not a.is_empty), default=0.0)
        if not asked_s or not ran_s or ran_s >= asked_s * _ENOUGH or job.options.has_any(*_EARLY_ENDS):
            continue
        size = fio_options.size_of(job.options.get("size") or "", job.options.get("kb_base"))
        n_bytes = sum(job_amounts.n_bytes or 0 for job_amounts in amounts)
        wanted = (size or 0) * (job.workers or 0)
        passes = n_bytes / wanted if wanted else 0.0
        is_whole = round(passes) >= 1 and abs(passes - round(passes)) <= 1 - _ENOUGH
        if job.options.is_on("time_based") or (wanted and not is_whole):
            return f"expected {asked_s:g} s of I/O of job {job.name!r}, found {ran_s:g} s"
    return None


def is_sequential(jobs: list[Job]) -> bool:
    """Whether jobs ran, or may have run, one after another, so that their rates must not be added."""
    members = [job for job in jobs if job.scope == "job"]
    spans = [_span_ms(job) for job in members]
    known = [span for span in spans if span is not None]
    if len(known) == len(members) > 1:
        return any(start >= end for start, _ in known for _, end in known)
    for previous, job in pairwise(members):
        if job.name == previous.name:
            continue
        if job.options.is_on("stonewall") or job.options.get("wait_for"):
            return True
        # fio to 3.38 does not record a bare stonewall, but it begins a new group.
        if job.entry.get("groupid") != previous.entry.get("groupid") and not job.options.is_on("new_group"):
            return job.host == previous.host
    return False


def _span_ms(job: Job) -> tuple[float, float] | None:
    """When the job started and ended, where fio tells (from 3.36)."""
    start = job.entry.get("job_start")
    lasted = max((_figure(job.direction(op) or {}, "runtime") for op in DIRECTIONS), default=0.0)
    return (float(start), start + lasted) if isinstance(start, int) and start > 0 and lasted else None
