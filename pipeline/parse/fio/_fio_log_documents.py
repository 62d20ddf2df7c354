"""Private to ``fio_log`` and ``fio_hist_log``: what a file beside a log says – fio's report, a command, a job file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import fio_json, fio_text
from pipeline.parse.fio._fio_json_jobs import DIRECTIONS, Job, jobs_of
from pipeline.parse.fio._fio_json_text import Documents
from pipeline.parse.fio._fio_log_name import HISTOGRAM, PHASES, LogName

Version = tuple[int, int]
_MAX_COMMAND_BYTES = 1 << 20
_VERSION = re.compile(r"fio[- ](\d{1,4})\.(\d{1,4})")
_OPTION = re.compile(
    r"(?:^|\s)(?:--)?([a-z_]{2,40})(?:\s{0,4}=\s{0,4}([^\s\"']{1,300}|\"[^\"\n]{0,300}\"|'[^'\n]{0,300}')|(?=\s))"
)
_OPTION_OF = {
    **dict.fromkeys(PHASES, "write_lat_log"), "bw": "write_bw_log", "iops": "write_iops_log",
    HISTOGRAM: "write_hist_log",
}  # fmt: skip
_LOG_OPTIONS = tuple(dict.fromkeys(_OPTION_OF.values()))


@dataclass
class BesideJob:
    """A job as its report has it: its label there, options, and of each direction the counts and means that it states.

    ``n_workers``: jobs that the entry stands for; None: not known.
    """

    label: str | None
    options: dict[str, str] = field(default_factory=dict)
    counts: dict[str, set[int]] = field(default_factory=dict)
    means_s: dict[tuple[str, str], float] = field(default_factory=dict)  # by phase and direction
    n_workers: int | None = 1
    start_ms: int | None = None  # since 1970

    def log_prefix(self, option: str) -> str | None:
        """The prefix of the logs that an option asks for, without a value the job's name; None: it asks for none."""
        value = self.options.get(option)
        return None if value is None else PurePath(value.replace("\\", "/")).name or str(self.label)

    def writes(self, log: LogName) -> bool:
        """Whether its options ask for a log of this prefix and kind."""
        return self.log_prefix(_OPTION_OF[log.kind]) == log.prefix


@dataclass
class Document:
    """A file beside a log that tells of a run: fio's report, or a command or job file that asks for logs."""

    name: str
    is_report: bool
    version: Version | None = None
    version_text: str | None = None
    jobs: list[BesideJob] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)  # of a command or job file

    @property
    def prefixes(self) -> set[str]:
        """The prefixes of the logs that it says were written."""
        jobs = [*self.jobs, BesideJob(self.options.get("name"), self.options)]
        found = {job.log_prefix(option) for job in jobs for option in _LOG_OPTIONS}
        return {prefix for prefix in found if prefix is not None}


@lru_cache(maxsize=256)
def document_of(path: Path, size: int, _changed_ns: int) -> Document | None:
    """What a file beside a log says; kept, for its other logs are beside it too."""
    source = Source(path)
    try:
        if fio_json.recognise(source.head):
            return _of_json(source)
        if fio_text.recognise(source.head):
            return _of_text(source)
        if size <= _MAX_COMMAND_BYTES and any(option in source.text for option in _LOG_OPTIONS):
            return _of_command(source)
    except (ParseError, OSError):
        return None
    return None


def _version(text: object) -> Version | None:
    match = _VERSION.search(str(text))
    return (int(match[1]), int(match[2])) if match else None


def _of_json(source: Source) -> Document | None:
    last = None
    for document in Documents(source):
        if not document.is_cut or last is None:
            last = document
    if last is None:
        return None
    text = last.value.get("fio version")
    found = Document(source.file.name, True, _version(text), str(text) if text else None)
    found.jobs = [_json_job(job) for job in jobs_of(last) if job.scope == "job"]
    return found


def _json_job(job: Job) -> BesideJob:
    n_workers = 1 if job.label and "#" in job.label else job.workers
    found = BesideJob(job.label, _options_of(job), n_workers=None if job.is_merged else n_workers)
    start = job.entry.get("job_start")
    found.start_ms = start if isinstance(start, int) and 0 < start < 1 << 53 else None
    for op in DIRECTIONS:
        data = job.direction(op)
        if data is None:
            continue
        n_ops = data.get("total_ios")
        counts = {n_ops} if isinstance(n_ops, int) else set()
        for base, phase in PHASES.items():
            for suffix, per_s in (("_ns", 1e9), ("", 1e6)):
                block = data.get(f"{base}{suffix}")
                if isinstance(block, dict):
                    counts |= {n for n in (block.get("N"),) if isinstance(n, int) and n}
                    mean = block.get("mean")
                    if isinstance(mean, int | float) and 0 < mean < 1e18:
                        found.means_s[phase, op] = mean / per_s
        if counts:
            found.counts[op] = counts
    return found


def _options_of(job: Job) -> dict[str, str]:
    names = (*_LOG_OPTIONS, "log_avg_msec", "log_offset", "log_prio", "log_issue_time", "log_window_value",
             "log_max_value", "log_hist_msec", "log_hist_coarseness", "per_job_logs", "log_unix_epoch",
             "log_alternate_epoch", "log_alternate_epoch_clock_id", "bw_avg_time", "iops_avg_time", "ramp_time",
             "log_compression")  # fmt: skip
    return {name: value for name in names if (value := job.options.get(name)) is not None}


def _of_text(source: Source) -> Document | None:
    reports = fio_text.parse(source)
    text = reports[-1].run.get("tool_version")
    found = Document(source.file.name, True, _version(text), str(text) if text else None)
    rows: list[dict[str, Any]] = reports[-1].rows.get("operations", [])
    jobs: dict[str | None, BesideJob] = {}
    for row in rows:
        if row.get("scope") == "job" and row["op"] in DIRECTIONS:
            job = jobs.setdefault(row.get("job"), BesideJob(row.get("job"), n_workers=1))
            job.counts |= {row["op"]: {row["n_ops"]}} if row.get("n_ops") is not None else {}
    for row in reports[-1].rows.get("latency_summary", []):
        if row.get("job") in jobs and row.get("mean_s"):
            jobs[row.get("job")].means_s[row["phase"], row["op"]] = row["mean_s"]
    for parameter in reports[-1].rows.get("parameters", []):
        if parameter.get("name") in ("numjobs", "jobs") and str(parameter.get("value")) not in ("1", "None"):
            for job in jobs.values():
                job.n_workers = None
    found.jobs = list(jobs.values())
    return found


def _of_command(source: Source) -> Document:
    text = source.text
    found = Document(source.file.name, False, _version(text))
    if found.version is not None:
        found.version_text = "fio-{}.{}".format(*found.version)
    counts: Counter[str] = Counter()
    for match in _OPTION.finditer(text):
        value = "1" if match[2] is None else match[2].strip("\"'")
        counts[match[1]] += 1
        found.options.setdefault(match[1], value)
    for option in _LOG_OPTIONS:  # several commands in a file: what they say of logs can't be told apart
        if counts[option] > 1:
            found.options = {name: value for name, value in found.options.items() if counts[name] == 1}
            break
    return found
