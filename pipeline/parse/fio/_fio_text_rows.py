"""Rows of operations, latency_summary and latency_percentiles from a run of fio's normal output."""

from __future__ import annotations

from collections import Counter

from pipeline import units
from pipeline.parse._report import Report, Row
from pipeline.parse.fio._fio_intervals import Ends, Key
from pipeline.parse.fio._fio_text_block import Direction, Job, Latency
from pipeline.parse.fio._fio_text_figures import MAX_INTEGER, Printed, Style, count, of_milliseconds, size
from pipeline.parse.fio._fio_text_result import Problem, Result, version_of
from pipeline.parse.fio._fio_text_workers import size_and_depth

# The last bin of fio's histogram, in µs to 2.21 and in ns from 3.0, as the units of a block show it.
_CAPS = {True: (16.71168, 16.712), False: (17.11276032, 17.112761, 17.113)}
_NO_LATENCY = Latency(None, None, None, None)
_DECIMALS_SINCE, _CARRY_SINCE = (2, 20), (3, 26)


def style_of(result: Result) -> Style:
    """How the run's version prints figures; without a version line the blocks tell."""
    is_old = any(direction.is_old for job in result.jobs for direction in job.directions)
    version = version_of(result.run)
    if version is None:
        return Style(is_old, has_decimals=not is_old)
    return Style(is_old, version >= _DECIMALS_SINCE, version >= _CARRY_SINCE)


def times_of(jobs: list[Job], labels: list[str | None]) -> dict[Key, float]:
    """How long each direction of each job block had run, in s."""
    return {
        (label, direction.op): of_milliseconds(direction.runtime_ms or 0)
        for job, label in zip(jobs, labels, strict=True)
        for direction in job.directions
        if direction.op != "sync"
    }


def _keys(job: Job, label: str | None, op: str, ends_s: Ends | None) -> Row:
    keys: Row = {"job": label, "op": op, "scope": "total" if job.is_total else "job"}
    return keys if ends_s is None else {**keys, "interval_start_s": 0.0, "interval_end_s": ends_s[label, op]}


def _a_second(n: int, runtime_ms: int) -> float:
    """A rate, rounded once: 202 in 202 ms are 1000, and 202 / 0.202 are a little less."""
    return n * round(1 / units.MILLI) / runtime_ms


class Rows:
    """Writes the rows of one run, and remembers what it doubts."""

    def __init__(self, report: Report, result: Result) -> None:
        self.report, self.result = report, result
        self.style = style_of(result)
        self.doubts: list[Problem] = []
        self.capped: list[int] = []
        version = version_of(result.run)
        self.caps = _CAPS[version < (2, 99) if version else self.style.is_old]

    def add(self, labels: list[str | None], ends_s: Ends | None = None) -> None:
        """Add the rows of all job blocks; ``labels`` are the names that tell them apart.

        With ``ends_s`` they are rows of the interval from the start to the end that it gives, where it gives one.
        """
        for job, label in zip(self.result.jobs, labels, strict=True):
            longest = max((direction.runtime_ms or 0 for direction in job.directions), default=0)
            directions = [direction for direction in job.directions if direction.op != "sync"]
            for direction in directions:
                if ends_s is None or (label, direction.op) in ends_s:
                    keys = _keys(job, label, direction.op, ends_s)
                    self._add(job, direction, keys, is_only=len(directions) == 1)
            if ends_s is None or (label, "sync") in ends_s:
                self._add_syncs(job, _keys(job, label, "sync", ends_s), longest)
        if self.capped:
            text = f"{len(self.capped)} percentiles stand at the end of fio's histogram: the true ones may be larger"
            self.doubts.append((self.capped[0], "percentile_capped", text))

    def _add(self, job: Job, direction: Direction, keys: Row, *, is_only: bool) -> None:
        op = direction.op
        issued = job.issued.get("total", {})
        n_ops = sum(issued.values()) - issued.get("sync", 0) if op == "mixed" and issued else issued.get(op)
        self._drop_impossible(direction)
        latency = direction.phases.get("total", _NO_LATENCY)
        bytes_each, depth = size_and_depth(job, op, self.result)
        has_failed = job.error != 0 or job.n_errors  # what failed is counted, but has no bytes
        amounts = self._amounts(direction, n_ops, None if has_failed else bytes_each)
        self.report.add(
            "operations", **keys, **amounts, block_size_bytes=bytes_each,
            queue_depth=depth, latency_mean_s=latency.mean, latency_stddev_s=latency.stddev,
            latency_min_s=latency.low, latency_max_s=latency.high, n_errors=job.n_errors if is_only else None,
        )  # fmt: skip
        self._add_latencies(direction, keys)

    def _add_syncs(self, job: Job, keys: Row, longest_ms: int) -> None:
        """Syncs: fio prints how many there were, from 3.6, and their latency, but no time and no rate of them."""
        blocks = [direction for direction in job.directions if direction.op == "sync"]
        n_ops = job.n_syncs
        if not blocks and n_ops is None:
            return
        block = blocks[-1] if blocks else Direction("sync", job.line)
        latency = block.phases.get("sync", _NO_LATENCY)
        has_time = n_ops and longest_ms
        self.report.add(
            "operations", **keys, n_ops=n_ops, duration_s=of_milliseconds(longest_ms) if has_time else None,
            ops_per_s=_a_second(n_ops, longest_ms) if n_ops and longest_ms else None,
            queue_depth=size_and_depth(job, "sync", self.result)[1], latency_mean_s=latency.mean,
            latency_stddev_s=latency.stddev, latency_min_s=latency.low, latency_max_s=latency.high,
        )  # fmt: skip
        self._add_latencies(block, keys)

    def _amounts(self, direction: Direction, n_ops: int | None, bytes_each: int | None) -> Row:
        """Counts and rates: exact ones where the counts print as what stands there, else as printed."""
        line, op = direction.line, direction.op
        runtime_ms = direction.runtime_ms or 0
        duration_s = of_milliseconds(runtime_ms) or None
        amounts: Row = {"n_ops": n_ops, "duration_s": duration_s}
        if op == "mixed" and direction.iops == "0" and direction.phases:
            self.doubts.append((line, "mixed_not_summed", "expected the rates of all directions, found IOPS=0"))
            return amounts
        exact = n_ops * bytes_each if n_ops and bytes_each else None
        style, n_bytes = self._bytes(direction, exact)
        iops, rate = count(direction.iops or "", style), self._rate(direction, style)
        if iops is None or n_bytes is None or rate is None:
            self.doubts.append((line, "unreadable_figure", f"{op}: expected rates and bytes, found other figures"))
        is_exact = exact is not None and exact <= MAX_INTEGER and n_bytes is not None and n_bytes.holds(exact)
        if n_bytes is not None and n_bytes.value <= MAX_INTEGER:
            amounts["n_bytes"] = exact if is_exact else round(n_bytes.value)
        amounts["ops_per_s"] = iops.value if iops else None
        amounts["bytes_per_s"] = rate.value if rate else None
        if n_ops and runtime_ms and iops:
            if iops.holds(_a_second(n_ops, runtime_ms)):
                amounts["ops_per_s"] = _a_second(n_ops, runtime_ms)
            else:
                text = f"{op}: {n_ops} operations in {duration_s} s do not give {direction.iops!r} a second"
                self.doubts.append((line, "rate_mismatch", text))
        if exact and is_exact and runtime_ms and rate and rate.holds(_a_second(exact, runtime_ms)):
            amounts["bytes_per_s"] = _a_second(exact, runtime_ms)
        return amounts

    def _bytes(self, direction: Direction, exact: int | None) -> tuple[Style, Printed | None]:
        """The bytes as printed; to 2.16 ``KB`` is 1000 B with kb_base=1000, which only the counts can tell."""
        style, text = self.style, direction.n_bytes or ""
        printed = size(text, style)
        if style.is_old and exact and printed and not printed.holds(exact):
            decimal = Style(is_old=True, has_decimals=False, kb_base=1000)
            other = size(text, decimal)
            if other is not None and other.holds(exact):
                return decimal, other
        return style, printed

    @staticmethod
    def _rate(direction: Direction, style: Style) -> Printed | None:
        """The bandwidth: of the two that are printed the one whose fraction cannot have lost its carry."""
        rate, other = size(direction.rate or "", style), size(direction.other_rate or "", style)
        if rate and other and rate.may_lack_carry and not other.may_lack_carry and not other.holds(rate.value):
            return other
        return rate

    def _drop_impossible(self, direction: Direction) -> None:
        """Latencies of a clock that was not read: 2.1.11 prints such totals for unified_rw_reporting."""
        limit_s = of_milliseconds(10 * (direction.runtime_ms or 0))
        for phase, latency in list(direction.phases.items()):
            if limit_s and latency.low is not None and latency.low > limit_s:
                text = f"{direction.op} {phase}: expected latencies within the run, found a minimum of {latency.low} s"
                self.doubts.append((direction.line, "impossible_latency", text))
                direction.phases[phase] = _NO_LATENCY

    def _add_latencies(self, direction: Direction, keys: Row) -> None:
        for phase, latency in direction.phases.items():
            if latency != _NO_LATENCY:
                self.report.add("latency_summary", **keys, phase=phase, mean_s=latency.mean, stddev_s=latency.stddev,
                                min_s=latency.low, max_s=latency.high)  # fmt: skip
        repeated = Counter((phase, percentile) for phase, percentile, _ in direction.percentiles)
        for phase, percentile, latency_s in direction.percentiles:
            if repeated[phase, percentile] == 1:
                self.report.add("latency_percentiles", **keys, phase=phase, percentile=percentile, latency_s=latency_s)
                if any(abs(latency_s - cap) < units.NANO / 2 for cap in self.caps):
                    self.capped.append(direction.line)
        if any(n > 1 for n in repeated.values()):
            text = f"{direction.op}: expected different percentiles, found equal ones, rounded by fio: left out"
            self.doubts.append((direction.line, "percentiles_rounded", text))
