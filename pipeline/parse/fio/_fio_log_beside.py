"""Private to ``fio_log`` and ``fio_hist_log``: what lies beside a log – fio's report, the command, the job file.

They say the version, and with it the unit, the options, which job a number is, and what the log must add up to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pipeline.parse._source import Source
from pipeline.parse.fio._fio_log_documents import BesideJob, Document, Version, document_of
from pipeline.parse.fio._fio_log_name import HISTOGRAM, LogName, log_name

_MAX_REPORT_BYTES = 64 << 20
_FALSE = {"0", "no", "off", "false"}


@dataclass
class Beside:
    """What is known of the run that a log belongs to."""

    home: Source | None = None
    version: Version | None = None
    version_text: str | None = None
    jobs: list[BesideJob] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def writers(self, log: LogName) -> list[BesideJob]:
        """The entries whose options ask for a log of this name; all of them where none tells."""
        return [job for job in self.jobs if job.writes(log)] or self.jobs

    def job(self, log: LogName) -> BesideJob | None:
        """The entry of a log's job; None when it can't be told, as of a log that several jobs wrote."""
        number = log.number
        if number is None:
            own = self.writers(log)
            return own[0] if len(own) == 1 and own[0].n_workers == 1 else None
        for job in self.jobs:
            if job.n_workers is None:
                return None
            if number <= job.n_workers:
                return job
            number -= job.n_workers
        return None

    def label(self, name: LogName) -> str | None:
        """The job as the tables call it: as its report does, ``name#2`` within a group; without one its number."""
        number, job = name.number, self.job(name)
        if number is None or job is None or job.label is None:
            own = None if number is None else str(number)
            return (job.label if job else None) or (f"{name.host}/{own}" if name.host and own else own)
        before = self.jobs[: next(i for i, entry in enumerate(self.jobs) if entry is job)]
        place = number - sum(entry.n_workers or 0 for entry in before)
        return job.label if job.n_workers == 1 else f"{job.label}#{place}"

    def stated(self, name: LogName) -> BesideJob | None:
        """The entry whose counts the log must have: its job's own, or of a log of several jobs their sum."""
        if name.number is not None:
            job = self.job(name)
            return job if job is not None and job.n_workers == 1 else None
        own = self.writers(name)
        if not own or any(job.n_workers is None for job in own):
            return None
        if len(own) == 1:
            return own[0]
        total = BesideJob(None)
        for op in {op for job in own for op in job.counts}:
            total.counts[op] = {sum(max(job.counts.get(op, {0}), default=0) for job in own)}
        return total

    def entry(self, log: LogName) -> BesideJob | None:
        """The entry of a log's job, else the first that may be: the jobs of one log share what concerns it."""
        return self.job(log) or next(iter(self.writers(log)), None)

    def option(self, name: str, log: LogName) -> str | None:
        """An option of the log's job, as the report or the command has it."""
        job = self.entry(log)
        value = job.options.get(name) if job else None
        return self.options.get(name) if value is None else value

    def flag(self, name: str, log: LogName) -> bool:
        """Whether an option is on; one without a value is."""
        value = self.option(name, log)
        return value is not None and value.strip().lower() not in _FALSE

    def whole(self, name: str, log: LogName) -> int | None:
        """An option as a whole number, such as ms."""
        value = (self.option(name, log) or "").strip()
        return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else None

    def window_ms(self, log: LogName) -> int | None:
        """Length of a log's windows, where the options tell."""
        if log.kind == HISTOGRAM:
            return self.whole("log_hist_msec", log) or None
        own = {"bw": "bw_avg_time", "iops": "iops_avg_time"}.get(log.kind)
        average = self.whole("log_avg_msec", log)
        other = self.whole(own, log) if own else None
        return min(average, other) if average and other else average or other or None


def beside(source: Source, name: LogName) -> tuple[Beside, list[LogName]]:
    """What lies beside a log: of its run, and the names of the other logs that are not empty."""
    documents: list[tuple[Source, Document]] = []
    logs: list[LogName] = []
    for sibling in source.siblings():
        other = log_name(sibling.path)
        size = sibling.file.stat().st_size
        if other is not None:
            logs += [other] if size else []
        elif 0 < size <= _MAX_REPORT_BYTES:
            document = document_of(sibling.file, size, sibling.file.stat().st_mtime_ns)
            documents += [(sibling, document)] if document else []
    found = _choose(name, documents)
    numbers = {other.number for other in [*logs, name] if other.prefix == name.prefix}
    if len(numbers) <= len(found.jobs):  # the options are not known (to 2.13), but each log has an entry of its own
        found.jobs = [job if job.n_workers else replace(job, n_workers=1) for job in found.jobs]
    return found, logs


def _choose(name: LogName, documents: list[tuple[Source, Document]]) -> Beside:
    """The report and the command of the log's run, of all that lie in the folder."""
    commands = [document for _, document in documents if not document.is_report]
    command = next((document for document in commands if name.prefix in document.prefixes), None)
    reports = [entry for entry in documents if entry[1].is_report]
    output = PurePath(command.options.get("output", "")).name if command else ""
    stem = name.prefix.split(".")[0]
    tests = (
        [entry for entry in reports if name.prefix in entry[1].prefixes],
        [entry for entry in reports if output and entry[1].name == output],
        [entry for entry in reports if entry[1].name.split(".")[0] == stem and not entry[1].prefixes],
        [entry for entry in reports if not entry[1].prefixes] if len(reports) == 1 else [],
    )
    found = next((entries for entries in tests if entries), [])
    found = [entry for entry in found if entry[1].jobs and entry[1].jobs[0].options] or found  # JSON before text
    result = Beside(options=command.options if command else {})
    if command is not None:
        result.version, result.version_text = command.version, command.version_text
    if len(found) == 1 or (found and output and found[0][1].name == output):
        source, document = found[0]
        result.home, result.jobs = source, document.jobs
        result.version = document.version or result.version
        result.version_text = document.version_text or result.version_text
    return result
