"""Planned runs: plain data that planning, describing and running share."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from pipeline.collect.spec import Host
from pipeline.collect.work import Monitor, Work


@dataclass(frozen=True)
class PlannedRun:
    """A run: its work, and its times in s.

    ``estimate_s`` is from its preparation to its packing, without cool-down; the limits are of the measurement (and of
    its reports after it) and of the preparation.
    """

    run_id: str
    host: str
    tool: str
    point: str
    repeat: int
    work: Work
    monitors: tuple[Monitor, ...]
    warm_up_s: float
    cool_down_s: float
    time_limit_s: float
    estimate_s: float
    prepare_limit_s: float

    @property
    def digest(self) -> str:
        """SHA-256 of what is run: two runs of one name with other settings differ in it."""
        return hashlib.sha256(json.dumps([asdict(self.work), *map(asdict, self.monitors)]).encode()).hexdigest()

    @property
    def longest_s(self) -> float:
        """What it takes at most, cool-down included."""
        return self.prepare_limit_s + 2 * self.time_limit_s + self.cool_down_s


@dataclass(frozen=True)
class HostPlan:
    """A host and its runs, in the order in which it measures them."""

    host: Host
    runs: tuple[PlannedRun, ...]

    @property
    def estimate_s(self) -> float:
        """From the first preparation to the end of the last cool-down."""
        return sum(run.estimate_s + run.cool_down_s for run in self.runs)
