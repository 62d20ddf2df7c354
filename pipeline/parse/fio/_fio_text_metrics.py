"""Rows of parameters, metric_series and device_series from a run of fio's normal output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.fio._fio_text_block import Direction, Group, Job
from pipeline.parse.fio._fio_text_figures import Style, count, number, of_milliseconds, ratio, size
from pipeline.parse.fio._fio_text_result import Result
from pipeline.parse.fio._fio_text_rows import style_of
from pipeline.parse.fio._fio_text_workers import headers_of

_STATISTICS = ("min", "max", "mean", "stddev")
_AT = {"depth": "issued", "submit": "submit", "complete": "complete"}
# Key of the disk statistics → metrics of reads and writes (or of both), unit, factor.
_OF_DISK: dict[str, tuple[tuple[str, ...], str, float]] = {
    "ios": (("disk_reads", "disk_writes"), "1", 1),
    "sectors": (("disk_read_bytes", "disk_write_bytes"), "B", units.SECTOR_BYTES),
    "merge": (("disk_read_merges", "disk_write_merges"), "1", 1),
    "ticks": (("disk_read_time_s", "disk_write_time_s"), "s", units.MILLI),
    "in_queue": (("disk_queue_time_s",), "s", units.MILLI),
    "util": (("disk_busy_ratio",), "1", units.PERCENT),
}
_PAIR = re.compile(r"(\w+)=([\d./]+)%?(?:, |$)")
_BITS = 8


class Metrics:
    """Writes what has no table of its own."""

    def __init__(self, report: Report, result: Result) -> None:
        self.report, self.result = report, result
        self.style = style_of(result)

    def add(self, labels: list[str | None]) -> None:
        """Add the parameters and metrics of a run; ``labels`` are the names that tell its job blocks apart."""
        self._add_parameters(labels)
        for job, label in zip(self.result.jobs, labels, strict=True):
            self._add_job(job, label)
        for group in self.result.status.groups:
            self._add_group(group)
        for _, device, text in self.result.status.disks:
            self._add_disk(device, text)
        for kind, text in self.result.status.idle:
            self._add_idle(kind, text)

    def _add_parameters(self, labels: list[str | None]) -> None:
        used: set[int] = set()
        for job, label in zip(self.result.jobs, labels, strict=True):
            for header in headers_of(job, self.result) if job.members == 1 else ():
                used.add(header.line)
                for name, value in header.settings.items():
                    self.report.parameter(name, value, label)
            for name, value in job.parameters.items() if not job.is_total else ():
                self.report.parameter(name, value, label)
        rest: dict[tuple[str, str, str], None] = {}  # a client's servers may have the same
        for header in self.result.headers:
            if header.line not in used:
                rest |= {(name, value, header.name): None for name, value in header.settings.items()}
        for name, value, job_name in rest:
            if not (self.result.run.is_client and any(label == job_name for label in labels)):
                self.report.parameter(name, value, job_name)
        for host, system, machine, _ in self.result.run.hosts:
            for name, value in (("hostname", host), ("os", system), ("arch", machine)):
                self.report.parameter(name, value)

    def _add_job(self, job: Job, label: str | None) -> None:
        labels = {"job": label, "scope": "total" if job.is_total else None}
        for name, value in job.cpu.items():
            self._metric(f"job_{name}", labels, value)
        self._metric("job_errors", labels, job.n_errors)
        for what, depth, share in job.depths:
            if share:
                self._metric("iodepth_ratio", {**labels, "at": _AT[what], "depth": depth}, share * units.PERCENT)
        for lower, upper, share in job.shares:  # of reads, writes and trims together
            edges = {"phase": "completion", "lower_s": lower, "upper_s": upper}
            self._metric("latency_ratio", {**labels, **edges}, share * units.PERCENT)
        for direction in job.directions:
            self._add_direction(direction, {**labels, "op": direction.op})
        for what, metric in (("short", "short_ios"), ("dropped", "dropped_ios")):
            for op, n in job.issued.get(what, {}).items():
                if job.issued["total"].get(op):  # without reads, their short ones are fdatasyncs
                    self._metric(metric, {**labels, "op": op}, n or None)
        if job.steady:
            attained, rate, iops = job.steady
            self._metric("steadystate_attained", labels, float(attained == "yes"))
            for metric, printed, unit in (
                ("steadystate_bytes_per_s_mean", size(rate, self.style), "B/s"),
                ("steadystate_ops_per_s_mean", count(iops, self.style), "1/s"),
            ):
                self._metric(metric, labels, printed.value if printed else None, unit)

    def _add_direction(self, direction: Direction, labels: Mapping[str, object]) -> None:
        if direction.bandwidth:
            unit, values = direction.bandwidth
            factor = _sample_factor(unit, direction)
            for name in _STATISTICS:
                value = values[name]
                self._metric(f"bytes_per_s_{name}", labels, None if value is None else value * factor, "B/s")
            if direction.is_old or values["samples"] is not None:  # 2.17 to 2.21, without samples: a 1024th of it
                self._metric("bytes_per_s_group_ratio", labels, values["share"])
            self._metric("bytes_per_s_samples", labels, values["samples"])
        if direction.iops_samples:
            for name in _STATISTICS:
                self._metric(f"ops_per_s_{name}", labels, direction.iops_samples[name], "1/s")
            self._metric("ops_per_s_samples", labels, direction.iops_samples["samples"])
        if match := re.match(r"(\d+) zone resets", direction.remark or ""):
            self._metric("zone_resets", labels, number(match[1]))
        if match := re.match(r"Cachehit=(\S+)%", direction.remark or ""):
            self._metric("cache_hit_ratio", labels, ratio(match[1]))

    def _add_group(self, group: Group) -> None:
        """What the group did in all: it has no latency and no count, so it is no row of operations beside the jobs'."""
        for op, (is_old, texts) in group.rows.items():
            rates, shortest, longest = (texts[1:4] if is_old else texts[:3]), *texts[4:]
            style = Style(is_old, self.style.has_decimals and not is_old)
            n_bytes, (rate, low, high) = size(texts[0 if is_old else 3], style), (size(text, style) for text in rates)
            labels = {"group": group.number, "op": op}
            for metric, printed, unit in (
                ("group_bytes", n_bytes, "B"), ("group_bytes_per_s", rate, "B/s"),
                ("group_bytes_per_s_min", low, "B/s"), ("group_bytes_per_s_max", high, "B/s"),
            ):  # fmt: skip
                self._metric(metric, labels, printed.value if printed else None, unit)
            self._metric("group_duration_s_min", labels, of_milliseconds(float(shortest)), "s")
            self._metric("group_duration_s_max", labels, of_milliseconds(float(longest)), "s")
            if not self.result.jobs:  # an excerpt: nothing finer is known
                self.report.add(
                    "operations", op=op, scope="total", n_bytes=round(n_bytes.value) if n_bytes else None,
                    duration_s=of_milliseconds(float(longest)), bytes_per_s=rate.value if rate else None,
                )  # fmt: skip

    def _add_disk(self, device: str, text: str) -> None:
        pairs = dict(_PAIR.findall(text))
        for prefix, kind in (("", None), ("aggr", "members")):
            for key, (metrics, unit, factor) in _OF_DISK.items():
                found = pairs.get(prefix + key) or pairs.get(f"agg{key}" if prefix else "", "")
                for metric, figure in zip(metrics, found.split("/"), strict=False):
                    value = number(figure)
                    scaled = None if value is None else value * factor
                    self._metric(metric, {"device": device, "of": kind}, scaled, unit)
        self.report.add("device_series", device=device, busy_ratio=ratio(pairs.get("util")),
                        read_await_s=_await(pairs, 0), write_await_s=_await(pairs, 1))  # fmt: skip

    def _add_idle(self, kind: str, text: str) -> None:
        shares = [ratio(share) for share in re.findall(r"([\d.]+)%", text)]
        for cpu, share in enumerate(shares):
            self._metric("cpu_idle_ratio", {"cpu": "system" if kind == "system" else f"cpu-{cpu}"}, share)
        if kind == "unit work" and (match := re.match(r"mean=([\d.]+)us, stddev=([\d.]+)", text)):
            for name, figure in zip(("mean", "stddev"), match.groups(), strict=True):
                value = number(figure)
                scaled = None if value is None else value * units.MICRO
                self._metric(f"cpu_idle_unit_{name}_s", {}, scaled, "s")

    def _metric(self, metric: str, labels: Mapping[str, object], value: float | None, unit: str = "1") -> None:
        if value is not None:
            text = json.dumps({key: label for key, label in labels.items() if label is not None}, ensure_ascii=False)
            self.report.add("metric_series", metric=metric, labels=text, value=float(value), unit=unit)


def _sample_factor(unit: str, direction: Direction) -> float:
    """B/s in the unit of a line ``bw (…/s)``: fio counts KiB, also where it says kB, and divides by kb_base for M."""
    factor = units.KIBI / _BITS if unit.endswith("bit") else units.KIBI
    if unit[0] in "Kk":
        return factor
    is_decimal = "iB" not in (direction.rate or "iB") and "ibit" not in (direction.rate or "") and not direction.is_old
    return factor * (1000 if is_decimal else units.KIBI)


def _await(pairs: dict[str, str], index: int) -> float | None:
    """Mean time of a read (0) or write (1): the device's time in them by their number."""
    figures = [number(part) for key in ("ticks", "ios") for part in pairs.get(key, "").split("/")[index : index + 1]]
    if len(figures) != 2 or figures[0] is None or not figures[1]:
        return None
    return figures[0] * units.MILLI / figures[1]
