"""Private to ``fio_json``: rows of operations, latency_summary, latency_percentiles and latency_bins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import Any

from pipeline import units
from pipeline.parse import _fio_json_options as fio_options
from pipeline.parse._fio_json_jobs import DIRECTIONS, Amounts, Figures, Job, queue_depth, scale_by
from pipeline.parse._fio_json_text import PADDING
from pipeline.parse._report import Report

PHASES = {"slat": "submission", "clat": "completion", "lat": "total"}
SCALES = {"_ns": units.NANO, "": units.MICRO, "_us": units.MICRO, "_ms": units.MILLI}
LATENCY_KEYS = {f"{base}{suffix}" for base in PHASES for suffix in SCALES}
PRIORITY_KEYS = {f"{base}_{level}_prio" for base in ("clat", "lat") for level in ("high", "low")}
_PLAT_BITS = 6  # fio's histogram: 64 bins for each power of two, below 128 one a unit
_TOPS = {units.NANO: 1 << 34, units.MICRO: 1 << 24}  # upper edge of the last bin, which takes everything above too
_DEFAULT_BLOCK = 4096
_MISPLACED = ((3, 2), (3, 13))  # these put the percentiles of the total latency under clat_ns


class Rows:
    """Writes the rows of a document's jobs into a report."""

    def __init__(self, report: Report, figures: Figures, version: tuple[int, int] | None) -> None:
        self.report, self.figures, self.version = report, figures, version
        self.n_derived = 0
        self.unknown_bins: list[str] = []
        self.mismatches: list[str] = []
        self.impossible: list[str] = []
        self.bins: dict[str, list[Any]] = {
            name: [] for name in ("job", "target", "op", "scope", "phase", "lower_s", "upper_s", "count")
        }

    def add(self, jobs: list[Job]) -> None:
        """Add the rows of all jobs."""
        for job in jobs:
            found = list(self._directions(job))
            shown = [item for item in found if not item[2].is_empty]
            if not shown and not any(item[0] == "sync" for item in found):
                asked = fio_options.directions_asked(job.options)
                shown = [item for item in found if item[0] in asked]
            for op, data, amounts in shown:
                self._add_direction(job, jobs, op, data, amounts, has_one_row=len(shown) == 1)
        if self.bins["count"]:
            self.report.add_block("latency_bins", self.bins)

    def _directions(self, job: Job) -> Iterator[tuple[str, dict[str, Any], Amounts]]:
        longest = None
        for op in DIRECTIONS:
            data = job.direction(op)
            if data is not None:
                amounts = self.figures.amounts(data, self.version)
                longest = max(longest or 0.0, amounts.runtime_s or 0.0) or None
                yield op, data, amounts
        data = job.direction("sync")
        if data is not None:
            # With fdatasync fio counts no syncs in total_ios, but their latencies in N.
            samples = [self.figures.whole(block, "N") for _, block, _ in latency_blocks("sync", data)]
            n_ops = max([self.figures.whole(data, "total_ios") or 0, *(n or 0 for n in samples)])
            if n_ops:
                yield "sync", data, Amounts(n_ops, None, longest, n_ops / longest if longest else None, None)

    def _add_direction(
        self, job: Job, jobs: list[Job], op: str, data: dict[str, Any], amounts: Amounts, *, has_one_row: bool
    ) -> None:
        self.n_derived += amounts.is_derived
        members = _members(job, jobs, op)
        depths = [queue_depth(member, op) for member in members]
        sizes = {_block_size(member, op, self.version) for member in members}
        target = fio_options.target_of(job.options) if job.scope == "job" else None
        keys = {"job": job.label, "target": target, "op": op, "scope": job.scope}
        latency = {} if amounts.is_empty else self._add_latencies(job, keys, data, amounts, depths)
        self.report.add(
            "operations", **keys, n_ops=amounts.n_ops, n_bytes=amounts.n_bytes, duration_s=amounts.runtime_s,
            ops_per_s=amounts.ops_per_s, bytes_per_s=amounts.bytes_per_s,
            block_size_bytes=sizes.pop() if len(sizes) == 1 else None,
            queue_depth=sum(depth or 0 for depth in depths) if depths and None not in depths else None,
            n_errors=self.figures.whole(job.entry, "total_err") if has_one_row else None,
            **{f"latency_{name}": value for name, value in latency.items()},
        )  # fmt: skip

    def _add_latencies(
        self, job: Job, keys: dict[str, Any], data: dict[str, Any], amounts: Amounts, depths: list[float | None]
    ) -> dict[str, float | None]:
        """Add each phase of the latency; return the statistics of the total (or sync) one."""
        whole: dict[str, float | None] = {}
        means: dict[str, float] = {}
        for phase, block, scale in latency_blocks(keys["op"], data):
            taken = {name: self.figures.scaled(block, name, scale) for name in ("mean", "stddev", "min", "max")}
            n_ops = self.figures.whole(block, "N")
            if not n_ops and (n_ops == 0 or not any(taken.values())):
                continue  # not measured: gtod_reduce, disable_lat, slat of a synchronous engine
            statistics = {f"{name}_s": value for name, value in taken.items()}
            if phase in ("total", "sync"):
                whole = statistics
            means |= {phase: taken["mean"]} if taken["mean"] is not None else {}
            self.report.add("latency_summary", **keys, phase=phase, n_ops=n_ops, **statistics)
            lists_total = phase == "completion" and _is_misplaced(self.version, job)
            self._add_percentiles(keys, "total" if lists_total else phase, block, scale)
            slack = sum(depth or 0 for depth in depths) + 0.01 * (amounts.n_ops or 0)
            self._add_bins(keys, phase, block, scale, (n_ops, 0) if n_ops else (amounts.n_ops, slack))
        parts = [part for part in ("submission", "completion") if means.get(part, 0.0) > 2 * means.get("total", inf)]
        for part in parts:  # a unit is wrong: fio itself keeps to one in a direction
            self.impossible.append(f"{means['total']:.3g} s, of which {means[part]:.3g} s {part}, of {keys['op']}")
        return whole

    def _add_percentiles(self, keys: dict[str, Any], phase: str, block: dict[str, Any], scale: float) -> None:
        held = block.get("percentile")
        percentiles = held if isinstance(held, dict) else {}
        for key in percentiles:
            try:
                percentile = float(key)
            except ValueError:
                percentile = -1.0
            if not 0 <= percentile <= 100:
                self.figures.bad[f"percentile {key}"] += 1
            elif key != PADDING:
                latency_s = self.figures.scaled(percentiles, key, scale)
                self.report.add("latency_percentiles", **keys, phase=phase, percentile=percentile, latency_s=latency_s)

    def _add_bins(
        self, keys: dict[str, Any], phase: str, block: dict[str, Any], scale: float, expected: tuple[int | None, float]
    ) -> None:
        bins = block.get("bins")
        if not isinstance(bins, dict) or scale not in _TOPS:
            return
        is_indexed = "FIO_IO_U_PLAT_NR" in bins  # to 2.19 the keys are indices, all of them listed
        rows: list[tuple[float, float | None, int]] = []
        total = 0
        for key in bins:
            count = None if key.startswith("FIO_") else self.figures.whole(bins, key)
            if not count:
                continue
            total += count
            edges = bin_edges(key, _TOPS[scale], is_indexed=is_indexed)
            if edges is None:
                self.unknown_bins.append(key)
            else:
                lower, upper = edges
                rows.append((scale_by(lower, scale), None if upper is None else scale_by(upper, scale), count))
        for name, value in {**keys, "phase": phase}.items():
            self.bins[name] += [value] * len(rows)
        for name, column in zip(("lower_s", "upper_s", "count"), zip(*rows, strict=True), strict=False):
            self.bins[name] += column
        n_ops, slack = expected
        if n_ops is not None and abs(total - n_ops) > slack:
            self.mismatches.append(f"{total} in the bins of {keys['op']} {phase}, {n_ops} measured")


def latency_blocks(op: str, data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield phase, statistics and unit of each latency in a direction; priorities are phases of their own."""
    for base, phase in PHASES.items():
        for suffix, scale in SCALES.items():
            block = data.get(f"{base}{suffix}")
            if isinstance(block, dict):
                yield "sync" if op == "sync" else phase, block, scale
        for level in ("high", "low"):
            block = data.get(f"{base}_{level}_prio")
            if isinstance(block, dict):
                yield f"{phase}_{level}_prio", block, units.NANO
    prios = data.get("prios")
    for prio in prios if isinstance(prios, list) else ():
        if isinstance(prio, dict):
            name = "_".join(str(prio[key]) for key in ("prioclass", "prio", "priohint") if prio.get(key) is not None)
            for base, phase in PHASES.items():
                block = prio.get(f"{base}_ns")
                if isinstance(block, dict):
                    yield f"{phase}_prio_{name}", block, units.NANO


@lru_cache(maxsize=8192)
def bin_edges(key: str, top: int, *, is_indexed: bool) -> tuple[int, int | None] | None:
    """Edges [lower, upper) of a bin in the unit of its key; None when the key is not of fio's layout.

    The key is the middle of the bin (``plat_idx_to_val`` in fio's stat.c), in old versions its index.
    """
    if not key.isdecimal() or len(key) > 18:
        return None
    value = int(key)
    if is_indexed:
        shift = max(value // (1 << _PLAT_BITS) - 1, 0)
        lower = value if shift == 0 else ((1 << _PLAT_BITS) + value % (1 << _PLAT_BITS)) << shift
    else:
        shift = max(value.bit_length() - 1 - _PLAT_BITS, 0)
        lower = value >> shift << shift
        if value != lower + (1 << shift) // 2:
            return None
    upper = lower + (1 << shift)
    if upper > top:
        return None
    return lower, None if upper == top else upper


def _members(job: Job, jobs: list[Job], op: str) -> list[Job]:
    """The jobs that a row is of: the job itself, or of the total all that did something in this direction."""
    if job.scope == "job":
        return [job]
    return [other for other in jobs if other.scope == "job" and _has_io(other, op)]


def _has_io(job: Job, op: str) -> bool:
    data = job.direction(op) or {}
    return any(data.get(key) for key in ("total_ios", "io_bytes")) or op == "sync"


def _block_size(job: Job, op: str, version: tuple[int, int] | None) -> int | None:
    """The recorded size; fio's default where none is recorded and the amounts agree with it."""
    amounts = Figures().amounts(job.direction(op) or {}, version)
    if not job.options.has_any("bs", "bsrange", "bssplit") and job.options.is_known and amounts.n_ops:
        return _DEFAULT_BLOCK if amounts.n_bytes == amounts.n_ops * _DEFAULT_BLOCK else None
    return fio_options.block_size(job.options, op)


def _is_misplaced(version: tuple[int, int] | None, job: Job) -> bool:
    is_old = version is not None and _MISPLACED[0] <= version < _MISPLACED[1]
    return is_old and job.options.is_on("lat_percentiles")
