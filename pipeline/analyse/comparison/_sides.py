"""The two sides of a comparison: which runs are in, which are out and why, and their values by point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from pipeline.analyse.comparison._run_values import COLUMNS, run_values
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

VALUES = ["point", "host", "started_at", "origin", *COLUMNS]
EXCLUDED = ["run_id", "tool", "point", "reason"]
_USED = ("operations", "latency_percentiles", "latency_bins", "stressors", "network_streams", "perf_counters")
_REPEAT = re.compile(r"[-_]r\d+$|#\d+$")
_SHOWN = 5


@dataclass(frozen=True)
class Side:
    """Runs to compare: ``values`` a row a run × measure (VALUES), ``excluded`` a row a report that is left out.

    ``origin`` tells raw reports apart (null: published figures), so that nothing is compared with itself.
    """

    name: str
    values: pd.DataFrame
    excluded: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def points(self) -> list[str]:
        """The points in the order of the runs."""
        return list(dict.fromkeys(self.values["point"]))


def has_groups(pattern: str | None) -> bool:
    """Whether a pattern has groups, which may name points; AnalysisError where it is no regular expression."""
    return pattern is not None and _compiled(pattern).groups > 0


def side(
    tables: Mapping[str, pd.DataFrame], name: str, pattern: str | None = None, *, named_by_groups: bool = True
) -> Side:
    """The runs of tidy tables as one side of a comparison.

    ``pattern``: a regular expression that must match the whole of a run's point or of its run_id; where it has groups
    and ``named_by_groups``, what they matched, joined by a blank, is the name of the point. Without a manifest the
    point is the run_id without ``-r<number>`` at its end. Left out and listed: incomplete reports, and copies of a
    report that is in already (the same bytes are no second run). A reader's warnings are passed on. AnalysisError where
    nothing matches or is left.
    """
    runs = _named(tables["runs"], pattern, named_by_groups)
    if runs.empty:
        known = list(dict.fromkeys(_points(tables["runs"])))
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        there = ", ".join(known[:_SHOWN]) or "no run at all"
        raise AnalysisError(f"{name}: expected runs that match {pattern!r}, found none; there are {there}{more}")
    runs = runs.assign(origin=_origins(runs), reason=_incomplete(runs))
    kept = runs[runs["reason"].isna()]
    used = {table: tables[table].merge(kept[KEYS], on=KEYS) for table in (*_USED, "warnings")}
    values = run_values(used).merge(kept[[*KEYS, "point", "host", "started_at", "origin"]], on=KEYS)
    copies = _copies(values)
    is_copy = pd.MultiIndex.from_frame(values[KEYS]).isin(pd.MultiIndex.from_frame(copies[KEYS]))
    values = values[~is_copy]
    excluded = pd.concat([runs[runs["reason"].notna()][EXCLUDED], copies], ignore_index=True)
    if values.empty:
        why = f"; left out: {', '.join(sorted(set(excluded['reason'])))}" if len(excluded) else ""
        raise AnalysisError(f"{name}: expected complete runs with rates, latencies or counters, found none{why}")
    return Side(name, values[VALUES], excluded, tuple(_remarks(kept, used["warnings"], values)))


def published_side(tables: Mapping[str, pd.DataFrame], name: str, pattern: str, exhibits: str = ".*") -> Side:
    """Figures that a publication states of one of the things it compares, a run each: nothing is known of more.

    ``pattern``: a regular expression that must match the whole of the column's or of the row's label; the other label
    says what the figure is of. The point is the exhibit, with what groups of the pattern matched behind it.
    ``exhibits`` must match the whole of the exhibit's name. Bounds, ranges and texts are left out and listed.
    AnalysisError where nothing matches.
    """
    published = tables["published"]
    wanted, label = _compiled(exhibits), _compiled(pattern)
    found = []
    for figure in published[published["exhibit"].str.fullmatch(wanted)].to_dict("records"):
        for own, other in (("column", "row"), ("row", "column")):
            if match := label.fullmatch(str(figure[own])):
                group = " ".join(text.strip(" ,") for text in match.groups() if text)
                point = f"{figure['exhibit']}, {group}" if group else figure["exhibit"]
                found.append({**figure, "point": point, "op": figure[other], "measure": "figure"})
                break
    if not found:
        labels = sorted({*published["column"].dropna(), *published["row"].dropna()})
        raise AnalysisError(f"{name}: expected figures of {pattern!r}, found none; there are {', '.join(labels)}")
    frame = pd.DataFrame(found).reindex(columns=[*VALUES, "value_text"])
    is_figure = frame["value"].notna()
    reasons = "no figure, but " + frame["value_text"].astype(str)
    excluded = frame.assign(reason=reasons, run_id=frame["op"])[~is_figure][EXCLUDED]
    return Side(name, frame.loc[is_figure, VALUES], excluded.reset_index(drop=True), ())


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise AnalysisError(f"expected a regular expression, found {pattern!r}: {error}") from error


def _points(runs: pd.DataFrame) -> pd.Series:
    return runs["point"].fillna(runs["run_id"].str.replace(_REPEAT, "", regex=True))


def _named(runs: pd.DataFrame, pattern: str | None, by_groups: bool) -> pd.DataFrame:
    """The runs that match, with their points named."""
    named = runs.assign(point=_points(runs))
    if pattern is None:
        return named
    expression = _compiled(pattern)
    matches = [expression.fullmatch(str(point)) or expression.fullmatch(str(run_id))
               for point, run_id in zip(named["point"], named["run_id"], strict=True)]  # fmt: skip
    if expression.groups and by_groups:
        groups = [" ".join(group or "" for group in match.groups()) if match else "" for match in matches]
        named["point"] = pd.Series(groups, index=named.index, dtype=named["point"].dtype)
    return named[[match is not None for match in matches]]


def _origins(runs: pd.DataFrame) -> pd.Series:
    """What tells raw reports apart: the bytes, and the number of the report in its file."""
    number = runs["run_id"].str.extract(r"(#\d+)$")[0].fillna("")
    return runs["tool"] + " " + runs["source_sha256"] + number


def _incomplete(runs: pd.DataFrame) -> pd.Series:
    """Why a report may not be compared; null where it may."""
    state = runs["state"].fillna("").astype(object)
    reasons = ("incomplete: " + state).where(~state.isin(["", "complete"]), "incomplete")
    return reasons.where(~runs["is_complete"].fillna(False).astype(bool), None)


def _copies(values: pd.DataFrame) -> pd.DataFrame:
    """Runs whose report has the bytes of one before it: two names of one run, not two runs."""
    reports = values.drop_duplicates([*KEYS])
    reports = reports.assign(first=reports.groupby("origin")["run_id"].transform("first"))
    copies = reports[reports["run_id"] != reports["first"]]
    return copies.assign(reason="the same bytes as " + copies["first"])[EXCLUDED]


def _remarks(kept: pd.DataFrame, noticed: pd.DataFrame, values: pd.DataFrame) -> list[str]:
    """What a reader of the comparison must know of this side's runs."""
    remarks = []
    for code, found in noticed.groupby("code", sort=True):
        n_runs = found["run_id"].nunique()
        remarks.append(f"{n_runs} of {kept['run_id'].nunique()} runs: {code}: {found['message'].iloc[0]}")
    silent = kept[~kept["tool"].isin(values["tool"])]["tool"].value_counts()
    if len(silent):
        counts = ", ".join(f"{tool} ({count})" for tool, count in silent.items())
        remarks.append(f"reports without one value a run are not compared: {counts}")
    hosts = kept.groupby("point")["host"].nunique()
    if (hosts > 1).any():
        remarks.append(f"runs of several hosts count as repeats at {(hosts > 1).sum()} of {len(hosts)} points")
    return remarks
