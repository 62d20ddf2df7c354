"""Single processors over time: which are saturated, by what, for how long, and whether the mean over all hides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pipeline.analyse.select import KEYS
from pipeline.analyse.steadiness.series_mean import series_mean
from pipeline.errors import AnalysisError

SATURATED = 0.95  # tick-based accounting and the end of a window cost a saturated processor a few per cent
OFTEN = 0.5  # share of the windows from which a processor counts as saturated
LOW_MEAN = 0.5  # mean over all processors below which nobody would look further
KINDS = ("user", "kernel", "irq", "softirq", "steal")
COLUMNS = [*KEYS, "cpu", "node", "socket", "n_windows", "observed_s", "busy_ratio", "low_ratio", "high_ratio",
           *(f"{kind}_ratio" for kind in KINDS), "saturated_ratio", "saturated_low_ratio", "saturated_high_ratio",
           "longest_s", "kind"]  # fmt: skip
_COMMAND = "mpstat -P ALL 1 (or sar -P ALL 1) records every processor"


@dataclass(frozen=True, eq=False)
class Saturation:
    """Every processor of every run: ``frame`` has COLUMNS, ``windows`` busy_ratio by run, cpu and time_s.

    Shares are means over the windows; low and high are ``series_mean``'s over the run's time (null where it refuses or
    doubts its interval, and where all windows are equal; sixty windows are the least).
    ``kind`` is what most of a processor's busy time went to in its saturated windows (in all, where it has none).
    ``groups`` has a row a run × NUMA node × socket: n_cpus, mean and largest busy share. ``findings`` has a row a run:
    the mean over the processors, the busiest one, and which are saturated.
    """

    frame: pd.DataFrame
    windows: pd.DataFrame
    groups: pd.DataFrame
    findings: pd.DataFrame
    threshold: float
    often: float
    low_mean: float
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row a run and processor."""
        return self.frame

    def saturated(self) -> pd.DataFrame:
        """Processors that were saturated in at least ``often`` of their run's windows."""
        return self.frame[self.frame["saturated_ratio"] >= self.often].reset_index(drop=True)

    def hidden(self) -> pd.DataFrame:
        """Those of them whose run's mean over all processors is below ``low_mean``."""
        return self.findings[self.findings["is_hidden"]].reset_index(drop=True)

    def most_uneven(self) -> str:
        """The run whose busiest processor is farthest above the mean over all, for a look at it over time.

        AnalysisError where no run has more than one window.
        """
        known = self.findings[self.findings["n_windows"] > 1]
        if known.empty:
            raise AnalysisError("expected a run with windows over time, found means over whole runs alone")
        excess = known["busiest_ratio"] - known["mean_ratio"]
        return str(known.loc[excess.idxmax(), "run_id"])

    def numbers(self) -> dict[str, Any]:
        """Processors, groups, findings, and the rule."""
        return {"threshold_ratio": self.threshold, "often_ratio": self.often, "low_mean_ratio": self.low_mean,
                "confidence": self.confidence, "cpus": self.frame, "groups": self.groups, "findings": self.findings,
                "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """The run in which most is hidden (else the busiest processor): which, by what, how long, beside the mean."""
        if not self.frame["saturated_ratio"].notna().any():
            return (
                "Whether a processor was saturated is not known: there is one mean over the whole run. "
                + _COMMAND
                + "."
            )
        n_hidden, n_runs = int(self.findings["is_hidden"].sum()), len(self.findings)
        order = ["is_hidden", "n_saturated", "busiest_ratio"]
        top = self.findings.sort_values(order, ascending=False, kind="stable").iloc[0]
        if not top["n_saturated"]:
            return (
                f"No processor was saturated (at least {self.threshold:.0%} busy) in {self.often:.0%} of the windows "
                f"of any of {n_runs} runs; the busiest, CPU {top['busiest']}, was {top['busiest_ratio']:.0%} busy on "
                f"average in {top['run_id']} ({top['n_windows']} windows), where the mean over all was "
                f"{top['mean_ratio']:.0%}."
            )
        rows = self.frame[(self.frame["run_id"] == top["run_id"]) & (self.frame["saturated_ratio"] >= self.often)]
        which = ", ".join(f"{row['cpu']} ({row['kind']}, {row['saturated_ratio']:.0%} of the time, longest "
                          f"{row['longest_s']:g} s)" for row in rows.head(8).to_dict("records"))  # fmt: skip
        return (
            f"{top['n_saturated']} of {top['n_cpus']} processors were saturated (at least {self.threshold:.0%} busy in "
            f"{self.often:.0%} or more of {top['n_windows']} windows) in {top['run_id']}: CPU {which}; the mean over "
            f"all processors was {top['mean_ratio']:.0%}. {n_hidden} of {n_runs} runs hide a saturated processor "
            f"behind a mean below {self.low_mean:.0%}."
        )


def saturation(
    tables: Mapping[str, pd.DataFrame],
    run_ids: Sequence[str] | None = None,
    *,
    threshold: float = SATURATED,
    often: float = OFTEN,
    low_mean: float = LOW_MEAN,
    confidence: float = 0.95,
) -> Saturation:
    """Busy shares of single processors (cpu_usage) over time, and who stood at ``threshold`` or above.

    busy is what the tool states, or 1 − idle − iowait; time stolen by the hypervisor counts as busy, for nothing ran.
    A window is saturated when its busy share reaches ``threshold``: a processor that is full for half a window is not.
    A processor's interval is ``series_mean``'s over its own windows; other runs are another matter (cpu_means). With a
    mean of the whole run alone (DISKSPD) saturation over time is null. A window without a busy share is left out, and
    ends a stretch. AnalysisError: no rows, or only the mean over all processors (``all``), which hides what is sought.
    """
    usage = tables["cpu_usage"]
    usage = usage if run_ids is None else usage[usage["run_id"].isin(list(run_ids))]
    single = _with_busy(usage[(usage["cpu"] != "all") & usage["cpu"].notna()])
    if single.empty:
        what = "only the mean over all processors" if len(usage) else "no rows of cpu_usage"
        raise AnalysisError(f"expected single processors, found {what}: {_COMMAND}")
    timed = single["time_s"].notna()
    has_windows = timed.groupby([single[key] for key in KEYS]).transform("any")
    single = single[timed | ~has_windows]  # the tool's own mean over its windows would count them twice
    warnings = _warnings(usage, single)
    rows = [_row(key, part, threshold, confidence) for key, part in single.groupby([*KEYS, "cpu"], sort=False)]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    windows = single[[*KEYS, "cpu", "time_s", "window_s", "busy_ratio"]].reset_index(drop=True)
    return Saturation(
        frame, windows, _groups(frame), _findings(frame, often, low_mean), threshold, often, low_mean, confidence,
        tuple(warnings),
    )  # fmt: skip


def _with_busy(rows: pd.DataFrame) -> pd.DataFrame:
    numbers = rows.astype({name: float for name in rows if name.endswith("_ratio")})
    busy = numbers["busy_ratio"].fillna(1 - numbers["idle_ratio"] - numbers["iowait_ratio"].fillna(0.0))
    return numbers.assign(busy_ratio=busy)


def _row(key: Any, part: pd.DataFrame, threshold: float, confidence: float) -> tuple[Any, ...]:
    """One processor of one run."""
    part = part.sort_values("time_s", kind="stable")
    known = part[part["busy_ratio"].notna()]
    busy = known["busy_ratio"].to_numpy(float)
    is_over_time = len(busy) > 1 and bool(known["time_s"].notna().any())
    is_full = busy >= threshold
    mean, low, high = _time_mean(busy, confidence)
    full = _time_mean(is_full.astype(float), confidence) if is_over_time else (np.nan,) * 3
    window_s = known["window_s"].astype(float)
    flags = (part["busy_ratio"] >= threshold).to_numpy(bool)  # a window without a share ends a stretch
    kinds = known[[f"{kind}_ratio" for kind in KINDS]]
    means = kinds.mean()
    within = (kinds[is_full] if is_full.any() else kinds).mean()
    kind = str(within.idxmax()).removesuffix("_ratio") if within.notna().any() else None
    return (
        *key, _only(part["node"]), _only(part["socket"]), len(busy), float(window_s.sum()) if is_over_time else np.nan,
        mean, low, high, *means.to_list(), *full,
        longest_stretch(flags) * float(window_s.median()) if is_over_time else np.nan, kind,
    )  # fmt: skip


def _groups(frame: pd.DataFrame) -> pd.DataFrame:
    """Busy share by run, NUMA node and socket, as far as the tool tells them apart."""
    grouped = frame.groupby([*KEYS, "node", "socket"], dropna=False, sort=False)["busy_ratio"]
    return grouped.agg(n_cpus="size", mean_ratio="mean", largest_ratio="max").reset_index()


def _findings(frame: pd.DataFrame, often: float, low_mean: float) -> pd.DataFrame:
    """A row a run: how many processors are saturated, and whether the mean hides them."""
    rows = []
    for key, part in frame.groupby(KEYS, sort=False):
        busy = part["busy_ratio"]
        busiest = part.loc[busy.idxmax()] if busy.notna().any() else part.iloc[0]
        is_full = part["saturated_ratio"] >= often
        mean = float(busy.mean())
        rows.append((
            *key, len(part), int(part["n_windows"].max()), mean, busiest["cpu"], busiest["busy_ratio"],
            int(is_full.sum()), ", ".join(part.loc[is_full, "cpu"]), bool(is_full.any() and mean < low_mean),
        ))  # fmt: skip
    columns = [*KEYS, "n_cpus", "n_windows", "mean_ratio", "busiest", "busiest_ratio", "n_saturated", "saturated",
               "is_hidden"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _warnings(usage: pd.DataFrame, single: pd.DataFrame) -> list[str]:
    found = []
    n_only_all = len(usage.groupby(KEYS)) - len(single.groupby(KEYS))
    if n_only_all:
        found.append(f"{n_only_all} reports have only the mean over all processors, left out: {_COMMAND}.")
    n_null = int(single["busy_ratio"].isna().sum())
    if n_null:
        found.append(f"{n_null} windows without a busy share are left out.")
    n_windows = single.groupby([*KEYS, "cpu"]).size().groupby(KEYS).max()
    n_runs = int((n_windows < 2).sum())
    if n_runs:
        found.append(f"{n_runs} reports have one mean over the whole run a processor: nothing is known over time.")
    return found


def _only(values: pd.Series) -> Any:
    known = values.dropna().unique()
    return known[0] if len(known) == 1 else None


def _time_mean(shares: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Mean over the windows and the ends of its interval; no ends where nothing is known of how the series scatters."""
    mean = float(shares.mean()) if len(shares) else np.nan
    if not len(shares) or (shares == shares[0]).all():
        return mean, np.nan, np.nan
    try:
        found = series_mean(shares, confidence)
    except AnalysisError:
        return mean, np.nan, np.nan
    if found.warnings:
        return mean, np.nan, np.nan
    low, high = cast(tuple[float, float], (found.estimate.low, found.estimate.high))  # ``series_mean`` gives both
    return mean, max(low, 0.0), min(high, 1.0)


def longest_stretch(is_set: ArrayLike) -> int:
    """Most consecutive true values."""
    flags = np.concatenate([[False], np.asarray(is_set, dtype=bool).ravel(), [False]]).astype(int)
    edges = np.diff(flags)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return int((ends - starts).max(initial=0))


def points_in_the_mean(n_full: int, n_cpus: int) -> float:
    """What ``n_full`` processors at 100 % add to the mean over all: n_full / n_cpus. AnalysisError unless 0 ≤ n ≤ N."""
    if not 0 <= n_full <= n_cpus or n_cpus < 1:
        raise AnalysisError(f"expected 0 to all of at least one processor, found {n_full} of {n_cpus}")
    return n_full / n_cpus
