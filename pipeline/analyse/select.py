"""Choose the rows of tidy tables that an analysis may add up, so that nothing counts twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pandas as pd

from pipeline.errors import AnalysisError

KEYS = ["run_id", "tool"]
SCOPES = ("total", "job", "device", "log")  # the first of them that a run has is what adds up


class Result(Protocol):
    """What ``stacked`` needs of a result: its rows, and what it warns of."""

    @property
    def frame(self) -> pd.DataFrame:
        """A row a finding, run ids repeating between campaigns."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out."""


def stacked(results: Sequence[Result], columns: list[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Rows and warnings of the results of several campaigns, in their order; ``columns`` are those of no rows."""
    filled = [result.frame for result in results if len(result.frame)]
    frame = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=columns)
    return frame, tuple(warning for result in results for warning in result.warnings)


def whole_run(frame: pd.DataFrame) -> pd.Series:
    """Which rows stand for the whole run; the others are of an interval, which may be part of another."""
    return frame["interval_start_s"].isna() & frame["interval_end_s"].isna()


def whole_run_or_intervals(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows of whole runs, and those of intervals only where a combination of ``keys`` has nothing else."""
    is_whole = whole_run(frame)
    has_whole = is_whole.groupby([frame[key] for key in keys], dropna=False).transform("any")
    return frame[is_whole | ~has_whole]


def summable_operations(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Rows of ``operations`` whose rates add up to the run's, one level of scope and no sums beside their parts.

    Whole-run rows, or, where a run has none, those of its intervals. A run that the tool totals itself is taken at
    scope ``total``, any other at its finest scope; op ``total`` or ``mixed`` is dropped where the worker has the
    directions themselves. Adds ``group``: null, or what ran at a time where rates must not be added: the interval,
    the job (a reader warns of ``sequential_jobs``), or job and op (``sequential_operations``).
    """
    chosen = _finest_parts(whole_run_or_intervals(tables["operations"], KEYS)).reset_index(drop=True)
    interval = [f"{start:g} – {end:g} s" for start, end in
                zip(chosen["interval_start_s"], chosen["interval_end_s"], strict=True)]  # fmt: skip
    chosen["group"] = pd.Series(interval, dtype=object).where(chosen["interval_start_s"].notna(), None)
    keys = pd.MultiIndex.from_frame(chosen[KEYS])
    for code, group in (
        ("sequential_jobs", chosen["job"]),
        ("sequential_operations", chosen["job"] + ": " + chosen["op"]),
    ):
        warned = pd.MultiIndex.from_frame(tables["warnings"].loc[tables["warnings"]["code"] == code, KEYS])
        chosen["group"] = chosen["group"].where(~keys.isin(warned), group)
    return chosen


def _finest_parts(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one level of scope a run, without sums over directions that stand beside the directions."""
    level = rows["scope"].map({scope: number for number, scope in enumerate(SCOPES)}).astype("float64")
    rows = rows[level == level.groupby([rows[key] for key in KEYS]).transform("min")]
    is_sum = rows["op"].isin(["total", "mixed"])
    worker = [rows[name].fillna("") for name in (*KEYS, "job", "target")] + [rows["interval_start_s"].fillna(-1)]
    has_parts = (~is_sum).groupby(worker).transform("any")
    return rows[~(is_sum & has_parts)]


def published_row(tables: Mapping[str, pd.DataFrame], exhibit: str, row: str) -> pd.DataFrame:
    """The figures of one row of an exhibit, in the order of its columns; AnalysisError names what there is."""
    published = tables["published"]
    found = published[(published["exhibit"] == exhibit) & (published["row"] == row)]
    if found.empty:
        rows = published.loc[published["exhibit"] == exhibit, "row"].unique()
        there = f"rows {list(rows)}" if len(rows) else f"exhibits {list(published['exhibit'].unique())}"
        raise AnalysisError(f"published figures: expected {exhibit!r}, {row!r}; there are {there}")
    return found.reset_index(drop=True)


def published_value(tables: Mapping[str, pd.DataFrame], exhibit: str, row: str) -> float:
    """The one figure of a row that has one column, in its SI unit."""
    found = published_row(tables, exhibit, row)
    if len(found) != 1 or pd.isna(found["value"].iloc[0]):
        raise AnalysisError(f"{exhibit!r}, {row!r}: expected one figure, found {list(found['value_text'])}")
    return float(found["value"].iloc[0])
