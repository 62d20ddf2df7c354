"""What an operation costs the processor: counters of perf stat over the benchmark's own count of operations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.comparison.rank_sum import holm
from pipeline.analyse.intervals import mean_estimate
from pipeline.analyse.processors.counters import MIN_RUNNING, counter_totals
from pipeline.analyse.processors.shares import between_runs
from pipeline.analyse.select import summable_operations
from pipeline.errors import AnalysisError
from pipeline.units import format_si

RUN_COLUMNS = ["run_id", "point", "repeat", "event", "unit", "value", "n_ops", "per_operation"]
MEAN_COLUMNS = ["event", "unit", "point", "n_runs", "per_operation", "low", "high"]
DURATION_TOLERANCE = 0.02
CPU = "task-clock"
OWN_CPU = "processor time as the benchmark states it"


@dataclass(frozen=True, eq=False)
class PerOperation:
    """Counts an operation: ``runs`` a row a run and event, ``means`` a row a point and event with Student's t interval.

    ``differences`` compares each point with the first: event, base, other, ratio (other / base), difference, its
    interval by Welch's t (each alone), p, and p by Holm over all rows; units are the event's (s for task-clock) an
    operation.
    """

    runs: pd.DataFrame
    means: pd.DataFrame
    differences: pd.DataFrame
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The means."""
        return self.means

    def numbers(self) -> dict[str, Any]:
        """Means, differences, warnings."""
        return {"means": self.means, "differences": self.differences, "confidence": self.confidence,
                "warnings": self.warnings}  # fmt: skip

    def sentence(self, event: str) -> str:
        """One event's cost an operation on each point, with interval and n, and the difference from the first."""
        means = self.means[self.means["event"] == event]
        if means.empty:
            reasons = [warning for warning in self.warnings if warning.startswith(f"{event} ")]
            return f"{event} per operation is not known: {' '.join(reasons) or 'no run counted it.'}"
        parts = [f"{_amount(row['per_operation'], row)}{_interval(row)} on {row['point']} ({row['n_runs']} runs)"
                 for row in means.to_dict("records")]  # fmt: skip
        text = f"{event} per operation: " + ", ".join(parts)
        for row in self.differences[self.differences["event"] == event].to_dict("records"):
            unit = means.iloc[0].to_dict()
            text += (
                f"; {row['other']} − {row['base']}: {_amount(row['difference'], unit)}"
                f" ({_amount(row['low'], unit)} to {_amount(row['high'], unit)}, {self.confidence:.0%})"
            )
        return text + "; the unit is the run, runs assumed independent and about normal."

    def instruments(self) -> str:
        """How far the benchmark's own processor time is from perf's, run by run."""
        times = self.runs[self.runs["event"].isin([CPU, OWN_CPU])]
        table = times.pivot_table(index=["point", "run_id"], columns="event", values="value", sort=False)
        if not {CPU, OWN_CPU} <= set(table):
            return "There is one instrument alone for the processor time."
        parts = []
        ratios_of = (table[OWN_CPU] / table[CPU]).dropna()
        for point in self.means["point"].unique():
            ratios = ratios_of[ratios_of.index.get_level_values("point") == point]
            if ratios.empty:
                continue
            mean = mean_estimate(ratios.to_numpy(float), self.confidence)
            interval = "" if mean.low is None else f" ({mean.low:.3f} to {mean.high:.3f})"
            parts.append(f"{mean.value:.3f}{interval} on {point}, {mean.n} runs")
        return f"The benchmark's own processor time is {CPU} times " + "; ".join(parts) + f" ({self.confidence:.0%})."


def per_operation(tables: Mapping[str, pd.DataFrame], points: Sequence[str], confidence: float = 0.95) -> PerOperation:
    """Each event's count over the operations that the benchmark completed in the same run (run_id), by point.

    cycles / n_ops are cycles an I/O, task-clock / n_ops seconds of processor time an I/O. n_ops adds up the run's jobs
    and directions; a sync is part of its write. Where the benchmark states its own processor time (fio: user and system
    share of each job's run time), that is a second instrument beside task-clock. perf counts the whole life of what it
    started, the benchmark perhaps only its measured time: their durations are compared. With perf stat -a the counts
    hold everything on the machine. Never 0 for what was not counted: left out, with a warning. Of a point with one run
    there is no interval. AnalysisError: no run of a point has both counters and operations.
    """
    runs = tables["runs"].dropna(subset=["point"]).drop_duplicates("run_id").set_index("run_id")
    totals = counter_totals(tables)
    own = _own_cpu(tables["metric_series"])
    totals = pd.concat([totals, own], ignore_index=True) if len(own) else totals
    totals = totals[totals["run_id"].isin(runs.index[runs["point"].isin(list(points))])]
    usable, warnings = _usable(totals)
    n_ops = _operations(tables)
    frame = usable.assign(
        point=usable["run_id"].map(runs["point"]), repeat=usable["run_id"].map(runs["repeat"]),
        n_ops=usable["run_id"].map(n_ops).astype(float),
    )  # fmt: skip
    without = frame.loc[~(frame["n_ops"] > 0), "run_id"].unique()
    if len(without):
        warnings.append(f"No operations, or 0, are stated: {', '.join(map(str, without))}.")
    frame = frame[frame["n_ops"] > 0]
    if missing := [point for point in points if point not in set(frame["point"])]:
        raise AnalysisError(f"expected runs with counters and operations of {missing}; {' '.join(warnings) or 'none'}")
    frame = frame.assign(per_operation=frame["value"] / frame["n_ops"])[RUN_COLUMNS].reset_index(drop=True)
    warnings += _durations(tables, list(frame["run_id"].unique()))
    means = _means(frame, points, confidence)
    return PerOperation(frame, means, _differences(frame, points, confidence), confidence, tuple(warnings))


def _operations(tables: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Operations of each run over its jobs and directions; null where a part states none."""
    chosen = summable_operations(tables)
    chosen = chosen[chosen["op"] != "sync"]
    by_tool = chosen.astype({"n_ops": float}).groupby(["run_id", "tool"])["n_ops"]
    sums = by_tool.sum().where(by_tool.count() == by_tool.size())
    is_single = sums.groupby("run_id").transform("size") == 1  # of two benchmarks in one run nobody knows whose cost
    return sums[is_single].droplevel("tool")


def _own_cpu(metrics: pd.DataFrame) -> pd.DataFrame:
    """Processor time that fio states: (user + system share) · run time, added over its jobs, as an event of its own."""
    names = {"job_user_ratio", "job_system_ratio", "job_runtime_s"}
    rows = metrics[metrics["metric"].isin(names) & metrics["time_s"].isna()]
    if rows.empty:
        return pd.DataFrame()
    rows = rows.assign(job=[json.loads(labels).get("job") for labels in rows["labels"]])
    table = rows.pivot_table(index=["run_id", "tool", "job"], columns="metric", values="value", aggfunc=list)
    table = table.reindex(columns=sorted(names)).dropna()
    table = table[table.map(len).eq(1).all(axis=1)].map(lambda values: float(values[0]))
    seconds = (table["job_user_ratio"] + table["job_system_ratio"]) * table["job_runtime_s"]
    sums = seconds.groupby(["run_id", "tool"]).sum().rename("value").reset_index()
    return sums.assign(event=OWN_CPU, unit="s", status="counted", running_ratio=1.0)


def _usable(totals: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Counts that are counts; what was left out, by event and reason."""
    is_counted = (totals["status"] == "counted") & totals["value"].notna()
    is_rare = is_counted & (totals["running_ratio"] < MIN_RUNNING)
    warnings = []
    for (event, status), part in totals[~is_counted].groupby(["event", "status"], sort=False):
        warnings.append(f"{event} was {str(status).replace('_', ' ')} in {part['run_id'].nunique()} runs: left out.")
    if is_rare.any():
        events = ", ".join(totals.loc[is_rare, "event"].unique())
        warnings.append(f"On a counter for less than {MIN_RUNNING:.0%} of the time, left out: {events}.")
    kept = totals[is_counted & ~is_rare]
    shared = kept[kept["running_ratio"] < 1]["event"].unique()
    if len(shared):
        warnings.append(f"Scaled for multiplexing, which adds to the spread between runs: {', '.join(shared)}.")
    return kept, warnings


def _durations(tables: Mapping[str, pd.DataFrame], run_ids: list[str]) -> list[str]:
    """Compare the time that perf counted (task-clock / CPUs utilized) with the benchmark's."""
    counters, operations = tables["perf_counters"], tables["operations"]
    clock = counters[(counters["metric_name"] == "CPUs utilized") & counters["time_s"].isna()]
    clock = clock[clock["metric_value"] > 0]
    counted = (clock["value"].astype(float) / clock["metric_value"].astype(float)).groupby(clock["run_id"]).first()
    measured = operations.astype({"duration_s": float}).groupby("run_id")["duration_s"].max()
    ratio = (counted / measured).reindex(run_ids).dropna()
    off = ratio[(ratio - 1).abs() > DURATION_TOLERANCE]
    if off.empty:
        return []
    return [
        f"perf counted {off.min():.2f} to {off.max():.2f} times as long as the benchmark measured, in {len(off)} runs."
    ]


def _means(frame: pd.DataFrame, points: Sequence[str], confidence: float) -> pd.DataFrame:
    rows = []
    for (event, unit), part in frame.groupby(["event", "unit"], sort=False, dropna=False):
        for point in points:
            values = part.loc[part["point"] == point, "per_operation"].to_numpy(float)
            if len(values):
                mean = mean_estimate(values, confidence)
                low = None if mean.low is None else max(mean.low, 0.0)  # a count is never less
                rows.append((event, unit, point, mean.n, mean.value, low, mean.high))
    return pd.DataFrame(rows, columns=MEAN_COLUMNS)


def _differences(frame: pd.DataFrame, points: Sequence[str], confidence: float) -> pd.DataFrame:
    """Welch's t between the first point and each other, where both have two runs."""
    rows = []
    for event, part in frame.groupby("event", sort=False):
        base = part.loc[part["point"] == points[0], "per_operation"].to_numpy(float)
        for other in points[1:]:
            values = part.loc[part["point"] == other, "per_operation"].to_numpy(float)
            if min(len(base), len(values)) >= 2:
                found = between_runs(base[None, :], values[None, :], confidence)
                ratio = values.mean() / base.mean() if base.mean() else np.nan
                ends = (float(found.difference[0]), float(found.low[0]), float(found.high[0]), float(found.p_value[0]))
                rows.append((event, points[0], other, ratio, *ends))
    columns = ["event", "base", "other", "ratio", "difference", "low", "high", "p_value"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(p_holm=holm(found["p_value"].fillna(1.0).to_numpy(float)) if len(found) else [])


def _amount(value: float, row: Mapping[str, Any]) -> str:
    if pd.isna(value):
        return "–"
    return format_si(value, "s", 4) if row["unit"] == "s" else f"{value:.4g}"


def _interval(row: Mapping[str, Any]) -> str:
    if row["low"] is None or pd.isna(row["low"]):
        return " (one run: no interval)"
    return f" ({_amount(row['low'], row)} to {_amount(row['high'], row)})"
