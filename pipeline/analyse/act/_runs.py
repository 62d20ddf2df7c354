"""What each run of ACT was asked for and whether it kept up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pipeline.analyse.act.rating import n_drives, offered_rating
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

KEEPS_UP = 0.99  # of the offered reads; ACT lets a run lag by up to max-lag-sec, which a short one does not exceed
RUN_COLUMNS = ["campaign", "host", *KEYS, "point", "repeat", "tool_version", "duration_s", "is_complete"]


def act_runs(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a run of ACT (logs alone, not configurations), with its offered load and what it achieved.

    Columns beside those of ``runs``: n_devices (as ACT counts: partitions too), n_drives, x_rating (null where reads to
    writes are not 2 to 1), x_rating_per_drive, offered_reads_per_s, reads_per_s, keeps_up (null where ACT's own reads
    hide the offered ones: an index, updates), is_aborted. AnalysisError without a run.
    """
    runs = tables["runs"]
    runs = runs.loc[(runs["tool"] == "act") & runs["duration_s"].notna(), RUN_COLUMNS]
    if runs.empty:
        raise AnalysisError(f"expected runs of act, found tools {sorted(set(tables['runs']['tool']))}")
    settings = tables["parameters"][tables["parameters"]["tool"] == "act"]
    by_run = {
        run_id: dict(zip(part["name"], part["value"], strict=True)) for run_id, part in settings.groupby("run_id")
    }
    warnings = tables["warnings"]
    aborted = set(warnings.loc[(warnings["code"] == "aborted") & (warnings["tool"] == "act"), "run_id"])
    operations = tables["operations"]
    reads = operations[(operations["tool"] == "act") & (operations["op"] == "read") & (operations["scope"] == "total")]
    n_reads = reads.groupby("run_id")["n_ops"].sum()
    loads = [
        _load(by_run.get(run["run_id"], {}), n_reads.get(run["run_id"]), run["duration_s"])
        for run in runs.to_dict("records")
    ]
    found = pd.concat([runs.reset_index(drop=True), pd.DataFrame(loads)], axis=1)
    found["is_complete"] = found["is_complete"].astype(bool)
    return found.assign(is_aborted=found["run_id"].isin(aborted))


def _load(settings: Mapping[str, str], n_reads: Any, duration_s: float) -> dict[str, Any]:
    devices = re.split(r"[,\s]+", (settings.get("device-names") or "").strip(", "))
    devices = [device for device in devices if device]
    reads, writes = _number(settings, "read-reqs-per-sec"), _number(settings, "write-reqs-per-sec")
    rating = offered_rating(reads, writes, len(devices)) if devices and reads and writes is not None else None
    offered = _number(settings, "internal-read-reqs-per-sec")
    if offered is None and not _number(settings, "update-pct"):
        offered = reads
    if settings.get("test-kind") == "index":
        offered = None
    achieved = None if n_reads is None or not duration_s else float(n_reads) / duration_s
    return {
        "n_devices": len(devices) or None,
        "n_drives": n_drives(devices) or None,
        "x_rating": rating,
        "x_rating_per_drive": None if rating is None else rating * len(devices) / n_drives(devices),
        "offered_reads_per_s": offered,
        "reads_per_s": achieved,
        "keeps_up": None if not offered or achieved is None else achieved >= KEEPS_UP * offered,
    }


def _number(settings: Mapping[str, str], name: str) -> float | None:
    value = pd.to_numeric(settings.get(name), errors="coerce")
    return None if pd.isna(value) else float(value)
