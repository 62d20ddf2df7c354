"""Where the samples fall, side by side: shares by symbol or class with intervals, and what differs between sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.processors._share_table import NOTHING, RUNS, ShareTable, lumped, matrix, with_others
from pipeline.analyse.processors.profiles import PLACE, Profile
from pipeline.errors import AnalysisError

PERIOD_TOLERANCE = 0.01  # between a share of the samples and perf's share of the periods


@dataclass(frozen=True, eq=False)
class HotSpots:
    """Shares of each side and the differences from the first side.

    ``shares`` has a row a place (``by``) and side: n_samples, n_total, n_runs, share_ratio (with several runs the mean
    of theirs), low_ratio, high_ratio, dispersion (variance between runs over that of independent samples).
    ``differences`` has a row a place tested and other side: DIFFERENCE_COLUMNS after ``by``. ``unit`` says what the
    intervals count as independent: runs, samples, or none where there are no intervals.
    """

    by: tuple[str, ...]
    shares: pd.DataFrame
    differences: pd.DataFrame
    unit: str
    event: str
    confidence: float
    min_share: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row a place: shares with their intervals side by side, those of the first side in falling order."""
        wide = None
        for side, part in self.shares.groupby("side", sort=False):
            columns = {name: f"{side}_{name}" for name in ("share_ratio", "low_ratio", "high_ratio", "n_samples")}
            named = part.rename(columns=columns)[[*self.by, *columns.values()]]
            wide = named if wide is None else wide.merge(named, on=list(self.by), how="outer", sort=False)
        if wide is None:
            return pd.DataFrame(columns=list(self.by))
        first = next(name for name in wide if name.endswith("_share_ratio"))
        return wide.sort_values(first, ascending=False, kind="stable", ignore_index=True)

    def differing(self) -> pd.DataFrame:
        """The differences that stand after Holm's correction, the largest first."""
        found = self.differences[self.differences["verdict"].isin(["higher", "lower"])]
        order = found["difference_ratio"].abs().sort_values(ascending=False, kind="stable").index
        return found.loc[order].reset_index(drop=True)

    def numbers(self) -> dict[str, Any]:
        """For ``results.json``: shares, differences, and what they rest on."""
        return {"event": self.event, "unit_of_replication": self.unit, "confidence": self.confidence,
                "min_share_ratio": self.min_share, "shares": self.shares, "differences": self.differences,
                "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """What differs most, with interval, n and assumption; without intervals, why there are none."""
        sides = self.shares.drop_duplicates("side")
        basis = " and ".join(_basis(row) for row in sides.to_dict("records"))
        what = "classes" if self.by == ("class",) else "symbols" if "symbol" in self.by else "places"
        if self.unit == NOTHING:
            return f"No interval can be given for the {what} of {basis}: no sample counts are known (perf report -n)."
        if len(sides) == 1:
            return f"Shares of {self.event} by {what} rest on {basis}; {self._assumption()}."
        found = self.differing()
        text = (
            f"{len(found)} of {len(self.differences)} {what} differ in their share of {self.event} between {basis} "
            f"after Holm's correction at {1 - self.confidence:.0%}"
        )
        if len(found):
            top = found.iloc[0]
            name = " in ".join(str(top[column]) for column in self.by[::-1] if column != "privilege" and top[column])
            text += (
                f"; the largest difference is {name}: {top['share_base_ratio']:.1%} on {top['base']}, "
                f"{top['share_other_ratio']:.1%} on {top['other']}, {100 * top['difference_ratio']:+.1f} points "
                f"({100 * top['low_ratio']:+.1f} to {100 * top['high_ratio']:+.1f}, {self.confidence:.0%})"
            )
        return f"{text}; {self._assumption()}."

    def _assumption(self) -> str:
        if self.unit == RUNS:
            return "the unit is the run: assumed independent, their shares about normal"
        return "the unit is the sample: assumed independent, which phases of a program break; repeats would tell"


def hot_spots(
    profile: Profile, by: Sequence[str] = tuple(PLACE), min_share: float = 0.0, confidence: float = 0.95
) -> HotSpots:
    """Shares of the samples by the columns ``by`` of the profile's frame, each side against the first.

    With two or more runs on every side, the unit is the run: Student's t for the mean share, Welch's t for differences
    (a place that no run of a side has hit has Clopper–Pearson's upper end).
    With one run a side it is the sample: Clopper–Pearson, Newcombe with Fisher's p (``shares`` gives the formulas and
    sources); runs of a side with fewer repeats than the others are then added up. p-values are corrected by Holm over
    all differences tested, the intervals are not: each alone covers ``confidence``. Places below ``min_share`` on
    average over the sides become [others], which is not tested, so that shares add up to 1. Without sample counts and
    repeats the shares are perf's overhead, without intervals. AnalysisError: a run whose samples add up to 0.
    """
    keys = list(by)
    counts, totals = matrix(profile, keys, "n_samples")
    overhead, _ = matrix(profile, keys, "overhead_ratio")
    side_of = np.array([profile.frame.loc[profile.frame["run_id"] == run, "side"].iloc[0] for run in counts.columns])
    if profile.has_counts and (totals == 0).any():
        raise AnalysisError(f"expected samples, found 0 in {', '.join(counts.columns[totals == 0])}")
    known = counts.to_numpy(float) / totals if profile.has_counts else overhead.to_numpy(float)
    averages = np.mean([known[:, side_of == side].mean(axis=1) for side in profile.sides], axis=0)
    is_small = averages < min_share
    table = ShareTable(
        with_others(counts, is_small), lumped(counts.to_numpy(float), is_small), totals, lumped(known, is_small),
        side_of, profile.sides, profile.has_counts,
    )  # fmt: skip
    shares = table.shares(confidence)
    differences = table.differences(confidence, n_tested=len(table.index) - bool(is_small.any()))
    warnings = [*profile.warnings, *table.warnings(shares, differences)]
    if profile.has_counts and np.nanmax(np.abs(known - overhead.to_numpy(float)), initial=0) > PERIOD_TOLERANCE:
        warnings.append("Periods vary: shares of the samples differ from perf's overhead, which weights by period.")
    return HotSpots(tuple(keys), shares, differences, table.unit, profile.event, confidence, min_share, tuple(warnings))


def _basis(row: dict[Any, Any]) -> str:
    samples = "" if pd.isna(row["n_total"]) else f"{row['n_total']:,} samples in "
    return f"{row['side']} ({samples}{row['n_runs']} run{'s' if row['n_runs'] > 1 else ''})"
