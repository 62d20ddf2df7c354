"""Which settings a job block ran with, and what they mean: block size and queue depth."""

from __future__ import annotations

from collections import Counter

from pipeline.parse.fio._fio_engines import SYNCHRONOUS
from pipeline.parse.fio._fio_text_block import Header, Job
from pipeline.parse.fio._fio_text_figures import block_sizes, integer
from pipeline.parse.fio._fio_text_result import Result

_WRITES = ("write", "rw")  # as parts of rw=: randwrite, randrw, trimwrite


def labels_of(jobs: list[Job]) -> list[str | None]:
    """Names that tell the blocks apart: ``name#2`` of equal names; None for the sum of all clients."""
    names = [None if job.is_total else job.name for job in jobs]
    counts, seen = Counter(names), Counter[str | None]()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name}#{seen[name]}" if name is not None and counts[name] > 1 else name)
    return labels


def headers_of(job: Job, result: Result) -> list[Header]:
    """The headers of the jobs that a block stands for; empty when it cannot be told."""
    if job.is_total:
        return result.headers
    key = job.name, job.group, job.members > 1
    if key not in result.headers_by_job:
        result.headers_by_job[key] = _candidates(job, result)
    found = result.headers_by_job[key]
    return found if job.members > 1 or len(found) <= 1 else [found[result.positions[job.line][0]]]


def _candidates(job: Job, result: Result) -> list[Header]:
    if job.members > 1:  # group_reporting: the name is that of the group's first job
        alone = {(other.name, other.group) for other in result.jobs if other.members == 1}
        return [h for h in result.headers if h.group == job.group and (h.name, h.group) not in alone]
    named = [header for header in result.headers if header.name == job.name and header.group in (None, job.group)]
    if len({tuple(header.settings.items()) for header in named}) <= 1:
        return named[:1]
    # Sections of one name: in their order, if each has one block.
    is_in_order = result.positions[job.line][1] == len(named) and not any(header.is_repeated for header in named)
    return named if is_in_order else []


def size_and_depth(job: Job, op: str, result: Result) -> tuple[int | None, float | None]:
    """The size of an I/O of this kind, where it is one size in all jobs of the block, and the queue depth of all."""
    headers = headers_of(job, result)
    key = job.name, job.group, job.members, op, headers[0].line if len(headers) == 1 else None
    if key not in result.settings_by_job:
        sizes = {size_of(header, op) for header in doing(headers, op)}
        depth = _sum_of_depths(op, result) if job.is_total else _queue_depth(headers, job.members, op)
        result.settings_by_job[key] = sizes.pop() if len(sizes) == 1 else None, depth
    return result.settings_by_job[key]


def _sum_of_depths(op: str, result: Result) -> float | None:
    jobs = [job for job in result.jobs if not job.is_total and any(direction.op == op for direction in job.directions)]
    depths = [size_and_depth(job, op, result)[1] for job in jobs]
    return sum(depth or 0 for depth in depths) if depths and None not in depths else None


def _queue_depth(headers: list[Header], members: int, op: str) -> float | None:
    """Configured I/Os outstanding of the block's workers together; of syncs, only a synchronous engine's are known."""
    counts = _workers(headers, members)
    depths = [depth_of(header, op) for header in headers]
    wanted = doing(headers, op)
    if counts is None:  # several sections with numjobs: fine if all are alike
        is_alike = len(set(depths)) == 1 and len(wanted) == len(headers)
        return depths[0] * members if is_alike and depths[0] is not None else None
    lines = {header.line for header in wanted}
    shares = [(depth, n) for header, depth, n in zip(headers, depths, counts, strict=True) if header.line in lines]
    known = [depth * n for depth, n in shares if depth is not None]
    return sum(known) if shares and len(known) == len(shares) else None


def doing(headers: list[Header], op: str) -> list[Header]:
    """The headers whose rw does ``op``; all where none says so, as in the reads of a verification."""
    if op == "sync":
        found = [h for h in headers if any(part in h.settings.get("rw", "") for part in _WRITES)]
    else:
        found = [h for h in headers if _does(h.settings.get("rw", ""), op)]
    return found or headers


def _does(mode: str, op: str) -> bool:
    plain = mode.removeprefix("rand")
    return op == "mixed" or op in plain or (plain == "rw" and op in ("read", "write"))


def _workers(headers: list[Header], members: int) -> list[int] | None:
    """How many of the block's workers each header stands for: one, or what is left for a single ``...``."""
    if members == 1:
        return [1] * len(headers) if len(headers) == 1 else None
    n_repeated = sum(header.is_repeated for header in headers)
    n_left = members - (len(headers) - n_repeated)
    if n_repeated > 1 or not headers or (n_left != 0 if n_repeated == 0 else n_left < 1):
        return None
    return [n_left if header.is_repeated else 1 for header in headers]


def depth_of(header: Header, op: str) -> float | None:
    is_synchronous = header.settings.get("ioengine", "").split(":")[-1] in SYNCHRONOUS
    depth = integer(header.settings.get("iodepth"))
    if is_synchronous:
        return 1.0
    return None if op == "sync" or not depth else float(depth)


def size_of(header: Header, op: str) -> int | None:
    sizes = block_sizes(header.settings.get("bs", ""))
    index = ("read", "write", "trim").index(op) if op in ("read", "write", "trim") else None
    if index is not None:
        return sizes[index] if index < len(sizes) else None
    return sizes[0] if op == "mixed" and sizes and len(set(sizes[:2])) == 1 else None
