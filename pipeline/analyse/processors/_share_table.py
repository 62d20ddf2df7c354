"""Counts of samples by place and run as arrays, and what they say: shares, differences, verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipeline.analyse.comparison.rank_sum import holm
from pipeline.analyse.intervals import Bounds, clopper_pearson, dispersion
from pipeline.analyse.processors.profiles import Profile
from pipeline.analyse.processors.shares import Differences, between_runs, mean_bounds, newcombe

Floats = NDArray[np.float64]
OTHERS = "[others]"
RUNS, SAMPLES, NOTHING = "runs", "samples", "none"
OVERDISPERSED = 2.0  # from which variance ratio between runs on samples cannot be called independent
DIFFERENCE_COLUMNS = ["base", "other", "share_base_ratio", "share_other_ratio", "difference_ratio", "low_ratio",
                      "high_ratio", "p_value", "p_holm", "verdict"]  # fmt: skip


def compare_counts(
    counts: Floats, totals: Floats, is_other: NDArray[np.bool_], confidence: float = 0.95
) -> tuple[Differences, str]:
    """Differences of the shares counts / totals, shapes (m, r) and (r,), of the other runs from the base; and the unit.

    Between the runs where each side has two, else of the samples added up a side.
    """
    if min(int(is_other.sum()), int((~is_other).sum())) >= 2:
        shares = counts / totals
        return between_runs(shares[:, ~is_other], shares[:, is_other], confidence), RUNS
    base, other = counts[:, ~is_other].sum(axis=1), counts[:, is_other].sum(axis=1)
    return newcombe(base, totals[~is_other].sum(), other, totals[is_other].sum(), confidence), SAMPLES


def run_bounds(counts: Floats, totals: Floats, shares: Floats, *, has_counts: bool, confidence: float) -> Bounds:
    """Interval of the mean share of runs: Student's t, or Clopper–Pearson's of the samples where all runs are equal.

    Equal shares are those of places that no run has hit: their upper end rests on all samples together.
    """
    bounds = mean_bounds(shares, confidence)
    if not has_counts:
        return bounds
    together = clopper_pearson(counts.sum(axis=1), totals.sum(), confidence)
    is_missing = np.isnan(bounds.low)
    return Bounds(np.where(is_missing, together.low, bounds.low), np.where(is_missing, together.high, bounds.high))


def verdicts(found: Differences, p_holm: Floats, confidence: float) -> list[str]:
    """higher, lower, no difference shown (after Holm), or no interval."""
    signs = np.where(found.difference > 0, "higher", "lower")
    words = np.where(p_holm <= 1 - confidence, signs, "no difference shown")
    return [str(word) for word in np.where(np.isnan(found.low), "no interval", words)]


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Counts and shares by place and run; all arrays have a row a place, a column a run."""

    index: pd.DataFrame
    counts: Floats
    totals: Floats
    known: Floats  # shares
    side_of: NDArray[np.str_]
    sides: tuple[str, ...]
    has_counts: bool

    @property
    def unit(self) -> str:
        n_runs = [int((self.side_of == side).sum()) for side in self.sides]
        return RUNS if min(n_runs) >= 2 else SAMPLES if self.has_counts else NOTHING

    def shares(self, confidence: float) -> pd.DataFrame:
        return pd.concat([self._of_side(side, confidence) for side in self.sides], ignore_index=True)

    def _of_side(self, side: str, confidence: float) -> pd.DataFrame:
        of_side = self.side_of == side
        counts, totals, known = self.counts[:, of_side], self.totals[of_side], self.known[:, of_side]
        nothing = np.full(len(self.index), np.nan)
        share, bounds, spread = known.mean(axis=1), Bounds(nothing, nothing), nothing
        if self.unit == RUNS:
            bounds = run_bounds(counts, totals, known, has_counts=self.has_counts, confidence=confidence)
        elif self.unit == SAMPLES:
            share = counts.sum(axis=1) / totals.sum()
            bounds = clopper_pearson(counts.sum(axis=1), totals.sum(), confidence)
        if self.has_counts:
            spread = dispersion(counts, totals)
        n_total = totals.sum() if self.has_counts else np.nan
        n_samples = counts.sum(axis=1) if self.has_counts else nothing
        return self.index.assign(
            side=side, n_samples=pd.array(n_samples, "Float64").astype("Int64"), n_runs=int(of_side.sum()),
            n_total=pd.array(np.full(len(self.index), n_total), "Float64").astype("Int64"), share_ratio=share,
            low_ratio=bounds.low, high_ratio=bounds.high, dispersion=spread,
        )  # fmt: skip

    def differences(self, confidence: float, n_tested: int) -> pd.DataFrame:
        """Each side against the first; Holm over all of them together."""
        frames = [self._between(self.sides[0], other, confidence, n_tested) for other in self.sides[1:]]
        if not frames:
            return pd.DataFrame(columns=[*self.index.columns, *DIFFERENCE_COLUMNS])
        frame = pd.concat(frames, ignore_index=True)
        frame["p_holm"] = holm(frame["p_value"].fillna(1.0).to_numpy(float)) if len(frame) else []
        found = Differences(*(frame[name].to_numpy(float) for name in
                              ("difference_ratio", "low_ratio", "high_ratio", "p_value")))  # fmt: skip
        frame["verdict"] = verdicts(found, frame["p_holm"].to_numpy(float), confidence)
        return frame[[*self.index.columns, *DIFFERENCE_COLUMNS]]

    def _between(self, base: str, other: str, confidence: float, n_tested: int) -> pd.DataFrame:
        chosen = np.isin(self.side_of, [base, other])
        counts, totals, known = self.counts[:n_tested, chosen], self.totals[chosen], self.known[:n_tested, chosen]
        is_other = self.side_of[chosen] == other
        means = known[:, ~is_other].mean(axis=1), known[:, is_other].mean(axis=1)
        if self.unit == RUNS:
            found = between_runs(known[:, ~is_other], known[:, is_other], confidence)
        elif self.unit == SAMPLES:
            sums = counts[:, ~is_other].sum(axis=1), counts[:, is_other].sum(axis=1)
            n = totals[~is_other].sum(), totals[is_other].sum()
            means, found = (sums[0] / n[0], sums[1] / n[1]), newcombe(sums[0], n[0], sums[1], n[1], confidence)
        else:
            nothing = np.full(n_tested, np.nan)
            found = Differences(means[1] - means[0], nothing, nothing, nothing)
        return self.index.iloc[:n_tested].assign(
            base=base, other=other, share_base_ratio=means[0], share_other_ratio=means[1],
            difference_ratio=found.difference, low_ratio=found.low, high_ratio=found.high, p_value=found.p_value,
        )  # fmt: skip

    def warnings(self, shares: pd.DataFrame, differences: pd.DataFrame) -> list[str]:
        found = []
        if self.unit == NOTHING:
            found.append("No sample counts: shares are perf's overhead, without intervals (perf report -n gives them).")
        n_runs = [int((self.side_of == side).sum()) for side in self.sides]
        if self.unit == SAMPLES and max(n_runs) > 1:
            found.append(f"Not every side has 2 runs ({n_runs}): the runs of a side are added up.")
        large = shares[shares["share_ratio"] >= 0.01]["dispersion"].dropna()
        if len(large) and (middle := float(large.median())) > OVERDISPERSED:
            found.append(
                f"Shares vary between runs {middle:.1f} times as much (median over shares from 1 %) as independent "
                f"samples would: an interval from the samples alone would be {middle**0.5:.1f} times too narrow."
            )
        if len(differences) and self.unit == RUNS and (differences["verdict"] == "no interval").any():
            found.append("Where no run differs from another of its side, the runs tell no interval.")
        return found


def matrix(profile: Profile, keys: list[str], value: str) -> tuple[pd.DataFrame, Floats]:
    """Sums of a column by place and run, 0 where a run has no row of the place; and each run's total."""
    frame = profile.frame.assign(**{value: profile.frame[value].astype(float)})
    missing = frame[value].isna().groupby(frame["run_id"]).any()
    frame[keys] = frame[keys].astype(object).where(frame[keys].notna(), None).fillna("")
    table = frame.pivot_table(index=keys, columns="run_id", values=value, aggfunc="sum", fill_value=0.0)
    runs = [run for side in profile.sides for run in profile.runs(side)]
    table = table.reindex(columns=runs, fill_value=0.0)
    table.loc[:, [run for run in runs if missing[run]]] = np.nan
    return table, table.to_numpy(float).sum(axis=0)


def with_others(counts: pd.DataFrame, is_small: NDArray[np.bool_]) -> pd.DataFrame:
    """The places kept, and a last row for all others."""
    index = counts.index.to_frame(index=False)
    kept = index[~is_small]
    if is_small.any():
        named = "symbol" if "symbol" in index else index.columns[-1]
        kept = pd.concat([kept, pd.DataFrame([dict.fromkeys(index.columns, "") | {named: OTHERS}])])
    return kept.reset_index(drop=True)


def lumped(values: Floats, is_small: NDArray[np.bool_]) -> Floats:
    """Rows kept, and the sum of all others as the last one."""
    if not is_small.any():
        return values
    return np.vstack([values[~is_small], values[is_small].sum(axis=0)])
