"""Two sides of runs against each other, as benchstat does it: the run is the unit, the repeats are the sample.

A row is a measure at a point that both sides have. Each side's median comes with its interval by order statistics; the
sides are compared by the exact Mann-Whitney test, corrected by Holm over the whole table; the effect is the ratio B / A
with the interval that belongs to the test. What the number of repeats cannot decide is "not enough", with the number
that could. Where benchstat shows the ratio of the medians, this is the Hodges-Lehmann ratio: its interval contains it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.comparison._comparison import (
    BETTER,
    COLUMNS,
    DIFFERS,
    FEW,
    GEOMEANS,
    IDENTITY,
    KIND,
    SAME,
    UNMATCHED,
    WORSE,
    Comparison,
)  # fmt: skip
from pipeline.analyse.comparison._run_values import DIRECTIONS, HIGHER, LOWER, UNKNOWN
from pipeline.analyse.comparison._sides import Side, has_groups, published_side, side
from pipeline.analyse.comparison.rank_sum import Floats, alpha_of, holm, rank_sum, ratio_estimate, repeats_needed
from pipeline.analyse.intervals import mean_estimate, median_estimate, n_needed
from pipeline.errors import AnalysisError

__all__ = ["COLUMNS", "Comparison", "Side", "compare", "has_groups", "published_side", "side"]

_BETTER = {HIGHER: "higher", LOWER: "lower", UNKNOWN: None}
_ONE_SIZE = 1e-3  # relative: bytes over operations that differ by no more are of one block size


def compare(a: Side, b: Side, confidence: float = 0.95) -> Comparison:
    """Compare side B with side A (the baseline), measure by measure, at the points that both have.

    Points are matched by name, or with each other where each side has exactly one. For a row with n_A and n_B runs:

    * medians with order-statistic intervals (``intervals.median_estimate``), none below 6 runs at 95 %;
    * p: Mann-Whitney, two-sided, exact with and without ties (``rank_sum.rank_sum``); ``p_holm``: Holm over all rows;
      a difference is significant where p_holm ≤ 1 − ``confidence``, which also bounds the chance of any false one;
    * ratio: B / A, the Hodges-Lehmann shift of the logarithms, with the exact interval of the test's ordering, none
      below 4 and 4 runs at 95 %; an interval holds for its row alone;
    * "not enough": a median has no interval, and no difference of figures of unknown uncertainty is claimed; or, even
      if every row of the table had the smallest p that its runs allow, Holm would not reject this one. ``n_needed`` is
      the least n a side with an interval and with (number of rows) · 2 / C(2n, n) ≤ 1 − ``confidence``.

    The geometric mean is over a measure's ratios at two or more matched points, with Student's t on their logarithms:
    the interval takes the points for a sample of the workloads that are meant, and their ratios for log-normal.
    ``bytes_per_s`` is left out where it is ``ops_per_s`` times one block size: the same comparison would count twice.
    Null values are left out and counted in ``warnings``. Degenerate: one run a side is "not enough"; equal values give
    ratio 1 and p = 1; values of 0 or below have no ratio, but a test. AnalysisError where both sides hold the same raw
    report: runs cannot be tested against themselves.
    """
    if not 0 < confidence < 1:
        raise AnalysisError(f"expected a confidence within 0 … 1, found {confidence}")
    _check_disjoint(a, b)
    values, warnings = _joined(a, b)
    rows, unmatched = [], []
    for key, group in values.groupby(IDENTITY, dropna=False, sort=False):
        first, second = (group.loc[group["side"] == name, "value"].to_numpy(dtype=float) for name in "AB")
        if len(first) and len(second):
            rows.append(_row(key, first, second, confidence))
        else:
            unmatched.append(_alone(key, "A" if len(first) else "B", np.concatenate([first, second]), confidence))
    frame = _judged(pd.DataFrame(rows, columns=[*COLUMNS, "p_least", "sign"]), confidence)
    no_ratio = int(frame["ratio"].isna().sum())
    if no_ratio:
        warnings.append(f"{no_ratio} rows have values that are not above 0: tested, but without a ratio")
    excluded = pd.concat([s.excluded.assign(side=name) for s, name in ((a, "A"), (b, "B"))], ignore_index=True)
    return Comparison(
        a.name, b.name, frame[COLUMNS], pd.DataFrame(unmatched, columns=UNMATCHED), _geomeans(frame, confidence),
        excluded[["side", "run_id", "tool", "point", "reason"]], values, confidence, tuple(warnings),
    )  # fmt: skip


def _check_disjoint(a: Side, b: Side) -> None:
    shared = a.values[a.values["origin"].isin(b.values["origin"].dropna())]["run_id"].unique()
    if len(shared):
        raise AnalysisError(
            f"expected different runs on the two sides, found {len(shared)} on both, such as {shared[0]}; "
            "runs cannot be tested against themselves"
        )


def _joined(a: Side, b: Side) -> tuple[pd.DataFrame, list[str]]:
    """The values of both sides, points matched; what was left out or should be known goes into the warnings."""
    values = pd.concat([s.values.assign(side=name) for s, name in ((a, "A"), (b, "B"))], ignore_index=True)
    if len(a.points) == 1 and len(b.points) == 1 and a.points != b.points:
        values["point"] = f"{a.points[0]} → {b.points[0]}"
    warnings = [f"{name}: {text}" for s, name in ((a, "A"), (b, "B")) for text in s.warnings]
    warnings += [f"{name}: {len(s.excluded)} reports left out" for s, name in ((a, "A"), (b, "B")) if len(s.excluded)]
    if _is_one_after_the_other(values):
        warnings.append("all runs of one side began before the other's: a drift over time would look like a difference")
    stated = values[values["value"].notna()]
    is_stated = values.groupby(IDENTITY, dropna=False)["value"].transform("count").gt(0)
    if n_null := int((values["value"].isna() & is_stated).sum()):
        warnings.append(f"{n_null} values are missing in runs whose repeats state them: left out")
    kept = stated[~_is_repeated_rate(stated)].sort_values("point", key=_natural, kind="stable")
    if len(kept) < len(stated):
        warnings.append("bytes_per_s is left out where it is ops_per_s times one block size: the same comparison")
    return kept.reset_index(drop=True), warnings


def _natural(points: pd.Series) -> pd.Series:
    """A key that sorts qd2 before qd16."""
    return points.astype(object).map(lambda text: re.sub(r"\d+", lambda match: match[0].zfill(12), str(text)))


def _is_one_after_the_other(values: pd.DataFrame) -> bool:
    """Whether one side began its last run before the other began its first, where all starts are known."""
    times = values.groupby("side")["started_at"].agg(["min", "max"])
    if values["started_at"].isna().any() or len(times) < 2 or values["run_id"].nunique() < 4:
        return False
    return bool(times["max"]["A"] < times["min"]["B"] or times["max"]["B"] < times["min"]["A"])


def _is_repeated_rate(stated: pd.DataFrame) -> pd.Series:
    """Rows of bytes_per_s that are ops_per_s times the same number in every run of the row, on both sides."""
    keys = ["side", "run_id", "tool", "point", "op", "part"]
    rates = stated[stated["measure"] == "ops_per_s"].set_index(keys)["value"]
    is_bytes = stated["measure"] == "bytes_per_s"
    asked = stated[is_bytes].copy()
    asked["size"] = asked["value"] / asked.join(rates.rename("rate"), on=keys)["rate"]
    sizes = asked.groupby(IDENTITY, dropna=False)["size"]
    is_one = sizes.transform("count").eq(sizes.transform("size"))
    is_one &= (sizes.transform("max") / sizes.transform("min") - 1).abs() <= _ONE_SIZE
    return is_bytes & is_one.reindex(stated.index, fill_value=False)


def _row(key: Hashable, a: Floats, b: Floats, confidence: float) -> dict[str, Any]:
    row = dict(zip(IDENTITY, key, strict=True))  # type: ignore[call-overload]
    direction = DIRECTIONS.get(str(row["measure"]), UNKNOWN)
    test = rank_sum(a, b)
    row |= {"better": _BETTER[direction], "p": test.p, "method": test.method, "p_least": test.p_least}
    for name, values in (("a", a), ("b", b)):
        median = median_estimate(values, confidence)
        row |= {f"n_{name}": len(values), f"median_{name}": median.value, f"median_{name}_low": median.low,
                f"median_{name}_high": median.high}  # fmt: skip
    sign = float(np.sign(test.u - len(a) * len(b) / 2))
    if min(a.min(), b.min()) > 0:
        ratio = ratio_estimate(a, b, confidence)
        row |= {"ratio": ratio.value, "ratio_low": ratio.low, "ratio_high": ratio.high}
    return row | {"sign": sign * direction}


def _alone(key: Hashable, name: str, values: Floats, confidence: float) -> dict[str, Any]:
    median = median_estimate(values, confidence)
    found = {
        "side": name,
        "n": len(values),
        "median": median.value,
        "median_low": median.low,
        "median_high": median.high,
    }
    return found | dict(zip(IDENTITY, key, strict=True))  # type: ignore[call-overload]


def _judged(frame: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Add p_holm, the verdict, and n_needed where a median has no interval or no outcome could be significant."""
    alpha = alpha_of(confidence)
    numbers = [name for name in COLUMNS if name.startswith(("median", "ratio"))]
    frame = frame.astype(dict.fromkeys([*numbers, "p", "p_holm", "p_least", "sign"], float))
    if frame.empty:
        return frame
    frame["p_holm"] = holm(frame["p"])
    is_found = frame["p_holm"] <= alpha
    is_few = (holm(frame["p_least"]) > alpha) | frame[["median_a_low", "median_b_low"]].isna().any(axis=1)
    needed = max(repeats_needed(len(frame), alpha), n_needed(0.5, confidence))
    frame["n_needed"] = pd.array([needed if few else None for few in is_few], dtype="Int64")
    direction = np.select([frame["sign"] > 0, frame["sign"] < 0], [BETTER, WORSE], DIFFERS)
    frame["verdict"] = np.select([is_few, is_found], [FEW, direction], SAME)
    return frame


def _geomeans(frame: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Geometric mean of the ratios of each measure over its points, where there are two or more."""
    found = []
    for key, group in frame[frame["ratio"].notna()].groupby(KIND, dropna=False, sort=False):
        if len(group) > 1:
            mean = mean_estimate(np.log(group["ratio"].to_numpy(dtype=float)), confidence)
            ends = (mean.value, mean.low, mean.high)
            ratio, low, high = (float(np.exp(end)) if end is not None else None for end in ends)
            found.append((*key, mean.n, ratio, low, high))
    return pd.DataFrame(found, columns=GEOMEANS)
