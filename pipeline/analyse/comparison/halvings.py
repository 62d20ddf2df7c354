"""False alarms: every way to halve the repeats of one point, compared as if the halves were two sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from pipeline.analyse.comparison._sides import Side
from pipeline.analyse.comparison.rank_sum import alpha_of, holm, rank_sum
from pipeline.errors import AnalysisError

MOST_SPLITS = 1_000  # 12 repeats have 462 halvings, 14 have 1,716


@dataclass(frozen=True)
class Halvings:
    """``frame``: a row a point with n_runs, n_measures, n_halvings, n_flagged and flagged_ratio."""

    frame: pd.DataFrame
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The frame."""
        return self.frame

    def numbers(self) -> dict[str, object]:
        """The rows and the level, for results.json."""
        return {"confidence": self.confidence, "points": self.frame, "warnings": list(self.warnings)}

    def sentence(self) -> str:
        """One sentence: the share of halvings that were flagged, over all points."""
        total, flagged = int(self.frame["n_halvings"].sum()), int(self.frame["n_flagged"].sum())
        most = f"at most {alpha_of(self.confidence):.0%} may"
        runs = " to ".join(f"{n}" for n in sorted({self.frame["n_runs"].min(), self.frame["n_runs"].max()}))
        return (
            f"Of all {total:,} ways to halve the repeats of {len(self.frame)} points ({runs} runs each), {flagged} "
            f"({flagged / total:.1%}) have p ≤ {alpha_of(self.confidence):.2g} after Holm, and {most}; all "
            "were counted, so that this share has no interval and assumes nothing."
        )


def halvings(runs: Side, confidence: float = 0.95) -> Halvings:
    """Test all halvings of each point's repeats as ``compare.compare`` does; a right test flags at most α.

    The test alone is tried: where halves have fewer than 6 runs, ``compare`` itself would not claim a difference.

    Runs of one point come from one source, so that every significant difference between two halves is a false alarm.
    Of n runs there are C(n, n/2) / 2 halvings (an odd one is left out, the last); the share that is flagged after Holm
    over the point's measures is bounded by α = 1 − ``confidence`` for every point, whatever the values: the halvings
    are the test's own null distribution. A measure counts where all runs state it; ``bytes_per_s`` is left out. Points
    with fewer than 4 runs or more than MOST_SPLITS halvings are left out and named. AnalysisError where none is left.
    """
    rows, left_out = [], []
    for point, values in runs.values.groupby("point", sort=False):
        wanted = values[values["measure"] != "bytes_per_s"]
        keys = wanted[["tool", "op", "phase", "part", "measure"]].astype(object).fillna("").agg(" ".join, axis=1)
        table = wanted.assign(key=keys).pivot(index="run_id", columns="key", values="value").dropna(axis=1)
        n = len(table) // 2 * 2
        n_halvings = math.comb(n, n // 2) // 2
        if n < 4 or table.empty or n_halvings > MOST_SPLITS:
            left_out.append(f"{point}: {len(table)} runs")
            continue
        n_flagged = sum(_is_flagged(table.to_numpy(dtype=float)[:n], half, alpha_of(confidence)) for half in _halves(n))
        rows.append((point, n, table.shape[1], n_halvings, n_flagged, n_flagged / n_halvings))
    if not rows:
        raise AnalysisError(f"expected points with 4 runs or more, found {', '.join(left_out)}")
    columns = ["point", "n_runs", "n_measures", "n_halvings", "n_flagged", "flagged_ratio"]
    return Halvings(pd.DataFrame(rows, columns=columns), confidence, tuple(left_out))


def _halves(n: int) -> Iterator[tuple[int, ...]]:
    """Each halving of 0 … n − 1 once: the half that holds 0."""
    return ((0, *rest) for rest in combinations(range(1, n), n // 2 - 1))


def _is_flagged(table: np.ndarray, half: tuple[int, ...], alpha: float) -> bool:
    is_in = np.isin(np.arange(len(table)), half)
    p_values = [rank_sum(column[is_in], column[~is_in]).p for column in table.T]
    return bool((holm(p_values) <= alpha).any())
