"""Merged histograms: whole counts, exact ranks, windows of jobs whose stamps differ."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analyse.histograms import merge_jobs, percentiles

COLUMNS = ["job", "op", "phase", "interval_end_s", "lower_s", "upper_s", "count"]


def frame(rows):
    return pd.DataFrame(
        [(job, op, "completion", end, low, None if low == 4 else low + 1.0, n) for job, op, end, low, n in rows],
        columns=COLUMNS,
    ).astype({"upper_s": float, "lower_s": float})


def test_jobs_are_added_in_the_window_that_is_nearest():
    merged = merge_jobs(frame([("1", "read", 1.001, 0, 2), ("2", "read", 0.999, 0, 3), ("2", "read", 2.004, 4, 1),
                               ("1", "write", 1.4, 0, 7), ("1", "read", 0.2, 1, 1)]))  # fmt: skip
    found = merged[["op", "time_s", "window_s", "lower_s", "upper_s", "count"]].astype(object)
    assert found.where(found.notna(), None).to_numpy().tolist() == [
        ["read", 1.0, 1.0, 0.0, 1.0, 5], ["read", 1.0, 1.0, 1.0, 2.0, 1], ["read", 2.0, 1.0, 4.0, None, 1],
        ["write", 1.0, 1.0, 0.0, 1.0, 7],
    ]  # fmt: skip


def test_percentiles_are_bins():
    merged = merge_jobs(frame([("1", "read", 1.0, 0, 998), ("1", "read", 1.0, 1, 1), ("1", "read", 1.0, 4, 1)]))
    found = percentiles(merged, [0, 50, 99.8, 99.9, 99.91, 100])
    assert found["n_ops"].tolist() == [1000] * 6
    assert found["lower_s"].tolist() == [0, 0, 0, 1, 4, 4]
    assert found["upper_s"].tolist()[:4] == [1, 1, 1, 2]
    assert np.isnan(found["upper_s"].tolist()[4])


@given(st.lists(st.tuples(st.sampled_from(["1", "2"]), st.sampled_from(["read", "write"]),
                          st.sampled_from([0.5, 1.0, 1.2, 3.0, 1e9]), st.integers(0, 4), st.integers(1, 9)),
                min_size=1, max_size=30),
       st.floats(0, 100))  # fmt: skip
@settings(deadline=None)
def test_as_if_each_operation_were_sorted(rows, percentile):
    bins = frame(rows)
    merged = merge_jobs(bins)
    assert merged["count"].sum() == bins["count"].sum()
    found = percentiles(merged, [round(percentile, 3)])
    for row in found.itertuples():
        ends = np.maximum(np.rint(bins["interval_end_s"]), 1)
        own = bins[(bins["op"] == row.op) & (ends == row.time_s)]
        values = np.sort(np.repeat(own["lower_s"].to_numpy(), own["count"].to_numpy()))
        rank = max(-(-len(values) * round(percentile, 3) * 1000 // 100_000), 1)
        assert row.n_ops == len(values)
        assert row.lower_s == values[int(rank) - 1]


def test_windows_need_intervals_and_a_length():
    bins = frame([("1", "read", None, 0, 1)])
    with pytest.raises(ValueError, match="intervals"):
        merge_jobs(bins)
    with pytest.raises(ValueError, match="window_s"):
        merge_jobs(bins, 0)
    with pytest.raises(ValueError, match="0 to 100"):
        percentiles(merge_jobs(frame([("1", "read", 1.0, 0, 1)])), [101])


def test_nothing_gives_nothing():
    assert merge_jobs(frame([])).empty
    assert percentiles(merge_jobs(frame([])), [50]).empty
    assert percentiles(merge_jobs(frame([("1", "read", 1.0, 0, 1)])), []).empty
