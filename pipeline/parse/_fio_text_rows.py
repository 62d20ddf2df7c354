"""Rows of the tidy tables from a run of fio's normal output."""

from __future__ import annotations

import json
import re
from collections import Counter

from pipeline import units
from pipeline.parse._fio_text_figures import MAX_INTEGER, Printed, Style, block_sizes, count, integer, number, ratio, size
from pipeline.parse._fio_text_job import Direction, Job, Latency
from pipeline.parse._fio_text_result import Result
from pipeline.parse._fio_text_split import Group, Header
from pipeline.parse._fio_text_workers import queue_depth, settings_of
from pipeline.parse._report import Report, Row

_CAPS = {16711680e-6, 16.712}, {17112760320e-9, 17112761e-6, 17.113}  # last bins: to 2.21, from 3.0
_MIXED = "mixed"


def fill(report: Report, result: Result) -> None:
    """Add all rows and warnings of a run."""
    for line, code, message in result.gaps:
        report.incomplete(line, code, message)
    version = result.run.version or (result.run.hosts[0][3] if result.run.hosts else None)
    report.describe(tool_version=version, duration_s=_duration(result))
    Rows(report, result, version or "").add()
    for line, code, message in result.remarks:
        report.warn(line, code, message)


def _duration(result: Result) -> float | None:
    """How long the longest direction ran; None of several groups, which may have run one after the other."""
    times = [
        direction.runtime_ms for job in result.jobs for direction in job.directions if direction.runtime_ms is not None
    ]
    is_one_group = len({job.group for job in result.jobs}) == 1
    return units.seconds(max(times), "msec") if times and is_one_group else None


class Rows:
    """Writes the rows of one run."""

    def __init__(self, report: Report, result: Result, version: str) -> None:
        self.report, self.result = report, result
        is_old = any(direction.is_old for job in result.jobs for direction in job.directions)
        major, minor = _version(version) or ((2, 16) if is_old else (3, 99))
        self.is_micro = major < 3
        self.style = Style(is_old, (major, minor) >= (2, 20))
        self.capped: list[int] = []
        self.doubtful: list[tuple[int, str, str]] = []

    def add(self) -> None:
        """Add everything that the blocks hold."""
        labels = _labels(self.result.jobs)
        self._parameters(labels)
        for job, label in zip(self.result.jobs, labels, strict=True):
            self._job(job, label)
        for group in self.result.status.groups:
            self._group(group)
        self._disks()
        self._idle()
        self._warn(labels)

    def _parameters(self, labels: list[str | None]) -> None:
        used: set[int] = set()
        for job, label in zip(self.result.jobs, labels, strict=True):
            for header in settings_of(job, self.result) if job.members == 1 else ():
                used.add(header.line)
                self._settings(header, label)
            for name, value in job.parameters.items() if not job.is_total else ():
                self.report.parameter(name, value, label)
        for header in self.result.headers:
            if header.line not in used:
                self._settings(header, header.name)
        for host, system, machine, _ in self.result.run.hosts:
            for name, value in (("hostname", host), ("os", system), ("arch", machine)):
                self.report.parameter(name, value)

    def _settings(self, header: Header, label: str | None) -> None:
        for name, value in header.settings.items():
            self.report.parameter(name, value, label)

    def _job(self, job: Job, label: str | None) -> None:
        keys: Row = {"job": label, "scope": "total" if job.is_total else "job"}
        directions = list(job.directions)
        n_syncs = job.issued.get("total", {}).get("sync", 0)
        if n_syncs and not any(direction.op == "sync" for direction in directions):
            directions.append(Direction("sync", job.line))
        for direction in directions:
            self._operation(job, direction, {**keys, "op": direction.op}, len(job.directions) == 1)
            self._latencies(direction, {**keys, "op": direction.op})
            self._samples(direction, label)
        labels = {"job": label}
        for name, value in job.cpu.items():
            self._metric(f"job_{name}", labels, value)
        for what, level, share in job.depths:
            self._metric(f"job_{what}_share", {**labels, "level": level}, share * units.PERCENT)
        for lower, upper, share in job.shares:
            edges = {"phase": "completion", "lower_s": lower, "upper_s": upper}
            self._metric("job_latency_share", {**labels, **edges}, share * units.PERCENT)
        if job.n_errors is not None:
            self._metric("job_errors", labels, job.n_errors)

    def _operation(self, job: Job, direction: Direction, keys: Row, is_only: bool) -> None:
        issued = job.issued.get("total", {})
        op = direction.op
        n_ops = issued.get(op) if op != _MIXED else (sum(issued.values()) - issued.get("sync", 0) if issued else None)
        if op == "sync":
            n_ops = n_ops or None  # some versions count fdatasync elsewhere
        headers = settings_of(job, self.result)
        sizes = {_size_of(header, op) for header in headers}
        block_size = sizes.pop() if len(sizes) == 1 else None
        total = direction.phases.get("sync" if op == "sync" else "total") or Latency(None, None, None, None)
        rates = self._rates(direction, n_ops, block_size) if op != "sync" else {"n_ops": n_ops}
        latency_s = direction.runtime_ms and units.seconds(10 * direction.runtime_ms, "msec")
        if latency_s and total.low is not None and total.low > latency_s:
            self.doubtful.append((direction.line, "impossible_latency", f"{op}: a latency longer than the run is left out"))
            direction.phases.pop("total")
            total = Latency(None, None, None, None)
        self.report.add(
            "operations", **keys, **rates, block_size_bytes=block_size, queue_depth=queue_depth(job, op, self.result),
            latency_mean_s=total.mean, latency_stddev_s=total.stddev, latency_min_s=total.low,
            latency_max_s=total.high, n_errors=job.n_errors if is_only else None,
        )  # fmt: skip

    def _rates(self, direction: Direction, n_ops: int | None, block_size: int | None) -> Row:
        """Counts and rates: exact ones where the counts print as what stands there, else the printed ones."""
        line = direction.line
        duration = units.seconds(direction.runtime_ms or 0, "msec") or None
        iops = count(direction.iops or "", self.style)
        style, printed = self._bytes(direction, n_ops, block_size)
        if direction.op == _MIXED and direction.iops == "0" and direction.phases:
            self.doubtful.append((line, "mixed_not_summed", "mixed: expected the sum of all directions, found IOPS=0"))
            return {"n_ops": n_ops, "duration_s": duration}
        rate = self._rate(direction, style)
        exact = n_ops * block_size if n_ops and block_size else None
        if exact is not None and not (printed and printed.holds(exact) and exact <= MAX_INTEGER):
            exact = None
        if exact is None and printed is not None and printed.value <= MAX_INTEGER:
            n_bytes: int | None = round(printed.value)
        else:
            n_bytes = exact
        ops_per_s = iops.value if iops else None
        if n_ops and duration and iops:
            if iops.holds(n_ops / duration):
                ops_per_s = n_ops / duration
            else:
                text = f"{direction.op}: {n_ops} operations in {duration} s do not give IOPS={direction.iops}"
                self.doubtful.append((line, "rate_mismatch", text))
        bytes_per_s = rate.value if rate else None
        if exact and duration and rate and rate.holds(exact / duration):
            bytes_per_s = exact / duration
        if iops is None or printed is None or rate is None:
            self.doubtful.append((line, "unreadable_figure", f"{direction.op}: expected rates, found others"))
        return {"n_ops": n_ops, "n_bytes": n_bytes, "duration_s": duration, "ops_per_s": ops_per_s,
                "bytes_per_s": bytes_per_s}  # fmt: skip

    def _bytes(self, direction: Direction, n_ops: int | None, block_size: int | None) -> tuple[Style, Printed | None]:
        """The bytes as printed; to 2.16 ``KB`` is 1000 B with kb_base=1000, which only the counts can tell."""
        printed = size(direction.n_bytes or "", self.style)
        if self.style.is_old and n_ops and block_size and printed and not printed.holds(n_ops * block_size):
            decimal = Style(is_old=True, has_decimals=False, kb_base=1000)
            other = size(direction.n_bytes or "", decimal)
            if other is not None and other.holds(n_ops * block_size):
                return decimal, other
        return self.style, printed

    @staticmethod
    def _rate(direction: Direction, style: Style) -> Printed | None:
        """The bandwidth: of the two that are printed the one whose fraction cannot have lost its carry."""
        rate, other = size(direction.rate or "", style), size(direction.other_rate or "", style)
        if rate and other and rate.may_lack_carry and not other.may_lack_carry and not other.holds(rate.value):
            return other
        return rate

    def _latencies(self, direction: Direction, keys: Row) -> None:
        for phase, latency in direction.phases.items():
            self.report.add("latency_summary", **keys, phase=phase, mean_s=latency.mean, stddev_s=latency.stddev,
                            min_s=latency.low, max_s=latency.high)  # fmt: skip
        repeated = Counter((phase, percentile) for phase, _, percentile, _ in direction.percentiles)
        for phase, _, percentile, latency_s in direction.percentiles:
            if repeated[phase, percentile] == 1:
                self.report.add("latency_percentiles", **keys, phase=phase, percentile=percentile, latency_s=latency_s)
                if any(abs(latency_s - cap) < 1e-7 for cap in _CAPS[not self.is_micro]):
                    self.capped.append(direction.line)
        if any(n > 1 for n in repeated.values()):
            text = f"{direction.op}: expected different percentiles, found equal ones (rounded by fio), which are left out"
            self.doubtful.append((direction.line, "percentiles_rounded", text))

    def _samples(self, direction: Direction, label: str | None) -> None:
        labels = {"job": label, "op": direction.op}
        if direction.bandwidth:
            unit, values = direction.bandwidth
            factor = _sample_factor(unit, direction)
            for name, value in values.items():
                is_rate = name in ("min", "max", "mean", "stddev") and value is not None and factor is not None
                if name == "samples" or is_rate or name == "share":
                    scaled = value * factor if is_rate and value is not None and factor is not None else value
                    self._metric(f"job_bytes_per_s_{name}", labels, scaled, "B/s" if is_rate else "1")
        for name, value in (direction.iops_samples or {}).items():
            self._metric(f"job_ops_per_s_{name}", labels, value, "1" if name == "samples" else "1/s")
        for text, name in ((r"(\d+) zone resets", "job_zone_resets"), (r"Cachehit=(\S+)%", "job_cache_hit_ratio")):
            if match := re.match(text, direction.remark or ""):
                self._metric(name, labels, ratio(match[1]) if "ratio" in name else number(match[1]))

    def _group(self, group: Group) -> None:
        for op, (is_old, (*first, shortest, longest)) in group.rows.items():
            names = ("bytes", "bytes_per_s", "bytes_per_s_min", "bytes_per_s_max")
            texts = first if is_old else [first[3], *first[:3]]
            labels = {"group": group.number, "op": op}
            style = Style(is_old, self.style.has_decimals)
            sizes = [size(text, style) for text in texts]
            for name, printed in zip(names, sizes, strict=True):
                self._metric(f"group_{name}", labels, printed.value if printed else None, "B" if name == "bytes" else "B/s")
            seconds = [units.seconds(float(text), "msec") for text in (shortest, longest)]
            for name, value in zip(("min", "max"), seconds, strict=True):
                self._metric(f"group_duration_{name}", labels, value, "s")
            if not self.result.jobs:  # an excerpt: nothing finer is known
                n_bytes, rate = (printed.value if printed else None for printed in sizes[:2])
                self.report.add("operations", op=op, scope="total", n_bytes=n_bytes and round(n_bytes),
                                duration_s=seconds[1], bytes_per_s=rate)  # fmt: skip

    def _metric(self, name: str, labels: Row, value: float | None, unit: str = "1") -> None:
        if value is not None:
            text = json.dumps({key: label for key, label in labels.items() if label is not None}, ensure_ascii=False)
            self.report.add("metric_series", metric=name, labels=text, value=float(value), unit=unit)
