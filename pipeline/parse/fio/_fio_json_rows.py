"""Private to ``fio_json``: rows of operations, latency_summary, latency_percentiles and latency_bins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline import units
from pipeline.parse._report import Report, Row
from pipeline.parse.fio import _fio_json_options as fio_options
from pipeline.parse.fio._fio_intervals import Ends
from pipeline.parse.fio._fio_json_bins import PLACE, UNITS_A_US, Histogram, edges_of, places_of
from pipeline.parse.fio._fio_json_jobs import (
    DIRECTIONS,
    LIMIT,
    Amounts,
    Figures,
    Job,
    amounts_of,
    per_unit,
    queue_depth,
)
from pipeline.parse.fio._fio_json_text import PADDING, Document
from pipeline.parse.fio._fio_segments import Segments

PHASES = {"slat": "submission", "clat": "completion", "lat": "total"}
SCALES = {"_ns": units.NANO, "": units.MICRO, "_us": units.MICRO, "_ms": units.MILLI}
LATENCY_KEYS = {f"{base}{suffix}" for base in PHASES for suffix in SCALES}
PRIORITY_KEYS = {f"{base}_{level}_prio" for base in ("clat", "lat") for level in ("high", "low")}
_BLOCKS = [
    *((f"{base}{suffix}", phase, scale) for base, phase in PHASES.items() for suffix, scale in SCALES.items()),
    *((key, f"{PHASES[key.split('_')[0]]}_{key.split('_', 1)[1]}", units.NANO) for key in sorted(PRIORITY_KEYS)),
]
_DEFAULT_BLOCK = 4096
_MISPLACED = ((3, 2), (3, 13))  # these put the percentiles of the total latency under clat_ns
_KEY_DIGITS = 18
_STATISTICS = {"mean": "mean_s", "stddev": "stddev_s", "min": "min_s", "max": "max_s"}
_NUMBERS = {int, float}
_INDEXED = "FIO_IO_U_PLAT_NR"  # to 2.19 the keys of bins are indices, all of them listed, and this one


class Rows:
    """Writes the rows of a run's documents into its report, and remembers what it doubts."""

    def __init__(self, report: Report, figures: Figures, version: tuple[int, int] | None) -> None:
        self.report, self.figures, self.version = report, figures, version
        self.n_derived = 0
        self.unknown_bins: list[str] = []
        self.mismatches: list[str] = []
        self.impossible: list[str] = []
        self.n_operations = 0
        self.histograms: list[Histogram] = []
        self.percentiles = Segments(report, "latency_percentiles")
        self.bins = Segments(report, "latency_bins", self._with_edges)
        self.layout = (units.NANO, False)  # of the bins: the scale, and whether their keys are indices

    def add(self, document: Document, jobs: list[Job], ends_s: Ends | None = None) -> None:
        """Add the rows of all jobs; of a status document, with ``ends_s``, only those that it gives an end of.

        These are rows of the interval from the start of the run to that end.
        """
        self.histograms = document.histograms
        for job in jobs:
            found = list(self._directions(job))
            shown = [item for item in found if not item[2].is_empty]
            if not shown and not any(item[0] == "sync" for item in found):
                asked = fio_options.directions_asked(job.options)
                shown = [item for item in found if item[0] in asked]
            target = fio_options.target_of(job.options) if job.scope == "job" else None
            for op, data, amounts in shown:
                keys: Row = {"job": job.label, "target": target, "op": op, "scope": job.scope}
                if ends_s is not None:
                    if (job.label, op) not in ends_s:
                        continue
                    keys |= {"interval_start_s": 0.0, "interval_end_s": ends_s[job.label, op]}
                n_errors = self.figures.whole(job.entry, "total_err") if len(shown) == 1 else None
                self._add_direction(_members(job, jobs, op), data, amounts, {**keys, "n_errors": n_errors})
        if ends_s is None:
            self.percentiles.write()
            self.bins.write()

    def _directions(self, job: Job) -> Iterator[tuple[str, dict[str, Any], Amounts]]:
        longest = None
        for op in DIRECTIONS:
            amounts = amounts_of(job, op, self.version, self.figures)
            if amounts is not None:
                longest = max(longest or 0.0, amounts.runtime_s or 0.0) or None
                yield op, job.entry[op], amounts
        data = job.direction("sync")
        if data is not None:
            # With fdatasync fio counts no syncs in total_ios, but their latencies in N.
            samples = [self.figures.whole(block, "N") for _, block, _ in latency_blocks("sync", data)]
            n_ops = max([self.figures.whole(data, "total_ios") or 0, *(n or 0 for n in samples)])
            if n_ops:
                yield "sync", data, Amounts(n_ops, None, longest, n_ops / longest if longest else None, None)

    def _add_direction(self, members: list[Job], data: dict[str, Any], amounts: Amounts, row: Row) -> None:
        """Add what ``members`` did in one direction; ``row`` has the keys and the number of errors."""
        self.n_operations += 1
        self.n_derived += amounts.is_derived
        op = row["op"]
        depths = [queue_depth(member, op) for member in members]
        sizes = {_block_size(member, op, self.version) for member in members}
        latency: dict[str, float | None] = {}
        if not amounts.is_empty:
            keys = {name: value for name, value in row.items() if name != "n_errors"}
            latency = self._add_latencies(members, keys, data, amounts, sum(depth or 0 for depth in depths))
        self.report.add(
            "operations", **row, n_ops=amounts.n_ops, n_bytes=amounts.n_bytes, duration_s=amounts.runtime_s,
            ops_per_s=amounts.ops_per_s, bytes_per_s=amounts.bytes_per_s,
            block_size_bytes=sizes.pop() if len(sizes) == 1 else None,
            queue_depth=sum(depth or 0 for depth in depths) if depths and None not in depths else None,
            **{f"latency_{name}": value for name, value in latency.items()},
        )  # fmt: skip

    def _add_latencies(
        self, members: list[Job], keys: Row, data: dict[str, Any], amounts: Amounts, depth: float
    ) -> dict[str, float | None]:
        """Add each phase of the latency; return the statistics of the total (or sync) one."""
        whole: dict[str, float | None] = {}
        means: dict[str, float] = {}
        for phase, block, scale in latency_blocks(keys["op"], data):
            statistics = {column: self.figures.scaled(block, name, scale) for name, column in _STATISTICS.items()}
            n_ops = self.figures.whole(block, "N")
            if not n_ops and (n_ops == 0 or not any(statistics.values())):
                continue  # not measured: gtod_reduce, disable_lat, slat of a synchronous engine
            if phase in ("total", "sync"):
                whole = statistics
            if (mean := statistics["mean_s"]) is not None:
                means[phase] = mean
            of_phase = {**keys, "phase": phase}
            self.report.add("latency_summary", **of_phase, n_ops=n_ops, **statistics)
            lists_total = phase == "completion" and any(_is_misplaced(self.version, member) for member in members)
            self._add_percentiles({**of_phase, "phase": "total"} if lists_total else of_phase, block, scale)
            slack = depth + 0.01 * (amounts.n_ops or 0)
            self._add_bins(of_phase, block, scale, (n_ops, 0) if n_ops else (amounts.n_ops, slack))
        parts = [part for part in ("submission", "completion") if means.get(part, 0.0) > 2 * means.get("total", inf)]
        for part in parts:  # a unit is wrong: fio itself keeps to one in a direction
            self.impossible.append(f"{means['total']:.3g} s, of which {means[part]:.3g} s {part}, of {keys['op']}")
        return whole

    def _add_percentiles(self, keys: Row, block: dict[str, Any], scale: float) -> None:
        held = block.get("percentile")
        if not isinstance(held, dict) or not held:
            return
        percentiles, divisor = _percentiles(tuple(held)), per_unit(scale)
        latencies_s = [value / divisor for value in held.values() if type(value) in _NUMBERS and 0 <= value < LIMIT]
        if None in percentiles or len(latencies_s) < len(held):
            kept = [key for key, value in zip(held, percentiles, strict=True) if value is not None]
            numbers = [self.figures.number(held, key) for key in kept]
            latencies_s = [np.nan if value is None else value / divisor for value in numbers]
            for key in held.keys() - set(kept) - {PADDING}:
                self.figures.bad[f"percentile {key}"] += 1
            percentiles = _percentiles(tuple(kept))
        self.percentiles.add(keys, len(percentiles), {"percentile": percentiles, "latency_s": latencies_s})

    def _add_bins(self, keys: Row, block: dict[str, Any], scale: float, expected: tuple[int | None, float]) -> None:
        found = self._histogram(block.get("bins"))
        if found is None or scale not in UNITS_A_US:
            return
        (bin_keys, counts, total), is_indexed = found
        n_ops, slack = expected
        if n_ops is not None and abs(total - n_ops) > slack:
            self.mismatches.append(f"{total} in the bins of {keys['op']} {keys['phase']}, {n_ops} measured")
        if self.layout != (scale, is_indexed):
            self.bins.write()
            self.layout = scale, is_indexed
        self.bins.add(keys, len(counts), {"key": bin_keys, "count": counts})

    def _with_edges(self, columns: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.bool_] | None]:
        """The columns of latency_bins of keys and counts, without empty bins and those that are not fio's."""
        scale, is_indexed = self.layout
        edges, counts = edges_of(scale, is_indexed=is_indexed), columns["count"]
        places, is_known = places_of(columns["key"], edges)
        is_kept = is_known & (counts > 0)
        if is_all := bool(is_kept.all()):
            kept = places
        else:
            self.unknown_bins += [str(key) for key in columns["key"][~is_known & (counts > 0)].tolist()]
            kept, counts = places[is_kept], counts[is_kept]
        found = {  # an edge takes a place in memory once, whatever the number of the bins that have it
            "lower_s": pa.DictionaryArray.from_arrays(kept, pa.array(edges.lower_s), safe=False),
            "upper_s": pa.DictionaryArray.from_arrays(kept, pa.array(edges.upper_s, from_pandas=True), safe=False),
            "count": counts,
        }
        return found, None if is_all else is_kept

    def _histogram(self, held: object) -> tuple[Histogram, bool] | None:
        """The bins of a block, and whether their keys are indices; None when there are none."""
        if isinstance(held, str) and held.startswith(PLACE) and held[1:].isdecimal():
            place = int(held[1:5])
            return (self.histograms[place], False) if place < len(self.histograms) else None
        if not isinstance(held, dict) or not held:
            return None
        pairs = []
        for key in held:
            count = None if key.startswith("FIO_") else self.figures.whole(held, key)
            if count and not (key.isdecimal() and key.isascii() and len(key) <= _KEY_DIGITS):
                self.unknown_bins.append(key)
            elif count:
                pairs.append((int(key), count))
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return Histogram(columns[:, 0], columns[:, 1], int(columns[:, 1].sum())), _INDEXED in held


@lru_cache(maxsize=1024)
def _percentiles(keys: tuple[str, ...]) -> tuple[float | None, ...]:
    """The percentiles of keys; None for what is none, and for fio's padding."""
    return tuple(None if key == PADDING else _percentile(key) for key in keys)


def _percentile(key: str) -> float | None:
    try:
        value = float(key)
    except ValueError:
        return None
    return value if 0 <= value <= 100 else None


def latency_blocks(op: str, data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Yield phase, statistics and unit of each latency in a direction; priorities are phases of their own."""
    for key, phase, scale in _BLOCKS:
        block = data.get(key)
        if isinstance(block, dict):
            yield "sync" if op == "sync" and "prio" not in phase else phase, block, scale
    prios = data.get("prios")
    for prio in prios if isinstance(prios, list) else ():
        if isinstance(prio, dict):
            name = "_".join(str(prio[key]) for key in ("prioclass", "prio", "priohint") if prio.get(key) is not None)
            for base, phase in PHASES.items():
                block = prio.get(f"{base}_ns")
                if isinstance(block, dict):
                    yield f"{phase}_prio_{name}", block, units.NANO


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
    amounts = amounts_of(job, op, version)
    if amounts and amounts.n_ops and job.options.is_known and not job.options.has_any("bs", "bsrange", "bssplit"):
        return _DEFAULT_BLOCK if amounts.n_bytes == amounts.n_ops * _DEFAULT_BLOCK else None
    return fio_options.block_size(job.options, op)


def _is_misplaced(version: tuple[int, int] | None, job: Job) -> bool:
    is_old = version is not None and _MISPLACED[0] <= version < _MISPLACED[1]
    return is_old and job.options.is_on("lat_percentiles")
