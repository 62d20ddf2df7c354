"""Flame graphs as data: samples by call path, of one side or the difference of two.

Gregg, B. (2016), "The Flame Graph", Communications of the ACM 59 (6), 48–57: a frame's width is the number of samples
in it and in what it called; a path is root;…;leaf. Frames lie in the order of their names, not of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipeline.analyse.comparison.rank_sum import holm
from pipeline.analyse.intervals import Bounds, clopper_pearson
from pipeline.analyse.processors._share_table import compare_counts, run_bounds, verdicts
from pipeline.analyse.processors.profiles import Profile
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
ROOT = "all"
NO_STACK = "[no stack]"
COLUMNS = ["id", "parent", "name", "depth", "n_samples", "n_self", "share_ratio", "low_ratio", "high_ratio"]


@dataclass(frozen=True, eq=False)
class Flame:
    """Frames of a side: COLUMNS; parent is empty for the root, ids are texts.

    ``n_samples`` counts a frame and all it called, ``n_self`` what lies in none of the frames shown below it (the
    frame itself, and what was pruned). With several runs shares are means of the runs'. Where samples are not known,
    n_samples and n_self are null and the shares are of the periods. ``pruned_ratio`` is the share in pruned frames.
    """

    frame: pd.DataFrame
    side: str
    event: str
    n_runs: int
    n_total: int | None
    n_frames: int
    pruned_ratio: float
    min_share: float
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The frames."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """What the graph rests on, and what was pruned."""
        return {"side": self.side, "event": self.event, "n_runs": self.n_runs, "n_samples": self.n_total,
                "n_frames": self.n_frames, "n_frames_shown": len(self.frame), "min_share_ratio": self.min_share,
                "pruned_ratio": self.pruned_ratio, "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """The samples, the frames, and what was pruned."""
        samples = "an unknown number of samples" if self.n_total is None else f"{self.n_total:,} samples"
        return (
            f"{self.side}: {samples} of {self.event or 'an event'} in {self.n_runs} run{'s' * (self.n_runs > 1)}, "
            f"{self.n_frames:,} frames; the {self.n_frames - len(self.frame):,} below {self.min_share:.2%} are left "
            f"out, with {self.pruned_ratio:.1%} of the samples, which count in the frames that called them."
        )


@dataclass(frozen=True, eq=False)
class FlameDifference:
    """Frames of two sides, each normalised by its own total.

    ``frame``: id, parent, name, depth, share_ratio (mean of both sides: the width), share_base_ratio,
    share_other_ratio, difference_ratio, low_ratio, high_ratio, p_value, p_holm, verdict. The root is not tested.
    """

    frame: pd.DataFrame
    base: str
    other: str
    unit: str
    pruned_ratio: float
    min_share: float
    confidence: float
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The frames."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """How many frames differ, of how many tested."""
        tested = self.frame.iloc[1:]
        return {"base": self.base, "other": self.other, "unit_of_replication": self.unit, "n_tested": len(tested),
                "n_differing": int(tested["verdict"].isin(["higher", "lower"]).sum()),
                "min_share_ratio": self.min_share, "pruned_ratio": self.pruned_ratio,
                "confidence": self.confidence, "warnings": self.warnings}  # fmt: skip

    def sentence(self) -> str:
        """How many frames differ after Holm, by which unit, and what was pruned."""
        found = self.numbers()
        return (
            f"{found['n_differing']} of {found['n_tested']} frames differ in their share between {self.base} and "
            f"{self.other} after Holm's correction at {1 - self.confidence:.0%} (the unit is the {self.unit[:-1]}, "
            f"assumed independent); frames below {self.min_share:.2%} on average are left out, with "
            f"{self.pruned_ratio:.1%} of the samples."
        )


def flame(profile: Profile, side: str, min_share: float = 0.001, confidence: float = 0.95) -> Flame:
    """Flame graph of one side's stacks, below the root a frame a command.

    Shares have Clopper–Pearson intervals (one run) or Student's t over the runs' shares (more runs);
    the root has none.
    A sample without a stack lies in the frame [no stack]. Frames with a share below ``min_share`` are pruned, with all
    below them; ``pruned_ratio`` says how much that is. AnalysisError: no such side, no samples.
    """
    tree = _Tree(profile, [side])
    shares = tree.shares.mean(axis=1)
    kept = _kept(tree, shares, min_share)
    bounds = Bounds(np.full(len(shares), np.nan), np.full(len(shares), np.nan))
    if tree.counts.shape[1] >= 2:
        totals = tree.counts[0]
        bounds = run_bounds(tree.counts, totals, tree.shares, has_counts=tree.has_counts, confidence=confidence)
    elif tree.has_counts:
        bounds = clopper_pearson(tree.counts[:, 0], tree.counts[0, 0], confidence)
    frame = tree.frame(kept)
    counts = tree.counts.sum(axis=1)
    own = counts[kept] - _of_children(frame["parent"], counts[kept], frame["id"])
    if not tree.has_counts:
        counts, own = np.full(len(shares), np.nan), np.full(int(kept.sum()), np.nan)
    frame = frame.assign(
        n_samples=pd.array(counts[kept], "Float64").astype("Int64"), n_self=pd.array(own, "Float64").astype("Int64"),
        share_ratio=shares[kept], low_ratio=np.r_[np.nan, bounds.low[kept][1:]],
        high_ratio=np.r_[np.nan, bounds.high[kept][1:]],
    )  # fmt: skip
    n_total = int(counts[0]) if tree.has_counts else None
    warnings = profile.warnings + (() if tree.has_counts else (_NO_COUNTS,))
    return Flame(frame[COLUMNS], side, profile.event, tree.counts.shape[1], n_total, len(shares),
                 tree.pruned(kept, shares), min_share, confidence, warnings)  # fmt: skip


def flame_difference(
    profile: Profile, base: str, other: str, min_share: float = 0.001, confidence: float = 0.95
) -> FlameDifference:
    """Differential flame graph: every frame's share on ``other`` minus that on ``base``.

    Gregg's differential graphs colour by the difference of counts; here each side is divided by its own total first,
    so that a longer recording is no difference, and each difference has its interval and test: between the runs
    (Welch) where each side has two, else of the samples (Newcombe, Fisher), with Holm over all frames shown but the
    root. Frames below ``min_share`` on average over the sides are pruned. Frames of one path are not independent of
    each other; Holm's correction holds all the same. AnalysisError: no samples, or no sample counts and no repeats.
    """
    tree = _Tree(profile, [base, other])
    is_other = np.array([side == other for side in tree.side_of])
    if not tree.has_counts and min(is_other.sum(), (~is_other).sum()) < 2:
        raise AnalysisError(f"a difference needs sample counts or repeats on both sides: {_NO_COUNTS}")
    by_side = [tree.shares[:, is_other == flag].mean(axis=1) for flag in (False, True)]
    shares = (by_side[0] + by_side[1]) / 2
    kept = _kept(tree, shares, min_share)
    found, unit = compare_counts(tree.counts[kept], tree.counts[0], is_other, confidence)
    adjusted = np.ones(len(found.p_value))
    adjusted[1:] = holm(np.nan_to_num(found.p_value[1:], nan=1.0)) if len(adjusted) > 1 else []
    words = verdicts(found, adjusted, confidence)
    frame = tree.frame(kept).assign(
        share_ratio=shares[kept], share_base_ratio=by_side[0][kept], share_other_ratio=by_side[1][kept],
        difference_ratio=found.difference, low_ratio=found.low, high_ratio=found.high, p_value=found.p_value,
        p_holm=adjusted, verdict=["root", *words[1:]],
    )  # fmt: skip
    return FlameDifference(frame, base, other, unit, tree.pruned(kept, shares), min_share, confidence, profile.warnings)


_NO_COUNTS = "the stacks have sums of periods alone, so that shares are of the periods, without intervals"


class _Tree:
    """Call paths of some sides as a tree: inclusive counts (or periods' shares), a row a node, a column a run."""

    def __init__(self, profile: Profile, sides: list[str]) -> None:
        frame = profile.frame[profile.frame["side"].isin(sides)]
        self.has_counts = bool(frame["n_samples"].notna().all())
        weight = frame["n_samples" if self.has_counts else "overhead_ratio"].astype(float)
        runs = {run: column for column, run in enumerate(dict.fromkeys(frame["run_id"]))}
        self.side_of = [str(frame.loc[frame["run_id"] == run, "side"].iloc[0]) for run in runs]
        self.names, self.parents, self.depths = [ROOT], [-1], [0]
        self._ids: dict[tuple[int, str], int] = {}
        rows: list[tuple[list[int], int]] = []
        command, stack = (frame[name].astype(object).where(frame[name].notna(), None) for name in ("command", "stack"))
        for name, path, run in zip(command, stack, frame["run_id"], strict=True):
            rows.append((self._path(name or "[unknown]", path), runs[run]))
        self.counts = np.zeros((len(self.names), len(runs)))
        for (nodes, column), value in zip(rows, weight, strict=True):
            self.counts[nodes, column] += value
        if not len(frame) or not np.isfinite(self.counts).all() or (self.counts[0] <= 0).any():
            raise AnalysisError(f"expected samples or periods in every run of {sides}, found none in some")
        self.shares = self.counts / self.counts[0]

    def _path(self, command: str, stack: str | None) -> list[int]:
        nodes = [0]
        for name in [command, *(stack.split(";") if stack else [NO_STACK])]:
            key = (nodes[-1], name)
            node = self._ids.get(key)
            if node is None:
                node = self._ids[key] = len(self.names)
                self.names.append(name)
                self.parents.append(nodes[-1])
                self.depths.append(len(nodes))
            nodes.append(node)
        return nodes

    def frame(self, kept: NDArray[np.bool_]) -> pd.DataFrame:
        """The nodes kept: id, parent, name, depth; every parent stands before its children."""
        parents = ["" if parent < 0 else str(parent) for parent in self.parents]
        nodes = pd.DataFrame({"id": map(str, range(len(self.names))), "parent": parents, "name": self.names,
                              "depth": self.depths})  # fmt: skip
        return nodes[kept].reset_index(drop=True)

    def pruned(self, kept: NDArray[np.bool_], shares: Floats) -> float:
        """Share of the samples in pruned nodes whose parent is kept, so that none counts twice."""
        at_edge = ~kept & np.array([parent >= 0 and kept[parent] for parent in self.parents])
        return float(shares[at_edge].sum())


def _kept(tree: _Tree, shares: Floats, min_share: float) -> NDArray[np.bool_]:
    """Nodes of at least ``min_share``; a child's share never exceeds its parent's, so that no node loses its parent."""
    return np.asarray((shares >= min_share) | (np.array(tree.depths) == 0))


def _of_children(parents: pd.Series, counts: Floats, ids: pd.Series) -> Floats:
    """Sum of the counts of each node's children."""
    sums = pd.Series(counts).groupby(parents.to_numpy()).sum()
    return np.asarray(sums.reindex(ids.to_numpy(), fill_value=0.0).to_numpy(float))
