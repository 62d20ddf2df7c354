"""Shares side by side: which unit, which interval, Holm, what is lumped, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from frames import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_frames import hotspots

from pipeline.analyse.comparison.rank_sum import holm
from pipeline.analyse.intervals import clopper_pearson
from pipeline.analyse.processors.hotspots import hot_spots
from pipeline.analyse.processors.profiles import Profile, symbol_profile
from pipeline.analyse.processors.shares import between_runs, newcombe
from pipeline.errors import AnalysisError


def spots(*reports, sides, **options):
    return hot_spots(symbol_profile(tables(*reports), sides), **options)


def test_one_run_a_side_by_samples():
    found = spots(
        hotspots("a", ("f", 300), ("g", 700)), hotspots("b", ("f", 100), ("g", 880), ("h", 20)),
        sides={"base": ["a"], "other": ["b"]},
    )  # fmt: skip
    assert found.unit == "samples"
    f = found.shares.set_index(["symbol", "side"]).loc[("f", "base")]
    bounds = clopper_pearson(300, 1000)
    assert (f["share_ratio"], f["low_ratio"], f["high_ratio"]) == pytest.approx(
        (0.3, float(bounds.low), float(bounds.high))
    )
    row = found.differences.set_index("symbol").loc["f"]
    expected = newcombe(300, 1000, 100, 1000)
    assert row["difference_ratio"] == pytest.approx(-0.2)
    assert (row["low_ratio"], row["high_ratio"]) == pytest.approx((float(expected.low), float(expected.high)))
    assert row["p_holm"] == pytest.approx(3 * float(expected.p_value), rel=1e-6)  # the smallest p of three
    assert dict(zip(found.differences["symbol"], found.differences["verdict"], strict=True)) == {
        "f": "lower", "g": "higher", "h": "higher"}  # fmt: skip
    assert "3 of 3 symbols differ" in found.sentence()
    assert "f in [kernel]: 30.0% on base, 10.0% on other, -20.0 points" in found.sentence()
    assert "the unit is the sample" in found.sentence()


def test_repeats_make_the_run_the_unit():
    base = [hotspots(f"a{i}", ("f", n), ("g", 1000 - n)) for i, n in enumerate((300, 320, 340))]
    other = [hotspots(f"b{i}", ("f", n), ("g", 2000 - n)) for i, n in enumerate((630, 640, 650))]
    found = spots(*base, *other, sides={"base": ["a0", "a1", "a2"], "other": ["b0", "b1", "b2"]})
    assert found.unit == "runs"
    f = found.shares.set_index(["symbol", "side"]).loc[("f", "base")]
    half = 4.302652729911275 * 0.02 / np.sqrt(3)
    assert (f["share_ratio"], f["low_ratio"], f["high_ratio"]) == pytest.approx((0.32, 0.32 - half, 0.32 + half))
    assert (f["n_samples"], f["n_total"], f["n_runs"]) == (960, 3000, 3)
    assert list(found.differences["verdict"]) == ["no difference shown"] * 2
    assert found.differing().empty
    assert "0 of 2 symbols differ" in found.sentence()


def test_a_place_that_no_run_hits_has_an_upper_end():
    reports = [hotspots(f"a{i}", ("g", 1000 + i)) for i in range(3)] + [
        hotspots(f"b{i}", ("f", 9 + i), ("g", 900)) for i in range(3)
    ]
    found = spots(*reports, sides={"base": ["a0", "a1", "a2"], "other": ["b0", "b1", "b2"]})
    f = found.shares.set_index(["symbol", "side"]).loc[("f", "base")]
    assert f["low_ratio"] == 0
    assert f["high_ratio"] == pytest.approx(float(clopper_pearson(0, 3003).high))


def test_overdispersed_runs_are_said():
    base = [hotspots(f"a{i}", ("f", n), ("g", 1000 - n)) for i, n in enumerate((100, 300, 500))]
    found = spots(*base, sides={"base": ["a0", "a1", "a2"]})
    assert found.differences.empty
    assert "vary between runs" in found.warnings[-1]
    assert "rest on base (3,000 samples in 3 runs)" in found.sentence()


def test_overhead_alone_has_no_interval_and_says_so():
    rows = [{"symbol": "f", "overhead_ratio": 0.6}, {"symbol": "g", "overhead_ratio": 0.4}]
    found = spots(hotspots("a", *rows), hotspots("b", *rows), sides={"base": ["a"], "other": ["b"]})
    assert found.unit == "none"
    assert found.shares[["low_ratio", "high_ratio"]].isna().all(axis=None)
    assert list(found.differences["verdict"]) == ["no interval"] * 2
    assert "No interval can be given" in found.sentence()
    assert "perf report -n" in found.warnings[-1]


def test_overhead_of_repeats_has_an_interval_between_runs():
    def one(run, share):
        return hotspots(run, {"symbol": "f", "overhead_ratio": share}, {"symbol": "g", "overhead_ratio": 1 - share})

    reports = [one("a0", 0.6), one("a1", 0.61), one("b0", 0.3), one("b1", 0.31)]
    found = spots(*reports, sides={"base": ["a0", "a1"], "other": ["b0", "b1"]})
    assert found.unit == "runs"
    assert set(found.differences["verdict"]) == {"lower", "higher"}
    assert found.shares["n_samples"].isna().all()


def test_unequal_repeats_fall_back_to_samples():
    reports = [hotspots(run, ("f", 10), ("g", 90)) for run in ("a0", "a1", "b0")]
    found = spots(*reports, sides={"base": ["a0", "a1"], "other": ["b0"]})
    assert found.unit == "samples"
    assert "Not every side has 2 runs ([2, 1])" in found.warnings[0]
    assert found.shares.set_index(["symbol", "side"]).loc[("f", "base"), "n_total"] == 200


def test_small_places_are_lumped_and_not_tested():
    reports = [hotspots(run, ("f", 900), ("g", 60), ("h", 25), ("i", 15)) for run in ("a", "b")]
    found = spots(*reports, sides={"base": ["a"], "other": ["b"]}, min_share=0.05)
    assert list(found.shares.loc[found.shares["side"] == "base", "symbol"]) == ["f", "g", "[others]"]
    assert list(found.differences["symbol"]) == ["f", "g"]
    assert found.shares.groupby("side")["share_ratio"].sum().to_numpy() == pytest.approx([1, 1])


def test_three_sides_share_one_family_of_tests():
    reports = [
        hotspots("a", ("f", 50), ("g", 50)),
        hotspots("b", ("f", 40), ("g", 60)),
        hotspots("c", ("f", 20), ("g", 80)),
    ]
    found = spots(*reports, sides={"a": ["a"], "b": ["b"], "c": ["c"]})
    assert list(found.differences["other"]) == ["b", "b", "c", "c"]
    p = float(newcombe(50, 100, 20, 100).p_value)
    assert found.differences["p_holm"].iloc[2] == pytest.approx(4 * p)
    assert [name for name in found.to_frame() if name.endswith("_share_ratio")] == [
        "a_share_ratio", "b_share_ratio", "c_share_ratio"]  # fmt: skip


def test_periods_that_vary_are_said():
    rows = [
        {"symbol": "f", "n_samples": 50, "overhead_ratio": 0.9},
        {"symbol": "g", "n_samples": 50, "overhead_ratio": 0.1},
    ]
    assert "Periods vary" in spots(hotspots("a", *rows), sides={"base": ["a"]}).warnings[-1]


@pytest.mark.parametrize("rows", [[("f", 0)], [("f", 0), ("g", 0)]])
def test_zero_samples_are_refused(rows):
    with pytest.raises(AnalysisError, match="found 0 in a"):
        spots(hotspots("a", *rows), sides={"base": ["a"]})


def test_one_sample():
    found = spots(hotspots("a", ("f", 1)), hotspots("b", ("g", 1)), sides={"base": ["a"], "other": ["b"]})
    assert list(found.differences["verdict"]) == ["no difference shown"] * 2
    assert found.shares["high_ratio"].max() == 1


def test_two_recordings_of_one_program_differ_in_few_symbols():
    rng = np.random.default_rng(7)
    true = rng.dirichlet(np.full(40, 0.7))
    a, b = rng.multinomial(2000, true, 2000), rng.multinomial(2500, true, 2000)
    p_holm = holm(newcombe(a, 2000, b, 2500).p_value)
    assert (p_holm.min(axis=1) <= 0.05).mean() <= 0.05 + 0.01  # any false finding in 40 tests
    a, b = rng.multinomial(2000, true, (500, 5)), rng.multinomial(2000, true, (500, 5))
    frequent = true >= 0.005
    p_value = between_runs(a[:, :, frequent].swapaxes(1, 2) / 2000, b[:, :, frequent].swapaxes(1, 2) / 2000).p_value
    assert (holm(p_value).min(axis=1) <= 0.05).mean() <= 0.05 + 0.02


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("fghij"), st.integers(0, 50), st.sampled_from("ab"))), st.floats(0, 0.3))
def test_every_sample_counts_once(rows, min_share):
    frame = pd.DataFrame([("f", 1, "a"), ("f", 1, "b"), *rows], columns=["symbol", "n_samples", "run_id"])
    frame = frame.assign(side=frame["run_id"], shared_object="[kernel]", privilege=None, overhead_ratio=None)
    found = hot_spots(Profile(frame, "cycles", ("a", "b"), ()), min_share=min_share)
    for side in "ab":
        part = found.shares[found.shares["side"] == side]
        assert part["n_samples"].sum() == part["n_total"].iloc[0] == 1 + sum(n for _, n, s in rows if s == side)
        assert part["share_ratio"].sum() == pytest.approx(1)
