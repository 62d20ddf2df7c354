"""Private to ``fio_json``: the entries of a document as jobs, with labels that tell them apart and their options."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from pipeline import units
from pipeline.parse.fio import _fio_json_options as fio_options
from pipeline.parse.fio._fio_json_options import Options, Pairs
from pipeline.parse.fio._fio_json_text import Document, Repeated

DIRECTIONS = ("read", "write", "trim", "mixed")
ALL_CLIENTS = "All clients"
_BYTES_SINCE = (2, 21)  # io_bytes was KiB before
LIMIT = 2.0**63
_LONGEST_NAME = 127  # fio cuts jobname, not the option
_DECISIVE_KIB = 10  # a smaller bw is too coarse to tell bytes from KiB


@dataclass(frozen=True)
class Amounts:
    """What a direction did; ``is_derived`` says that fio gave no count of operations and the rate was multiplied."""

    n_ops: int | None
    n_bytes: int | None
    runtime_s: float | None
    ops_per_s: float | None
    bytes_per_s: float | None
    is_derived: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there was no I/O at all."""
        return not (self.n_ops or self.n_bytes or self.ops_per_s or self.bytes_per_s)


def scale_by(value: float, scale: float) -> float:
    """``value * scale``, rounded once where ``scale`` is 1e-9 or its like, which no double holds."""
    return value * scale if scale >= 1 else value / per_unit(scale)


@cache
def per_unit(scale: float) -> int:
    """How many of a unit are one of SI's: 10⁹ of 1e-9."""
    return round(1 / scale)


class Figures:
    """Takes numbers out of a document; what is none, negative or beyond 64 bits is null and remembered by its key."""

    def __init__(self) -> None:
        self.bad: Counter[str] = Counter()

    def number(self, holder: dict[str, Any], key: str, *, signed: bool = False) -> int | float | None:
        """Return the number under a key, or None."""
        value = holder.get(key)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not (-LIMIT if signed else 0) <= value < LIMIT:
            self.bad[key] += 1
            return None
        return value  # type: ignore[no-any-return]

    def whole(self, holder: dict[str, Any], key: str) -> int | None:
        """Return the count under a key, or None."""
        value = self.number(holder, key)
        return None if value is None else round(value)

    def scaled(self, holder: dict[str, Any], key: str, scale: float) -> float | None:
        """Return the number under a key times ``scale``, or None."""
        value = holder.get(key)
        if value is None:
            return None
        if not ((type(value) is int or type(value) is float) and 0 <= value < LIMIT):
            value = self.number(holder, key)
        return None if value is None else scale_by(value, scale)

    def amounts(self, data: dict[str, Any], version: tuple[int, int] | None) -> Amounts:
        """Return what a direction did, in SI units."""
        runtime_ms = self.number(data, "runtime") or 0
        runtime_s = scale_by(runtime_ms, units.MILLI) or None
        iops, bw = self.number(data, "iops"), self.number(data, "bw")
        n_ops, io_bytes = self.whole(data, "total_ios"), self.whole(data, "io_bytes")
        n_bytes = None if io_bytes is None else io_bytes * _bytes_per_unit(data, io_bytes, bw, runtime_s, version)
        if n_bytes is not None and n_bytes >= LIMIT:
            n_bytes = None
        is_derived = n_ops is None and iops is not None and runtime_s is not None
        if iops is not None and runtime_s is not None and n_ops is None:
            # fio without total_ios cuts iops to an integer: the middle of what it can have been
            product = (iops + 0.5 * isinstance(iops, int)) * runtime_s if n_bytes or iops else 0.0
            n_ops = round(product) if product < LIMIT else None
        elif isinstance(iops, int) and iops < 1000 and n_ops and runtime_s:
            iops = n_ops * per_unit(units.MILLI) / runtime_ms
        rate = self.number(data, "bw_bytes")
        if rate is None and bw is not None:
            is_cut = bw < 1000 and n_bytes and runtime_s
            rate = n_bytes * per_unit(units.MILLI) / runtime_ms if n_bytes and is_cut else bw * units.KIBI
        if runtime_s is None:  # fio prints 0 for a division by no time
            iops, rate = iops or None, rate or None
        return Amounts(n_ops, n_bytes, runtime_s, iops, rate, is_derived and bool(n_ops))


def _bytes_per_unit(
    data: dict[str, Any], io_bytes: int, bw: float | None, runtime_s: float | None, version: tuple[int, int] | None
) -> int:
    """1 where io_bytes is in bytes, 1024 where it is in KiB: bandwidth × time tells, else the version."""
    if bw is not None and bw >= _DECISIVE_KIB and runtime_s and io_bytes:
        return 1 if io_bytes / (bw * runtime_s) > 32 else units.KIBI  # the quotient is 1024 or 1
    is_bytes = "io_kbytes" in data or version is None or version >= _BYTES_SINCE
    return 1 if is_bytes else units.KIBI


@dataclass
class Job:
    """An entry of ``jobs`` or ``client_stats``."""

    entry: dict[str, Any]
    name: str
    label: str | None  # the name, made unique; None: all clients together
    scope: str
    options: Options  # of a merged entry the global ones alone: its own are of one section of several
    workers: int | None = None
    is_merged: bool = False
    known: dict[str, tuple[Amounts, Counter[str]]] = field(
        default_factory=dict
    )  # by ``amounts_of``, so that it is done once

    @property
    def host(self) -> str | None:
        """The server that ran it, ``host:port``."""
        return host_of(self.entry)

    def direction(self, op: str) -> dict[str, Any] | None:
        """What the job says of one direction; None when it says nothing."""
        data = self.entry.get(op)
        return data if isinstance(data, dict) else None

    @property
    def level_one(self) -> float | None:
        """Percentage of the I/Os that were issued at depth 1."""
        levels = self.entry.get("iodepth_level")
        value = levels.get("1") if isinstance(levels, dict) else None
        return float(value) if isinstance(value, int | float) else None


def amounts_of(job: Job, op: str, version: tuple[int, int] | None, figures: Figures | None = None) -> Amounts | None:
    """What a job did in a direction; None when it says nothing. ``figures`` learns of its bad numbers."""
    data = job.direction(op)
    if data is None:
        return None
    if op not in job.known:
        own = Figures()
        job.known[op] = own.amounts(data, version), own.bad
    amounts, bad = job.known[op]
    if figures is not None and bad:
        figures.bad.update(bad)
    return amounts


def host_of(holder: dict[str, Any]) -> str | None:
    """``host:port`` of an entry of a client's report; None in any other."""
    host = holder.get("hostname")
    if not isinstance(host, str):
        return None
    return f"{host}:{holder['port']}" if "port" in holder else host


def version_of(document: Document) -> tuple[int, int] | None:
    """Major and minor version: ``fio-3.19-10-g3bd2`` is (3, 19)."""
    match = re.match(r"fio-(\d{1,4})\.(\d{1,4})", str(document.value.get("fio version")))
    return (int(match[1]), int(match[2])) if match else None


def pairs_of(holder: object) -> Pairs | None:
    """Keys and values of an object of options, with those that repeat."""
    if isinstance(holder, Repeated):
        return holder.pairs
    return list(holder.items()) if isinstance(holder, dict) else None


def entries_of(document: Document) -> list[dict[str, Any]]:
    """The entries of the document, of a client's report too."""
    found = [document.value.get("jobs"), document.value.get("client_stats")]
    return [entry for part in found if isinstance(part, list) for entry in part if isinstance(entry, dict)]


def jobs_of(document: Document) -> list[Job]:
    """The jobs, each with a label of its own: ``host:port/name`` of several servers, ``name#2`` of equal names."""
    if document.jobs is None:
        document.jobs = _jobs(document)
    return cast(list[Job], document.jobs)


def _jobs(document: Document) -> list[Job]:
    entries = entries_of(document)
    hosts = {host for host in map(host_of, entries) if host}
    names: list[str | None] = []
    for entry in entries:
        name, host = str(entry.get("jobname", "")), host_of(entry)
        is_total = host is not None and name == ALL_CLIENTS
        names.append(None if is_total else f"{host}/{name}" if host and len(hosts) > 1 else name)
    counts, seen = Counter(names), Counter[str | None]()
    jobs = []
    for entry, full_name in zip(entries, names, strict=True):
        seen[full_name] += 1
        label = f"{full_name}#{seen[full_name]}" if full_name is not None and counts[full_name] > 1 else full_name
        common, is_shared = _common_options(document, entry)
        options = Options(pairs_of(entry.get("job options")), common, is_shared=is_shared)
        job = Job(entry, str(entry.get("jobname", "")), label, "total" if full_name is None else "job", options)
        if job.label is not None and not (document.is_cut and options.get("numjobs") not in (None, "1")):
            job.workers = fio_options.workers(options, counts[full_name])
            if _is_merged(job):
                job.is_merged, job.workers, job.options = True, None, Options(None, common, is_shared=is_shared)
        jobs.append(job)
    return jobs


def _common_options(document: Document, entry: dict[str, Any]) -> tuple[Pairs | None, bool]:
    """The global options that hold for an entry, and whether they are of several clients together."""
    common = document.value.get("global options")
    if isinstance(common, list):
        own = [part for part in common if isinstance(part, dict) and host_of(part) == host_of(entry)]
        return (pairs_of(own[0]) if own else None), False
    return pairs_of(common), "client_stats" in document.value


def _is_merged(job: Job) -> bool:
    """Whether group_reporting put jobs of several sections into the entry.

    It then has the name of the first and the options of the last, or its workers' times add up to more than the
    recorded number of workers can have spent.
    """
    name = job.options.get("name")
    if name is not None and name != job.name and not (len(job.name) >= _LONGEST_NAME and name.startswith(job.name)):
        return True
    total = job.entry.get("job_runtime")
    times = [(job.direction(op) or {}).get("runtime") for op in DIRECTIONS]
    known = sum(time for time in times if isinstance(time, int | float))
    return isinstance(total, int | float) and known > 0 and total > ((job.workers or 0) + 0.5) * known > 0


def queue_depth(job: Job, op: str) -> float | None:
    """Configured I/Os outstanding of the job's workers together."""
    if job.workers is None:
        return None
    if op == "sync":
        return float(job.workers) if fio_options.is_synchronous(job.options) else None
    depth = fio_options.worker_depth(job.options, job.level_one)
    return None if depth is None else depth * job.workers
