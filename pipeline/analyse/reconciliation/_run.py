"""Reconciliation of a run as a whole: its depth by Little's law, its clock, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from pipeline.analyse.queueing.littles_law import littles_law
from pipeline.analyse.reconciliation._pairs import pairs
from pipeline.analyse.reconciliation._rounding import half_latency_digit, latency_pool
from pipeline.analyse.select import KEYS, summable_operations, whole_run

STAMP_S = 1.0  # most start stamps are of whole seconds


def depth_checks(tables: Mapping[str, pd.DataFrame], tolerance: float) -> Iterable[pd.DataFrame]:
    """N = X · W against the configured depth, which bounds N from above.

    N at the depth is green and N above it red: rate, latency and depth then contradict each other. N below it is a
    finding about the run, not a contradiction of its data (a rate limit, a pause, a slow submission keep it below);
    it is unknown, with the cause that littles_law finds. Only far less than one in flight a worker, without anything
    in the report that says why, is red: that is also what a wrong unit looks like. Circular and bounded N are unknown.
    """
    law = littles_law(tables, tolerance).frame
    if law.empty:
        return
    cause = law["cause"].astype(object)
    differs = law["verdict"] == "differs"
    is_red = differs & cause.str.startswith(("unexplained", "idle workers"))
    excuse = (
        ("the depth was not held: " + cause).where(differs, cause).where(~is_red & (law["verdict"] != "agrees"), None)
    )
    chosen = summable_operations(tables)
    half = half_latency_digit(chosen, "latency_mean_s", latency_pool(tables)) * chosen["ops_per_s"]
    by_group = chosen.assign(half=half).groupby([*KEYS, "group"], dropna=False)["half"].sum().reset_index()
    rounding = law.merge(by_group, on=[*KEYS, "group"], how="left")["half"].set_axis(law.index)
    subject = law["group"].astype(object).where(law["group"].notna(), "all operations")
    yield pairs(
        law, "littles-law", subject=subject, left=law["queue_depth"], right=law["queue_depth_configured"], unit="1",
        left_from="operations.Σ ops_per_s × latency_mean_s", right_from="operations.queue_depth", rounding=rounding,
        excuse=excuse, void=cause.where(law["verdict"] == "circular", None), likely=cause,
    )  # fmt: skip


def clock_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """The report's duration against the longest of its operations', and against the wall clock of its start and end.

    The end is known where a report is stamped at its end (fio's timestamp_ms). A measured duration may be shorter than
    the time between the stamps (start-up, ramp), not longer; start stamps are of whole seconds, which is rounding.
    """
    runs, rows = tables["runs"], tables["operations"]
    longest = rows[whole_run(rows)].groupby(KEYS, sort=False)["duration_s"].max().rename("longest_s").reset_index()
    merged = runs.merge(longest, on=KEYS, how="inner").dropna(subset=["duration_s", "longest_s"])
    yield pairs(
        merged, "duration", subject="the run and its operations", left=merged["longest_s"], unit="s",
        left_from="operations.duration_s, the longest", right=merged["duration_s"], right_from="runs.duration_s",
        likely="time base: jobs ran one after the other, or the run goes on beyond them",
    )  # fmt: skip
    stamps = tables["parameters"]
    stamps = stamps[(stamps["name"] == "timestamp_ms") & stamps["job"].isna()].drop_duplicates(KEYS)
    merged = runs.merge(stamps[[*KEYS, "value"]], on=KEYS, how="inner").dropna(subset=["started_at", "duration_s"])
    ended = pd.to_datetime(pd.to_numeric(merged["value"], errors="coerce"), unit="ms", utc=True)
    elapsed = (ended - merged["started_at"]).dt.total_seconds()
    over = (merged["duration_s"] - elapsed).clip(lower=0)
    yield pairs(
        merged, "wall-clock", subject="the run between its stamps", left=merged["duration_s"], right=elapsed, unit="s",
        left_from="runs.duration_s", right_from="parameters timestamp_ms − runs.started_at", rounding=STAMP_S,
        distance_ratio=over / elapsed.abs().where(elapsed != 0, 1.0),
        likely="clock: the run measured for longer than its stamps are apart",
    )  # fmt: skip


def manifest_checks(tables: Mapping[str, pd.DataFrame]) -> Iterable[pd.DataFrame]:
    """Files whose bytes are those of the manifest and at which no reader gave up, of all files of the run.

    One that differs is a red, whatever the tolerance. Without a table of files (no campaign) there is nothing to check.
    """
    files = tables["files"]
    if files.empty:
        return
    is_bad = files["status"].isin(["changed", "failed"])
    rows = files.assign(is_good=~is_bad).groupby("run_id", sort=False)["is_good"].agg(["sum", "size"]).reset_index()
    named = (files["path"].astype(object) + " " + files["status"].astype(object))[is_bad]
    texts = "files: " + named.groupby(files["run_id"]).agg(", ".join)
    yield pairs(
        rows.assign(tool=np.nan), "manifest", subject="raw files", left=rows["sum"], right=rows["size"], unit="1",
        left_from="files as recorded and readable", right_from="files of the manifest",
        distance_ratio=(rows["sum"] < rows["size"]).astype("float64"), likely=rows["run_id"].map(texts),
    )  # fmt: skip
