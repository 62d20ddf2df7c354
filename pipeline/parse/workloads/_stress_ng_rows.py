"""Private to the stress-ng readers: names and units that its text and its YAML share, as rows."""

from __future__ import annotations

import json
import math

from pipeline import units
from pipeline.parse._report import Report

TIMES = ("available_cpu_time", "user_time", "system_time", "total_time")
MAX_COUNT = 1 << 63


def metric(report: Report, name: str, value: float | None, unit: str | None, **labels: str | None) -> None:
    """Add a figure that has no column; None is left out."""
    if value is not None and math.isfinite(value):
        found = {key: label for key, label in labels.items() if label is not None}
        report.add(
            "metric_series",
            metric=name,
            labels=json.dumps(found, ensure_ascii=False) if found else None,
            value=value,
            unit=unit,
        )


def usage(
    report: Report, stressor: str, percent: float | None, rss_kib: float | None, instance: str | None = None
) -> None:
    """Add the CPU that an instance used (a ratio of one processor) and the largest resident set (in bytes)."""
    if percent is not None:
        metric(report, "cpu_used_per_instance", percent * units.PERCENT, "1", stressor=stressor, instance=instance)
    if rss_kib is not None:
        metric(report, "rss_max", rss_kib * units.KIBI, "B", stressor=stressor, instance=instance)


def counter(report: Report, stressor: str, event: str, value: float | None,
            relative: tuple[str | None, float | None, str | None] = (None, None, None)) -> None:  # fmt: skip
    """Add a perf counter of a stressor; ``relative``: name, value and unit of the metric that stands beside it."""
    if value is not None:
        name, figure, unit = relative
        report.add("perf_counters", event=event, task=stressor, value=value, status="counted", metric_name=name,
                   metric_value=figure, metric_unit=unit)  # fmt: skip
