"""``perf sched timehist``: its lines as arrays of latencies, and the summaries at its end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pipeline.parse._report import Report
from pipeline.units import PERCENT, seconds

HEADER = re.compile(r" *time +cpu +(?:([0-9a-f]+) +)?task name( +prio)? +wait time +sch delay +run time(.*)$")
SUMMARY = re.compile(r"(Runtime|Wait-time|Idle-time) summary\s*$")
LOST = re.compile(r" *\d+\.\d{6} +lost (\d{1,18}) events on cpu")
_START = re.compile(r" *([0-9]{1,12})\.([0-9]{6}) \[([0-9]{4,6})\] ")
_REST = re.compile(
    r"\s*(\S.*?)(?: +([0-9]{1,3}(?:->[0-9]{1,3})?))? +([0-9]{1,12}\.[0-9]{3}) +([0-9]{1,12}\.[0-9]{3})"
    r" +([0-9]{1,12}\.[0-9]{3})(?: +([0-9]{1,12}\.[0-9]{3}))?(?: |$)"
)
_EVENT = re.compile(r".*? (awakened|migrated): \S")
_CELL = re.compile(r"-?\d{1,15}(?:\.\d{2,3})?")
_IDLE_FOR = re.compile(r" +CPU +(\d+) idle for +(\d+\.\d{3}) +msec +\( *(\d+\.\d+)%\)")
_IDLE_ENTIRE = re.compile(r" +CPU +(\d+) idle (entire time window)")
_TOTAL = re.compile(r" *Total (number of unique tasks|number of context switches|run time \(msec\)"
                    r"|scheduling time \(msec\)): +(\d[\d.]*)")  # fmt: skip
_PLAIN = frozenset({"Terminated tasks:", "<no still running tasks>", "<no terminated tasks>", "Idle stats:"})
_MAX_LENGTH = 4096
_MAX_ENTRY = 256  # of the task with its times, without a call graph
_BLOCK_LINES = 50000
PHASES = ("wait", "wakeup_delay", "run")


class Timehist:
    """Reads the lines below timehist's header; rows go to the report in blocks."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.is_open = self.has_figures = False
        self.summary: str | None = None
        self.is_closed = False  # the totals at the end of a summary were there
        self.n_lines = self.n_lost = 0
        self.events = {"awakened": 0, "migrated": 0}
        self._n_visual = 0
        self._has_prio = self._has_migration = False
        self._first_us: int | None = None
        self._names: dict[str, int] = {}
        self._lines: list[tuple[int, int, int, float, float, float, float]] = []

    def take(self, line: str) -> bool:
        """Take a line; False where it is none of timehist's."""
        if match := HEADER.match(line):
            self.is_open = True
            self._n_visual = len(match[1] or "")
            self._has_prio, self._has_migration = bool(match[2]), "pre-mig" in match[3]
            return True
        if match := SUMMARY.match(line):
            self.summary, self.is_closed = match[1], False
            return True
        return self._take_summary(line) if self.summary else self._take_line(line)

    def _take_line(self, line: str) -> bool:
        if not self.is_open or len(line) > _MAX_LENGTH:
            return False
        start = _START.match(line)
        if start is None:
            if match := LOST.match(line):
                self.n_lost += int(match[1])
                return True
            return not line.replace("[tid/pid]", "").replace("(msec)", "").strip(" -")
        rest = line[start.end() + (self._n_visual + 2 if self._n_visual else 0) :]
        match = _REST.match(rest[:_MAX_ENTRY])
        if match is None:
            event = _EVENT.match(line)
            if event:
                self.events[event[1]] += 1
            return event is not None
        task, prio = match[1], match[2]
        if prio and not self._has_prio:
            task = f"{task} {prio}"
        self._add(start, task, match)
        return True

    def _add(self, start: re.Match[str], task: str, match: re.Match[str]) -> None:
        self.n_lines += 1
        self.has_figures = True
        time_us = int(start[1]) * 1_000_000 + int(start[2])
        if self._first_us is None:
            self._first_us = time_us
            self.report.parameter("first_timestamp_s", f"{start[1]}.{start[2]}")
        migration = float(match[6]) if match[6] and self._has_migration else np.nan
        number = self._names.setdefault(task, len(self._names))
        values = float(match[3]), float(match[4]), float(match[5]), migration
        self._lines.append((time_us - self._first_us, int(start[3]), number, *values))
        if len(self._lines) >= _BLOCK_LINES:
            self.flush()

    def flush(self) -> None:
        """Give the lines that were read to the report: a row a line and phase."""
        if not self._lines:
            return
        data = np.array(self._lines)
        self._lines = []
        phases = (*PHASES, "migration_wait") if self._has_migration else PHASES
        n = len(phases)
        cpus, which = np.unique(data[:, 1].astype(int), return_inverse=True)
        targets = np.array([f"CPU{cpu}" for cpu in cpus], dtype=object)
        tasks = np.array(list(self._names), dtype=object)
        latency = np.round(data[:, 3 : 3 + n].ravel() * seconds(1, "ms"), 9)
        self.report.add_block(
            "latency_series",
            {
                "job": pa.array(np.repeat(tasks[data[:, 2].astype(int)], n), pa.string()),
                "target": pa.array(np.repeat(targets[which], n), pa.string()),
                "op": "schedule",
                "phase": pa.array(np.tile(np.array(phases, dtype=object), len(data)), pa.string()),
                "time_s": np.repeat(np.maximum(data[:, 0], 0) / 1e6, n),
                "latency_s": pa.array(latency, from_pandas=True),
            },
        )

    def _take_summary(self, line: str) -> bool:
        if match := _TOTAL.match(line):
            self._add_total(match)
        elif match := _IDLE_FOR.match(line):
            labels = {"cpu": match[1]}
            self._metric("idle_s", _seconds(match[2]), "s", labels)
            self._metric("idle_ratio", round(float(match[3]) * PERCENT, 6), "1", labels)
        elif match := _IDLE_ENTIRE.match(line):
            self.report.parameter("idle", match[2], job=f"CPU{match[1]}")
        elif self._add_task(line):
            pass
        else:
            is_names = re.match(r" +comm +parent +sched-(?:in|out) ", line) or re.match(r" +\(count\) +\(msec\)", line)
            return bool(is_names or line.strip() in _PLAIN or re.fullmatch(r"-{40,}\s*", line))
        return True

    def _add_total(self, match: re.Match[str]) -> None:
        number = match[2].rstrip(".")[:18]
        if match[1].startswith("number"):
            self._metric("n_tasks" if "tasks" in match[1] else "n_context_switches", float(number), None, None)
        elif match[1].startswith("run"):
            self._metric("runtime_s", _seconds(number), "s", None)
        else:
            self.is_closed = True
            self._metric("scheduling_time_s", _seconds(number), "s", None)
            self.report.describe(duration_s=_seconds(number))

    def _add_task(self, line: str) -> bool:
        n_times = 5 if self.summary == "Wait-time" else 6
        task, *cells = line[:_MAX_LENGTH].strip().rsplit(None, n_times + 2)
        if (
            len(cells) != n_times + 2
            or not all(_CELL.fullmatch(cell) for cell in cells)
            or any(cell[0] == "-" for cell in cells[1:])
        ):
            return False
        count, values = int(float(cells[1])), [float(cell) for cell in cells[2:]]
        labels = {"task": task, "parent": cells[0]}
        if self.summary == "Wait-time":
            self._metric("n_sched_in", float(count), None, labels)
            for name, value in zip(("runtime_s", "sleep_s", "iowait_s", "preempt_s", "delay_s"), values, strict=True):
                self._metric(name, _seconds(value), "s", labels)
        else:
            is_idle = self.summary == "Idle-time"
            self.report.add(
                "latency_summary", job=task, op="schedule", scope="job", phase="idle" if is_idle else "run",
                n_ops=count, min_s=_seconds(values[1]), mean_s=_seconds(values[2]), max_s=_seconds(values[3]),
            )  # fmt: skip
            self._metric("idle_s" if is_idle else "runtime_s", _seconds(values[0]), "s", labels)
            # perf's "stddev" is the standard error of the mean, in per cent of it.
            self._metric("mean_stderr_ratio", round(values[4] * PERCENT, 6), "1", labels)
            self._metric("n_migrations", values[5], None, labels)
        return True

    def _metric(self, metric: str, value: float, unit: str | None, labels: dict[str, str] | None) -> None:
        self.has_figures = True
        text = json.dumps(labels, ensure_ascii=False) if labels else None
        self.report.add("metric_series", metric=metric, value=value, unit=unit, labels=text)

    def finish(self, warn: Callable[[str, str], None]) -> None:
        """Write what is left, and what was counted."""
        self.flush()
        for name, count in self.events.items():
            if count:
                self.report.parameter(f"n_{name}", count)
        if self.n_lost:
            warn("lost_events", f"expected all events, found that perf lost {self.n_lost}")


def _seconds(text: float | str) -> float:
    """Milliseconds with three decimals, as s."""
    return round(seconds(float(text), "ms"), 9)
