"""A line of perf stat as its three readers hand it on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.parse.perf._perf_values import Metric, MetricKind


@dataclass(frozen=True, slots=True)
class Places:
    """Where the numbers stand among a line's fields; -1: not there. ``ignored`` ones are in no column."""

    time: int = -1
    value: int = -1
    share: int = -1
    metric: int = -1
    ignored: tuple[int, ...] = ()

    @property
    def variable(self) -> frozenset[int]:
        """The fields that differ between lines that are alike."""
        return frozenset({self.time, self.value, self.share, self.metric, *self.ignored} - {-1})


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a line's numbers were read, for the lines like it: their places, factors, and the metric's name and unit."""

    places: Places
    factor: float
    metric: MetricKind | None


@dataclass(slots=True)
class Counter:
    """A line of perf stat: an event with its metric, or a metric alone."""

    line: int
    event: str | None = None
    value: float | None = None
    unit: str | None = None
    status: str | None = None
    time_s: float | None = None
    aggregate: str | None = None
    n_counters: str | None = None
    task: str | None = None
    cgroup: str | None = None
    running_ratio: float | None = None
    stddev_ratio: float | None = None
    metric: Metric | None = None
    is_metric_cut: bool = False
    recipe: Recipe | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str]:
        """What is counted, and for whom."""
        name = self.event or (self.metric.name if self.metric else None) or ""
        return name, f"{self.aggregate or ''} {self.cgroup or ''}".strip()
