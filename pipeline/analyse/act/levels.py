"""The highest rate that devices held in a search over rates, and how much more load a run left room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.act.certification import Certification
from pipeline.analyse.act.rating import RATING_RULE
from pipeline.errors import AnalysisError


@dataclass(frozen=True)
class Levels:
    """Levels of load by group of devices.

    ``levels``: a row a group and rating: n_runs, n_held, state, why. ``held``: a row a group: held_x (a device, the
    highest level below which and at which every run held), undecided_x (the lowest undecided one), failed_x (the
    lowest at which a run did not hold), why, held_x_total, n_runs, room_low_ratio and room_high_ratio: how much more
    load than held_x may be asked, from 0 to failed_x / held_x − 1. ``margins``: a row a run with how much more load
    its group bore: room_low_ratio = held_x / x − 1, room_high_ratio = failed_x / x − 1.
    """

    levels: pd.DataFrame
    held: pd.DataFrame
    margins: pd.DataFrame
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """What each group held."""
        return self.held

    def efficiency_frame(self) -> pd.DataFrame:
        """Efficiency over the number of devices: a row a number of devices at which a level was held and one failed.

        Columns: n_devices, held_x, failed_x, held_x_total, efficiency = held_x / held_x of the fewest devices, and
        interval_low, interval_high. These are no confidence interval but what the steps of the search leave open: a
        limit lies between held and failed, so that the efficiency lies between held_n / failed_1 and failed_n / held_1;
        how far a search would repeat is not in it. AnalysisError where no number of devices has both.
        """
        frame = self.held.loc[self.held["held_x"].notna() & self.held["failed_x"].notna()]
        frame = frame[["n_devices", "held_x", "failed_x", "held_x_total"]].reset_index(drop=True)
        if frame.empty:
            raise AnalysisError("expected levels that were held below levels that failed, found none")
        first = frame.iloc[0]
        is_other = frame.index > 0
        frame["efficiency"] = frame["held_x"] / first["held_x"]
        frame["interval_low"] = (frame["held_x"] / first["failed_x"]).where(is_other)
        frame["interval_high"] = (frame["failed_x"] / first["held_x"]).where(is_other)
        return frame

    def numbers(self) -> dict[str, Any]:
        """What was held, level by level, with the rule."""
        return {"rating_rule": RATING_RULE, "held": self.held, "levels": self.levels, "warnings": self.warnings}

    def sentence(self) -> str:
        """What each group held, and below what it did not."""
        parts = []
        for row in self.held.to_dict("records"):
            group = f"{row['n_devices']:g} device{'' if row['n_devices'] == 1 else 's'}"
            held = "no level" if pd.isna(row["held_x"]) else f"{row['held_x']:g}x"
            failed = "none failed" if pd.isna(row["failed_x"]) else f"not {row['failed_x']:g}x ({row['why']})"
            parts.append(f"{group} held {held} each, {failed}, n = {row['n_runs']} runs")
        return "; ".join(parts) + f". {RATING_RULE}. Mostly one run a level: no interval, and no certification."


def held_levels(result: Certification, *, by: Sequence[str] = ("n_devices",)) -> Levels:
    """Of runs at several loads, the highest level that held: the README's search, without its 24 h.

    A run holds its level if it is complete, achieved 99 % of the offered reads and kept within all limits of latency
    over what was measured; it is undecided if a limit lies inside a bin and all else holds; otherwise it fails. A level
    holds if all its runs do. README: a device that fails is rated at the next lower level; hence a level above a failed
    one counts for nothing, were it held or not. ACT's own halt is not enough of a test: a short run may end before it
    lags by max-lag-sec. Runs without a rating are left out with a warning. AnalysisError when none has one.
    """
    frame = result.frame
    rated = frame[frame["x_rating"].notna()]
    if rated.empty:
        raise AnalysisError("expected runs of act whose offered reads and writes are 2 to 1, found none")
    warnings = []
    if len(rated) < len(frame):
        warnings.append(f"{len(frame) - len(rated)} runs without a rating (reads to writes not 2 to 1) are left out")
    rated = rated.assign(why=[_why(row) for row in rated.to_dict("records")])
    keys = list(by)
    levels = rated.groupby([*keys, "x_rating"]).apply(_level, include_groups=False).reset_index()
    held = levels.groupby(keys).apply(_highest, include_groups=False).reset_index()
    held["held_x_total"] = held["held_x"] * held["n_devices"] if "n_devices" in held else held["held_x"]
    held["room_low_ratio"] = held["held_x"].where(held["held_x"].isna(), 0.0)
    held["room_high_ratio"] = held["failed_x"] / held["held_x"] - 1
    margins = rated[[*keys, "run_id", "x_rating"]].merge(held[[*keys, "held_x", "failed_x"]], on=keys)
    margins["room_low_ratio"] = margins["held_x"] / margins["x_rating"] - 1
    margins["room_high_ratio"] = margins["failed_x"] / margins["x_rating"] - 1
    unbounded = held.loc[held["failed_x"].isna(), keys].to_dict("records")
    warnings += [f"no level failed at {_named(group)}: what they can hold is not known" for group in unbounded]
    return Levels(levels, held, margins.drop(columns=["held_x", "failed_x"]), tuple(warnings))


def _why(run: dict[str, Any]) -> str:
    """Why a run did not hold its level, "undecided", or nothing."""
    rules = (
        (run["is_aborted"], "gave up"),
        (not run["is_complete"], "incomplete"),
        (run["keeps_up"] is False, "achieved less than 99 % of the offered reads"),
        (run["limits"] == "over", "over a limit of latency"),
        (run["limits"] != "within", "undecided"),
    )
    return next((why for applies, why in rules if applies), "")


def _level(runs: pd.DataFrame) -> pd.Series:
    failed = runs.loc[~runs["why"].isin(["", "undecided"]), "why"]
    is_undecided = (runs["why"] == "undecided").any()
    state = "failed" if len(failed) else "undecided" if is_undecided else "held"
    why = failed.iloc[0] if len(failed) else "a limit lies inside a bin" if is_undecided else ""
    return pd.Series({"n_runs": len(runs), "n_held": int((runs["why"] == "").sum()), "state": state, "why": why})


def _highest(levels: pd.DataFrame) -> pd.Series:
    failed = levels[levels["state"] == "failed"]
    below = levels if failed.empty else levels[levels["x_rating"] < failed["x_rating"].min()]
    held = below.loc[below["state"] == "held", "x_rating"]
    undecided = below.loc[below["state"] == "undecided", "x_rating"]
    first = failed.sort_values("x_rating").iloc[0] if len(failed) else None
    return pd.Series(
        {"held_x": held.max() if len(held) else float("nan"),
         "undecided_x": undecided.min() if len(undecided) else float("nan"),
         "failed_x": float("nan") if first is None else first["x_rating"], "why": "" if first is None else first["why"],
         "n_runs": int(levels["n_runs"].sum())}
    )  # fmt: skip


def _named(group: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in group.items()
    )
