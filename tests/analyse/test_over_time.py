"""Latency over time: whole counts, exact ranks, windows of jobs whose stamps differ, heat maps that divide no bin."""

import numpy as np
import pandas as pd
import pytest
from frames import campaign
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analyse.distributions.averaging import averaging, averaging_of_run
from pipeline.analyse.distributions.heat_map import heat_map
from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.distributions.over_time import OverTime, merge_jobs, merge_series, over_time, percentiles
from pipeline.errors import AnalysisError

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
    with pytest.raises(AnalysisError, match="intervals"):
        merge_jobs(bins)
    with pytest.raises(AnalysisError, match="window_s"):
        merge_jobs(bins, 0)
    with pytest.raises(AnalysisError, match="0 to 100"):
        percentiles(merge_jobs(frame([("1", "read", 1.0, 0, 1)])), [101])


def test_nothing_gives_nothing():
    assert merge_jobs(frame([])).empty
    assert percentiles(merge_jobs(frame([])), [50]).empty
    assert percentiles(merge_jobs(frame([("1", "read", 1.0, 0, 1)])), []).empty


def operations(rows):
    """Rows of latency_series: job, stamp, latency."""
    frame = pd.DataFrame(rows, columns=["job", "time_s", "latency_s"])
    return frame.assign(op="write", phase="total", window_s=np.nan)


def test_single_operations_count_in_the_window_that_their_stamp_ends():
    found = merge_series(
        operations([("a", 0.0, 1.0), ("a", 1.0, 2.0), ("b", 1.0, 2.0), ("a", 1.001, 3.0), ("b", 2.0, 4.0)])
    )
    assert found[["time_s", "lower_s", "count"]].to_numpy().tolist() == [[1, 1, 1], [1, 2, 2], [2, 3, 1], [2, 4, 1]]
    assert (found["lower_s"] == found["upper_s"]).all()
    tenths = merge_series(operations([("a", k / 10, 1.0) for k in range(1, 31)]), 0.1)
    assert tenths["count"].tolist() == [1] * 30  # 1.1 / 0.1 is 11.000000000000002


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 4), st.floats(0, 2)), min_size=1, max_size=40),
       st.floats(0, 100).map(lambda p: round(p, 3)))  # fmt: skip
@settings(deadline=None)
def test_windows_of_operations_are_exact(rows, percentile):
    series = operations(rows)
    found = percentiles(merge_series(series), [percentile], confidence=0.95)
    assert found["n_ops"].sum() == len(rows)
    for row in found.itertuples():
        own = series["latency_s"][np.maximum(np.ceil(series["time_s"] - 1e-9), 1) == row.time_s]
        estimate = Histogram.of_values(own).percentile_estimate(percentile)
        assert row.lower_s == row.upper_s == estimate.bounds.lower_s
        for ours, theirs in ((row.interval_low_s, estimate.low_s), (row.interval_high_s, estimate.high_s)):
            assert np.isnan(ours) if theirs is None else ours == theirs


def test_windows_of_operations_need_stamps_and_operations():
    with pytest.raises(AnalysisError, match="means of windows"):
        merge_series(operations([("a", 1.0, 1.0)]).assign(window_s=1.0))
    with pytest.raises(AnalysisError, match="no stamp"):
        merge_series(operations([("a", np.nan, 1.0)]))
    with pytest.raises(AnalysisError, match="window_s"):
        merge_series(operations([("a", 1.0, 1.0)]), np.nan)


@pytest.fixture(scope="module")
def logs():
    return campaign("2026-11-fio-logs")


def test_both_logs_of_a_run_tell_the_same(logs):
    run = "lab-kvm-fio-freeze-r1"
    exact = over_time(logs, run, op="write", phase="completion")
    bins = over_time(logs, run, op="write", phase="completion", source="bins of intervals")
    assert (exact.source, bins.source) == ("per-I/O log", "bins of intervals")
    assert exact.histogram().n_ops == exact.windows()["n_ops"].sum() == 13_200
    assert exact.warnings == ()
    assert bins.warnings[0].startswith("an interval is 1.70")  # the frozen second: fio wrote no line in it
    assert bins.numbers()["n_windows_empty"] == 1
    # Whole windows in which no I/O is near an edge hold the same counts in both, but for a few.
    joined = exact.windows().merge(bins.windows(), on="time_s").set_index("time_s").loc[12:18]
    assert (joined["n_ops_x"] - joined["n_ops_y"]).abs().max() <= 5
    assert "the one that ends at" in exact.sentence()


def test_averages_over_time_are_refused(logs):
    with pytest.raises(AnalysisError, match="log_avg_msec=0"):
        over_time(logs, "lab-kvm-fio-averaged-r1", op="write", phase="total")
    with pytest.raises(AnalysisError, match="expected a log an operation"):
        over_time(logs, "lab-kvm-fio-steady-r1", op="write", phase="total")


def over(frame):
    return OverTime("r", "read", "completion", 1.0, "bins of intervals", frame)


LAYOUTS = st.sampled_from([2.0 ** np.arange(-10, 4), np.arange(1, 60) / 17, np.array([1.0])])


@given(
    st.lists(st.tuples(LAYOUTS, st.floats(0, 9), st.integers(1, 3)), min_size=1, max_size=30),
    st.sampled_from([1, 5, 20]),
)
@settings(deadline=None)
def test_a_heat_map_divides_no_bin(rows, per_decade):
    made = []
    for edges, value, window in rows:
        ends = np.concatenate([[0.0], edges, [np.inf]])
        place = np.searchsorted(ends, value, "right") - 1
        made.append(("j", "read", "completion", float(window), ends[place], ends[place + 1], 1))
    bins = pd.DataFrame(made, columns=COLUMNS).replace(np.inf, np.nan)
    heat = heat_map(over(merge_jobs(bins)), per_decade)
    assert heat.count.sum() == len(rows)
    first = min(end for _, _, _, end, *_ in made)
    for _, _, _, end, low, high, _ in made:
        row = np.searchsorted(heat.edges_s, low, "right") - 1
        assert heat.edges_s[row] <= low < high <= heat.edges_s[row + 1]
        assert heat.count[row, round(end - first)] >= 1
    cells = heat.to_frame()
    assert cells["count"].sum() == len(rows)


def test_heat_maps_of_little():
    zero = merge_series(operations([("a", 1.0, 0.0), ("a", 3.0, 0.0)])).assign(op="read", phase="completion")
    heat = heat_map(over(zero))
    assert heat.count.tolist() == [[1, 0, 1]]
    exact = merge_series(operations([("a", 1.0, 1e-3), ("a", 1.0, 1.0)])).assign(op="read", phase="completion")
    heat = heat_map(over(exact), 1)
    assert heat.edges_s == pytest.approx([1e-3, 1e-2, 1e-1, 1, 10])
    assert heat.count[:, 0].tolist() == [1, 0, 0, 1]
    with pytest.raises(AnalysisError, match="found none"):
        heat_map(over(exact.iloc[:0]))


def test_short_cuts_of_a_known_mixture():
    rng = np.random.default_rng(1)
    fast = [("fast", t, x) for t, x in zip(rng.uniform(0, 5, 9900), rng.uniform(0, 1e-3, 9900), strict=True)]
    slow = [("slow", t, 1.0) for t in rng.uniform(0, 5, 100)]
    series = operations(fast + slow)
    bins = pd.DataFrame({"lower_s": [0.0, 1e-3], "upper_s": [1e-3, 2.0], "count": [9900, 100]})
    found = averaging(series, bins, (50.0, 99.5)).to_frame().set_index(["percentile", "way"])
    pooled = np.sort(series["latency_s"])
    assert found.loc[(50.0, "merged_bins"), "pooled_s"] == pooled[4999]
    assert found.loc[(99.5, "merged_bins"), "pooled_s"] == 1.0
    assert found.loc[(50.0, "mean_of_jobs"), "lower_s"] == pytest.approx(0.50025, abs=2e-4)
    assert found.loc[(99.5, "of_window_means"), "lower_s"] == 1.0
    assert (found.xs("merged_bins", level="way")["ratio"] == 1).all()
    with pytest.raises(AnalysisError, match="found 1 jobs"):
        averaging(series[series["job"] == "fast"], bins)
    with pytest.raises(AnalysisError, match="10,000 operations in the log, 1 in the bins"):
        averaging(series, bins.iloc[:1].assign(count=1))


def test_merged_bins_hold_the_exact_percentiles_of_a_measured_run(logs):
    found = averaging_of_run(logs, "lab-kvm-fio-freeze-r1", op="write", phase="total")
    merged = found.frame[found.frame["way"] == "merged_bins"]
    assert (merged["ratio"] == 1).all()
    assert ((merged["lower_s"] <= merged["pooled_s"]) & (merged["pooled_s"] < merged["upper_s"])).all()
    assert "merged bins hold 4 of 4" in found.sentence()
