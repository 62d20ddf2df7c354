"""ACT's certification: the rule at its edges, bins that hide a limit, bursts, and what a short run cannot say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from act_frames import MS, act_run
from frames import report, tables
from scipy.stats import betabinom
from simulation import N_DRAWS

import pipeline
from pipeline.analyse.act._slices import _with_intervals, slice_counts
from pipeline.analyse.act.certification import certify, combine
from pipeline.analyse.act.levels import held_levels
from pipeline.analyse.act.rating import drive_of, n_drives, offered_rating, x_rating
from pipeline.analyse.intervals import dispersion
from pipeline.errors import AnalysisError


def day(*hours, **options):
    """24 hours of 7,200,000 reads (1x); ``hours`` are the counts over 1, 8 and 64 ms of the first ones."""
    hours = [*hours, *[(0, 0, 0)] * (24 - len(hours))]
    windows = [(3600.0 * i, 3600.0 * (i + 1), (7_200_000 - a, a - b, b - c, c)) for i, (a, b, c) in enumerate(hours)]
    return tables(act_run(windows, **options))


def verdict(made, **options):
    return certify(made, **options).frame.iloc[0]


@pytest.mark.parametrize(
    ("hour", "expected"),
    [
        ((359_999, 0, 0), "passes"),
        ((360_000, 0, 0), "fails"),  # 5 % is not fewer than 5 %
        ((359_999, 71_999, 0), "passes"),
        ((359_999, 72_000, 0), "fails"),
        ((359_999, 71_999, 7_199), "passes"),
        ((359_999, 71_999, 7_200), "fails"),
    ],
)
def test_the_rule_at_its_edges(hour, expected):
    made = day(hour)
    assert verdict(made)["verdict"] == expected
    remarks = certify(made).warnings
    assert any("equal their limit" in remark for remark in remarks) == (expected == "fails")


def test_one_bad_hour_fails_a_day_that_is_good_in_all():
    result = certify(day((0, 0, 0), (400_000, 0, 0)))
    run = result.frame.iloc[0]
    assert (run["verdict"], run["limits"]) == ("fails", "within")
    assert (run["worst_slice"], run["worst_threshold_s"]) == (2, 0.001)
    assert run["worst_high_ratio"] == pytest.approx(400_000 / 7_200_000)
    assert run["margin_low_ratio"] == run["margin_high_ratio"] == pytest.approx(0.05 - 400_000 / 7_200_000)
    assert "1 of 24 slices: slice 2: 5.56 % over 1 ms" in run["reason"]
    assert list(result.slices.loc[result.slices["outcome"] == "over", "slice"]) == [2]


def test_a_share_that_two_digits_round_to_the_limit_is_judged_by_its_counts():
    assert verdict(day((359_900, 0, 0)))["verdict"] == "passes"  # 4.9986 %, printed as 5.00
    assert verdict(day((360_100, 0, 0)))["verdict"] == "fails"  # 5.0014 %, printed as 5.00


def test_a_short_run_is_not_certifiable_but_a_bad_hour_of_it_fails():
    good = [(0.0, 3600.0, (100, 1, 0, 0)), (3600.0, 7200.0, (100, 1, 0, 0))]
    run = verdict(tables(act_run(good)))
    assert (run["verdict"], run["reason"]) == ("not certifiable", "needs 24 h, has 2 h")
    assert run["worst_high_ratio"] == pytest.approx(1 / 101)
    bad = [(0.0, 3600.0, (90, 10, 0, 0)), (3600.0, 7200.0, (100, 0, 0, 0))]
    assert verdict(tables(act_run(bad)))["verdict"] == "fails"
    assert verdict(tables(act_run(bad)), test="stress")["verdict"] == "not certifiable"


def test_a_last_slice_that_is_not_whole_is_shown_and_not_judged():
    windows = [(0.0, 3600.0, (100, 1, 0, 0)), (3600.0, 4000.0, (10, 90, 0, 0))]
    result = certify(tables(act_run(windows)))
    last = result.slices[result.slices["slice"] == 2]
    assert not last["is_whole"].any()
    assert last["over_low_ratio"].iloc[0] == pytest.approx(0.9)
    assert result.frame["verdict"].iloc[0] == "not certifiable"
    assert result.frame["n_slices"].iloc[0] == 1
    assert result.frame["limits"].iloc[0] == "over"  # 91 of 201 in all


def test_stress_passes_whatever_the_latencies_if_it_ran_to_its_end():
    made = day((7_200_000, 7_200_000, 7_200_000))
    assert verdict(made, test="stress")["verdict"] == "passes"
    assert verdict(made)["verdict"] == "fails"
    gave_up = day(warnings=["aborted"], is_complete=False)
    assert verdict(gave_up, test="stress")["verdict"] == "gave up"
    assert verdict(gave_up)["verdict"] == "gave up"
    assert verdict(day(is_complete=False))["verdict"] == "incomplete"


def test_microseconds_leave_the_share_over_1_ms_open():
    bins = ((0.000256, 0.000512), (0.000512, 0.001024), (0.001024, 0.002048))
    shares = (((900, 60, 40), "undecided", True), ((960, 30, 10), "within", True), ((500, 0, 500), "over", False))
    for counts, limits, is_open in shares:
        result = certify(tables(act_run([(0.0, 10.0, counts)], unit="us", bins=bins)))
        row = result.pooled.iloc[0]
        assert row["over_low_ratio"] == pytest.approx(counts[2] / 1000)
        assert row["over_high_ratio"] == pytest.approx((counts[1] + counts[2]) / 1000)
        assert result.frame["limits"].iloc[0] == limits
        assert any("microsecond histograms" in remark for remark in result.warnings) == is_open
    windows = [(3600.0 * i, 3600.0 * (i + 1), (900, 60, 40)) for i in range(24)]
    run = verdict(tables(act_run(windows, unit="us", bins=bins)))
    assert (run["verdict"], run["reason"][:9]) == ("undecided", "24 slices")


def test_the_overflow_bin_is_over_every_limit():
    made = tables(act_run([(0.0, 1.0, (90, 10))], bins=((0.0, 0.001), (0.128, None))))
    assert list(certify(made).pooled["over_low_ratio"]) == pytest.approx([0.1, 0.1, 0.1])


def test_an_hour_without_operations_or_with_a_shared_report_is_not_passed():
    hours = [(3600.0 * i, 3600.0 * (i + 1), (100, 0, 0, 0)) for i in range(24)]
    silent = certify(tables(act_run([*hours[:3], *hours[4:]])))
    assert silent.frame["verdict"].iloc[0] == "undecided"
    assert list(silent.slices.loc[silent.slices["slice"] == 4, "outcome"]) == ["no operations"] * 3
    assert silent.slices.loc[silent.slices["slice"] == 4, "over_low_ratio"].isna().all()
    shared = certify(tables(act_run([*hours[:3], (10800.0, 18000.0, (100, 0, 0, 0)), *hours[5:]])))
    assert shared.frame["verdict"].iloc[0] == "undecided"
    assert "only 22 h in slices" in shared.frame["reason"].iloc[0]
    assert sorted(set(shared.slices.loc[~shared.slices["is_whole"], "slice"])) == [4, 5]


def test_a_run_without_reads_and_tables_without_act():
    made = tables(act_run([(0.0, 10.0, (5, 0, 0, 0))], op="write"))
    assert verdict(made)["verdict"] == "no operations"
    assert any("op='write'" in remark for remark in certify(made).warnings)
    assert verdict(made, op="write")["verdict"] == "not certifiable"
    assert verdict(tables(act_run([], duration=10.0)))["verdict"] == "no operations"
    with pytest.raises(AnalysisError, match="expected runs of act"):
        certify(tables(report(tool="fio")))
    with pytest.raises(AnalysisError, match="confidence"):
        certify(made, confidence=1.0)
    with pytest.raises(AnalysisError, match="slices longer"):
        certify(made, slice_s=0)


def test_a_run_without_duration_is_left_out_as_a_configuration_is():
    made = report(tool="act", run_id="config")
    with pytest.raises(AnalysisError, match="expected runs of act"):
        certify(tables(made))


def test_sentence_names_rule_count_and_what_the_interval_is_of():
    result = certify(day())
    for part in ("fewer than 5 %", "n = 1 runs of 24 h", "1 passes", "not of repeats"):
        assert part in result.sentence()
    assert "not of an hour" in certify(day(), slice_s=60).sentence()
    assert result.numbers()["rule_version"] == "README of ACT 2.x – 6.6"
    assert list(result.shares_frame()["verdict"]) == ["passes"]
    both = combine([result, result])
    assert len(both.frame) == 2
    with pytest.raises(AnalysisError, match="one test"):
        combine([result, certify(day(), test="stress")])


def test_bursts_widen_the_clustered_interval_to_its_coverage():
    rng, share, windows, n = np.random.default_rng(2), 0.02, 60, 500
    counts = betabinom.rvs(n, share * 20, (1 - share) * 20, size=(N_DRAWS, windows), random_state=rng)
    dispersed = dispersion(counts, np.full(windows, n))
    frame = pd.DataFrame(
        {"n_ops": n * windows, "n_windows": windows, "dispersion_low": dispersed,
         "n_over_low": counts.sum(axis=1), "n_over_high": counts.sum(axis=1)}
    )  # fmt: skip
    found = _with_intervals(frame.assign(dispersion_high=frame["dispersion_low"]), 0.95)
    holds = {
        name: ((found[f"{name}_low_ratio"] <= share) & (share <= found[f"{name}_high_ratio"])).mean()
        for name in ("binomial", "clustered")
    }
    assert holds["binomial"] < 0.6  # operations are not independent
    assert 0.93 <= holds["clustered"] <= 0.97


def _counted(windows, threshold, slice_s):
    made = tables(act_run(windows, bins=MS[:2]))
    bins = made["latency_bins"]
    return slice_counts(bins, made["runs"], [threshold], slice_s, 0.95).iloc[0]


def test_one_window_has_no_clustered_interval():
    one = _counted([(0.0, 1.0, (90, 10))], 1e-3, 10.0)
    assert one["n_windows"] == 1
    assert np.isnan(one["clustered_low_ratio"])
    assert one["binomial_low_ratio"] < 0.1 < one["binomial_high_ratio"]


def test_windows_without_operations_do_not_count():
    windows = [(0.0, 1.0, (90, 10)), (1.0, 2.0, (0, 0)), (2.0, 3.0, (70, 30))]
    found = _counted(windows, 1e-3, 10.0)
    assert found["n_windows"] == 2
    assert found["dispersion"] == pytest.approx(2 * 10**2 / (100 * 0.2 * 0.8))


def test_ratings():
    assert offered_rating(120_000, 60_000, 1) == 60
    assert offered_rating(480_000, 240_000, 4) == 60
    assert offered_rating(2000, 0, 1) is None
    assert offered_rating(0, 0, 1) == 0
    assert x_rating(192_000, 1) == 64
    with pytest.raises(AnalysisError):
        offered_rating(2000, 1000, 0)


@pytest.mark.parametrize(
    ("device", "drive"),
    [
        ("/dev/nvme1n1p3", "/dev/nvme1n1"), ("/dev/nvme1n1", "/dev/nvme1n1"), ("/dev/sda12", "/dev/sda"),
        ("/dev/sdb", "/dev/sdb"), ("/dev/loop0", "/dev/loop0"), ("/dev/loop0p1", "/dev/loop0"), ("file1", "file1"),
        ("/dev/mapper/vg-lv2", "/dev/mapper/vg-lv2"),
    ],
)  # fmt: skip
def test_the_drive_of_a_device(device, drive):
    assert drive_of(device) == drive


def test_partitions_are_devices_of_act_but_one_drive():
    names = [f"/dev/nvme1n1p{i}" for i in range(1, 5)]
    assert n_drives(names) == 1
    for separator in (",", " ", ", "):
        run = verdict(tables(act_run([(0.0, 10.0, (80_000, 0, 0, 0))], names=separator.join(names), offered=8000)))
        assert (run["n_devices"], run["n_drives"], run["keeps_up"]) == (4, 1, True)
        assert (run["x_rating"], run["x_rating_per_drive"]) == (1, 4)


def level(x, *, why="", run_id=None, devices=1):
    counts = {"": (10, 0, 0, 0), "over": (5, 5, 0, 0)}.get(why, (10, 0, 0, 0))
    n = 2000 * x * devices * (0.9 if why == "slow" else 1)
    windows = [(0.0, 10.0, tuple(int(c * n) for c in counts))]
    return act_run(windows, run_id=run_id or f"d{devices}-x{x}-{why}", x=x, devices=devices,
                   warnings=["aborted"] if why == "aborted" else (), is_complete=why != "aborted")  # fmt: skip


def held(*runs):
    return held_levels(certify(tables(*runs)))


def test_the_highest_level_below_the_first_that_failed():
    found = held(level(1), level(2), level(4, why="aborted"), level(8))
    row = found.held.iloc[0]
    assert (row["held_x"], row["failed_x"], row["why"]) == (2, 4, "gave up")  # 8x held, but above a failure
    assert (row["room_low_ratio"], row["room_high_ratio"]) == (0, 1)
    margins = found.margins.set_index("x_rating")
    assert list(margins.loc[1.0, ["room_low_ratio", "room_high_ratio"]]) == [1, 3]
    assert "1 device held 2x each, not 4x (gave up), n = 4 runs" in found.sentence()


@pytest.mark.parametrize(("why", "named"), [("over", "over a limit of latency"), ("slow", "achieved less than 99 %")])
def test_a_level_fails_by_latency_or_by_falling_behind(why, named):
    row = held(level(1), level(2, why=why)).held.iloc[0]
    assert (row["held_x"], row["failed_x"]) == (1, 2)
    assert named in row["why"]


def test_a_level_holds_only_if_all_its_runs_do():
    row = held(level(1, run_id="a"), level(1, why="over", run_id="b"), level(2)).held.iloc[0]
    assert np.isnan(row["held_x"])
    assert row["failed_x"] == 1


def test_without_a_failure_the_limit_is_not_known():
    found = held(level(1), level(2, devices=2), level(4, devices=2, why="over"))
    assert np.isnan(found.held.loc[found.held["n_devices"] == 1, "failed_x"].iloc[0])
    assert found.warnings == ("no level failed at n_devices = 1: what they can hold is not known",)
    custom = act_run([(0.0, 10.0, (10, 0, 0, 0))], offered=0)
    with pytest.raises(AnalysisError, match="2 to 1"):
        held(custom)
    mixed = held(level(1), act_run([(0.0, 10.0, (10, 0, 0, 0))], run_id="c", offered=0))
    assert mixed.warnings[0].startswith("1 runs without a rating")


def test_levels_of_one_group_are_in_one_frame():
    found = held(level(1), level(2, why="over"))
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert list(found.levels["state"]) == ["held", "failed"]
    assert found.numbers()["rating_rule"].startswith("1x = 2,000")


def test_efficiency_lies_between_what_was_held_and_what_failed():
    two = [level(1, devices=2), level(2, devices=2, why="aborted")]
    frame = held(level(4), level(8, why="slow"), *two, level(1, devices=3)).efficiency_frame()
    assert list(frame["n_devices"]) == [1, 2]  # of 3 devices no limit was found
    assert list(frame["held_x_total"]) == [4, 2]
    assert list(frame["efficiency"]) == [1, 0.25]
    assert frame.loc[0, ["interval_low", "interval_high"]].isna().all()
    assert (frame["interval_low"][1], frame["interval_high"][1]) == (1 / 8, 2 / 4)
    with pytest.raises(AnalysisError, match="found none"):
        held(level(1)).efficiency_frame()


LOGS = Path(__file__).parents[1] / "parse" / "act"


@pytest.mark.parametrize(
    ("case", "expected", "limits", "rating"),
    [
        ("sustained-1x", "not certifiable", "within", 1.0),
        ("gave-up-at-32x", "gave up", "within", 32.0),
        ("gave-up-service-threads", "gave up", "over", None),
        ("killed-halfway", "incomplete", "over", 0.25),
        ("torn-in-last-block", "incomplete", "over", None),
        ("long-run-compressed", "not certifiable", "over", 1.0),
        ("report-interval-of-5-s", "not certifiable", "undecided", 0.5),
        ("only-large-blocks", "no operations", "no operations", None),
        ("histogram-without-operations", "no operations", "no operations", None),
        ("only-reads", "not certifiable", "over", None),
        ("v3-microseconds-read-reqs-queued", "not certifiable", "over", 0.075),
    ],
)
def test_real_logs(case, expected, limits, rating):
    log = next(path for path in (LOGS / case).iterdir() if ".log" in path.name)
    made = pipeline.read(log, tool="act")
    run = verdict(made)
    assert (run["verdict"], run["limits"]) == (expected, limits)
    assert run["x_rating"] == rating or (rating is None and pd.isna(run["x_rating"]))
    bins = made["latency_bins"]
    reads = bins[(bins["op"] == "read") & (bins["scope"] == "total")]
    assert run["n_ops"] == reads["count"].sum()


def test_each_run_of_a_file_is_judged_by_its_own_counts():
    made = pipeline.read(next((LOGS / "three-runs-in-one-file").glob("*.log")), tool="act")
    result = certify(made)
    assert result.frame["run_id"].is_unique
    reads = made["operations"][(made["operations"]["op"] == "read") & (made["operations"]["scope"] == "total")]
    by_run = reads.set_index("run_id")["n_ops"]
    assert all(run.n_ops == by_run[run.run_id] for run in result.frame.itertuples())
