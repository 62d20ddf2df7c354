"""Comparisons: rows by hand, what is excluded or unmatched, verdicts, degenerate input, the shipped campaigns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frames import report, run, tables

import pipeline
from pipeline.analyse.comparison._run_values import run_values
from pipeline.analyse.comparison.compare import compare, published_side, side
from pipeline.analyse.comparison.halvings import halvings
from pipeline.errors import AnalysisError

ROOT = Path(__file__).parents[2]
LOW, HIGH = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0], [20.0, 22.0, 24.0, 26.0, 28.0, 30.0]


def runs(values, point="p", measure="ops_per_s", start=1, **more):
    """Complete runs, one a value of one measure (None: the report states none)."""
    return [
        run({measure: value, **more.get("operation", {})}, run_id=f"{point}-r{number}", point=point, is_complete=True,
            **more.get("run", {}))
        for number, value in enumerate(values, start)
    ]  # fmt: skip


def one(values, name="A", **more):
    return side(tables(*runs(values, **more)), name)


def only(a, b, **more):
    frame = compare(one(a, "A", **more), one(b, "B", start=101, **more)).frame
    assert len(frame) == 1
    return frame.iloc[0]


# The bytes of reports made by hand are all the same: tell them apart, or they would count as copies of one run.
@pytest.fixture(autouse=True)
def distinct_reports(monkeypatch):
    from pipeline.analyse.comparison import _sides

    monkeypatch.setattr(_sides, "_origins", lambda frame: frame["tool"] + " " + frame["source_path"])


def test_a_row_by_hand():
    row = only(LOW, HIGH)
    assert (row["n_a"], row["median_a"], row["median_a_low"], row["median_a_high"]) == (6, 12.5, 10, 15)
    assert (row["n_b"], row["median_b"], row["median_b_low"], row["median_b_high"]) == (6, 25, 20, 30)
    ratios = np.sort((np.array(HIGH)[:, None] / np.array(LOW)).ravel())
    assert row["ratio"] == pytest.approx(np.sqrt(ratios[17] * ratios[18]))  # median of the 36 on a logarithmic axis
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((ratios[5], ratios[30]))  # U ≤ 5 is significant
    assert row["p"] == row["p_holm"] == pytest.approx(2 / 924)
    assert (row["verdict"], row["unit"], row["better"]) == ("better", "1/s", "higher")


@pytest.mark.parametrize(
    ("measure", "a", "b", "verdict"),
    [("ops_per_s", LOW, HIGH, "better"), ("ops_per_s", HIGH, LOW, "worse"), ("latency_mean_s", LOW, HIGH, "worse"),
     ("latency_mean_s", HIGH, LOW, "better"), ("ops_per_s", LOW, [10.5, 11.5, 12.5, 13.5, 14.5, 9.5], "no difference"),
     ("ops_per_s", [7.0] * 6, [7.0] * 6, "no difference"), ("ops_per_s", LOW[:3], HIGH[:3], "not enough"),
     ("ops_per_s", LOW[:1], HIGH[:1], "not enough"), ("ops_per_s", LOW[:1], HIGH, "not enough"),
     ("ops_per_s", LOW[:5], HIGH, "not enough")],  # p = 0.004, but the median of five has no interval
)  # fmt: skip
def test_verdicts(measure, a, b, verdict):
    row = only(a, b, measure=measure)
    assert row["verdict"] == verdict
    assert pd.isna(row["n_needed"]) == (verdict != "not enough")


def test_equal_values_have_a_ratio_of_one_and_too_few_runs_no_interval():
    equal = only([7.0] * 6, [7.0] * 6)
    assert (equal["ratio"], equal["ratio_low"], equal["ratio_high"], equal["p"]) == (1, 1, 1, 1)
    single = only([7.0], [14.0])
    assert (single["ratio"], single["p"], single["n_needed"]) == (2, 1, 6)
    assert single[["ratio_low", "ratio_high", "median_a_low", "median_b_high"]].isna().all()


def test_a_p_of_just_the_level_is_significant():
    shifted = [value + 3.5 for value in range(10, 20)]
    p = only(list(range(10, 20)), shifted)["p"]
    assert 0.01 < p < 0.05
    for confidence, verdict in ((1 - (1 + 1e-9) * p, "better"), (1 - (1 - 1e-9) * p, "no difference")):
        found = compare(one(list(range(10, 20))), one(shifted, "B", start=50), confidence)
        assert found.frame["verdict"].tolist() == [verdict]
    with pytest.raises(AnalysisError, match="expected a confidence"):
        compare(one(LOW), one(HIGH, "B", start=9), 1.0)


def test_zero_latency_is_tested_without_a_ratio_and_never_excused():
    found = compare(one([0.0] * 6, measure="latency_mean_s"), one(HIGH, "B", start=9, measure="latency_mean_s"))
    row = found.frame.iloc[0]
    assert (row["verdict"], row["p"]) == ("worse", pytest.approx(2 / 924))
    assert pd.isna(row["ratio"])
    assert len(found.regressions(0.99)) == 1
    assert any("not above 0" in text for text in found.warnings)


def test_nulls_are_left_out_and_counted():
    found = compare(one([*LOW, None]), one(HIGH, "B", start=101))
    assert found.frame.iloc[0]["n_a"] == 6
    assert any("1 values are missing" in text for text in found.warnings)


def test_incomplete_reports_are_left_out_and_listed():
    broken = run({"ops_per_s": 1.0}, run_id="p-r9", point="p", is_complete=False, state="timed_out")
    found = compare(side(tables(*runs(LOW), broken), "A"), one(HIGH, "B", start=101))
    assert found.frame.iloc[0]["n_a"] == 6
    assert found.excluded.to_dict("records") == [
        {"side": "A", "run_id": "p-r9", "tool": "fio", "point": "p", "reason": "incomplete: timed_out"}
    ]
    with pytest.raises(AnalysisError, match="found none; left out: incomplete: timed_out"):
        side(tables(broken), "A")


def test_copies_of_a_report_are_no_repeats(monkeypatch):
    from pipeline.analyse.comparison import _sides

    monkeypatch.setattr(_sides, "_origins", lambda frame: frame["tool"])  # as if all had the same bytes
    found = one(LOW)
    assert set(found.values["run_id"]) == {"p-r1"}
    assert found.excluded["reason"].tolist() == ["the same bytes as p-r1"] * 5


def test_runs_are_not_compared_with_themselves():
    with pytest.raises(AnalysisError, match="found 6 on both, such as p-r1"):
        compare(one(LOW), one(LOW, "B"))


def test_warnings_of_a_reader_are_passed_on():
    noisy = [run({"ops_per_s": 1.0}, run_id=f"q-r{n}", point="p", is_complete=True, warnings=["odd"]) for n in (1, 2)]
    found = compare(side(tables(*noisy), "A"), one(HIGH, "B"))
    assert "A: 2 of 2 runs: odd: odd" in found.warnings


def test_points_are_matched_by_name_and_the_rest_is_listed():
    a = side(tables(*runs(LOW, "p"), *runs(LOW, "q")), "A")
    b = side(tables(*runs(HIGH, "q", start=20), *runs(HIGH, "s")), "B")
    found = compare(a, b)
    assert found.frame["point"].tolist() == ["q"]
    assert found.unmatched[["side", "point", "n", "median"]].values.tolist() == [
        ["A", "p", 6, 12.5],
        ["B", "s", 6, 25.0],
    ]
    assert found.to_frame()["verdict"].tolist() == ["better", "only in A", "only in B"]
    assert found.to_frame()["median_a"].tolist()[:2] == [12.5, 12.5]


def test_one_point_a_side_is_one_pair_whatever_the_names():
    found = compare(one(LOW, point="before"), one(HIGH, "B", point="after"))
    assert found.frame["point"].tolist() == ["before → after"]
    assert found.unmatched.empty


def test_nothing_in_common_is_said():
    a = side(tables(*runs(LOW, "p"), *runs(LOW, "q")), "A")
    b = side(tables(*runs(HIGH, "s"), *runs(HIGH, "t")), "B")
    found = compare(a, b)
    assert found.frame.empty
    assert len(found.unmatched) == 4
    assert "nothing in common" in found.sentence()
    assert found.regressions(0.0).empty
    assert found.geomeans.empty


@pytest.mark.parametrize(
    ("pattern", "points"),
    [(None, ["qd1-j1", "qd1-j2", "qd2-j1"]), ("qd1-j1", ["qd1-j1"]), (r"qd\d", None), (r"(qd\d)-j1", ["qd1", "qd2"]),
     ("qd1-j1-r1", ["qd1-j1"]), (r"(qd\d)-(j\d)", ["qd1 j1", "qd1 j2", "qd2 j1"])],
)  # fmt: skip
def test_a_pattern_chooses_runs_and_its_groups_name_the_points(pattern, points):
    held = tables(*(made for point in ("qd1-j1", "qd1-j2", "qd2-j1") for made in runs(LOW, point)))
    if points is None:
        with pytest.raises(AnalysisError, match=r"found none; there are qd1-j1, qd1-j2, qd2-j1"):
            side(held, "A", pattern)
    else:
        assert side(held, "A", pattern).points == points


def test_a_pattern_that_is_none_is_told():
    with pytest.raises(AnalysisError, match="expected a regular expression"):
        side(tables(*runs(LOW)), "A", "(")


def test_without_a_manifest_the_point_is_the_name_without_its_repeat():
    held = tables(*(run({"ops_per_s": 1.0}, run_id=name, point=None, is_complete=True) for name in
                    ("randread-r1", "randread-r2", "randread_r3", "randread#4", "qd8")))  # fmt: skip
    assert side(held, "A").points == ["randread", "qd8"]


def test_holm_is_over_the_whole_table_and_says_how_many_repeats_it_needs():
    points = [f"p{n}" for n in range(7)]
    a = side(tables(*(made for point in points for made in runs(LOW[:5], point))), "A")
    b = side(tables(*(made for point in points for made in runs(HIGH[:5], point, start=50))), "B")
    found = compare(a, b)
    assert found.frame["p_holm"].tolist() == pytest.approx([7 * 2 / 252] * 7)
    assert set(found.frame["verdict"]) == {"not enough"}
    assert set(found.frame["n_needed"]) == {6}
    assert "need ≥ 6 repeats a side" in found.sentence()


def test_bytes_of_one_block_size_are_not_compared_twice():
    a = one(LOW, operation={"bytes_per_s": 4096.0})
    assert "bytes_per_s" in set(a.values["measure"])  # 4096 B/s whatever the rate: a comparison of its own
    constant = compare(a, one(HIGH, "B", start=9, operation={"bytes_per_s": 4096.0}))
    assert set(constant.frame["measure"]) == {"ops_per_s", "bytes_per_s"}

    def sized(values, size, name, start):
        made = [run({"ops_per_s": v, "bytes_per_s": v * size}, run_id=f"p-r{n}", point="p", is_complete=True)
                for n, v in enumerate(values, start)]  # fmt: skip
        return side(tables(*made), name)

    same = compare(sized(LOW, 4096, "A", 1), sized(HIGH, 4096, "B", 9))
    assert set(same.frame["measure"]) == {"ops_per_s"}
    assert any("bytes_per_s is left out" in text for text in same.warnings)
    other = compare(sized(LOW, 4096, "A", 1), sized(HIGH, 8192, "B", 9))
    assert set(other.frame["measure"]) == {"ops_per_s", "bytes_per_s"}


def test_the_geometric_mean_is_over_matched_points_with_their_number():
    a = side(tables(*runs([10.0], "p"), *runs([10.0], "q"), *runs([10.0], "only")), "A")
    b = side(tables(*runs([20.0], "p", start=9), *runs([80.0], "q", start=9)), "B")
    row = compare(a, b).geomeans.iloc[0]
    assert (row["n_points"], row["ratio"]) == (2, pytest.approx(4))
    half = (
        12.706204736432095 * np.log(2) / np.sqrt(2) * np.sqrt(2) / np.sqrt(2) * np.sqrt(2)
    )  # t(1) · s / √2, s = √2 ln 2
    assert row["ratio_high"] == pytest.approx(4 * np.exp(half))
    assert row["ratio_low"] == pytest.approx(4 * np.exp(-half))


def test_a_drift_over_time_is_pointed_at():
    early = one(LOW, run={"started_at": "2026-01-01T00:00:00Z"})
    late = one(HIGH, "B", start=9, run={"started_at": "2026-01-02T00:00:00Z"})
    assert any("a drift over time" in text for text in compare(early, late).warnings)


def test_regressions_are_significant_and_beyond_the_threshold():
    found = compare(one(HIGH), one([value * 0.9 for value in HIGH], "B", start=9))
    assert found.frame.iloc[0]["verdict"] == "no difference"
    tight = [100.0, 100.1, 100.2, 100.3, 100.4, 100.5]
    slower = compare(one(tight), one([value * 0.97 for value in tight], "B", start=9))
    assert (len(slower.regressions(0.05)), len(slower.regressions(0.02))) == (0, 1)
    latency = compare(
        one(tight, measure="latency_mean_s"), one([v * 1.03 for v in tight], "B", start=9, measure="latency_mean_s")
    )
    assert (len(latency.regressions(0.05)), len(latency.regressions(0.02))) == (0, 1)


def test_values_of_a_run():
    made = report(run_id="r", is_complete=True)
    for job, n, rate, mean in (("a", 300, 30.0, 1e-3), ("b", 100, 10.0, 5e-3)):
        made.add("operations", op="read", scope="job", job=job, n_ops=n, ops_per_s=rate, bytes_per_s=rate * 512,
                 latency_mean_s=mean)  # fmt: skip
        made.add("latency_percentiles", op="read", scope="job", job=job, phase="total", percentile=50.0, latency_s=mean)
        for low, count in ((0.00100, n * 3 // 4), (0.00200, n // 4)):
            made.add("latency_bins", op="read", scope="job", job=job, phase="total", lower_s=low, upper_s=low + 1e-5,
                     count=count)  # fmt: skip
    found = run_values(tables(made)).set_index("measure")["value"].to_dict()
    assert found == {
        "ops_per_s": 40, "bytes_per_s": 40 * 512, "latency_mean_s": pytest.approx(2e-3),
        "latency_p50_s": pytest.approx(1.005e-3), "latency_p99_s": pytest.approx(2.005e-3),
    }  # fmt: skip  # p99.9 of 400 operations would be their maximum


def test_a_latency_that_was_computed_from_the_rate_is_no_measurement():
    made = run({"ops_per_s": 10.0, "latency_mean_s": 0.1}, run_id="r", warnings=["latency_from_rate"])
    assert set(run_values(tables(made)).query("value.notna()")["measure"]) == {"ops_per_s"}


def test_coarse_bins_give_no_percentile():
    made = run({"n_ops": 100, "ops_per_s": 10.0}, run_id="r")
    made.add("latency_bins", op="read", scope="job", job="j", phase="total", lower_s=1e-3, upper_s=2e-3, count=100)
    assert not run_values(tables(made))["measure"].str.startswith("latency_p").any()


def test_stressors_streams_and_counters_are_compared():
    made = report("s", tool="stress_ng", is_complete=True)
    made.add("stressors", stressor="cpu", bogo_ops_per_real_s=5.0, bogo_ops_per_cpu_s=7.0)
    net = report("n", tool="iperf3", is_complete=True)
    for stream, rate in (("5", 1.0), ("7", 2.0), ("SUM", 3.0)):
        net.add("network_streams", stream=stream, role="sender", bytes_per_s=rate)
    perf = report("p", tool="perf_stat", is_complete=True)
    for time, value in ((1.0, 10), (2.0, 20)):
        perf.add("perf_counters", event="cycles", time_s=time, window_s=1.0, value=value, status="counted")
    perf.add("perf_counters", event="cycles", aggregate="CPU0", time_s=1.0, value=99, status="counted")
    perf.add("perf_counters", event="faults", value=None, status="not_counted")
    found = run_values(tables(made, net, perf)).dropna(subset=["value"])
    assert found.set_index(["op", "measure"])["value"].to_dict() == {
        ("cpu", "bogo_ops_per_real_s"): 5, ("cpu", "bogo_ops_per_cpu_s"): 7, ("sender", "bytes_per_s"): 3,
        ("cycles", "count"): 30,
    }  # fmt: skip


def test_a_counter_has_no_better_direction():
    def counted(values, name, start):
        made = []
        for number, value in enumerate(values, start):
            made.append(report(f"p-r{number}", tool="perf_stat", point="p", is_complete=True))
            made[-1].add("perf_counters", event="cycles", value=value, status="counted")
        return side(tables(*made), name)

    found = compare(counted(LOW, "A", 1), counted(HIGH, "B", 9))
    assert found.frame["verdict"].tolist() == ["differs"]
    assert found.regressions(0.0).empty


def test_published_figures_are_one_run_each():
    article = pipeline.read(ROOT / "data/raw/2022-06-aerospike-i4i")
    sides = [published_side(article, name, pattern, "Table [25].*") for name, pattern in
             (("I3en", r"I3en\.24xl(.*)"), ("I4i", r"I4i\.32xl(.*)"))]  # fmt: skip
    found = compare(*sides)
    rating = found.frame[found.frame["op"] == "x-rating"].iloc[0]
    assert (rating["median_a"], rating["median_b"], rating["ratio"]) == (54, 64, pytest.approx(64 / 54))
    assert set(found.frame["verdict"]) == {"not enough"}
    assert set(found.frame["point"]) == {
        "Table 2: ACT Results", "Table 5: HMA Cluster IOPS, 1 node", "Table 5: HMA Cluster IOPS, 3 nodes",
    }  # fmt: skip
    assert found.excluded["reason"].unique().tolist() == ["no figure, but <1 ms"]
    assert "need ≥ 6 repeats a side" in found.sentence()
    with pytest.raises(AnalysisError, match=r"expected figures of 'I5\.1'"):
        published_side(article, "A", "I5.1")


def test_at_most_five_per_cent_of_all_halvings_are_flagged():
    rng = np.random.default_rng(2)
    held = tables(*runs(rng.lognormal(0, 1, 10).tolist(), "p"), *runs(rng.lognormal(0, 1, 8).tolist(), "q"),
                  *runs(LOW[:3], "few"), *runs(rng.lognormal(0, 1, 15).tolist(), "many"))  # fmt: skip
    found = halvings(side(held, "A"))
    assert found.frame["n_halvings"].tolist() == [126, 35]
    # By the table, 5 and 5 runs reject at U ≤ 2 (4 of the 252 splits in each tail), 4 and 4 at U = 0 (1 of 70).
    assert found.frame["n_flagged"].tolist() == [4, 1]
    assert found.warnings == ("few: 3 runs", "many: 15 runs")
    assert "5 (3.1%)" in found.sentence()
    with pytest.raises(AnalysisError, match="4 runs or more"):
        halvings(side(tables(*runs(LOW[:3], "few")), "A"))
