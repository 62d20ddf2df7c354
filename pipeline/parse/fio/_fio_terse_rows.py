"""Private to ``fio_terse``: the rows of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from pipeline import units
from pipeline.parse._report import Report, Row
from pipeline.parse.fio._fio_intervals import Ends, Intervals, Key
from pipeline.parse.fio._fio_segments import Segments
from pipeline.parse.fio._fio_terse_line import Direction, Disk, Line, Statistics, number_of, seconds
from pipeline.parse.fio._fio_terse_runs import ALL_CLIENTS, Run, labels_of
from pipeline.parse.fio._fio_text_block import Header
from pipeline.parse.fio._fio_text_workers import depth_of, doing, size_of

_CAPS = (16711680, 17112760)  # µs: the last bin of fio's histogram, to 2.21 and since
_DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
_EDGES = [
    *((edge, units.MICRO) for edge in (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    *((edge, units.MILLI) for edge in (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)),
]
_OF_DISK = (
    ("disk_reads", "1", 1), ("disk_writes", "1", 1), ("disk_read_merges", "1", 1), ("disk_write_merges", "1", 1),
    ("disk_read_time_s", "s", units.MILLI), ("disk_write_time_s", "s", units.MILLI),
    ("disk_queue_time_s", "s", units.MILLI),
)  # fmt: skip


class Rows:
    """Writes the rows of one run, and counts what it doubts."""

    def __init__(self, report: Report, run: Run) -> None:
        self.report, self.run = report, run
        self.percentiles = Segments(report, "latency_percentiles")
        self.n_capped = self.n_bad = 0

    def add(self) -> None:
        """Add all rows."""
        intervals = Intervals()
        for lines in self.run.earlier:
            labels = self._labels(lines)
            self._add_lines(lines, labels, intervals.next(_times(lines, labels)))
        labels = self._labels(self.run.lines)
        self._add_lines(self.run.lines, labels, None)
        self.percentiles.write()
        self._add_parameters(labels)
        for line, label in zip(self.run.lines, labels, strict=True):
            self._add_metrics(line, label)
        for disk in self.run.disks or next((line.disks for line in reversed(self.run.lines) if line.disks), []):
            self._add_disk(disk)

    def _labels(self, lines: list[Line]) -> list[str | None]:
        return labels_of(lines, is_client=self.run.is_client)

    def _add_lines(self, lines: list[Line], labels: list[str | None], ends_s: Ends | None) -> None:
        for line, label in zip(lines, labels, strict=True):
            shown = [direction for direction in line.directions if not direction.is_empty] or line.directions
            if line.directions[-1].op == "mixed" and len(line.directions) > 1:
                n_shown = len([direction for direction in shown if direction.op != "mixed"])
            else:
                n_shown = len(shown)
            for direction in shown:
                keys: Row = {"job": label, "op": direction.op, "scope": "job" if label is not None else "total"}
                if ends_s is not None:
                    if (label, direction.op) not in ends_s:
                        continue
                    keys |= {"interval_start_s": 0.0, "interval_end_s": ends_s[label, direction.op]}
                self._add(line, direction, keys, lines, has_one_row=n_shown == 1)

    def _add(self, line: Line, direction: Direction, keys: Row, lines: list[Line], *, has_one_row: bool) -> None:
        duration_s = direction.runtime_s or None
        n_bytes = None if direction.kib is None else direction.kib * units.KIBI
        n_bytes = n_bytes if n_bytes is not None and n_bytes < 2**63 else None
        size, depth = _settings(line, direction.op, lines, self.run.headers) if keys["job"] else (None, None)
        total = direction.phases["total"]
        latency = _scaled(total) if total.is_measured else {}
        self.report.add(
            "operations", **keys, n_bytes=n_bytes, duration_s=duration_s,
            ops_per_s=(direction.iops or 0 if duration_s else None) if direction.iops is not None else None,
            bytes_per_s=_bytes_per_s(line, direction, n_bytes), block_size_bytes=size,
            queue_depth=depth, n_errors=line.n_errors if has_one_row else None,
            **{f"latency_{name}": value for name, value in latency.items()},
        )  # fmt: skip
        figures = [direction.kib, direction.bandwidth, direction.runtime_ms, 0 if line.is_old else direction.iops]
        self.n_bad += figures.count(None) + direction.rates.n_bad
        for phase, statistics in direction.phases.items():
            self.n_bad += statistics.n_bad
            if statistics.is_measured:
                self.report.add("latency_summary", **keys, phase=phase, **_scaled(statistics))
        pairs = [(share, value) for share, value in direction.percentiles if share <= 100]
        if any(value for _, value in pairs) or direction.phases["completion"].is_measured:
            self.n_capped += sum(value in _CAPS for _, value in pairs)
            self.n_bad += sum(value is None for _, value in pairs)
            columns = {"percentile": [share for share, _ in pairs],
                       "latency_s": np.array([seconds(value) for _, value in pairs], dtype=np.float64)}  # fmt: skip
            self.percentiles.add({**keys, "phase": "completion"}, len(pairs), columns)

    def _add_parameters(self, labels: list[str | None]) -> None:
        self.report.parameter("terse_version", self.run.lines[0].version)
        for header in self.run.headers:
            for name, value in header.settings.items():
                self.report.parameter(name, value, header.name)
        for line, label in zip(self.run.lines, labels, strict=True):
            settings = {"groupid": line.group, "error": line.error, "first_error": line.first_error,
                        "desc": line.description or None}  # fmt: skip
            for name, setting in settings.items() if label is not None else ():
                if setting is not None:
                    self.report.parameter(name, setting, label)

    def _add_metrics(self, line: Line, label: str | None) -> None:
        labels: dict[str, object] = {"job": label, "scope": "total" if label is None else None}
        if line.tail:
            user, system, *counts = (number_of(cell) for cell in line.tail[:5])
            for metric, value in (("job_user_ratio", user), ("job_system_ratio", system)):
                self._metric(metric, labels, _ratio(value))
            for metric, value in zip(("context_switches", "major_faults", "minor_faults"), counts, strict=True):
                self._metric(f"job_{metric}", labels, value)
            for depth, cell in zip(_DEPTHS, line.tail[5:12], strict=True):
                self._metric(
                    "iodepth_ratio", {**labels, "at": "issued", "depth": depth}, _ratio(number_of(cell)) or None
                )
            self._add_shares(line.tail[12:], labels)
        self._metric("job_errors", labels, line.n_errors)
        for direction in line.directions:
            if not direction.is_empty:
                self._add_windows(direction, {**labels, "op": direction.op})

    def _add_shares(self, cells: list[str], labels: Mapping[str, object]) -> None:
        edges = [edge / round(1 / scale) for edge, scale in _EDGES]
        for lower, upper, cell in zip([0.0, *edges], [*edges, None], cells, strict=True):
            share = _ratio(number_of(cell))
            keys = {"phase": "completion", "lower_s": lower, "upper_s": upper}
            self._metric("latency_ratio", {**labels, **keys}, share or None)

    def _add_windows(self, direction: Direction, labels: Mapping[str, object]) -> None:
        if direction.rates.is_measured:
            self._add_statistics("bytes_per_s", direction.rates, units.KIBI, labels, "B/s")
            self._metric("bytes_per_s_group_ratio", labels, _ratio(direction.share))
            self._metric("bytes_per_s_samples", labels, direction.n_rates)
        if direction.iops_windows is not None and direction.iops_windows.is_measured:
            self._add_statistics("ops_per_s", direction.iops_windows, 1, labels, "1/s")
            self._metric("ops_per_s_samples", labels, direction.n_iops)

    def _add_statistics(
        self, metric: str, found: Statistics, factor: int, labels: Mapping[str, object], unit: str
    ) -> None:
        for name in ("min", "max", "mean", "stddev"):
            value = getattr(found, {"min": "low", "max": "high"}.get(name, name))
            self._metric(f"{metric}_{name}", labels, None if value is None else value * factor, unit)

    def _add_disk(self, disk: Disk) -> None:
        labels = {"device": disk.name, "of": "members" if disk.is_members else None}
        for (metric, unit, scale), value in zip(_OF_DISK, disk.counts, strict=True):
            self._metric(metric, labels, None if value is None else value / round(1 / scale), unit)
        self._metric("disk_busy_ratio", labels, _ratio(disk.busy))
        if not disk.is_members:
            waits = [_await(disk, index) for index in (0, 1)]
            self.report.add("device_series", device=disk.name, busy_ratio=_ratio(disk.busy), read_await_s=waits[0],
                            write_await_s=waits[1])  # fmt: skip

    def _metric(self, metric: str, labels: Mapping[str, object], value: float | None, unit: str = "1") -> None:
        if value is not None:
            text = json.dumps({key: label for key, label in labels.items() if label is not None}, ensure_ascii=False)
            self.report.add("metric_series", metric=metric, labels=text, value=float(value), unit=unit)


def _times(lines: list[Line], labels: list[str | None]) -> dict[Key, float]:
    return {
        (label, direction.op): direction.runtime_s
        for line, label in zip(lines, labels, strict=True)
        for direction in line.directions
    }


def _scaled(found: Statistics) -> Row:
    return {"mean_s": seconds(found.mean), "stddev_s": seconds(found.stddev), "min_s": seconds(found.low),
            "max_s": seconds(found.high)}  # fmt: skip


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / round(1 / units.PERCENT)


def _await(disk: Disk, index: int) -> float | None:
    """Mean time of a read (0) or write (1): the device's time in them by their number."""
    n_ios, ticks = disk.counts[index], disk.counts[4 + index]
    return ticks / round(1 / units.MILLI) / n_ios if n_ios and ticks is not None else None


def _bytes_per_s(line: Line, direction: Direction, n_bytes: int | None) -> float | None:
    """The bandwidth, cut to a whole KiB/s, to 2.0.7 to a whole B/ms; of fewer than four digits bytes / runtime."""
    rate = direction.bandwidth
    if rate is None or not direction.runtime_ms:
        return None
    if n_bytes is None:
        return float(rate * (1000 if line.is_old else units.KIBI))
    exact = n_bytes / direction.runtime_ms * 1000
    if rate < 1000:
        return exact
    unit = min((units.KIBI, 1000), key=lambda size: abs(rate * size - exact))
    return float(rate * (1000 if line.is_old else unit))


def _settings(line: Line, op: str, lines: list[Line], headers: list[Header]) -> tuple[int | None, float | None]:
    """Size of an I/O and queue depth of all workers of a line, where the headers of the jobs tell them."""
    in_group = [header for header in headers if header.group == line.group]
    of_group = [other for other in lines if other.group == line.group and other.name != ALL_CLIENTS]
    named = [header for header in in_group if header.name == line.name]
    n_alike = sum(other.name == line.name for other in of_group)
    if not named or {header.name for header in in_group} - {other.name for other in of_group}:
        if len(of_group) != 1:
            return None, None
        named = in_group  # group_reporting put several sections into one line
    wanted = doing(named, op)
    sizes = {size_of(header, op) for header in wanted}
    depths = [depth_of(header, op) for header in wanted]
    is_one_each = n_alike > 1 or not any(header.is_repeated for header in named)
    if not wanted or None in depths or not is_one_each:
        depth = None
    elif n_alike > 1:
        depth = depths[0] if len(set(depths)) == 1 else None
    else:
        depth = sum(found or 0 for found in depths)
    return sizes.pop() if len(sizes) == 1 else None, depth
