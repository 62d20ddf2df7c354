"""Which status reports of a run are its result, and what is missing from it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from pipeline.parse.fio._fio_text_block import Header, Job, Run, Status

_SUMS_SINCE = (2, 21)
Problem = tuple[int | None, str, str]  # line, code, message


@dataclass
class Result:
    """What a run came to: the blocks that count, and the problems of the report."""

    run: Run
    headers: list[Header]
    status: Status
    earlier: list[Status] = field(default_factory=list)  # whole status reports before it
    n_snapshots: int = 0
    gaps: list[Problem] = field(default_factory=list)  # these make the report incomplete
    remarks: list[Problem] = field(default_factory=list)
    headers_by_job: dict[tuple[str | None, int | None, bool], list[Header]] = field(default_factory=dict)  # caches
    settings_by_job: dict[tuple[object, ...], tuple[int | None, float | None]] = field(default_factory=dict)

    @property
    def jobs(self) -> list[Job]:
        """The job blocks that count."""
        return self.status.jobs

    @cached_property
    def positions(self) -> dict[int, tuple[int, int]]:
        """Line of a block → its place among the blocks of its name and group, and their number."""
        counts = Counter((job.name, job.group) for job in self.jobs)
        seen: Counter[tuple[str | None, int | None]] = Counter()
        places = {}
        for job in self.jobs:
            key = job.name, job.group
            places[job.line] = seen[key], counts[key]
            seen[key] += 1
        return places


def version_of(run: Run) -> tuple[int, int] | None:
    """Major and minor version: ``fio-2.6-20-g2caf`` and ``fio 2.6`` are (2, 6)."""
    text = run.version or (run.hosts[0][3] if run.hosts else "")
    match = re.match(r"fio[- ]v?(\d{1,4})\.(\d{1,4})", text)
    return (int(match[1]), int(match[2])) if match else None


def results(run: Run) -> list[Result]:
    """The results of a run: one, or more where job blocks of other runs follow without a header."""
    if run.is_client:
        merged = Status(
            [job for status in run.statuses for job in status.jobs],
            [group for status in run.statuses for group in status.groups],
            [disk for status in run.statuses for disk in status.disks],
            [idle for status in run.statuses for idle in status.idle],
            next((status.torn_line for status in run.statuses if status.torn_line), None),
        )
        found = [Result(run, run.headers, merged)]
        found[0].gaps = [gap for status in run.statuses for gap in _gaps(status, [], run)] or _client_gaps(run)
    else:
        found = [_last_whole(run, chain, run.headers if i == 0 else []) for i, chain in enumerate(_chains(run))]
    _take_notes(found[-1], run)
    for result in found:
        _judge(result)
    return found


def _chains(run: Run) -> list[list[Status]]:
    """Status reports of the same run, from its first to its last: they share a job, its name, group and pid."""
    chains: list[list[Status]] = []
    known: set[tuple[str | None, int | None, int | None]] = set()
    for status in run.statuses or [Status()]:
        keys = {job.key for job in status.jobs}
        if chains and (not keys or not known or keys & known):
            chains[-1].append(status)
            known |= keys
        else:
            chains.append([status])
            known = keys
    return chains


def _last_whole(run: Run, chain: list[Status], headers: list[Header]) -> Result:
    gaps = _gaps(chain[-1], headers, run)
    earlier = [status for status in chain[:-1] if not _gaps(status, headers, run)]
    if not gaps or not earlier:
        return Result(run, headers, chain[-1], earlier, len(chain) - 1, gaps)
    line, _, message = gaps[0]
    cut = (line, "truncated", f"{message}; the status report before it is given")
    return Result(run, headers, earlier[-1], earlier[:-1], len(chain) - 1, [cut])


def _gaps(status: Status, headers: list[Header], run: Run) -> list[Problem]:
    """What a whole status report has and this one lacks."""
    gaps: list[Problem] = []
    found = {group.number for group in status.groups}
    jobs = [job for job in status.jobs if not job.is_total]
    is_sum = bool(status.jobs) and not jobs  # no groups follow it
    wanted = {job.group for job in jobs} | {header.group for header in headers} - {None}
    if missing := sorted(number for number in wanted - found if number is not None):
        numbers = ", ".join(map(str, missing))
        gaps.append(
            (run.last_line, "no_run_status", f"expected Run status group {numbers}, found the end of the report")
        )
    elif not found and not is_sum:
        gaps.append((run.last_line, "no_run_status", "expected Run status group 0, found the end of the report"))
    if any(group.rows for group in status.groups) and not status.jobs:
        gaps.append((status.groups[0].line, "truncated", "expected job blocks, found Run status alone"))
    if any(job.name is None for job in jobs):
        gaps.append((jobs[0].line, "truncated", "expected a job's first line, `name: (groupid=…`, found its figures"))
    for job in status.jobs:
        if not job.issued and not gaps:
            text = f"expected the line `issued` of job {job.name}, found the end of its block"
            gaps.append((job.last_line, "truncated", text))
    for group in status.groups if not gaps else ():
        wanted_ops = {direction.op for job in jobs if job.group == group.number for direction in job.directions}
        for op in sorted(wanted_ops - {"sync"} - group.rows.keys()):
            text = f"expected {op.upper()} in Run status group {group.number}, found the end of the block"
            gaps.append((group.line, "truncated", text))
    if status.torn_line and not gaps:
        text = "expected the end of the line, and a device's statistics to util=…%, found the end of the file"
        gaps.append((status.torn_line, "truncated", text))
    return gaps


def _client_gaps(run: Run) -> list[Problem]:
    """A client prints the blocks of each server and, where it has several, their sum."""
    n_servers, n_found = len(run.hosts) or 1, sum(1 for status in run.statuses if status.groups)
    if n_found < n_servers:
        text = f"expected the reports of {n_servers} servers, found {n_found}"
        return [(run.last_line, "truncated", text)]
    has_sum = any(job.is_total for status in run.statuses for job in status.jobs)
    if n_servers > 1 and (version_of(run) or (0, 0)) >= _SUMS_SINCE and not has_sum:
        return [(run.last_line, "truncated", "expected the block of all clients, found the end of the report")]
    return []


_INCOMPLETE = ("interrupted", "aborted")
_WANTED = {
    "interrupted": "the run to end by itself", "aborted": "every job to end by itself", "job_error": "no error",
    "verify_failed": "the data as written", "tool_message": "no message", "torn_header": "`name: (g=0): rw=…, bs=…`",
    "cut_line": "the end of a line",
}  # fmt: skip


def _take_notes(result: Result, run: Run) -> None:
    """What fio said between its blocks: one problem a kind."""
    for code, lines in run.notes.items():
        if code == "job_error" and any(job.error for job in result.jobs):
            continue  # the blocks tell
        line, text = lines[0]
        more = f" ({len(lines)} such lines)" if len(lines) > 1 else ""
        problem = (line, code, f"expected {_WANTED[code]}, found {_shown(text)}{more}")
        (result.gaps if code in (*_INCOMPLETE, "job_error") else result.remarks).append(problem)
    if run.json_lines:
        text = f"expected normal output alone, found {len(run.json_lines)} lines of JSON: reader fio_json reads them"
        result.remarks.append((run.json_lines[0], "other_format", text))
    if run.terse_lines:
        text = f"expected normal output alone, found {len(run.terse_lines)} lines of terse output, not read"
        result.remarks.append((run.terse_lines[0], "other_format", text))


def _judge(result: Result) -> None:
    """What the blocks themselves say of errors, of groups and of I/O that never came."""
    for job in result.jobs:
        if job.error:
            what = f" ({_shown(job.error_text)})" if job.error_text else ""
            result.gaps.append((job.line, "job_error", f"expected err= 0 of job {job.name}, found {job.error}{what}"))
    groups = sorted({job.group for job in result.jobs if job.group is not None})
    if len(groups) > 1 and not result.run.is_client:
        text = f"job groups {', '.join(map(str, groups))}: their rates must not be summed, groups may run in sequence"
        result.remarks.append((result.jobs[0].line, "sequential_jobs", text))
    idle = sorted({header.group for header in result.headers if header.group is not None} - set(groups))
    if idle and not any(code in ("no_run_status", "truncated") for _, code, _ in result.gaps):
        text = f"expected figures of job group {', '.join(map(str, idle))}, found none: it did no I/O"
        result.gaps.append((result.run.last_line, "no_io", text))
    if result.n_snapshots:
        text = (f"{result.n_snapshots} more status reports of the same run, {len(result.earlier)} of them given as "
                "intervals from its start; whether the last one stands at its end, fio does not say")  # fmt: skip
        result.remarks.append((result.jobs[0].line if result.jobs else None, "status_interval", text))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:99] + "…")
