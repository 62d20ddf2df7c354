"""ACT's histograms cut into slices: operations over each limit of latency, with what bins and sampling leave open."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from pipeline.analyse.intervals import clopper_pearson, dispersion
from pipeline.analyse.select import KEYS
from pipeline.errors import AnalysisError

Floats = NDArray[np.float64]
RELATIVE = 1e-9  # bins' edges are powers of two of 1 ms or 1 µs in binary floats
SLICE_COLUMNS = [*KEYS, "slice", "start_s", "end_s", "is_whole", "threshold_s", "n_ops", "n_over_low", "n_over_high",
                 "over_low_ratio", "over_high_ratio", "binomial_low_ratio", "binomial_high_ratio", "n_windows",
                 "dispersion", "clustered_low_ratio", "clustered_high_ratio"]  # fmt: skip


def read_bins(bins: pd.DataFrame, op: str) -> pd.DataFrame:
    """The bins by which ACT is judged: of all devices together, of one operation, of intervals."""
    chosen = bins[(bins["op"] == op) & (bins["scope"] == "total") & (bins["phase"] == "total")]
    return chosen[chosen["interval_end_s"].notna() & chosen["interval_start_s"].notna()]


def slice_counts(
    bins: pd.DataFrame, durations: pd.DataFrame, thresholds_s: Sequence[float], slice_s: float, confidence: float
) -> pd.DataFrame:
    """A row a run, slice and threshold, with the columns SLICE_COLUMNS.

    ``bins`` of ``read_bins``; ``durations`` has run_id, tool, duration_s. Slice k holds the intervals that end in
    (k−1, k] · slice_s. ``is_whole``: the run lasted to its end and no interval reaches across its ends, so that its
    counts are its own. ``n_over_low`` and ``n_over_high`` differ where a threshold lies inside a bin (ACT's bins of
    2^k µs have no edge at 1 ms but at 1.024 ms): operations of that bin may be on either side.
    ``dispersion`` is the χ² of the windows' shares over its degrees of freedom: about 1 where operations are
    independent, more where slow ones come in bursts. ``clustered_…`` is the exact interval for the effective number of
    operations n / dispersion · (t(n−1) / t(windows−1))² (Korn and Graubard 1998, Survey Methodology 24, 193–201): it
    holds where bursts are shorter than a window. Null with fewer than 2 windows, or with none or all over.
    AnalysisError: a slice of no length, or a run's duration is not known.
    """
    if not slice_s > 0:
        raise AnalysisError(f"expected slices longer than 0 s, found {slice_s!r}")
    if durations["duration_s"].isna().any():
        raise AnalysisError(f"expected a duration of each run, found none of {list(durations['run_id'])[:3]}")
    windows = _window_counts(bins, thresholds_s)
    numbers = np.ceil(windows["interval_end_s"] / slice_s * (1 - RELATIVE)).astype("int64")
    windows = windows.assign(slice=numbers.clip(lower=1))
    crossing = _crossed(windows, slice_s)
    rows = [_slices_of_run(windows, run, thresholds_s, slice_s, crossing) for run in durations.to_dict("records")]
    found = [frame for frame in rows if len(frame)]
    if not found:
        return pd.DataFrame(columns=SLICE_COLUMNS)
    return _with_intervals(pd.concat(found, ignore_index=True), confidence)[SLICE_COLUMNS]


def _window_counts(bins: pd.DataFrame, thresholds_s: Sequence[float]) -> pd.DataFrame:
    """Operations of each interval: all, and by threshold those surely over and those perhaps over."""
    upper = bins["upper_s"].fillna(math.inf)
    counts = {"n_ops": bins["count"]}
    for i, threshold in enumerate(thresholds_s):
        counts[f"low_{i}"] = bins["count"].where(bins["lower_s"] >= threshold * (1 - RELATIVE), 0)
        counts[f"high_{i}"] = bins["count"].where(upper > threshold * (1 + RELATIVE), 0)
    keys = [*KEYS, "interval_start_s", "interval_end_s"]
    return bins[keys].assign(**counts).groupby(keys, sort=True)[list(counts)].sum().reset_index()


def _crossed(windows: pd.DataFrame, slice_s: float) -> set[tuple[str, str, int]]:
    """Slices that share an interval with a neighbour: its operations cannot be told apart."""
    first = np.floor(windows["interval_start_s"] / slice_s * (1 + RELATIVE)).astype("int64") + 1
    crossing = windows.assign(first=first)[first < windows["slice"]]
    return {
        (row["run_id"], row["tool"], number)
        for row in crossing.to_dict("records")
        for number in range(row["first"], row["slice"] + 1)
    }


def _slices_of_run(
    windows: pd.DataFrame,
    run: dict[str, object],
    thresholds_s: Sequence[float],
    slice_s: float,
    crossing: set[tuple[str, str, int]],
) -> pd.DataFrame:
    """Every slice of a run up to its end, those without an operation too."""
    key, duration = (str(run["run_id"]), str(run["tool"])), float(str(run["duration_s"]))
    own = windows[(windows["run_id"] == key[0]) & (windows["tool"] == key[1])]
    n_slices = max(math.ceil(duration / slice_s * (1 - RELATIVE)), int(own["slice"].max()) if len(own) else 0)
    rows = []
    for number in range(1, n_slices + 1):
        part = own[own["slice"] == number]
        end = number * slice_s
        is_whole = end <= duration * (1 + RELATIVE) and (*key, number) not in crossing
        for i, threshold in enumerate(thresholds_s):
            low, high = part[f"low_{i}"].to_numpy(float), part[f"high_{i}"].to_numpy(float)
            n = part["n_ops"].to_numpy(float)
            used = n > 0  # an empty window has no share
            rows.append(
                {"run_id": key[0], "tool": key[1], "slice": number, "start_s": end - slice_s,
                 "end_s": min(end, max(duration, end - slice_s)), "is_whole": is_whole, "threshold_s": threshold,
                 "n_ops": int(n.sum()), "n_over_low": int(low.sum()), "n_over_high": int(high.sum()),
                 "n_windows": int(used.sum()), "dispersion_low": float(dispersion(low[used], n[used])),
                 "dispersion_high": float(dispersion(high[used], n[used]))}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _with_intervals(frame: pd.DataFrame, confidence: float) -> pd.DataFrame:
    n = frame["n_ops"].to_numpy(float)
    found = frame.assign(dispersion=frame[["dispersion_low", "dispersion_high"]].max(axis=1))
    for end in ("low", "high"):
        k = frame[f"n_over_{end}"].to_numpy(float)
        found[f"over_{end}_ratio"] = np.where(n > 0, k / np.where(n > 0, n, 1), np.nan)
        found[f"binomial_{end}_ratio"] = getattr(clopper_pearson(k, n, confidence), end)
        share = found[f"over_{end}_ratio"].to_numpy(float)
        effective = _effective(n, found[f"dispersion_{end}"].to_numpy(float), frame["n_windows"], confidence)
        clustered = clopper_pearson(np.where(effective > 0, share * effective, 0.0), effective, confidence)
        found[f"clustered_{end}_ratio"] = getattr(clustered, end)
    return found


def _effective(n: Floats, dispersed: Floats, n_windows: pd.Series, confidence: float) -> Floats:
    """Number of independent operations that would scatter as these do, at most all of them; 0 where it is not known."""
    df = n_windows.to_numpy(float) - 1
    tail = (1 + confidence) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        correction = (stdtrit(np.maximum(n - 1, 1), tail) / stdtrit(np.maximum(df, 1), tail)) ** 2
        return np.where((df >= 1) & (dispersed > 0), np.minimum(n, n / dispersed * correction), 0.0)
