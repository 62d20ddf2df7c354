"""Write bandwidth over fill: whether a drive gets slower as it fills, where, and what it sustains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.select import KEYS, summable_operations
from pipeline.analyse.steadiness.change_points import ChangePoint, change_points
from pipeline.analyse.steadiness.rounds import cumulative, windows_of
from pipeline.analyse.steadiness.series_mean import SeriesMean, series_mean
from pipeline.errors import AnalysisError
from pipeline.units import byte_size, format_si

COUNT_TOLERANCE = 0.01
MIN_CHANGE = 0.1  # a change of level by less than a tenth is no exhausted cache
MIN_WINDOWS = 20


@dataclass(frozen=True)
class Fill:
    """One run's writing: ``windows`` has start_s, end_s, bytes_per_s, bytes_written (at its end), fill_ratio.

    ``changes``: a row a change of level: fill_ratio with fill_low, fill_high (where it may be), bytes_written,
    bytes_per_s_before, bytes_per_s_after, p_value. ``sustained``: the mean after the last change, over this run's
    windows, None where they are too few for an interval; ``sustained_bytes_per_s`` is there in any case.
    """

    run_id: str
    capacity_bytes: float
    windows: pd.DataFrame
    changes: pd.DataFrame
    sustained_bytes_per_s: float
    sustained: SeriesMean | None
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The windows."""
        return self.windows

    def binned(self, n_bins: int = 20) -> pd.DataFrame:
        """Bandwidth by share of the capacity: fill_low, fill_high, bytes_per_s = bytes of the bin / time it took.

        Only bins that were written in full.
        """
        edges = np.arange(n_bins + 1) / n_bins * self.capacity_bytes
        is_whole = edges <= self.windows["bytes_written"].iloc[-1] * (1 + 1e-9)
        edges = edges[is_whole]
        times = np.interp(edges, np.concatenate([[0.0], self.windows["bytes_written"]]),
                          np.concatenate([[self.windows["start_s"].iloc[0]], self.windows["end_s"]]))  # fmt: skip
        took = np.diff(times)
        rate = np.divide(np.diff(edges), took, out=np.full(len(took), np.nan), where=took > 0)
        return pd.DataFrame({"run_id": self.run_id, "fill_low": edges[:-1] / self.capacity_bytes,
                             "fill_high": edges[1:] / self.capacity_bytes, "bytes_per_s": rate})  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """Totals, changes, sustained bandwidth."""
        last = self.windows.iloc[-1]
        return {
            "run_id": self.run_id, "capacity_bytes": self.capacity_bytes, "bytes_written": last["bytes_written"],
            "fill_ratio": last["fill_ratio"], "n_windows": len(self.windows), "changes": self.changes,
            "sustained_bytes_per_s": self.sustained_bytes_per_s,
            "sustained": None if self.sustained is None else self.sustained.numbers(), "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """Changes and sustained bandwidth of this run."""
        filled = float(self.windows["fill_ratio"].iloc[-1])
        found = [
            f"{format_si(c['bytes_per_s_before'], 'B/s')} → {format_si(c['bytes_per_s_after'], 'B/s')} at "
            f"{c['fill_ratio']:.1%} ({c['fill_low']:.1%} … {c['fill_high']:.1%})"
            for c in self.changes.to_dict("records")
        ]
        text = "; ".join(found) if found else f"no change of level by ≥ {MIN_CHANGE:.0%}"
        ends = "no interval: too few windows"
        if self.sustained is not None:
            e = self.sustained.estimate
            ends = f"{e.confidence:.0%} interval {rate_text(e.low)} … {rate_text(e.high)}"
        return (
            f"{self.run_id}, filled to {filled:.1%} of {format_si(self.capacity_bytes, 'B')}: {text}; sustained "
            f"{format_si(self.sustained_bytes_per_s, 'B/s')} ({ends}; n = {len(self.windows)} windows of one run)."
        )


def fill(
    tables: Mapping[str, pd.DataFrame], run_id: str, capacity_bytes: float | None = None, *, tool: str | None = None
) -> Fill:
    """Bandwidth of one run's writes over the share of the capacity that had been written.

    From throughput_series: bytes written by the end of each window are Σ bytes_per_s · window_s, exactly; several
    workers are added on the windows of the one that has most, a rate being constant inside a window.
    ``capacity_bytes``: of what was filled; without it the setting ``size`` of the run's jobs, a file a job. A share
    above 1 is a further pass. Changes of level by ``change_points`` (at least a tenth); sustained is the time-weighted
    mean after the last one's interval, with an interval by ``series_mean``. Held against the run's own byte count: 1 %
    off is a warning (fio writes no line for the last, short window).

    AnalysisError: no write windows, fewer than 20, nulls in them, no capacity, nothing written.
    """
    raw = windows_of(tables, run_id, tool=tool, op="write")
    if raw["bytes_per_s"].isna().any():
        raise AnalysisError(f"{run_id}: {int(raw['bytes_per_s'].isna().sum())} write windows have no bandwidth")
    if len(raw) < MIN_WINDOWS:
        raise AnalysisError(f"{run_id}: bandwidth over fill needs ≥ {MIN_WINDOWS} windows, found {len(raw)}")
    capacity = _capacity(tables, run_id) if capacity_bytes is None else capacity_bytes
    if not capacity > 0:
        raise AnalysisError(f"{run_id}: expected a capacity above 0 B, found {capacity:g}")
    windows = _windows(raw, capacity)
    if not windows["bytes_written"].iloc[-1] > 0:
        raise AnalysisError(f"{run_id}: nothing was written")
    warnings = _count_warnings(tables, run_id, float(windows["bytes_written"].iloc[-1]))
    found = change_points(windows["bytes_per_s"], min_ratio=MIN_CHANGE)
    changes = pd.DataFrame([_change(windows, c) for c in found], columns=CHANGE_COLUMNS)
    tail = windows.iloc[found[-1].high if found else 0 :]
    tail = tail if len(tail) else windows.iloc[found[-1].index :]
    took = tail["end_s"] - tail["start_s"]
    sustained = float((tail["bytes_per_s"] * took).sum() / took.sum())
    try:
        mean = series_mean(tail["bytes_per_s"], window_s=took)
    except AnalysisError as error:
        mean, warnings = None, [*warnings, f"{run_id}: sustained bandwidth without an interval: {error}"]
    return Fill(run_id, capacity, windows, changes, sustained, mean, tuple(warnings))


CHANGE_COLUMNS = ["fill_ratio", "fill_low", "fill_high", "bytes_written", "bytes_per_s_before", "bytes_per_s_after",
                   "p_value"]  # fmt: skip


def _windows(raw: pd.DataFrame, capacity: float) -> pd.DataFrame:
    """One worker's windows as they are; of several, their sum on the windows of the one that has most."""
    workers = [part for _, part in raw.groupby(["job", "target"], dropna=False)]
    finest = max(workers, key=len)
    end = finest["time_s"].to_numpy(dtype=float)
    start = end - finest["window_s"].to_numpy(dtype=float)
    if len(workers) == 1:
        rate = raw["bytes_per_s"].to_numpy(dtype=float)
        written = np.cumsum(rate * (end - start))
    else:
        end = np.unique(np.append(end, float(raw["time_s"].max())))
        start = np.concatenate([[max(float((raw["time_s"] - raw["window_s"]).min()), 0.0)], end[:-1]])
        written = cumulative(raw, "bytes_per_s", end)
        rate = np.diff(written, prepend=0.0) / (end - start)
    return pd.DataFrame({"start_s": start, "end_s": end, "bytes_per_s": rate, "bytes_written": written,
                         "fill_ratio": written / capacity})  # fmt: skip


def rate_text(value: float | None) -> str:
    """A bandwidth for a sentence; none as a dash."""
    return format_si(math.nan if value is None else value, "B/s")


def _change(windows: pd.DataFrame, change: ChangePoint) -> tuple[float, ...]:
    """A change as shares of the capacity: it happened at the start of its first window."""
    written = np.concatenate([[0.0], windows["bytes_written"].to_numpy()])
    per_byte = float(windows["fill_ratio"].iloc[-1]) / float(windows["bytes_written"].iloc[-1])
    at, low, high = (float(written[i]) for i in (change.index, change.low, change.high))
    return at * per_byte, low * per_byte, high * per_byte, at, change.before, change.after, change.p_value


def _capacity(tables: Mapping[str, pd.DataFrame], run_id: str) -> float:
    settings = tables["parameters"]
    sizes = settings[(settings["run_id"] == run_id) & (settings["name"] == "size")]
    try:
        found = sum(byte_size(text) for text in sizes["value"])
    except ValueError as error:
        raise AnalysisError(f"{run_id}: the setting size is no number of bytes ({error}): give the capacity") from error
    if not found:
        raise AnalysisError(f"{run_id}: the report has no setting size: give the capacity in bytes")
    return found


def _count_warnings(tables: Mapping[str, pd.DataFrame], run_id: str, integrated: float) -> list[str]:
    operations = summable_operations(tables)
    mine = operations[(operations["run_id"] == run_id) & (operations["op"] == "write")]
    counted = mine.groupby(KEYS)["n_bytes"].sum(min_count=1).dropna()
    return [
        f"{run_id}: the windows add up to {format_si(integrated, 'B', 4)}, {tool} counted {format_si(float(n), 'B', 4)}"
        for (_, tool), n in counted.items()
        if abs(integrated - float(n)) > COUNT_TOLERANCE * float(n)
    ]
