"""Private to ``fio_json``: parameters, metric_series and device_series."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.fio._fio_json_jobs import DIRECTIONS, Figures, Job, host_of, jobs_of, pairs_of, scale_by
from pipeline.parse.fio._fio_json_rows import LATENCY_KEYS, PRIORITY_KEYS
from pipeline.parse.fio._fio_json_text import Document

# key → (metric, unit, factor)
_OF_JOB = {
    "usr_cpu": ("job_user_ratio", "1", units.PERCENT), "sys_cpu": ("job_system_ratio", "1", units.PERCENT),
    "ctx": ("job_context_switches", "1", 1), "majf": ("job_major_faults", "1", 1),
    "minf": ("job_minor_faults", "1", 1), "elapsed": ("elapsed_s", "s", 1),
    "job_runtime": ("job_runtime_s", "s", units.MILLI), "total_err": ("job_errors", "1", 1),
    "zone_resets": ("zone_resets", "1", 1),
}  # fmt: skip
_OF_WINDOWS = {
    "bw_min": ("bytes_per_s_min", "B/s", units.KIBI), "bw_max": ("bytes_per_s_max", "B/s", units.KIBI),
    "bw_mean": ("bytes_per_s_mean", "B/s", units.KIBI), "bw_dev": ("bytes_per_s_stddev", "B/s", units.KIBI),
    "bw_agg": ("bytes_per_s_group_ratio", "1", units.PERCENT), "bw_samples": ("bytes_per_s_samples", "1", 1),
    "iops_min": ("ops_per_s_min", "1/s", 1), "iops_max": ("ops_per_s_max", "1/s", 1),
    "iops_mean": ("ops_per_s_mean", "1/s", 1), "iops_stddev": ("ops_per_s_stddev", "1/s", 1),
    "iops_samples": ("ops_per_s_samples", "1", 1),
}  # fmt: skip
_WINDOWS = {
    f"{kind}_samples": {key: column for key, column in _OF_WINDOWS.items() if key.startswith(kind)}
    for kind in ("bw", "iops")
}
_OF_DIRECTION = {
    "short_ios": ("short_ios", "1", 1), "drop_ios": ("dropped_ios", "1", 1),
    "cachehit": ("cache_hit_ratio", "1", units.PERCENT),
}  # fmt: skip
_OF_DISK = {
    "read_ios": ("disk_reads", "1", 1), "write_ios": ("disk_writes", "1", 1),
    "read_sectors": ("disk_read_bytes", "B", units.SECTOR_BYTES),
    "write_sectors": ("disk_write_bytes", "B", units.SECTOR_BYTES),
    "read_merges": ("disk_read_merges", "1", 1), "write_merges": ("disk_write_merges", "1", 1),
    "write_merge": ("disk_write_merges", "1", 1),  # as the aggregate has it
    "read_ticks": ("disk_read_time_s", "s", units.MILLI), "write_ticks": ("disk_write_time_s", "s", units.MILLI),
    "in_queue": ("disk_queue_time_s", "s", units.MILLI), "util": ("disk_busy_ratio", "1", units.PERCENT),
}  # fmt: skip
_DEPTHS = {"iodepth_level": "issued", "iodepth_submit": "submit", "iodepth_complete": "complete"}
_TARGET_KEYS = ("latency_target", "latency_target_ns", "latency_percentile", "latency_window", "latency_window_us")
_STEADY = {
    "attained": "steadystate_attained",
    "max_deviation": "steadystate_max_deviation",
    "slope": "steadystate_slope",
}
_STEADY_MEANS = {
    "bw_mean": ("steadystate_bytes_per_s_mean", "B/s", 1), "iops_mean": ("steadystate_ops_per_s_mean", "1/s", 1),
    "lat_mean": ("steadystate_latency_s_mean", "s", units.NANO),
}  # fmt: skip
_STEADY_LISTS = {
    "bw": ("steadystate_bytes_per_s", "B/s", 1), "iops": ("steadystate_ops_per_s", "1/s", 1),
    "lat_ns": ("steadystate_latency_s", "s", units.NANO),
}  # fmt: skip

_SHARES = {"latency_ns": units.NANO, "latency_us": units.MICRO, "latency_ms": units.MILLI}  # of completion latencies
_LONGEST_EDGE = 12
_KNOWN_TOP = {"fio version", "timestamp", "timestamp_ms", "time", "global options", "jobs", "client_stats", "disk_util",
              "cpu_idleness"}  # fmt: skip
_KNOWN_JOB = {
    "jobname", "groupid", "job_start", "error", "eta", "job options", "sync", "first_error", "latency_depth", "desc",
    "steadystate", "hostname", "port", *DIRECTIONS, *_OF_JOB, *_DEPTHS, *_TARGET_KEYS, *_SHARES, "block",
}  # fmt: skip
_KNOWN_DIRECTION = {
    "io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios", "prios",
    *_OF_WINDOWS, *_OF_DIRECTION, *LATENCY_KEYS, *PRIORITY_KEYS,
}  # fmt: skip
_LATENCIES = LATENCY_KEYS | PRIORITY_KEYS
_KNOWN_LATENCY = {"min", "max", "mean", "stddev", "N", "percentile", "bins"}
_KNOWN_STEADY = {"ss", "duration", "criterion", "data", *_STEADY}
_KNOWN_DISK = {"name", "hostname", "port", *_OF_DISK, *(f"aggr_{key}" for key in _OF_DISK)}


class Metrics:
    """Writes what has no table of its own."""

    def __init__(self, report: Report, figures: Figures) -> None:
        self.report, self.figures = report, figures
        self._series: list[tuple[str, str, float, str]] = []  # rows of metric_series

    def add(self, document: Document, jobs: list[Job]) -> None:
        """Add the parameters and metrics of a document."""
        self._add_common_parameters(document)
        for job in jobs:
            self._add_job(job)
        disks = document.value.get("disk_util")
        for disk in disks if isinstance(disks, list) else ():
            if isinstance(disk, dict):
                self._add_disk(disk)
        held = document.value.get("cpu_idleness")
        idleness = held if isinstance(held, dict) else {}
        for key in idleness:
            is_unit = key.startswith("unit_")  # µs that one unit of idle work took
            scaled = self.figures.scaled(idleness, key, units.MICRO if is_unit else units.PERCENT)
            metric = f"cpu_idle_{key}_s" if is_unit else "cpu_idle_ratio"
            self._metric(metric, {"cpu": None if is_unit else key}, scaled, "s" if is_unit else "1")
        if self._series:
            columns = zip(("metric", "labels", "value", "unit"), zip(*self._series, strict=True), strict=True)
            self.report.add_block("metric_series", {name: list(values) for name, values in columns})

    def _add_common_parameters(self, document: Document) -> None:
        for name in ("timestamp_ms", "timestamp", "time"):
            if name in document.value:
                self.report.parameter(name, document.value[name])
                break
        common = document.value.get("global options")
        for part in common if isinstance(common, list) else [common]:
            host = host_of(part) if isinstance(part, dict) and isinstance(common, list) else None
            self._add_options(part, host)

    def _add_options(self, holder: object, job: str | None) -> None:
        pairs = [(key, _text(value)) for key, value in pairs_of(holder) or ()]
        for name, value in dict.fromkeys(pairs):  # a setting that two clients share is one row
            self.report.parameter(name, value, job)

    def _add_job(self, job: Job) -> None:
        entry, labels = job.entry, {"job": job.label, "scope": None if job.scope == "job" else job.scope}
        self._add_options(entry.get("job options"), job.label)
        targets = _TARGET_KEYS if entry.get("latency_target") or entry.get("latency_target_ns") else ()
        for key in ("hostname", "port", "groupid", "job_start", "desc", "latency_depth", *targets):
            # fio's total of all clients has the address of the last one
            if entry.get(key) is not None and job.scope == "job" and not job.options.has_any(key):
                self.report.parameter(key, _text(entry[key]), job.label)
        for key, (metric, unit, factor) in _OF_JOB.items():
            self._metric(metric, labels, self.figures.scaled(entry, key, factor), unit)
        for key, kind in _DEPTHS.items():
            held = entry.get(key)
            levels = held if isinstance(held, dict) else {}
            for depth in levels:
                share = self.figures.scaled(levels, depth, units.PERCENT)
                if share:
                    self._metric("iodepth_ratio", {**labels, "at": kind, "depth": depth}, share, "1")
        self._add_shares(entry, labels)
        for op in DIRECTIONS:
            if data := job.direction(op):
                self._add_direction(data, {**labels, "op": op})
        self._add_blocks(entry.get("block"), labels)
        steady = entry.get("steadystate")
        if isinstance(steady, dict):
            self._add_steady_state(steady, labels, job)

    def _add_blocks(self, block: object, labels: dict[str, Any]) -> None:
        """Lifetimes and states of the blocks that were trimmed and verified."""
        for key, metric in (("percentiles", "block_lifetime"), ("states", "block_states")):
            held = block.get(key) if isinstance(block, dict) else None
            if isinstance(held, dict):
                for name in held:
                    self._metric(metric, {**labels, key.removesuffix("s"): name}, self.figures.number(held, name), "1")

    def _add_shares(self, entry: dict[str, Any], labels: dict[str, Any]) -> None:
        """Shares of the completion latencies between two edges; ``>=2000`` has no upper one."""
        lower = 0.0
        for key, scale in _SHARES.items():
            held = entry.get(key)
            shares = held if isinstance(held, dict) else {}
            for name in shares:
                is_last = name.startswith(">=")
                if not name.removeprefix(">=").isdecimal() or len(name) > _LONGEST_EDGE:
                    self.figures.bad[f"{key} {name}"] += 1
                    continue
                edge = scale_by(int(name.removeprefix(">=")), scale)
                share = self.figures.scaled(shares, name, units.PERCENT)
                if share:
                    edges = {"phase": "completion", "lower_s": edge if is_last else lower,
                             "upper_s": None if is_last else edge}  # fmt: skip
                    self._metric("latency_ratio", {**labels, **edges}, share, "1")
                lower = edge

    def _add_direction(self, data: dict[str, Any], labels: dict[str, Any]) -> None:
        for samples, columns in _WINDOWS.items():  # no samples: the run was shorter than a window, and fio prints zeros
            if data.get(samples, 1) and any(data.get(key) for key in columns):
                for key, (metric, unit, factor) in columns.items():
                    self._metric(metric, labels, self.figures.scaled(data, key, factor), unit)
        for key, (metric, unit, factor) in _OF_DIRECTION.items():
            value = self.figures.scaled(data, key, factor)
            if key == "cachehit" or (value and data.get("total_ios") != 0):  # without reads: short ones are fdatasyncs
                self._metric(metric, labels, value, unit)

    def _add_steady_state(self, steady: dict[str, Any], labels: dict[str, Any], job: Job) -> None:
        for key in ("ss", "duration", "criterion"):
            if key in steady:
                self.report.parameter(f"steadystate_{key}", _text(steady[key]), job.label)
        for key in _STEADY:
            self._metric(f"steadystate_{key}", labels, self.figures.number(steady, key, signed=True), "1")
        held = steady.get("data")
        data = held if isinstance(held, dict) else {}
        for key, (metric, unit, factor) in _STEADY_MEANS.items():
            self._metric(metric, labels, self.figures.scaled(data, key, factor), unit)
        for key, (metric, unit, factor) in _STEADY_LISTS.items():
            values = data.get(key)
            for number, value in enumerate(values if isinstance(values, list) else (), 1):
                found = self.figures.scaled({key: value}, key, factor)
                self._metric(metric, {**labels, "sample": number}, found, unit)

    def _add_disk(self, disk: dict[str, Any]) -> None:
        host = host_of(disk)
        name = _text(disk.get("name", "?"))
        device = f"{host}/{name}" if host else name
        for prefix, kind in (("", None), ("aggr_", "members")):
            for key, (metric, unit, factor) in _OF_DISK.items():
                scaled = self.figures.scaled(disk, prefix + key, factor)
                self._metric(metric, {"device": device, "of": kind}, scaled, unit)
        self.report.add(
            "device_series", device=device, busy_ratio=self.figures.scaled(disk, "util", units.PERCENT),
            read_await_s=self._await(disk, "read"), write_await_s=self._await(disk, "write"),
        )  # fmt: skip

    def _await(self, disk: dict[str, Any], kind: str) -> float | None:
        n_ios, ticks = self.figures.number(disk, f"{kind}_ios"), self.figures.number(disk, f"{kind}_ticks")
        return scale_by(ticks, units.MILLI) / n_ios if n_ios and ticks is not None else None

    def _metric(self, metric: str, labels: dict[str, Any], value: float | None, unit: str) -> None:
        if value is not None:
            self._series.append((metric, _label_text(tuple(labels.items())), value, unit))


@lru_cache(maxsize=4096)
def _label_text(labels: tuple[tuple[str, Any], ...]) -> str:
    return json.dumps({key: label for key, label in labels if label is not None}, ensure_ascii=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def unknown_keys(document: Document) -> set[str]:
    """Keys of which this reader knows nothing, and whose figures it therefore leaves out."""
    found = document.value.keys() - _KNOWN_TOP
    for disk in _objects(document.value.get("disk_util")):
        found |= disk.keys() - _KNOWN_DISK
    for job in jobs_of(document):
        found |= job.entry.keys() - _KNOWN_JOB
        steady = job.entry.get("steadystate")
        found |= steady.keys() - _KNOWN_STEADY if isinstance(steady, dict) else set()
        for op in (*DIRECTIONS, "sync"):
            data = job.direction(op) or {}
            found |= data.keys() - _KNOWN_DIRECTION
            for holder in (data, *_objects(data.get("prios"))):
                for key in holder.keys() & _LATENCIES:
                    held = holder[key]
                    found |= (
                        {f"{key}.{name}" for name in held.keys() - _KNOWN_LATENCY} if isinstance(held, dict) else set()
                    )
    return found


def _objects(held: object) -> list[dict[str, Any]]:
    return [entry for entry in held if isinstance(entry, dict)] if isinstance(held, list) else []
