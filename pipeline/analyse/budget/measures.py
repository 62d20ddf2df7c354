"""From the tables of one run to a mean time an operation, in seconds: what the instruments of a budget do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.budget.quantity import FloatArray, ratio_scores
from pipeline.analyse.select import whole_run
from pipeline.errors import AnalysisError

Frames = Mapping[str, pd.DataFrame]
Options = Mapping[str, Any]
REQUESTS = ("read", "write", "flush", "data_write")


@dataclass(frozen=True)
class Part:
    """The figure of one run.

    ``scores``: what each batch inside the run (``series`` names them) moves it by, where there are any. ``widths``: by
    what was rounded (a printed column, a count), how far a whole step of it moves the value, with its sign.
    ``at_least``: the least that the standard uncertainty can be where there are no batches.
    """

    value: float
    scores: FloatArray | None = None
    series: Hashable = None
    batches: str = ""
    widths: Mapping[str, float] = field(default_factory=dict)
    at_least: float = 0.0


def _operation(frames: Frames, tool: str, op: str, job: str | None = None) -> pd.Series:
    """The one whole-run row of an operation, at the tool's own total where it has one and no job is named."""
    operations = frames["operations"]
    rows = operations[whole_run(operations) & (operations["tool"] == tool) & (operations["op"] == op)]
    rows = rows if job is None else rows[rows["job"] == job]
    for level in ("total", "log", "job"):
        found = rows[rows["scope"] == level]
        if len(found):
            break
    if len(found) != 1:
        there = sorted({f"{row.tool} {row.op}" for row in operations.itertuples()})
        raise AnalysisError(
            f"expected one row of operations for {tool} {op}, found {len(found)}; there are {', '.join(there)}"
        )
    return found.iloc[0]


def _number(row: pd.Series, name: str) -> float:
    value = row[name]
    return math.nan if pd.isna(value) else float(value)


def _rate(frames: Frames, per: Options) -> float:
    """Operations a second of the operation that a time is divided by."""
    rate = _number(_operation(frames, per["tool"], per["op"]), "ops_per_s")
    if not rate > 0:
        raise AnalysisError(f"expected a rate above 0 for {per['tool']} {per['op']}, found {rate:g}")
    return rate


def log_mean(frames: Frames, options: Options) -> Part:
    """Mean of a log of single latencies, with batch means.

    Neighbouring latencies are correlated, so that σ/√n is too small; the means of windows of ``window_s`` are nearly
    independent (Law and Kelton, Simulation Modeling and Analysis, 9.5.3). Windows of unequal size count by their
    operations. AnalysisError without latencies; with one window the part has no scatter.
    """
    _, sums, counts = _windows(frames, options)
    value, scores = ratio_scores(sums, counts)
    return Part(value, _if_several(scores), _log_key(options), _log_batches(options), _printed(options))


def log_elapsed(frames: Frames, options: Options) -> Part:
    """Wall time an operation from the same windows: Σ length / Σ operations, paired window by window with ``log_mean``.

    The last window is as long as the log goes on.
    """
    last_s, _, counts = _windows(frames, options)
    length = np.full(len(counts), float(options["window_s"]))
    length[-1] = last_s - (len(counts) - 1) * options["window_s"]
    value, scores = ratio_scores(length, counts)
    return Part(value, _if_several(scores), _log_key(options), _log_batches(options))


def _windows(frames: Frames, options: Options) -> tuple[float, FloatArray, FloatArray]:
    """The last stamp of a log, and the sum and number of the latencies in each window, also where there is none."""
    series = log_of(frames, options)
    time = series["time_s"].to_numpy("float64")
    window = np.floor(time / options["window_s"]).astype("int64")
    sums = np.bincount(window, series["latency_s"].to_numpy("float64")).astype("float64")
    return float(time[-1]), sums, np.bincount(window).astype("float64")


def _log_key(options: Options) -> Hashable:
    return ("log", options["tool"], options["op"], options["phase"], options["window_s"])


def _log_batches(options: Options) -> str:
    return f"windows of {options['window_s']:g} s"


def log_of(frames: Frames, options: Options) -> pd.DataFrame:
    """The rows of a log that are one operation each, in the order of their ends; AnalysisError where there are none."""
    series = frames["latency_series"]
    series = series[(series["tool"] == options["tool"]) & (series["op"] == options["op"])]
    if options.get("phase") is not None:
        series = series[series["phase"] == options["phase"]]
    single = series[series["window_s"].isna() & series["latency_s"].notna()]
    if single.empty:
        found = "means of windows, which hold no single latencies" if len(series) else "none"
        raise AnalysisError(f"expected a log with a line an operation, found {found}")
    return single.sort_values("time_s", kind="stable")


def operation_mean(frames: Frames, options: Options) -> Part:
    """The tool's own mean latency of an operation.

    Of one run there is no scatter: σ/√n, where the tool gives both, takes the latencies as independent, which they are
    not, and is the least that the standard uncertainty can be.
    """
    row = _operation(frames, options["tool"], options["op"], options["job"])
    spread, count = _number(row, "latency_stddev_s"), _number(row, "n_ops")
    least = spread / math.sqrt(count) if count > 0 and math.isfinite(spread) else 0.0
    return Part(_number(row, "latency_mean_s"), widths=_printed(options), at_least=least)


def operation_time(frames: Frames, options: Options) -> Part:
    """Time in an inner operation for each outer one: mean × count / count of ``per``. Counters keep no scatter.

    ``resolution_s`` is that of the total time as printed.
    """
    row = _operation(frames, options["tool"], options["op"])
    count = _number(_operation(frames, options["per"]["tool"], options["per"]["op"]), "n_ops")
    if not count > 0:
        raise AnalysisError(f"expected a count of {options['per']['op']} above 0, found {count:g}")
    return Part(_number(row, "latency_mean_s") * _number(row, "n_ops") / count, widths=_printed(options, 1 / count))


def elapsed(frames: Frames, options: Options) -> Part:
    """Wall time an operation: 1 / rate, where rate = count / elapsed time. Of one run it has no scatter.

    The count may be off by one operation at either end, where it is known.
    """
    rate = _rate(frames, options)
    count = _number(_operation(frames, options["tool"], options["op"]), "n_ops")
    return Part(1 / rate, widths={"count": 2 / rate / count} if count > 0 else {})


def device_time(frames: Frames, options: Options) -> Part:
    """Mean time of a request on a device, weighted by requests: of reads, writes, flushes, or data writes.

    iostat counts a flush among the writes too and mixes its time into w_await: a data write's own time is
    Σ (w · w_await − f · f_await) / Σ (w − f) over the samples, whose scatter it has (``data_write``).
    """
    samples = _device_samples(frames, options)
    rates = {"read": samples["reads_per_s"], "write": samples["writes_per_s"], "flush": samples["flushes_per_s"]}
    times = {kind: rates[kind] * samples[f"{kind}_await_s"] for kind in rates}
    rates["data_write"] = rates["write"] - rates["flush"]
    times["data_write"] = times["write"] - times["flush"]
    kind = options["request"]
    count, time = rates[kind].to_numpy("float64"), times[kind].to_numpy("float64")
    if np.isnan(count).any() or (count < 0).any() or not count.sum() > 0:
        raise AnalysisError(f"expected {kind} requests in every sample, found {np.array2string(count, precision=6)}")
    # No request in a sample: no await either.
    value, scores = ratio_scores(np.where(count > 0, time, 0.0), count)
    steps = {kind: 1.0}
    if kind == "data_write":
        steps = {
            "write": float(rates["write"].sum() / count.sum()),
            "flush": -float(rates["flush"].sum() / count.sum()),
        }
    widths = {name: step * options["resolution_s"] for name, step in steps.items()}
    return Part(value, _if_several(scores), _samples_key(options), "samples", widths)


def device_requests(frames: Frames, options: Options) -> Part:
    """Requests on the device for each outer operation, a number: mean rate of the samples / rate of ``per``."""
    samples, kind = _device_samples(frames, options), options["request"]
    rates = samples["writes_per_s"] - samples["flushes_per_s"] if kind == "data_write" else None
    rates = samples[f"{kind}es_per_s" if kind == "flush" else f"{kind}s_per_s"] if rates is None else rates
    return _mean_over_rate(rates, frames, options)


def device_busy(frames: Frames, options: Options) -> Part:
    """Time that the device is busy for each outer operation: S = U / X, the utilisation law (Denning, Buzen 1978)."""
    return _mean_over_rate(_device_samples(frames, options)["busy_ratio"], frames, options)


def _mean_over_rate(values: pd.Series, frames: Frames, options: Options) -> Part:
    numbers = values.to_numpy("float64") / _rate(frames, options["per"])
    if np.isnan(numbers).any():
        raise AnalysisError("expected a figure in every sample, found nulls")
    scores = (numbers - numbers.mean()) / len(numbers)
    return Part(float(numbers.mean()), _if_several(scores), _samples_key(options), "samples")


def _device_samples(frames: Frames, options: Options) -> pd.DataFrame:
    """A device's samples without the first and last ones that lie outside the run."""
    series = frames["device_series"]
    if options["device"] is not None:
        series = series[series["device"] == options["device"]]
    if series["device"].nunique() > 1:
        raise AnalysisError(
            f"expected one device, found {', '.join(sorted(set(series['device'])))}; name it with device:"
        )
    series = series.sort_values("time_s", kind="stable")
    kept = series.iloc[options["first_samples"] : len(series) - options["last_samples"]]
    if kept.empty:
        raise AnalysisError(
            f"expected samples of a device, found {len(series)} before those outside the run were left out"
        )
    return kept


def _samples_key(options: Options) -> Hashable:
    return ("device", options["device"], options["first_samples"], options["last_samples"])


def cpu_time(frames: Frames, options: Options) -> Part:
    """Processor time for each outer operation: perf stat's ``event`` (task-clock) of the whole run / count of ``per``.

    Counted for one process from before its first operation until its end, this is its time on a processor. The scatter
    is that of perf stat's windows, each adding to the sum: (xᵢ − x̄) / count. AnalysisError where it is no time.
    """
    counters = frames["perf_counters"]
    rows = counters[(counters["event"] == options["event"]) & counters["value"].notna()]
    units = set(rows["unit"].dropna())
    if units != {"s"}:
        events = ", ".join(sorted(set(counters["event"].dropna()))) or "none"
        raise AnalysisError(
            f"expected a time of the event {options['event']!r}, found {units or 'none'}; events: {events}"
        )
    count = _number(_operation(frames, options["per"]["tool"], options["per"]["op"]), "n_ops")
    if not count > 0:
        raise AnalysisError(f"expected a count of {options['per']['op']} above 0, found {count:g}")
    busy = rows.groupby("time_s")["value"].sum().to_numpy("float64") / count
    return Part(float(busy.sum()), _if_several(busy - busy.mean()), ("cpu", options["event"]), "windows")


def _if_several(scores: FloatArray) -> FloatArray | None:
    return scores if len(scores) > 1 else None


def _printed(options: Options, step: float = 1.0) -> dict[str, float]:
    return {"print": step * options["resolution_s"]} if options["resolution_s"] else {}
