"""Counters: totals, ratios, multiplexing simulated, and counts per operation."""

import numpy as np
import pytest
from frames import report, run, tables

from pipeline.analyse.processors.counters import counter_ratio, counter_totals, multiplexed
from pipeline.analyse.processors.per_operation import OWN_CPU, per_operation
from pipeline.errors import AnalysisError

N_DRAWS, WINDOWS, SLICES = 2000, 20, 50


def perf(run_id, *rows, made=None, point=None):
    made = made or report(run_id, "perf_stat", point=point)
    for row in rows:
        made.add("perf_counters", **{"status": "counted", "running_ratio": 1.0, **row})
    return made


def scheduled(rng, counts, share):
    """What perf shows of windows of slices of which a random share was on a counter: the scaled counts."""
    order = rng.permuted(np.broadcast_to(np.arange(counts.shape[-1]), counts.shape), axis=-1)
    is_seen = order < share * counts.shape[-1]
    return (counts * is_seen).sum(axis=-1) / share, is_seen


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_multiplexing_of_independent_slices_is_covered(share):
    rng = np.random.default_rng(8)
    counts = rng.gamma(2.0, 1000.0, (N_DRAWS, WINDOWS, SLICES))
    scaled, _ = scheduled(rng, counts, share)
    true = counts.sum(axis=(1, 2))
    found = [multiplexed(windows, np.full(WINDOWS, share)) for windows in scaled]
    covered = np.mean([one.low <= total <= one.high for one, total in zip(found, true, strict=True)])
    assert 0.93 <= covered <= 0.97


def test_slow_changes_make_the_interval_too_wide_and_not_too_narrow():
    rng = np.random.default_rng(9)
    level = 1 + 0.5 * np.sin(np.linspace(0, 9, WINDOWS))[:, None]
    counts = rng.gamma(20.0, 50.0, (N_DRAWS, WINDOWS, SLICES)) * level
    scaled, _ = scheduled(rng, counts, 0.25)
    found = [multiplexed(windows, np.full(WINDOWS, 0.25)) for windows in scaled]
    assert np.mean([one.low <= t <= one.high for one, t in zip(found, counts.sum(axis=(1, 2)), strict=True)]) >= 0.95


def test_a_ratio_of_grouped_counters_keeps_their_correlation():
    rng = np.random.default_rng(10)
    cycles = rng.gamma(2.0, 1000.0, (50, WINDOWS, SLICES))
    instructions = cycles * rng.normal(0.8, 0.05, cycles.shape)
    seen_cycles, is_seen = scheduled(rng, cycles, 0.25)
    seen_instructions = (instructions * is_seen).sum(axis=-1) / 0.25
    made = [
        perf(f"r{draw}", *(
            {"event": event, "value": float(values[draw, w]), "time_s": w + 1.0, "window_s": 1.0, "running_ratio": 0.25}
            for event, values in (("cycles", seen_cycles), ("instructions", seen_instructions))
            for w in range(WINDOWS)
        ))
        for draw in range(len(cycles))
    ]  # fmt: skip
    found = counter_ratio(tables(*made)).frame
    true = instructions.sum(axis=(1, 2)) / cycles.sum(axis=(1, 2))
    assert set(found["source"]) == {"multiplexed, from windows"}
    assert ((found["low"] <= true) & (true <= found["high"])).mean() >= 0.86  # 50 draws of 95 %
    width = found["uncertainty"] / found["ratio"]
    # Far below that of either count alone, whose slices vary by 70 %.
    assert np.mean(width) == pytest.approx(
        0.05 * np.sqrt(1.5) / 0.8 * np.sqrt(0.75 / (0.25 * WINDOWS * SLICES)), rel=0.2
    )


@pytest.mark.parametrize(
    ("values", "running", "message"),
    [
        ([1.0] * 9, [0.05] * 9, "below 10%"),
        ([1.0, 2.0, 3.0], [0.5] * 3, "needs at least 5"),
        ([], [], "found 0"),
        ([1.0, float("nan")], [1.0, 1.0], "expected windows"),
    ],
)
def test_multiplexing_that_cannot_be_judged_is_refused(values, running, message):
    with pytest.raises(AnalysisError, match=message):
        multiplexed(values, running)


def test_all_the_time_is_exact():
    found = multiplexed([3.0, 4.0], [1.0, 1.0])
    assert (found.value, found.low, found.high) == (7, 7, 7)


def test_totals_prefer_all_together_and_the_whole_run():
    made = perf(
        "a",
        {"event": "cycles", "value": 90.0},
        {"event": "cycles", "value": 40.0, "time_s": 1.0, "window_s": 1.0},
        {"event": "cycles", "value": 50.0, "aggregate": "CPU0"},
        {"event": "faults", "value": 1.0, "aggregate": "CPU0", "running_ratio": 0.5},
        {"event": "faults", "value": 2.0, "aggregate": "CPU1", "running_ratio": 0.7},
        {"event": "misses", "value": 5.0, "time_s": 1.0, "window_s": 1.0},
        {"event": "misses", "value": 6.0, "time_s": 2.0, "window_s": 1.0},
    )
    found = counter_totals(tables(made)).set_index("event")
    assert found["value"].to_dict() == {"cycles": 90.0, "faults": 3.0, "misses": 11.0}
    assert found.loc["faults", "running_ratio"] == 0.5
    assert found.loc["misses", "n_windows"] == 2


@pytest.mark.parametrize("status", ["not_counted", "not_supported"])
def test_what_was_not_counted_is_never_zero(status):
    bad = {"event": "cycles", "value": None, "status": status, "running_ratio": None}
    made = perf("a", {"event": "cycles", "value": 5.0, "aggregate": "CPU0"}, {**bad, "aggregate": "CPU1"})
    row = counter_totals(tables(made)).iloc[0]
    assert np.isnan(row["value"])
    assert row["status"] == status
    found = counter_ratio(tables(perf("a", bad, {"event": "instructions", "value": 7.0})))
    assert found.frame["ratio"].isna().all()
    assert found.mean is None
    assert f"cycles was {status.replace('_', ' ')}" in found.sentence()


@pytest.mark.parametrize(
    ("a", "b", "source", "uncertainty"),
    [
        ({}, {}, "counted all the time", 0.0),
        ({"stddev_ratio": 0.03}, {"stddev_ratio": 0.04}, "perf's repeats", 0.05 * 2),
        ({"running_ratio": 0.5}, {"running_ratio": 0.5}, "multiplexed, spread unknown", None),
        ({"running_ratio": None}, {"running_ratio": None}, "share of time on a counter not stated", None),
    ],
)
def test_where_a_ratios_uncertainty_comes_from(a, b, source, uncertainty):
    made = perf("a", {"event": "instructions", "value": 200.0, **a}, {"event": "cycles", "value": 100.0, **b})
    found = counter_ratio(tables(made))
    row = found.frame.iloc[0]
    assert row["ratio"] == 2
    assert row["source"] == source
    assert np.isnan(row["uncertainty"]) if uncertainty is None else row["uncertainty"] == pytest.approx(uncertainty)
    assert found.mean.n == 1
    assert "in one run" in found.sentence()


@pytest.mark.parametrize(
    ("cycles", "message"),
    [({"value": 0.0}, "cycles is 0"), ({"value": 9.0, "running_ratio": 0.02}, "on a counter for 2.0% of the time")],
)
def test_ratios_that_are_none(cycles, message):
    found = counter_ratio(tables(perf("a", {"event": "instructions", "value": 7.0}, {"event": "cycles", **cycles})))
    assert message in found.warnings[0]
    assert message in found.sentence()


def test_no_counters_at_all():
    assert counter_totals(tables(report("a"))).empty
    assert counter_ratio(tables(report("a"))).mean is None
    missing = counter_ratio(tables(perf("a", {"event": "cycles", "value": 1.0})))
    assert missing.warnings == ("a: no instructions.",)


def test_repeats_give_the_mean_with_an_interval():
    made = [
        perf(f"r{i}", {"event": "instructions", "value": ipc * 100}, {"event": "cycles", "value": 100.0})
        for i, ipc in enumerate((0.9, 1.0, 1.1))
    ]
    found = counter_ratio(tables(*made))
    assert found.mean.value == pytest.approx(1.0)
    assert found.mean.high - found.mean.low == pytest.approx(2 * 4.302652729911275 * 0.1 / np.sqrt(3))
    assert "3 runs" in found.sentence()
    assert counter_ratio(tables(*made), run_ids=["r1"]).mean.value == pytest.approx(1.0)


def measured(point, repeat, n_ops, cycles, **clock):
    """fio's report and perf's of one run."""
    run_id = f"{point}-r{repeat}"
    fio = run({"n_ops": n_ops, "duration_s": 10.0}, run_id=run_id, point=point, repeat=repeat)
    for metric, value in (("job_user_ratio", 0.1), ("job_system_ratio", 0.3), ("job_runtime_s", 10.0)):
        fio.add("metric_series", metric=metric, labels='{"job": "j"}', value=value)
    stat = report(run_id, "perf_stat", point=point, repeat=repeat)
    clock = {
        "event": "task-clock",
        "value": 4.0,
        "unit": "s",
        "metric_name": "CPUs utilized",
        "metric_value": 0.4,
        **clock,
    }
    return [fio, perf(run_id, {"event": "cycles", "value": cycles}, clock, made=stat)]


def test_cycles_per_operation_with_repeats():
    reports = [part for i, cycles in enumerate((1e6, 1.1e6, 1.2e6)) for part in measured("slow", i + 1, 100, cycles)]
    reports += [part for i, cycles in enumerate((4e5, 5e5, 6e5)) for part in measured("fast", i + 1, 100, cycles)]
    found = per_operation(tables(*reports), ["slow", "fast"])
    means = found.means.set_index(["event", "point"])["per_operation"]
    assert means[("cycles", "slow")] == pytest.approx(1.1e4)
    assert means[("task-clock", "fast")] == pytest.approx(0.04)
    assert means[(OWN_CPU, "slow")] == pytest.approx(0.04)
    row = found.differences.set_index("event").loc["cycles"]
    assert row["difference"] == pytest.approx(-6000)
    assert row["ratio"] == pytest.approx(5 / 11)
    assert row["low"] < -6000 < row["high"] < 0
    assert not found.warnings
    assert found.sentence("cycles").startswith("cycles per operation: 1.1e+04 (8516 to 1.348e+04) on slow (3 runs)")
    assert "40.00 ms" in found.sentence("task-clock").replace("40 ms", "40.00 ms")
    assert "1.000 (1.000 to 1.000) on slow, 3 runs" in found.instruments()


def test_one_run_has_no_interval():
    found = per_operation(tables(*measured("slow", 1, 100, 1e6)), ["slow"])
    assert found.means["low"].isna().all()
    assert found.differences.empty
    assert "one run: no interval" in found.sentence("cycles")


def test_zero_operations_and_missing_counters_are_said():
    reports = measured("slow", 1, 0, 1e6) + measured("slow", 2, 100, 1e6)
    perf("x", {"event": "instructions", "value": None, "status": "not_supported"}, made=reports[3])
    found = per_operation(tables(*reports), ["slow"])
    assert "No operations, or 0, are stated: slow-r1." in found.warnings
    assert "instructions was not supported in 1 runs: left out." in found.warnings
    assert set(found.runs["run_id"]) == {"slow-r2"}
    assert "is not known" in found.sentence("instructions")
    with pytest.raises(AnalysisError, match=r"of \['slow'\]"):
        per_operation(tables(*measured("slow", 1, 0, 1e6)), ["slow"])
    with pytest.raises(AnalysisError, match=r"of \['gone'\]"):
        per_operation(tables(*reports), ["slow", "gone"])


def test_counts_of_another_time_are_said():
    found = per_operation(tables(*measured("slow", 1, 100, 1e6, metric_value=0.2)), ["slow"])
    assert found.warnings == ("perf counted 2.00 to 2.00 times as long as the benchmark measured, in 1 runs.",)


def test_a_count_that_was_hardly_on_a_counter_is_left_out():
    reports = measured("slow", 1, 100, 1e6)
    perf(
        "x",
        {"event": "rare", "value": 5.0, "running_ratio": 0.03},
        {"event": "shared", "value": 5.0, "running_ratio": 0.6},
        made=reports[1],
    )
    found = per_operation(tables(*reports), ["slow"])
    assert "rare" not in set(found.runs["event"])
    assert any("left out: rare" in warning for warning in found.warnings)
    assert any("adds to the spread between runs: shared" in warning for warning in found.warnings)
