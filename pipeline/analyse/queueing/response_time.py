"""Response beside service time of runs: measured where the schedule is logged, else estimated from the rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.intervals import median_estimate
from pipeline.analyse.queueing._operation_log import log_of, rate_of, rate_of_arrivals, setting
from pipeline.analyse.queueing.open_loop import Floats, Process, corrected_histogram, percentile, queue, schedule
from pipeline.errors import AnalysisError
from pipeline.units import format_si, plain_number

PERCENTILES = (50.0, 90.0, 99.0, 99.9)
N_SCHEDULES = 100
OVERLOADED = 0.95
UPPER = 99.0


@dataclass(frozen=True)
class ResponseTimes:
    """One run's service and response times, a row a percentile.

    ``frame``: percentile, service_s (measured), estimate_s (the services on the intended schedule; an ESTIMATE),
    estimate_low_s, estimate_high_s (of a Poisson schedule, whose draws are not logged, the middle 95 % over seeded
    schedules; else equal), histogram_s (HdrHistogram's correction, an ESTIMATE), measured_s (null where no schedule is
    known), measured_by (how). ``operations``: scheduled_s, service_s, response_s (of the first schedule; an ESTIMATE),
    a row an operation. ``utilisation``: rate × mean service time / workers.
    """

    run_id: str
    tool: str
    op: str
    rate_per_s: float
    process: Process
    n_ops: int
    n_workers: int
    utilisation: float
    mean_service_s: float
    mean_estimate_s: float
    mean_measured_s: float | None
    frame: pd.DataFrame
    operations: pd.DataFrame
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The percentiles."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """All figures, without the single operations."""
        return {name: value for name, value in self.__dict__.items() if name != "operations"}

    def sentence(self) -> str:
        """Service and response at the last percentile, labelled, with n and the assumption."""
        row = self.frame.iloc[-1]
        text = f"{self.run_id}: p{row['percentile']:g} {format_si(row['service_s'], 's')} service time, "
        if pd.notna(row["measured_s"]):
            text += f"{format_si(row['measured_s'], 's')} response time measured, "
        workers = "1 worker" if self.n_workers == 1 else f"{self.n_workers} workers"
        return text + (
            f"{format_si(row['estimate_s'], 's')} response time estimated for {self.rate_per_s:,.4g} /s "
            f"({self.process} schedule, {workers}, {self.utilisation:.0%} busy; n = {self.n_ops:,} operations of one "
            f"run; assumes services that take as long with others waiting)."
        )


@dataclass(frozen=True)
class ResponseRepeats:
    """Repeats of a point, the run as the unit: median and interval over the runs, a row a percentile and kind."""

    name: str
    runs: tuple[ResponseTimes, ...]
    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Columns: percentile, kind (service, measured, estimate, histogram), latency_s, low_s, high_s, n_runs."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The frame and what the runs had."""
        return {
            "frame": self.frame,
            "n_runs": len(self.runs),
            "warnings": sorted({w for r in self.runs for w in r.warnings}),
        }

    def value(self, percent: float, kind: str) -> str:
        """A median with its interval, as text."""
        row = self.frame[(self.frame["percentile"] == percent) & (self.frame["kind"] == kind)].iloc[0]
        ends = "" if pd.isna(row["low_s"]) else f" ({format_si(row['low_s'], 's')} … {format_si(row['high_s'], 's')})"
        return f"{format_si(row['latency_s'], 's')}{ends}"

    def sentence(self, percent: float = 99.9) -> str:
        """Service beside response at a percentile: medians over runs with intervals, labelled."""
        kinds = set(self.frame["kind"])
        text = f"{self.name}: p{percent:g} {self.value(percent, 'service')} service time"
        if "measured" in kinds:
            text += f", {self.value(percent, 'measured')} response time measured"
        enough = self.frame["low_s"].notna().all()
        how = "95 % intervals by order statistics" if enough else "no intervals: need ≥ 6 runs"
        return (
            f"{text}, {self.value(percent, 'estimate')} response time estimated (medians of n = {len(self.runs)} runs, "
            f"{how}; assumes independent runs, and services that take as long with others waiting)."
        )


def response_times(
    tables: Mapping[str, pd.DataFrame], run_id: str, *, op: str | None = None, rate_per_s: float | None = None,
    percentiles: tuple[float, ...] = PERCENTILES, seed: int = 1,
) -> ResponseTimes:  # fmt: skip
    """Service and response times of a run that logged each operation and whose rate is known.

    The rate: ``rate_per_s``, else the report's setting (fio's rate_iops, or rate over bs), else, under pgbench -R, the
    logged schedule itself. Estimate: the services, in the order in which they started, on the schedule i/rate (or on
    100 seeded Poisson schedules: medians and the middle 95 %), with as many workers as the report's queue depth.

    Measured: pgbench logs total (from the scheduled start) and schedule lag, so that service = total − lag. fio's
    linear rate keeps to i/rate and catches up after a stall (1 worker): its response is the completion stamp minus
    i/rate, to the 1 ms of the stamp. fio completes all I/O before it sleeps for its rate, so that even at a larger
    depth a rate-limited fio is a closed loop.

    A worker that is busy more than 95 % of the time: a warning, since then the response depends on the length of the
    run. AnalysisError: no log of single operations, no rate, several jobs of one run (each has a schedule of its own).
    """
    log = log_of(tables, run_id, op)
    tool, name = str(log["tool"].iloc[0]), str(log["op"].iloc[0])
    measured, measured_by = None, ""
    process: Process = "constant"
    if "lag_s" in log:
        arrivals = (log["time_s"] - log["latency_s"]).to_numpy(dtype=float)
        log = log.iloc[np.argsort(arrivals, kind="stable")]
        arrivals = np.sort(arrivals)
        service = np.maximum((log["latency_s"] - log["lag_s"]).to_numpy(dtype=float), 0)
        measured, measured_by = log["latency_s"].to_numpy(dtype=float), "schedule lag in the log"
        n_workers = int(log["job"].nunique(dropna=False))
        rate = rate_per_s or rate_of_arrivals(arrivals)
        scheduled = (arrivals - arrivals[0])[None, :]
    else:
        rate = rate_per_s or rate_of(tables, run_id, name)
        process = "poisson" if setting(tables, run_id, "rate_process") == "poisson" else "constant"
        log = log.iloc[np.argsort((log["time_s"] - log["latency_s"]).to_numpy(dtype=float), kind="stable")]
        service = log["latency_s"].to_numpy(dtype=float)
        n_workers = int(plain_number(setting(tables, run_id, "iodepth") or "1"))
        if process == "constant" and n_workers == 1 and tool == "fio":
            measured = np.maximum(log["time_s"].to_numpy(dtype=float) - schedule(len(log), rate), 0)
            measured_by = "completion stamp minus i/rate, to 1 ms"
        seeds = range(seed, seed + (N_SCHEDULES if process == "poisson" else 1))
        scheduled = np.stack([schedule(len(log), rate, process, s) for s in seeds])
    estimates = np.stack([queue(starts, service, n_workers) for starts in scheduled])
    busy = rate * float(service.mean()) / n_workers
    warnings = (
        () if busy <= OVERLOADED else (f"{run_id}: workers are {busy:.0%} busy: the response grows with the run",)
    )
    by_run = percentile(estimates, percentiles)
    low, middle, high = np.quantile(by_run, [0.025, 0.5, 0.975], axis=0)
    frame = pd.DataFrame(
        {"percentile": percentiles, "service_s": percentile(service, percentiles), "estimate_s": middle,
         "estimate_low_s": low, "estimate_high_s": high,
         "histogram_s": _histogram_percentiles(service, n_workers / rate, percentiles),
         "measured_s": np.nan if measured is None else percentile(measured, percentiles), "measured_by": measured_by}
    )  # fmt: skip
    mean_measured = None if measured is None else float(measured.mean())
    operations = pd.DataFrame({"scheduled_s": scheduled[0], "service_s": service, "response_s": estimates[0]})
    return ResponseTimes(run_id, tool, name, rate, process, len(service), n_workers, busy, float(service.mean()),
                         float(estimates.mean()), mean_measured, frame, operations, warnings)  # fmt: skip


def response_repeats(name: str, runs: Iterable[ResponseTimes]) -> ResponseRepeats:
    """Medians over the runs, with intervals by order statistics from 6 runs on; percentiles are not averaged."""
    kept = tuple(runs)
    if not kept:
        raise AnalysisError(f"{name}: expected runs, found none")
    together = pd.concat(run.frame for run in kept)
    rows = []
    for percent, part in together.groupby("percentile", sort=True):
        for kind in ("service", "measured", "estimate", "histogram"):
            values = part[f"{kind}_s"].dropna()
            if len(values):
                e = median_estimate(values)
                rows.append({"percentile": percent, "kind": kind, "latency_s": e.value, "low_s": e.low,
                             "high_s": e.high, "n_runs": e.n})  # fmt: skip
    frame = pd.DataFrame(rows).astype({"low_s": "float64", "high_s": "float64"})
    return ResponseRepeats(name, kept, frame)


def response_of_point(tables: Mapping[str, pd.DataFrame], point: str) -> ResponseRepeats:
    """All repeats of a point; AnalysisError where there is none."""
    runs = tables["runs"]
    ids = runs.loc[runs["point"] == point, "run_id"].drop_duplicates()
    return response_repeats(point, [response_times(tables, str(run_id)) for run_id in ids])


@dataclass(frozen=True)
class Agreement:
    """Estimates against what was measured, a row a run and percentile: ``ratio`` is estimate over measured response."""

    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Columns of ``ResponseTimes.frame`` with point, run_id, ratio, histogram_ratio, service_ratio."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The upper percentiles' ratios."""
        return {"runs": self.frame}

    def sentence(self) -> str:
        """Smallest and largest ratio at the upper percentiles, for the queue, the correction and no correction."""
        upper = self.frame[self.frame["percentile"] >= UPPER]
        n = self.frame["run_id"].nunique()
        columns = {"the queue estimate is": "ratio", "HdrHistogram's correction": "histogram_ratio",
                   "the service time": "service_ratio"}  # fmt: skip
        parts = [f"{name} {upper[c].min():.3g} to {upper[c].max():.3g} times" for name, c in columns.items()]
        return (
            f"Against the response time that n = {n} runs measured, at p{UPPER:g} and above, {', '.join(parts)} what "
            f"was measured (extremes over runs and percentiles, no interval; assumes that services keep their order)."
        )


def agreement(points: Iterable[ResponseRepeats]) -> Agreement:
    """Put the estimates of all runs that measured their response beside it; AnalysisError where none did."""
    frames = [run.frame.assign(point=point.name, run_id=run.run_id) for point in points for run in point.runs]
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["measured_s"])
    frame = frame[frame["measured_s"].gt(0)]
    if frame.empty:
        raise AnalysisError("expected runs that measured their response time, found none")
    ratios = {"ratio": "estimate_s", "histogram_ratio": "histogram_s", "service_ratio": "service_s"}
    return Agreement(frame.assign(**{name: frame[column] / frame["measured_s"] for name, column in ratios.items()}))


def _histogram_percentiles(service: Floats, interval_s: float, percentiles: tuple[float, ...]) -> Floats:
    """HdrHistogram's correction of exact values: bins of no width."""
    if not service.any():
        return np.zeros(len(percentiles))
    values, counts = np.unique(service, return_counts=True)
    corrected = corrected_histogram(values, values, counts, interval_s)
    return np.array([corrected.percentile_bounds(percent)[1] for percent in percentiles])
