"""The verdict on one run of ACT: which limit was reached where, and what else stands against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd

HOUR_S = 3600.0
LIMITS = ((1e-3, 0.05), (8e-3, 0.01), (64e-3, 0.001))  # (s, share): fewer than the share may take longer
RULE = "in any one hour fewer than 5 % of the reads over 1 ms, 1 % over 8 ms, 0.1 % over 64 ms, for 24 h"
RULE_VERSION = "README of ACT 2.x – 6.6"
BURSTS = 2.0  # dispersion from which the binomial interval is called too narrow
Test = Literal["performance", "stress"]


def outcome(row: Mapping[str, Any]) -> str:
    """Whether the share of a slice is over its limit, within it, undecided, or of no operations."""
    if not row["n_ops"]:
        return "no operations"
    if row["over_low_ratio"] >= row["limit_ratio"]:
        return "over"
    return "within" if row["over_high_ratio"] < row["limit_ratio"] else "undecided"


def _all(outcomes: pd.Series) -> str:
    """One outcome of several: over before undecided before within."""
    found = set(outcomes)
    return next((name for name in ("over", "undecided", "no operations", "within") if name in found), "no operations")


def judged(
    run: Mapping[str, Any], slices: pd.DataFrame, pooled: pd.DataFrame, test: Test, required_s: float
) -> dict[str, Any]:
    """The columns of a run's verdict; where no slice is whole, the worst share is that of all that was measured."""
    whole = slices[slices["is_whole"]]
    verdict, reason = _verdict(run, whole, pooled, test, required_s)
    found: dict[str, Any] = {
        "n_slices": int(whole["slice"].nunique()),
        "n_ops": int(pooled["n_ops"].iloc[0]) if len(pooled) else 0,
        "worst_slice": None, "worst_threshold_s": None, "worst_low_ratio": None, "worst_high_ratio": None,
        "limit_ratio": None, "margin_low_ratio": None, "margin_high_ratio": None,
    }  # fmt: skip
    has_slices = bool((whole["n_ops"] > 0).any())
    shown = whole if has_slices else pooled
    shown = shown[shown["n_ops"] > 0]
    if len(shown):
        worst = shown.loc[(shown["over_high_ratio"] / shown["limit_ratio"]).idxmax()]
        found |= {
            "worst_slice": int(worst["slice"]) if has_slices else None,
            "worst_threshold_s": worst["threshold_s"], "worst_low_ratio": worst["over_low_ratio"],
            "worst_high_ratio": worst["over_high_ratio"], "limit_ratio": worst["limit_ratio"],
            "margin_low_ratio": worst["limit_ratio"] - worst["over_high_ratio"],
            "margin_high_ratio": worst["limit_ratio"] - worst["over_low_ratio"],
        }  # fmt: skip
    return {**found, "limits": _all(pooled["outcome"]), "verdict": verdict, "reason": reason}


def _verdict(
    run: Mapping[str, Any], whole: pd.DataFrame, pooled: pd.DataFrame, test: Test, required_s: float
) -> tuple[str, str]:
    """Verdict and reason of one run, by the order in ``certify``."""
    lasted, is_performance = time_text(run["duration_s"]), test == "performance"
    over = whole[whole["outcome"] == "over"]
    failed = [f"slice {r['slice']}: {share_text(r)} over {_ms(r['threshold_s'])}" for r in over.to_dict("records")]
    failing = f"{over['slice'].nunique()} of {whole['slice'].nunique()} slices: {_few(failed)}"
    n_open = whole.loc[whole["outcome"] == "undecided", "slice"].nunique()
    covered = sum(whole.loc[whole["n_ops"] > 0].drop_duplicates("slice").eval("end_s - start_s"))
    is_empty = not (len(pooled) and pooled["n_ops"].iloc[0])
    rules = (
        (is_performance and is_empty, "no operations", "the log has none to judge"),
        (run["is_aborted"], "gave up", f"ACT could not keep up with the offered load, after {lasted}"),
        (is_performance and len(over) > 0, "fails", failing),
        (not run["is_complete"], "incomplete", f"ended after {lasted} without finishing"),
        (run["duration_s"] < required_s, "not certifiable", f"needs {required_s / HOUR_S:g} h, has {lasted}"),
        (is_performance and n_open > 0, "undecided", f"{n_open} slices: a limit lies inside a bin; log milliseconds"),
        (is_performance and covered < required_s, "undecided", f"only {time_text(covered)} in slices to be judged"),
    )
    return next(((verdict, reason) for applies, verdict, reason in rules if applies), ("passes", ""))


def remarks(
    tables: Mapping[str, pd.DataFrame], rows: list[dict[str, Any]], slices: pd.DataFrame, pooled: pd.DataFrame, op: str
) -> list[str]:
    """What the verdicts do not say."""
    found = []
    runs = pd.DataFrame(rows)
    if n := int((pooled["over_low_ratio"] < pooled["over_high_ratio"]).groupby(pooled["run_id"]).any().sum()):
        found.append(
            f"{n} of {len(runs)} runs have microsecond histograms: 1, 8 and 64 ms lie inside their bins "
            "(edges at 1.024, 8.192 and 65.536 ms), so that a share is known from–to only"
        )
    if n := int((pooled["dispersion"] > BURSTS).groupby(pooled["run_id"]).any().sum()):
        found.append(
            f"in {n} of {len(runs)} runs slow operations come in bursts (dispersion up to "
            f"{pooled['dispersion'].max():.0f} where independent ones have 1): the binomial interval is too narrow, "
            "the clustered one allows for bursts shorter than a reporting interval"
        )
    if n := int((slices["over_high_ratio"] == slices["limit_ratio"]).sum()):
        found.append(f"{n} shares equal their limit: by “fewer than” they fail, by “should not exceed” they would pass")
    if n := int((runs["keeps_up"] == False).sum()):  # noqa: E712 – null where the rate is not known
        found.append(f"{n} of {len(runs)} runs achieved less than 99 % of the offered reads: they were falling behind")
    bins = tables["latency_bins"]
    if op == "read" and ((bins["op"] == "write") & (bins["scope"] == "total") & (bins["tool"] == "act")).any():
        found.append(
            "committed writes are in histograms of their own, which ACT's rule does not name: judge op='write'"
        )
    return found


def share_text(row: Mapping[str, Any]) -> str:
    """A share in per cent, from–to where the bins leave it open."""
    low, high = row["over_low_ratio"] * 100, row["over_high_ratio"] * 100
    if pd.isna(low):
        return "–"
    return f"{low:.3g} %" if low == high else f"{low:.3g} – {high:.3g} %"


def _few(texts: list[str], n: int = 3) -> str:
    return "; ".join(texts[:n]) + (f" and {len(texts) - n} more" if len(texts) > n else "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:g} ms"


def time_text(seconds: float) -> str:
    """Seconds, or hours."""
    return f"{seconds / HOUR_S:.3g} h" if seconds >= HOUR_S else f"{seconds:g} s"
