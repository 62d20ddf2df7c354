"""Little's law, N = X · W: the requests in flight are the rate times the mean time each is there.

Little, J. D. C. (1961), "A Proof for the Queuing Formula: L = λW", Operations Research 9 (3), 383–387. It holds for
means of any stationary system, whatever the distributions; it says nothing of percentiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.select import KEYS, stacked, summable_operations, whole_run, whole_run_or_intervals
from pipeline.errors import AnalysisError

GROUP = [*KEYS, "group"]
COLUMNS = ["campaign", "host", "run_id", "tool", "group", "point", "ops_per_s", "latency_mean_s", "queue_depth",
           "queue_depth_low", "queue_depth_high", "queue_depth_configured", "ratio", "verdict", "cause",
           "is_complete"]  # fmt: skip
# Settings by which a tool holds back its own rate, by the names that the tools give them.
RATE_LIMIT = r"(?:.*/)?(?:rate|rate_iops|rate limit|target rate|throughput rate-limited.*)"
FAR_BELOW_ONE = 0.5  # requests in flight a worker below which its tool's own work no longer explains the pauses
OWN_WORK_S = 20e-6  # a pause a worker and operation that the tool's own work still explains
THINK_TIME = r"(?:.*/)?think ?time"
# The same on a command line, of fio and of DISKSPD (whose 2.0 does not print -g in its report).
RATE_LIMIT_OPTION = r"--rate(?:_iops)?=[1-9]|diskspd.*\s-g[1-9]"
SUBMIT_BOUND = 0.5  # share of a worker's time in submission from which it is what holds N down


@dataclass(frozen=True)
class LittlesLaw:
    """Queue depth by Little's law, a row a run (a row a group where jobs or intervals came one after the other).

    ``frame`` has the columns COLUMNS: latency_mean_s is weighted by operations; queue_depth is N; queue_depth_low and
    queue_depth_high are its bounds (equal to N where the tool gives a mean); ratio is N over queue_depth_configured.
    """

    frame: pd.DataFrame
    tolerance: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The frame."""
        return self.frame

    def verdict_frame(self) -> pd.DataFrame:
        """How many runs came to which verdict, the likely cause and what it means; a run counts once each."""
        cause = self.frame["cause"].str.partition(": ")
        frame = self.frame.assign(cause=cause[0], meaning=cause[2])
        frame = frame.drop_duplicates(["campaign", *KEYS, "verdict", "cause"])
        grouped = frame.groupby(["verdict", "cause"])
        counted = grouped.agg(n_runs=("run_id", "size"), meaning=("meaning", "first"))
        return counted.reset_index().sort_values(["n_runs", "verdict", "cause"], ascending=False, ignore_index=True)

    def counts(self) -> dict[str, object]:
        """The verdicts, and what was left out."""
        return {"runs": self.verdict_frame(), "tolerance": self.tolerance, "warnings": self.warnings}

    def mismatches(self) -> pd.DataFrame:
        """The runs whose N differs from the configured depth, the largest factor first."""
        differing = self.frame[self.frame["verdict"] == "differs"]
        distance = np.log(differing["ratio"].astype("float64").replace(0, np.nan)).abs().fillna(np.inf)
        return differing.loc[distance.sort_values(ascending=False, kind="stable").index]

    def mismatch_frame(self) -> pd.DataFrame:
        """The mismatches for a page: run (with its group), ops_per_s, latency_mean_s, n, configured, cause in short."""
        frame = self.mismatches()
        run = frame["run_id"] + (", " + frame["group"].astype("str")).where(frame["group"].notna(), "")
        return pd.DataFrame(
            {"run": run, "ops_per_s": frame["ops_per_s"], "latency_mean_s": frame["latency_mean_s"],
             "N": frame["queue_depth"], "configured": frame["queue_depth_configured"],
             "cause": frame["cause"].str.split(":").str[0]}
        )  # fmt: skip

    def sweep(self, campaign: str, points: str) -> pd.DataFrame:
        """Means over the repeats of the points that ``points`` matches in full; its groups name the workload.

        Columns: workload, queue_depth_configured, ops_per_s, latency_mean_s (weighted by operations).
        """
        of_campaign = self.frame[self.frame["campaign"] == campaign]
        groups = of_campaign["point"].str.extract(f"^(?:{points})$").dropna()
        if groups.empty:
            raise AnalysisError(f"{campaign}: expected runs whose point matches {points!r}, found none")
        found = of_campaign.loc[groups.index].assign(workload=groups.agg(" ".join, axis=1))
        by_point = found.groupby(["workload", "queue_depth_configured"])
        means = by_point[["ops_per_s", "queue_depth"]].mean().reset_index()
        return means.assign(latency_mean_s=means["queue_depth"] / means["ops_per_s"])

    def sentence(self) -> str:
        """One sentence: how many runs agree with their configured depth, and why the others do not."""
        compared = self.frame[self.frame["verdict"].isin(["agrees", "differs"])]
        differing = compared[compared["verdict"] == "differs"]
        text = (
            f"N = X · W agrees with the configured depth within {self.tolerance:.0%} "
            f"in {len(compared) - len(differing)} of {len(compared)} runs that have one "
            "(one comparison a run, of means over all of it, which assumes that the run was stationary)"
        )
        if len(differing):
            causes = differing["cause"].str.split(":").str[0].value_counts()
            text += "; the others: " + ", ".join(f"{count} {cause}" for cause, count in causes.items())
        return text + "."


def combine(parts: Iterable[LittlesLaw]) -> LittlesLaw:
    """Join the results of several campaigns, in whose tables run ids may repeat; all of one tolerance."""
    results = list(parts)
    frame, warnings = stacked(results, COLUMNS)
    return LittlesLaw(frame, results[0].tolerance if results else 0.0, warnings)


def queue_depth(ops_per_s: float, latency_mean_s: float) -> float:
    """N = X · W."""
    return ops_per_s * latency_mean_s


def littles_law(tables: Mapping[str, pd.DataFrame], tolerance: float = 0.05) -> LittlesLaw:
    """N for every run of the tables, beside the configured depth, with the likely cause of a mismatch.

    N is the sum over a run's operations, syncs included: a write that waits for its sync is there for both times.
    Where the tool gives no mean but bins (ACT), N is a pair of bounds. Runs without a rate are left out and counted
    in ``warnings``. ``tolerance`` is relative, for the comparison with the configured depth.
    """
    operations = _with_latency_bounds(summable_operations(tables), tables["latency_bins"])
    rated = operations[operations["ops_per_s"].notna()]
    n_out = operations[KEYS].drop_duplicates().shape[0] - rated[KEYS].drop_duplicates().shape[0]
    warnings = (f"Left out, for they state no rate: {n_out} of the reports.",) if n_out else ()
    if rated.empty:
        return LittlesLaw(pd.DataFrame(columns=COLUMNS), tolerance, warnings)
    frame = rated.groupby(GROUP, sort=False, dropna=False).apply(_depths_of_run).reset_index()
    frame = frame.merge(_workers(tables["operations"]), on=KEYS, how="left")
    frame["n_workers"] = frame["n_workers"].fillna(frame["n_workers_by_job"]).fillna(1)
    is_known = frame["depth_by_job"].notna() & frame["group"].isna()
    frame["queue_depth_configured"] = frame["depth_by_job"].where(is_known, frame["queue_depth_configured"])
    frame["ratio"] = frame["queue_depth"] / frame["queue_depth_configured"]
    frame = frame.merge(tables["runs"][[*KEYS, "campaign", "host", "point", "is_complete"]], on=KEYS, how="left")
    causes = _Causes(tables)
    judged = [causes.judge(row, tolerance) for row in frame.to_dict("records")]
    frame["verdict"], frame["cause"] = [pair[0] for pair in judged], [pair[1] for pair in judged]
    return LittlesLaw(frame[COLUMNS], tolerance, warnings)


def _with_latency_bounds(operations: pd.DataFrame, bins: pd.DataFrame) -> pd.DataFrame:
    """Add ``latency_low_s`` and ``latency_high_s``: the mean, or the bounds that a row's bins put on its mean.

    Each operation of a bin [lower, upper) took at least lower and less than upper; an overflow bin has no upper end,
    so that it leaves the mean unbounded (null).
    """
    keys = [*KEYS, "job", "target", "op", "scope"]
    total = whole_run_or_intervals(bins[bins["phase"] == "total"], keys)
    weighted = total[keys].copy()
    count = total["count"].astype("float64")
    weighted["n"], weighted["low"], weighted["high"] = count, count * total["lower_s"], count * total["upper_s"]
    # sum() takes a null upper edge for 0, so what lies in bounded bins is counted apart.
    weighted["n_bounded"] = count.where(total["upper_s"].notna() | (count == 0), 0)
    sums = weighted.groupby(keys, dropna=False)[["n", "low", "high", "n_bounded"]].sum().reset_index()
    sums["bin_low_s"] = sums["low"] / sums["n"]
    sums["bin_high_s"] = (sums["high"] / sums["n"]).where(sums["n_bounded"] == sums["n"])
    merged = operations.merge(sums[[*keys, "bin_low_s", "bin_high_s"]], on=keys, how="left")
    has_mean = merged["latency_mean_s"].notna()
    merged["latency_low_s"] = merged["latency_mean_s"].where(has_mean, merged["bin_low_s"])
    merged["latency_high_s"] = merged["latency_mean_s"].where(has_mean, merged["bin_high_s"])
    return merged


def _workers(operations: pd.DataFrame) -> pd.DataFrame:
    """Number and configured depth of each run's workers, for a total of the tool may join directions of several."""
    jobs = operations[whole_run(operations) & (operations["scope"] == "job")]
    workers = jobs.groupby([*KEYS, "job", "target"], dropna=False)["queue_depth"].max()
    by_run = workers.groupby(KEYS)
    return pd.DataFrame({"depth_by_job": by_run.agg(_sum_or_null), "n_workers_by_job": by_run.size()}).reset_index()


def _depths_of_run(run: pd.DataFrame) -> pd.Series:
    """Sum N over the operations of one run; null where one of them has no latency.

    A sync is part of the write that waits for it: its time counts, but it is no operation of its own.
    """
    rate = run["ops_per_s"]
    is_own = run["op"] != "sync"
    n_per_s = float(rate[is_own].sum() if is_own.any() else rate.sum())
    n = _sum_or_null(rate * run["latency_mean_s"])
    # Reads and writes of one worker share its depth; workers add up.
    configured = run.groupby(["job", "target"], dropna=False)["queue_depth"].max()
    return pd.Series(
        {
            "ops_per_s": n_per_s,
            "latency_mean_s": n / n_per_s if n_per_s else np.nan,
            "queue_depth": n,
            "queue_depth_low": _sum_or_null(rate * run["latency_low_s"]),
            "queue_depth_high": _sum_or_null(rate * run["latency_high_s"]),
            "queue_depth_configured": _sum_or_null(configured),
            "n_workers": len(configured) if (run["scope"] == "job").all() else np.nan,
        }
    )


def _sum_or_null(values: pd.Series) -> float:
    return float("nan") if values.isna().any() else float(values.sum())


class _Causes:
    """Why N may differ from the configured depth: what the run's settings, warnings and latency phases say."""

    def __init__(self, tables: Mapping[str, pd.DataFrame]) -> None:
        settings = tables["parameters"]
        value = settings["value"].fillna("")
        is_set = ~value.str.fullmatch(r"|[0,]+(?:ms|us|s)?|False|false")
        names = settings["name"].str.lower()
        runs = tables["runs"]
        by_option = runs[runs["command"].fillna("").str.contains(RATE_LIMIT_OPTION)]
        self.limited = self._runs(settings[is_set & names.str.fullmatch(RATE_LIMIT)]) | self._runs(by_option)
        self.thinking = self._runs(settings[is_set & names.str.fullmatch(THINK_TIME)])
        has_sync = self._runs(tables["operations"].loc[tables["operations"]["op"] == "sync"])
        self.syncing = self._runs(settings[is_set & names.isin(["fsync", "fdatasync"])]) - has_sync
        self.verifying = self._runs(settings[is_set & (names == "verify")])
        warnings = tables["warnings"]
        self.circular = self._runs(warnings[warnings["code"] == "latency_from_rate"])
        operations, summary = (t[whole_run(t)] for t in (tables["operations"], tables["latency_summary"]))
        submitting = summary[summary["phase"] == "submission"]
        merged = submitting.merge(operations, on=[*KEYS, "job", "target", "op", "scope"], how="inner")
        merged["busy"] = merged["ops_per_s"] * merged["mean_s"]
        by_worker = merged.groupby([*KEYS, "job", "target"], dropna=False)["busy"].sum()
        self.submission_busy = by_worker.groupby(KEYS).max().to_dict()

    @staticmethod
    def _runs(frame: pd.DataFrame) -> set[tuple[str, str]]:
        return set(zip(frame["run_id"], frame["tool"], strict=True))

    def judge(self, row: Mapping[str, Any], tolerance: float) -> tuple[str, str]:
        """Verdict and likely cause of one run."""
        key = (row["run_id"], row["tool"])
        has_latency = not (pd.isna(row["queue_depth"]) and pd.isna(row["queue_depth_low"]))
        if not has_latency:
            return "no latency", "no latency: none is stated for all of its operations"
        if key in self.circular:
            return "circular", "circular: the tool computed the latency from the rate, so that N is what was configured"
        if not pd.isna(row["ratio"]):
            if abs(row["ratio"] - 1) <= tolerance:
                return "agrees", ""
            return "differs", self._cause(key, row, tolerance)
        if not pd.isna(row["queue_depth"]):
            return "no depth", "no depth configured"
        return "bounds", "coarse bins: the tool gives bins, not a mean; N lies between its bounds"

    def _cause(self, key: tuple[str, str], row: Mapping[str, Any], tolerance: float) -> str:
        """The first that applies: what the report states, then what N itself says of closed-loop workers."""
        busy = self.submission_busy.get(key, 0.0)
        per_worker = row["queue_depth"] / row["n_workers"]
        pause_s = (row["n_workers"] - row["queue_depth"]) / row["ops_per_s"] if row["ops_per_s"] else 0.0
        rules = (
            (key in self.limited, "rate-limited: the offered rate, not the depth, sets what is in flight"),
            (key in self.thinking, "think time: each worker pauses between operations"),
            (not row["is_complete"], "incomplete run: rate and latency may cover different parts of it"),
            (key in self.verifying, "phases: the job wrote first, then read back to verify; rates must not be added"),
            (row["ratio"] > 1, "unexplained: more in flight than configured; rate, latency, depth do not fit together"),
            (busy > SUBMIT_BOUND, f"submit-bound: a worker spends {min(busy, 1):.0%} of its time submitting"),
            (key in self.syncing, "sync: the report has no time of the syncs that the operations waited for"),
            (
                per_worker < FAR_BELOW_ONE and pause_s > OWN_WORK_S,
                "idle workers: far less than one in flight each: a limit that is not reported",
            ),
            (per_worker < 1 - tolerance, "between operations: less than one in flight a worker: the tool's own work"),
            (
                per_worker <= 1 + tolerance,
                "one at a time: each operation of a worker ends before its next is submitted",
            ),
        )
        partly = "partly filled: more than one in flight a worker, but submitting takes part of each round trip"
        return next((text for applies, text in rules if applies), partly)
