"""Does a device pass Aerospike's certification? ACT's rule, slice by slice, with what the log can and cannot support.

The rule, from the README of github.com/aerospike/act ("Standard Pass/Fail Criteria"; its figures are those of 2013,
for every version from 2.x to 6.6): in any one hour of a test of 24 h fewer than 5 % of the transactions take more than
1 ms, fewer than 1 % more than 8 ms, fewer than 0.1 % more than 64 ms. The recommended load was 3x up to 4.0 and is 30x
from 5.0 on; a stress test at twice the load passes if ACT runs to its end, whatever the latencies. README and
act_latency.py judge the reads; before 6.0 that histogram has the wait in ACT's own queue in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from pipeline.analyse.act._runs import act_runs
from pipeline.analyse.act._slices import read_bins, slice_counts
from pipeline.analyse.act._verdict import (
    HOUR_S,
    LIMITS,
    RULE,
    RULE_VERSION,
    Test,
    judged,
    outcome,
    remarks,
    share_text,
    time_text,
)
from pipeline.analyse.act.rating import RATING_RULE
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

REQUIRED_S = 24 * HOUR_S


@dataclass(frozen=True)
class Certification:
    """The verdict on each run of ACT, and its slices.

    ``frame``: a row a run: campaign, host, run_id, tool, point, repeat, tool_version, n_devices, n_drives, x_rating (a
    device), x_rating_per_drive, offered_reads_per_s, reads_per_s, keeps_up, is_complete, is_aborted, duration_s,
    n_slices (whole ones), n_ops, worst_slice, worst_threshold_s, worst_low_ratio and worst_high_ratio (its share),
    limit_ratio, margin_low_ratio and margin_high_ratio (limit − share: what is left), limits (within, over, undecided,
    of all that was measured), verdict, reason. ``slices``: a row a run, slice and threshold (see ``slice_counts``) with
    limit_ratio and outcome; ``pooled``: the same over whole runs.
    """

    frame: pd.DataFrame
    slices: pd.DataFrame
    pooled: pd.DataFrame
    test: Test
    slice_s: float
    required_s: float
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The runs."""
        return self.frame

    def shares_frame(self, *, of: Literal["slices", "pooled"] = "pooled") -> pd.DataFrame:
        """For a page, of one campaign: a row a run (or slice), the share over each limit in per cent, from–to."""
        rows = self.pooled if of == "pooled" else self.slices
        keys = ["run_id", "slice"] if of == "slices" else ["run_id"]
        texts = rows.assign(text=[share_text(row) for row in rows.to_dict("records")])
        wide = texts.pivot(index=keys, columns="threshold_s", values="text").reset_index()
        names = {t: f"over {t * 1000:g} ms (limit {limit:.1%})" for t, limit in LIMITS}
        wide = wide.rename(columns=names).rename_axis(columns=None)
        first = rows.drop_duplicates(keys)[[*keys, "n_ops"]]
        wide = wide.merge(first, on=keys)
        if of == "slices":
            return wide
        return wide.merge(self.frame[["run_id", "x_rating", "limits", "verdict"]], on="run_id")

    def numbers(self) -> dict[str, Any]:
        """Rule, runs by verdict, every run's row, warnings."""
        return {
            "rule": RULE, "rule_version": RULE_VERSION, "rating_rule": RATING_RULE, "test": self.test,
            "slice_s": self.slice_s, "required_s": self.required_s, "confidence": self.confidence,
            "verdicts": self.frame["verdict"].value_counts().to_dict(),
            "limits": self.frame["limits"].value_counts().to_dict(), "runs": self.frame, "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """How many runs came to which verdict, by which rule."""
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.frame["verdict"].value_counts().items())
        limits = self.frame["limits"].value_counts()
        measured = ", ".join(f"{limits.get(name, 0)} {name}" for name in ("within", "over", "undecided"))
        lasted = _span(self.frame["duration_s"])
        rule = RULE if self.slice_s == HOUR_S else f"its limits on slices of {self.slice_s:g} s, not of an hour"
        return (
            f"ACT's {self.test} test ({rule}; {RULE_VERSION}), n = {len(self.frame)} runs of {lasted}: {counts}. "
            f"Against the limits of latency, over all that was measured: {measured}. The intervals of the shares "
            f"({self.confidence:.0%}, exact binomial) are of one run's operations, not of repeats."
        )


def certify(
    tables: Mapping[str, pd.DataFrame],
    *,
    test: Test = "performance",
    op: str = "read",
    slice_s: float = HOUR_S,
    required_s: float = REQUIRED_S,
    confidence: float = 0.95,
) -> Certification:
    """Judge every run of ACT in the tables by the README's rule.

    The share over a limit is that of the counts in the slice, exactly: the verdict is not rounded to two digits as
    act_latency.py's table is. A share that equals the limit fails ("fewer than 5 %"; the README's next sentence,
    "should not exceed", would let it pass: such a case is in ``warnings``). A limit inside a bin leaves a share from
    ``over_low_ratio`` to ``over_high_ratio``, and the verdict "undecided" where the limit lies between.

    Verdicts of a performance test, first match wins: *no operations* of ``op``; *gave up* (ACT could not keep up:
    devices or service threads were too slow, the README says); *fails* (a whole slice reaches a limit, in however short
    a run); *incomplete* (killed, or the tool failed); *not certifiable* (shorter than ``required_s``: needs 24 h);
    *undecided* (a limit inside a bin, or slices that cannot be judged: without operations, or sharing a report with
    their neighbour); *passes*. A last slice that is not whole is shown but not judged, as act_latency.py leaves it out.
    Of a stress test: *gave up*, *incomplete*, *not certifiable*, *passes*, whatever the latencies.

    AnalysisError: no run of ACT, shares outside 0 … 1.
    """
    if not 0 < confidence < 1:
        raise AnalysisError(f"confidence must lie between 0 and 1, found {confidence!r}")
    runs = act_runs(tables)
    bins = read_bins(tables["latency_bins"], op)
    bins = bins[pd.MultiIndex.from_frame(bins[KEYS]).isin(pd.MultiIndex.from_frame(runs[KEYS]))]
    limits = dict(LIMITS)
    slices = slice_counts(bins, runs, list(limits), slice_s, confidence)
    longest = float(runs["duration_s"].max()) * 2 + 1  # one slice a run
    pooled = slice_counts(bins, runs, list(limits), longest, confidence)
    for frame in (slices, pooled):
        frame["limit_ratio"] = frame["threshold_s"].map(limits)
        frame["outcome"] = [outcome(row) for row in frame.to_dict("records")]
    rows = []
    for run in runs.to_dict("records"):
        own, whole_run = (_of_run(frame, run) for frame in (slices, pooled))
        rows.append({**run, **judged(run, own, whole_run, test, required_s)})
    return Certification(
        pd.DataFrame(rows), slices, pooled.drop(columns=["slice", "start_s", "is_whole"]), test, slice_s, required_s,
        confidence, tuple(remarks(tables, rows, slices, pooled, op)),
    )  # fmt: skip


def combine(parts: Iterable[Certification]) -> Certification:
    """Join the results of several campaigns that were judged alike; AnalysisError where they were not."""
    results = list(parts)
    if not results or len({(r.test, r.slice_s, r.required_s, r.confidence) for r in results}) != 1:
        raise AnalysisError("expected results of one test, slice, duration and confidence")
    frame, slices, pooled = (
        pd.concat([getattr(r, name) for r in results], ignore_index=True) for name in ("frame", "slices", "pooled")
    )
    first = results[0]
    warnings = tuple(warning for result in results for warning in result.warnings)
    return Certification(frame, slices, pooled, first.test, first.slice_s, first.required_s, first.confidence, warnings)


def _of_run(frame: pd.DataFrame, run: Mapping[str, Any]) -> pd.DataFrame:
    return frame[(frame["run_id"] == run["run_id"]) & (frame["tool"] == run["tool"])]


def _span(durations: pd.Series) -> str:
    low, high = time_text(durations.min()), time_text(durations.max())
    return low if low == high else f"{low} to {high}"
