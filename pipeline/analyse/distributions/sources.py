"""The latencies that a campaign's tables hold, as histograms: one source a run, merged over jobs, counts checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from pipeline.analyse.distributions._latency_rows import (
    LATENCY,
    bins_of,
    of_runs,
    one_level,
    refuse_windows,
    single_operations,
    stated_operations,
)
from pipeline.analyse.distributions.histogram import LADDER, Histogram, sum_of
from pipeline.analyse.select import whole_run
from pipeline.errors import AnalysisError
from pipeline.units import MICRO

Source = Literal["per-I/O log", "bins", "bins of intervals", "percentiles"]
# Tools that take percentiles from exact values by the rule of Histogram.percentile, and print them to so many seconds.
EXACT_PERCENTILES = {"diskspd": MICRO}


@dataclass(frozen=True, eq=False)
class Distribution:
    """The latencies of one phase of one kind of operation: whose (``keys``), from where, and what was wrong."""

    keys: dict[str, Any]
    source: Source
    histogram: Histogram
    n_ops_stated: int | None
    warnings: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Tool, what and from where, for a legend."""
        return f"{self.keys['tool']}, {self.keys['op']}, {self.keys['phase']}: {self.source}"

    def to_frame(self) -> pd.DataFrame:
        """The ladder of percentiles behind the keys."""
        frame = self.histogram.ladder()
        for place, (name, value) in enumerate(self.keys.items()):
            frame.insert(place, name, value)
        return frame

    def numbers(self) -> dict[str, Any]:
        """Keys, source and the histogram's figures."""
        return {**self.keys, "source": self.source, **self.histogram.numbers(), "warnings": self.warnings}

    def sentence(self) -> str:
        """Median and p99 with n and interval."""
        name = ", ".join(str(value) for value in self.keys.values())
        parts = [self.histogram.percentile_estimate(p).sentence() for p in (50.0, 99.0)]
        return f"{name} ({self.source}): {' '.join(parts)}"


def distributions(
    tables: Mapping[str, pd.DataFrame],
    by: Sequence[str] = (),
    *,
    runs: Iterable[str] | None = None,
    phase: str | None = None,
    source: Source | None = None,
) -> tuple[Distribution, ...]:
    """Histograms of all runs (or ``runs``) and phases (or ``phase``), jobs merged; one for each op and phase of a run.

    ``by``: also one for each value of these, of ``job`` or ``target``. Nothing counts twice: of each run, op and phase
    one source is taken, at one scope (the tool's total, else jobs, devices, logs), whole runs before intervals, and
    ``total`` or ``mixed`` only where the directions are absent. The source is the one with the most operations, of
    equal ones the finest: per-I/O logs, bins, bins of intervals (histogram logs, ACT, HDR), percentiles of a tool that
    takes them from exact values (DISKSPD: bounds between the percentiles it prints). ``source`` asks for one of them.

    Each is held against the number that the report states; a difference is a warning with both. AnalysisError: nothing
    there, or only means of windows.
    """
    wanted = None if runs is None else set(runs)
    candidates = [piece for kind in _SOURCES if source in (None, kind) for piece in _SOURCES[kind](tables, wanted)]
    candidates = [piece for piece in candidates if phase in (None, piece.key[3])]
    if not candidates:
        _refuse(tables, wanted, source)
    best: dict[tuple[Any, ...], _Piece] = {}
    for piece in candidates:
        if piece.key not in best or piece.n_ops > best[piece.key].n_ops:
            best[piece.key] = piece
    stated = stated_operations(tables)
    found = []
    for piece in best.values():
        keys = dict(zip(LATENCY, piece.key, strict=True))
        n_stated = stated.get(piece.key, stated.get((*piece.key[:3], None)))
        if piece.source == "percentiles":
            n_stated = None  # it was needed to read them, and checks nothing
        warnings = _checked(piece, n_stated)
        if not by:
            found.append(Distribution(keys, piece.source, piece.histogram(piece.rows), n_stated, warnings))
            continue
        for values, rows in piece.rows.groupby(list(by), sort=False, dropna=False):
            names = {name: None if pd.isna(value) else value for name, value in zip(by, values, strict=True)}
            found.append(Distribution({**keys, **names}, piece.source, piece.histogram(rows), None, warnings))
    return tuple(found)


def merged(parts: Iterable[Distribution]) -> Histogram:
    """All operations of the parts, over jobs, runs or hosts, of one phase.

    AnalysisError: a part twice, parts divided by different keys, or of several phases, which hold the same operations.
    """
    found = list(parts)
    keys = [tuple(part.keys.items()) for part in found]
    if len(set(keys)) != len(keys) or len({tuple(part.keys) for part in found}) > 1:
        raise AnalysisError("expected parts of different operations, found one twice, or parts by different keys")
    phases = sorted({str(part.keys["phase"]) for part in found})
    if len(phases) > 1:
        raise AnalysisError(f"expected one phase, found {', '.join(phases)}: they are of the same operations")
    return sum_of(part.histogram for part in found)


def of_point(tables: Mapping[str, pd.DataFrame], point: str) -> list[str]:
    """The runs of a point of the campaign's matrix, by repeat; AnalysisError names the points that there are."""
    runs = tables["runs"]
    found = runs[runs["point"] == point].sort_values("repeat")["run_id"].drop_duplicates()
    if found.empty:
        raise AnalysisError(f"expected runs of point {point!r}, found points {sorted(runs['point'].dropna().unique())}")
    return [str(run) for run in found]


def one_of_each(parts: Iterable[Distribution]) -> tuple[Distribution, ...]:
    """The first part of each tool, op, phase and source: an example of every kind."""
    found: dict[tuple[Any, ...], Distribution] = {}
    for part in parts:
        found.setdefault((part.keys["tool"], part.keys["op"], part.keys["phase"], part.source), part)
    return tuple(found.values())


def counts_sentence(parts: Iterable[Distribution]) -> str:
    """How many distributions have as many operations as their reports state."""
    found = list(parts)
    stated = [part for part in found if part.n_ops_stated is not None]
    right = sum(part.n_ops_stated == part.histogram.n_ops for part in stated)
    return (
        f"Of {len(found)} distributions, {len(stated)} have a number of operations in their report to be held against; "
        f"the counts add up to it in {right} of them."
    )


def ladders(
    parts: Iterable[Distribution], percentiles: Sequence[float] = LADDER, confidence: float = 0.95
) -> pd.DataFrame:
    """The ladders of all parts, keys and source in front."""
    frames = []
    for part in parts:
        frame = part.histogram.ladder(percentiles, confidence)
        for place, (name, value) in enumerate({**part.keys, "source": part.source}.items()):
            frame.insert(place, name, value)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows of one source for one run, op and phase."""

    key: tuple[Any, ...]
    source: Source
    rows: pd.DataFrame
    n_ops: int

    def histogram(self, rows: pd.DataFrame) -> Histogram:
        if self.source == "per-I/O log":
            return Histogram.of_series(rows)
        if self.source == "percentiles":
            resolution = EXACT_PERCENTILES[self.key[1]]
            return Histogram.of_percentiles(rows["percentile"], rows["latency_s"], self.n_ops, resolution)
        return Histogram.of_bins(rows)


def _from_series(tables: Mapping[str, pd.DataFrame], runs: set[str] | None) -> list[_Piece]:
    groups = single_operations(tables, runs).groupby(LATENCY, sort=False)
    return [_Piece(key, "per-I/O log", rows, len(rows)) for key, rows in groups]


def _from_bins(tables: Mapping[str, pd.DataFrame], runs: set[str] | None) -> list[_Piece]:
    groups = bins_of(tables, runs, of_intervals=False).groupby(LATENCY, sort=False)
    return [_Piece(key, "bins", rows, int(rows["count"].sum())) for key, rows in groups]


def _from_intervals(tables: Mapping[str, pd.DataFrame], runs: set[str] | None) -> list[_Piece]:
    groups = bins_of(tables, runs, of_intervals=True).groupby(LATENCY, sort=False)
    return [_Piece(key, "bins of intervals", rows, int(rows["count"].sum())) for key, rows in groups]


def _from_percentiles(tables: Mapping[str, pd.DataFrame], runs: set[str] | None) -> list[_Piece]:
    rows = of_runs(tables["latency_percentiles"], runs)
    rows = one_level(rows[rows["tool"].isin(EXACT_PERCENTILES) & whole_run(rows)])
    stated = stated_operations(tables)
    found = []
    for key, group in rows.groupby(LATENCY, sort=False):
        n = stated.get((*key[:3], None))
        is_one_table = not group["percentile"].duplicated().any()
        if n and is_one_table and {0.0, 100.0} <= set(group["percentile"]):
            found.append(_Piece(key, "percentiles", group, n))
    return found


_SOURCES: dict[Source, Any] = {  # the finest first: of equal numbers of operations the first stays
    "per-I/O log": _from_series, "bins": _from_bins, "bins of intervals": _from_intervals,
    "percentiles": _from_percentiles,
}  # fmt: skip


def _refuse(tables: Mapping[str, pd.DataFrame], runs: set[str] | None, source: Source | None) -> None:
    series = of_runs(tables["latency_series"], runs)
    if len(series) and source in (None, "per-I/O log"):
        refuse_windows(series)
    raise AnalysisError(
        f"expected {source or 'bins, per-I/O latencies or a table of exact percentiles'}, found none "
        f"in {len(of_runs(tables['runs'], runs))} reports; fio: --output-format=json+; ACT, DISKSPD -L and HDR logs do"
    )


def _checked(piece: _Piece, n_stated: int | None) -> tuple[str, ...]:
    if n_stated is None or n_stated == piece.n_ops:
        return ()
    run, _, op, phase = piece.key
    return (
        f"{run}, {op}, {phase}: {piece.n_ops:,} operations in the {piece.source}, {n_stated:,} stated by the report",
    )
