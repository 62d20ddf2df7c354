"""The reconciliation gate: each report against itself, against its logs, and against what was measured beside it.

Every check holds two numbers of different origin against each other that must be equal by definition (a rate and a
count over a time, a total and its parts, a log and its summary) or by Little's law. A check is green where they agree
within the tolerance or within what the rounding of the printed digits hides, red where they contradict each other,
and unknown where one of them is missing or where a stated circumstance keeps them from being comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.reconciliation._counts import bin_checks, log_checks, series_checks, total_checks
from pipeline.analyse.reconciliation._device import device_checks
from pipeline.analyse.reconciliation._latency import latency_checks
from pipeline.analyse.reconciliation._pairs import GREEN, RED, UNKNOWN, joined, judge
from pipeline.analyse.reconciliation._rates import rate_checks, sample_checks
from pipeline.analyse.reconciliation._run import clock_checks, depth_checks, manifest_checks
from pipeline.analyse.select import KEYS, stacked
from pipeline.units import format_si

STATUSES = (GREEN, RED, UNKNOWN)
COLUMNS = ["campaign", "run_id", "tool", "check", "subject", "status", "left", "left_from", "right", "right_from",
           "unit", "difference_ratio", "tolerance_ratio", "cause", "left_file", "right_file"]  # fmt: skip
_FIGURES = r"\d[\d,.]*(?:e[-+]\d+)?"
COUNT_DIGITS = 1e6  # from here on a count is printed whole
JUST = 1e-9  # relative: what binary fractions add to a difference
NOTHING = "nothing"  # the check of a run that has no two figures that belong together


@dataclass(frozen=True)
class Reconciliation:
    """All comparisons of a campaign's runs, a row each; ``frame`` has the columns COLUMNS.

    ``left`` and ``right`` are the two numbers in ``unit``, ``left_from`` and ``right_from`` their table and column,
    ``left_file`` and ``right_file`` the raw files of the reports that hold them. ``difference_ratio`` is
    (left − right) / right, or the distance to the nearer bound where right is a bound. ``cause`` names the likely
    cause of a red, the reason of an unknown, and what a green rests on beyond the tolerance.
    """

    frame: pd.DataFrame
    tolerance: float
    warnings: tuple[str, ...] = ()

    @property
    def has_red(self) -> bool:
        """Whether any two numbers contradict each other."""
        return bool((self.frame["status"] == RED).any())

    def to_frame(self) -> pd.DataFrame:
        """The frame."""
        return self.frame

    def reds(self) -> pd.DataFrame:
        """The contradictions, the largest first."""
        red = self.frame[self.frame["status"] == RED]
        return red.loc[red["difference_ratio"].abs().sort_values(ascending=False, kind="stable").index]

    def reds_frame(self) -> pd.DataFrame:
        """The contradictions for a page: run, check, both numbers with their origin, the difference, the cause."""
        rows = [
            {"run": f"{row['campaign']}: {row['run_id']}", "check": f"{row['check']}: {row['subject']}",
             "left": figure(row["left"], row["unit"]), "left_from": row["left_from"],
             "right": figure(row["right"], row["unit"]), "right_from": row["right_from"],
             "difference_ratio": row["difference_ratio"], "likely_cause": row["cause"].split(":")[0]}
            for row in self.reds().to_dict("records")
        ]  # fmt: skip
        columns = ["run", "check", "left", "left_from", "right", "right_from", "difference_ratio", "likely_cause"]
        return pd.DataFrame(rows, columns=columns)

    def explained(self) -> pd.DataFrame:
        """Green comparisons whose difference is beyond the tolerance, with what explains it."""
        beyond = self.frame["difference_ratio"].abs() > self.tolerance * (1 + JUST)
        green = self.frame[beyond & (self.frame["status"] == GREEN)]
        return green[["campaign", "run_id", "check", "subject", "difference_ratio", "cause"]].reset_index(drop=True)

    def explanations_in_short(self) -> list[str]:
        """A sentence for each kind of red: check, cause in short, how many, in which campaign, and the largest."""
        red = self.reds()
        kinds = red.assign(short=red["cause"].str.split(":").str[0]).groupby(["campaign", "check", "short"], sort=False)
        return [
            f"{campaign}: {len(part)} × {check}, likely cause {short}; the largest is "
            f"{figure(part['left'].iloc[0], part['unit'].iloc[0])} against "
            f"{figure(part['right'].iloc[0], part['unit'].iloc[0])} ({part['difference_ratio'].iloc[0]:+.2%})."
            for (campaign, check, short), part in kinds
        ]

    def counts(self, *by: str) -> pd.DataFrame:
        """Comparisons by status, a row a combination of the columns ``by``, in the order in which they come."""
        counted = self.frame.groupby([*by, "status"], sort=False).size().unstack("status", fill_value=0)
        counted = counted.reindex(columns=list(STATUSES), fill_value=0)
        return counted.rename_axis(columns=None).reset_index()

    def reasons(self) -> pd.DataFrame:
        """Why comparisons are unknown: campaign, check, the reason in short, and how many."""
        unknown = self.frame[self.frame["status"] == UNKNOWN]
        short = unknown.assign(reason=unknown["cause"].str.split("; ").str[0].str.replace(_FIGURES, "…", regex=True))
        counted = short.groupby(["campaign", "check", "reason"], sort=False).size().rename("n_comparisons")
        return counted.reset_index().sort_values("n_comparisons", ascending=False, kind="stable", ignore_index=True)

    def explanations(self) -> list[str]:
        """A paragraph for each red: both numbers, where they come from, the likely cause, what supports a side."""
        return [
            f"{row['campaign']}, {row['run_id']}, {row['check']} ({row['subject']}): {row['left_from']} is "
            f"{figure(row['left'], row['unit'])}, {row['right_from']} is {figure(row['right'], row['unit'])}, "
            f"a difference of {row['difference_ratio']:+.2%}. Likely cause: {row['cause']}.{self._support(row)}"
            for row in self.reds().to_dict("records")
        ]

    def _support(self, red: dict[str, Any]) -> str:
        """What else of the same run agrees with one side of a red."""
        frame = self.frame
        of_run = (frame["campaign"] == red["campaign"]) & (frame["run_id"] == red["run_id"])
        same = frame[of_run & (frame["status"] == GREEN)]
        texts = []
        for side in ("left_from", "right_from"):
            for mine, other in (("left", "right"), ("right", "left")):
                found = same[(same[f"{mine}_from"] == red[side]) & same["tool"].eq(red["tool"])]
                texts += [f"{red[side]} agrees with {text}" for text in found[f"{other}_from"].unique()]
        return f" In the same run, {', '.join(dict.fromkeys(texts))}." if texts else ""

    def numbers(self) -> dict[str, Any]:
        """Counts by campaign and by check, the reds, and the tolerance."""
        return {"tolerance_ratio": self.tolerance, "by_campaign": self.counts("campaign"),
                "by_check": self.counts("check"), "reds": self.reds(), "explanations": self.explanations(),
                "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """One sentence: how many comparisons of how many runs agree, contradict each other, or cannot be made."""
        status = self.frame["status"]
        n_runs = self.frame[["campaign", "run_id"]].drop_duplicates().shape[0]
        n_red_runs = self.reds()[["campaign", "run_id"]].drop_duplicates().shape[0]
        return (
            f"Of {len(self.frame):,} comparisons in {n_runs:,} runs, {int((status == GREEN).sum()):,} agree within "
            f"{self.tolerance:.2%} of the right-hand figure, or within what rounding and cut-off windows hide, "
            f"{int((status == RED).sum()):,} (in {n_red_runs:,} of the runs) contradict each other, and "
            f"{int((status == UNKNOWN).sum()):,} cannot be judged; this assumes only that both figures mean the same "
            "operations, so that green shows agreement of a report with itself, not that its benchmark was right."
        )


def reconcile(tables: Mapping[str, pd.DataFrame], tolerance: float = 0.01) -> Reconciliation:
    """Hold the figures of every run against each other; ``tolerance`` is relative to the right-hand figure.

    Missing figures make a comparison unknown; a run with no two figures that belong together gets one row, unknown.
    Nothing fails on nulls, zero durations or zero latencies: a zero on the right is red unless the left is zero too.
    """
    checks: tuple[Iterable[pd.DataFrame], ...] = (
        depth_checks(tables, tolerance), rate_checks(tables), sample_checks(tables), total_checks(tables),
        log_checks(tables), bin_checks(tables), series_checks(tables), latency_checks(tables), device_checks(tables),
        clock_checks(tables), manifest_checks(tables),
    )  # fmt: skip
    frame = judge(joined(part for check in checks for part in check), tolerance)
    frame = pd.concat([frame, _runs_without(frame, tables["runs"])], ignore_index=True)
    frame["tolerance_ratio"] = tolerance
    runs = tables["runs"]
    campaigns = runs.drop_duplicates("run_id").set_index("run_id")["campaign"]
    frame["campaign"] = (
        frame["run_id"].map(campaigns).fillna(campaigns.dropna().iloc[0] if campaigns.notna().any() else "")
    )
    paths = _paths(tables)
    for side in ("left", "right"):
        tool = frame[f"{side}_tool"].where(frame[f"{side}_tool"].notna(), frame["tool"])
        frame[f"{side}_file"] = [paths.get(key) for key in zip(frame["run_id"], tool, strict=True)]
    order = {run: place for place, run in enumerate(runs["run_id"].drop_duplicates())}
    place = frame["run_id"].map(order).fillna(len(order))
    frame = frame.loc[place.sort_values(kind="stable").index, COLUMNS].reset_index(drop=True)
    return Reconciliation(frame, tolerance)


def combine(parts: Iterable[Reconciliation]) -> Reconciliation:
    """Join the results of several campaigns, in whose tables run ids may repeat; all of one tolerance."""
    results = list(parts)
    frame, warnings = stacked(results, COLUMNS)
    return Reconciliation(frame, results[0].tolerance if results else 0.0, warnings)


def figure(value: float, unit: str) -> str:
    """A figure scaled for reading, with its unit; counts in full."""
    if unit == "1":
        return f"{value:,.6g}" if abs(value) < COUNT_DIGITS else f"{value:,.0f}"
    return f"{value:,.2f}/s" if unit == "1/s" else format_si(value, unit, 4)


def _runs_without(frame: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each run that no check but that of the manifest found anything in."""
    compared = set(frame.loc[frame["check"] != "manifest", "run_id"])
    bare = runs[~runs["run_id"].isin(compared)].drop_duplicates("run_id")[KEYS]
    reason = "nothing to compare: the report has no two figures that must agree"
    return bare.assign(check=NOTHING, subject="the run", status=UNKNOWN, unit="1", cause=reason)


def _paths(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[str, Any], str]:
    """The raw files of each run and tool, and of each run (tool null), joined by commas."""
    runs, files = tables["runs"], tables["files"]
    paths = {
        (run, tool): path for run, tool, path in zip(runs["run_id"], runs["tool"], runs["source_path"], strict=True)
    }
    read = files[files["tool"].notna()].groupby(KEYS, sort=False)["path"].agg(", ".join)
    return {**paths, **read.to_dict()}
