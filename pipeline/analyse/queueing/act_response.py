"""ACT's histograms corrected for what its threads did not start while they waited: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.analyse.queueing._operation_log import setting
from pipeline.analyse.queueing.open_loop import corrected_histogram
from pipeline.analyse.select import KEYS, whole_run_or_intervals
from pipeline.errors import AnalysisError
from pipeline.units import format_si

PERCENT = 99.9
UNCORRECTED_S = 1e9  # an interval that no latency exceeds


@dataclass(frozen=True)
class ActCorrections:
    """A row a run.

    interval_s of a thread, n_recorded, n_added_low … n_added_high (an ESTIMATE), service_low_s … service_high_s (the
    bin of p99.9 as recorded), estimate_low_s … estimate_high_s (with the added operations), ``refused`` in words.
    """

    frame: pd.DataFrame
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The rows."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The rows and what was left out."""
        return {"runs": self.frame, "warnings": self.warnings}

    def sentence(self) -> str:
        """In how many runs the correction moves the percentile, and the largest shift."""
        judged = self.frame[self.frame["refused"] == ""]
        moved = judged[judged["estimate_low_s"] > judged["service_low_s"]]
        text = (
            f"ACT: of n = {len(judged)} runs with a rate and a histogram, p{PERCENT:g} of the reads moves to a higher "
            f"bin in {len(moved)} when what the threads did not start is added (ESTIMATE; assumes threads that start "
            "operations at equal intervals and no backlog after a stall; one figure a run, no interval)"
        )
        if len(moved):
            row = moved.loc[(moved["estimate_low_s"] / moved["service_low_s"].clip(lower=1e-6)).idxmax()]
            ends = (format_si(row[name], "s") for name in ("service_low_s", "service_high_s", "estimate_low_s",
                                                           "estimate_high_s"))  # fmt: skip
            text += "; most in {}: from [{}, {}) to [{}, {})".format(row["run_id"], *ends)
        return text + "."


def act_corrections(tables: Mapping[str, pd.DataFrame]) -> ActCorrections:
    """Correct the read histogram of every ACT run whose rate and threads are recorded.

    The interval of a thread is service-threads over the reads and writes a second that the threads together start.
    Counts of time slices are added. See ``corrected_histogram`` for formula and assumptions. A run whose histogram
    cannot be corrected (no reads, reads beyond the last bin) keeps its row with the reason. AnalysisError: no ACT run
    with a histogram of reads.
    """
    bins = tables["latency_bins"]
    is_read = (bins["tool"] == "act") & (bins["op"] == "read") & (bins["scope"] == "total") & (bins["phase"] == "total")
    reads = whole_run_or_intervals(bins[is_read], KEYS)
    reads = reads.groupby(["run_id", "lower_s", "upper_s"], dropna=False)["count"].sum().reset_index()
    if reads.empty:
        raise AnalysisError("expected ACT runs with a histogram of reads, found none")
    rows, n_without = [], 0
    for run_id, part in reads.groupby("run_id", sort=True):
        settings = {name: setting(tables, str(run_id), name) for name in
                    ("service-threads", "internal-read-reqs-per-sec", "internal-write-reqs-per-sec")}  # fmt: skip
        threads, reads_per_s, writes_per_s = (float(value or 0) for value in settings.values())
        if not threads or not reads_per_s + writes_per_s:
            n_without += 1
            continue
        rows.append(_row(str(run_id), part, threads / (reads_per_s + writes_per_s)))
    warnings = (f"Left out, for they record no rate or no threads: {n_without} runs.",) if n_without else ()
    return ActCorrections(pd.DataFrame(rows), warnings)


def _row(run_id: str, part: pd.DataFrame, interval_s: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run_id": run_id, "interval_s": interval_s, "n_recorded": int(part["count"].sum()), "n_added_low": None,
        "n_added_high": None, "service_low_s": None, "service_high_s": None, "estimate_low_s": None,
        "estimate_high_s": None, "refused": "",
    }  # fmt: skip
    columns = (part[name].to_numpy(dtype=float, na_value=np.inf) for name in ("lower_s", "upper_s", "count"))
    lower, upper, counts = columns
    try:
        plain = corrected_histogram(lower, upper, counts, UNCORRECTED_S)
        found = corrected_histogram(lower, upper, counts, interval_s)
    except AnalysisError as error:
        return row | {"refused": str(error)}
    service, estimate = plain.percentile_bounds(PERCENT), found.percentile_bounds(PERCENT)
    return row | {
        "n_added_low": found.n_added_low, "n_added_high": found.n_added_high, "service_low_s": service[0],
        "service_high_s": service[1], "estimate_low_s": estimate[0], "estimate_high_s": estimate[1],
    }  # fmt: skip
