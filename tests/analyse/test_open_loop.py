"""The queue against theory and brute force, the correction against HdrHistogram, estimates against simulated truth."""

import numpy as np
import pandas as pd
import pytest
from frames import report, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analyse.queueing.act_response import act_corrections
from pipeline.analyse.queueing.open_loop import corrected_histogram, one_stall, percentile, queue, schedule
from pipeline.analyse.queueing.response_time import agreement, rate_of, response_of_point, response_times
from pipeline.errors import AnalysisError


def step_by_step(arrivals, services, n_workers):
    free, found = [0.0] * n_workers, []
    for at, takes in zip(arrivals, services, strict=True):
        worker = free.index(min(free))
        free[worker] = max(free[worker], at) + takes
        found.append(free[worker] - at)
    return found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 9)), min_size=1, max_size=40), st.integers(1, 4))
def test_the_queue_is_the_recursion(steps, n_workers):
    arrivals, services = np.cumsum([gap for gap, _ in steps]), [takes for _, takes in steps]
    expected = step_by_step(arrivals, services, n_workers)
    assert queue(arrivals, services, n_workers) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("busy", [0.3, 0.7])
def test_m_d_1_waits_as_theory_says(busy):
    """Pollaczek–Khinchine: mean wait ρ S / 2(1 − ρ); P(no wait) = 1 − ρ."""
    n = 400_000
    response = queue(schedule(n, busy, "poisson", seed=3), np.ones(n))
    assert response.mean() == pytest.approx(1 + busy / (2 * (1 - busy)), rel=0.02)
    assert np.mean(response < 1 + 1e-9) == pytest.approx(1 - busy, abs=0.01)


def test_m_m_1_percentiles():
    n, busy = 400_000, 0.5
    response = queue(schedule(n, busy, "poisson", seed=5), np.random.default_rng(6).exponential(1, n))
    expected = -np.log(1 - np.array([0.5, 0.9, 0.99])) / (1 - busy)  # response of M/M/1 is exponential
    assert percentile(response, [50, 90, 99]) == pytest.approx(expected, rel=0.05)


def test_one_stall_a_minute_service_0_1_ms_response_946_ms():
    frame = one_stall(1e-4, 1.0, 60.0, 1000.0).set_index("percentile")
    assert frame.loc[99.9, "service_s"] == 1e-4
    assert frame.loc[99.9, "response_s"] == pytest.approx(0.946, abs=5e-4)
    assert frame["response_s"].to_numpy() == pytest.approx(frame["expected_s"].to_numpy(), rel=2e-3)


def test_what_a_queue_cannot_take():
    assert queue([0.0], [2.0]).tolist() == [2]
    assert queue([0, 0, 0], [0, 0, 0]).tolist() == [0, 0, 0]
    assert queue([0, 0], [1, 1], 5).tolist() == [1, 1]
    for arrivals, services, workers in (
        ([], [], 1), ([0], [1, 2], 1), ([1, 0], [1, 1], 1), ([0, np.nan], [1, 1], 1), ([0], [-1], 1), ([0], [1], 0),
    ):  # fmt: skip
        with pytest.raises(AnalysisError):
            queue(arrivals, services, workers)
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(AnalysisError, match="needs the rate"):
            schedule(5, rate)
    with pytest.raises(AnalysisError, match="found none"):
        percentile([], [50])
    assert schedule(1, 5.0, "poisson").tolist() == [0]


def test_hdrhistograms_own_example():
    """10,000 values of 1 ms and one of 100 s, expected every 10 ms: its data access test has these percentiles."""
    found = corrected_histogram([1e-3, 100.0], [1e-3, 100.0], [10_000, 1], 0.01)
    assert (found.n_recorded, found.n_added_low) == (10_001, 9_999)
    bounds = {p: found.percentile_bounds(p)[0] for p in (30, 50, 75, 90, 99, 99.999)}
    assert bounds == pytest.approx({30: 1e-3, 50: 1e-3, 75: 50, 90: 80, 99: 98, 99.999: 100}, rel=1e-3)


def corrected_by_its_loop(values, interval):
    """HdrHistogram's Java loop; hdrh's also records the remainder below the interval, and so is no oracle here."""
    found = []
    for value in values:
        found.append(value)
        missing = value - interval
        while missing >= interval:
            found.append(missing)
            missing -= interval
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=30), st.integers(100, 5000))
def test_the_correction_is_hdrhistograms(values, interval):
    expected = corrected_by_its_loop(values, interval)
    unique, counts = np.unique(values, return_counts=True)
    ours = corrected_histogram(unique, unique, counts, interval)
    assert ours.n_recorded + ours.n_added_high == len(expected)
    for percent in (50, 90, 99, 100):
        assert ours.percentile_bounds(percent)[1] == pytest.approx(percentile(expected, percent))


def test_wide_bins_give_two_answers():
    found = corrected_histogram([0.0, 0.5], [0.1, 1.0], [99, 1], 0.1)
    assert (found.n_added_low, found.n_added_high) == (4, 9)
    low, high = found.percentile_bounds(99.9)
    assert (low, high) == (0.5, 1.0)
    nothing = corrected_histogram([0.0], [0.0], [5], 0.1)
    assert (nothing.n_added_high, nothing.percentile_bounds(99)) == (0, (0, 0))
    for bins, interval, message in (
        (([0], [np.inf], [1]), 1, "overflow"), (([0], [1], [0]), 1, "at least one"), (([0], [1], [-1]), 1, "≥ 0"),
        (([0], [1], [1]), 0, "interval"), (([0], [1], [1]), 1e-9, "no interval of one worker"),
    ):  # fmt: skip
        with pytest.raises(AnalysisError, match=message):
            corrected_histogram(*bins, interval)


def fio_run(services, rate="100", stamps=None, run_id="r1", point="p", **settings_):
    """A log of single reads; without ``stamps`` the closed loop catches up with i/rate."""
    made = report(run_id=run_id, point=point)
    for name, value in {"rate_iops": rate, **settings_}.items():
        if value is not None:
            made.parameter(name, value)
    services = np.asarray(services, dtype=float)
    if stamps is None:
        at = schedule(len(services), 100.0)
        stamps = np.floor((at + queue(at, services)) * 1000) / 1000
    for stamp, takes in zip(stamps, services, strict=True):
        made.add("latency_series", op="read", job="1", phase="total", time_s=float(stamp), latency_s=float(takes))
    return made


STALL = [0.001] * 200 + [1.0] + [0.001] * 799


def test_estimate_and_stamps_agree_with_the_simulated_truth():
    found = response_times(tables(fio_run(STALL)), "r1")
    truth = percentile(queue(schedule(1000, 100.0), STALL), [50, 90, 99, 99.9])
    assert found.frame["estimate_s"].to_numpy() == pytest.approx(truth)
    assert found.frame["measured_s"].to_numpy() == pytest.approx(truth, abs=1.001e-3)
    assert found.frame["service_s"].tolist() == [0.001, 0.001, 0.001, 0.001]
    assert found.frame["histogram_s"].iloc[2] == pytest.approx(0.9, abs=0.02)
    assert (found.n_ops, found.n_workers, found.process) == (1000, 1, "constant")
    assert found.utilisation == pytest.approx(100 * np.mean(STALL))
    assert "estimated" in found.sentence()
    assert "operations" not in found.numbers()


def test_poisson_schedules_bracket_the_truth():
    rng = np.random.default_rng(8)
    held = 0
    for seed in range(40):
        services = rng.exponential(0.004, 2000)
        at = schedule(2000, 100.0, "poisson", seed=10_000 + seed)
        truth = percentile(queue(at, services), [50, 90, 99])
        stamps = at + queue(at, services)
        made = tables(fio_run(services, stamps=stamps, rate_process="poisson"))
        frame = response_times(made, "r1", percentiles=(50.0, 90.0, 99.0)).frame
        assert frame["measured_s"].isna().all()
        held += int(((frame["estimate_low_s"] <= truth) & (truth <= frame["estimate_high_s"])).sum())
    assert held / 120 >= 0.88  # 95 % in expectation; the order of the services by their start adds a little


def pgbench_run(run_id="r1", seed=1):
    rng = np.random.default_rng(seed)
    at, services = np.sort(rng.uniform(0, 10, 1000)), rng.uniform(0.001, 0.008, 1000)
    services[300] = 1.0
    response = queue(at, services)
    made = report(run_id=run_id, tool="pgbench_log", point="insert")
    for phase, values in (("total", response), ("schedule_lag", response - services)):
        for end, value in zip(at + response, values, strict=True):
            made.add("latency_series", op="transaction", job="0", phase=phase, time_s=end, latency_s=value)
    return made, response, services


def test_pgbench_measures_both():
    made, response, services = pgbench_run()
    found = response_times(tables(made), "r1")
    assert found.frame["measured_s"].to_numpy() == pytest.approx(percentile(response, [50, 90, 99, 99.9]))
    assert found.frame["service_s"].to_numpy() == pytest.approx(percentile(services, [50, 90, 99, 99.9]))
    assert found.frame["estimate_s"].to_numpy() == pytest.approx(found.frame["measured_s"].to_numpy(), rel=1e-6)
    assert found.rate_per_s == pytest.approx(100, rel=0.02)


def test_repeats_and_agreement():
    made = tables(*(pgbench_run(f"r{i}", i)[0] for i in range(6)))
    point = response_of_point(made, "insert")
    rows = point.to_frame().set_index(["percentile", "kind"])
    assert rows.loc[(99.0, "measured"), "n_runs"] == 6
    assert rows.loc[(99.0, "measured"), "low_s"] < rows.loc[(99.0, "measured"), "latency_s"]
    assert "n = 6 runs" in point.sentence()
    ratios = agreement([point])
    assert ratios.to_frame()["ratio"].to_numpy() == pytest.approx(1, rel=1e-6)
    assert "n = 6 runs" in ratios.sentence()
    few = response_of_point(tables(pgbench_run()[0]), "insert")
    assert "need ≥ 6 runs" in few.sentence()
    with pytest.raises(AnalysisError, match="measured their response"):
        agreement([response_of_point(tables(fio_run([0.1] * 9, rate_process="poisson")), "p")])
    with pytest.raises(AnalysisError, match="found none"):
        response_of_point(made, "absent")


@pytest.mark.parametrize(
    ("settings_", "op", "rate"),
    [
        ({"rate_iops": "500"}, "write", 500),
        ({"rate_iops": "500,300"}, "write", 300),
        ({"rate_iops": "1k,"}, "read", 1000),
        ({"rate": "4m", "bs": "4k"}, "read", 1024),
        ({"rate": "1m,8k", "bs": "4k"}, "write", 2),
    ],
)
def test_rates_as_fio_states_them(settings_, op, rate):
    made = report()
    for name, value in settings_.items():
        made.parameter(name, value)
    assert rate_of(tables(made), "r1", op) == rate


def test_what_has_no_response_time():
    two = fio_run([0.1] * 9)
    two.add("latency_series", op="read", job="2", phase="total", time_s=1.0, latency_s=0.1)
    windows = report()
    windows.add("latency_series", op="read", phase="total", time_s=1.0, window_s=1.0, latency_s=0.1)
    holed = fio_run([0.1, np.nan], stamps=[0.1, 0.2])
    for made, message in (
        (fio_run([0.1] * 9, rate=None), "the report states none"), (two, "several jobs"), (windows, "log_avg_msec"),
        (report(), "found none"), (holed, "lacks latencies"),
    ):  # fmt: skip
        with pytest.raises(AnalysisError, match=message):
            response_times(tables(made), "r1")
    zero = response_times(tables(fio_run([0.0] * 50)), "r1")
    assert zero.frame["estimate_s"].tolist() == [0, 0, 0, 0]
    one = response_times(tables(fio_run([0.25], rate=None)), "r1", rate_per_s=10)
    assert one.frame["service_s"].tolist() == [0.25] * 4
    busy = response_times(tables(fio_run([0.0099] * 50)), "r1")
    assert "99% busy" in busy.warnings[0]


def test_act_histograms():
    made = report(tool="act", run_id="a")
    for name, value in (("service-threads", "2"), ("internal-read-reqs-per-sec", "200")):
        made.parameter(name, value)
    for start in (0.0, 1.0):
        for lower, upper, count in ((0.0, 1e-3, 999), (0.064, 0.128, 1)):
            made.add("latency_bins", op="read", scope="total", phase="total", job="reads", lower_s=lower, upper_s=upper,
                     count=count, interval_start_s=start, interval_end_s=start + 1)  # fmt: skip
    row = act_corrections(tables(made)).to_frame().iloc[0]
    assert (row["interval_s"], row["n_recorded"]) == (0.01, 2000)
    assert (row["n_added_low"], row["n_added_high"]) == (10, 22)
    assert (row["service_low_s"], row["service_high_s"]) == (0.0, 1e-3)
    assert row["estimate_low_s"] > 0.02
    assert "in 1 when" in act_corrections(tables(made)).sentence()
    bare = report(tool="act", run_id="b")
    bare.add("latency_bins", op="read", scope="total", phase="total", lower_s=0.0, upper_s=None, count=5)
    both = act_corrections(tables(made, bare))
    assert "1 runs" in both.warnings[0]
    bare.parameter("service-threads", "2")
    bare.parameter("internal-read-reqs-per-sec", "200")
    assert "overflow" in act_corrections(tables(bare)).to_frame()["refused"][0]
    with pytest.raises(AnalysisError, match="found none"):
        act_corrections(tables(report()))


def test_percentiles_are_order_statistics():
    assert percentile([3, 1, 2, 4], [25, 26, 50, 100]).tolist() == [1, 2, 2, 4]
    assert pd.isna(response_times(tables(fio_run([0.1] * 3, iodepth="4")), "r1").frame["measured_s"]).all()
