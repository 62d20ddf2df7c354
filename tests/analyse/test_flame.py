"""Flame graphs: sums are conserved, pruning is stated, sides are normalised."""

import numpy as np
import pandas as pd
import pytest
from frames import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_frames import stacks

from pipeline.analyse.intervals import clopper_pearson
from pipeline.analyse.processors.flame import flame, flame_difference
from pipeline.analyse.processors.profiles import Profile, stack_profile
from pipeline.analyse.processors.shares import newcombe
from pipeline.errors import AnalysisError

TWO = [("main;read;copy", 50), ("main;read", 30), ("main;write", 15), (None, 5)]


def profile(*reports, **sides):
    return stack_profile(tables(*reports), sides)


def by_path(frame):
    """Rows by their path."""
    rows = {row["id"]: row for row in frame.to_dict("records")}

    def path(row):
        return (path(rows[row["parent"]]) if row["parent"] else "") + "/" + row["name"]

    return {path(row): row for row in rows.values()}


def test_a_flame_graph_by_hand():
    found = flame(profile(stacks("a", *TWO), one=["a"]), "one", min_share=0)
    rows = by_path(found.frame)
    counts = {name: (row["n_samples"], row["n_self"], row["depth"]) for name, row in rows.items()}
    assert counts == {
        "/all": (100, 0, 0), "/all/fio": (100, 0, 1), "/all/fio/main": (95, 0, 2), "/all/fio/main/read": (80, 30, 3),
        "/all/fio/main/read/copy": (50, 50, 4), "/all/fio/main/write": (15, 15, 3), "/all/fio/[no stack]": (5, 5, 2),
    }  # fmt: skip
    bounds = clopper_pearson(80, 100)
    assert rows["/all/fio/main/read"]["low_ratio"] == pytest.approx(float(bounds.low))
    assert np.isnan(rows["/all"]["low_ratio"])
    assert found.pruned_ratio == 0
    assert "100 samples of cycles in 1 run, 7 frames" in found.sentence()


def test_what_is_pruned_stays_in_its_caller_and_is_stated():
    found = flame(profile(stacks("a", *TWO), one=["a"]), "one", min_share=0.2)
    rows = by_path(found.frame)
    assert set(rows) == {"/all", "/all/fio", "/all/fio/main", "/all/fio/main/read", "/all/fio/main/read/copy"}
    assert rows["/all/fio/main"]["n_self"] == 15
    assert found.pruned_ratio == pytest.approx(0.2)
    assert "the 2 below 20.00% are left out, with 20.0% of the samples" in found.sentence()


def test_repeats_give_means_of_shares():
    found = flame(
        profile(stacks("a", ("f", 10), ("g", 90)), stacks("b", ("f", 40), ("g", 160)), one=["a", "b"]), "one", 0
    )
    f = by_path(found.frame)["/all/fio/f"]
    assert f["share_ratio"] == pytest.approx(0.15)
    assert f["n_samples"] == 50
    assert found.n_runs == 2


def test_periods_alone_have_shares_and_no_intervals():
    found = flame(profile(stacks("a", ("f", 3_000_000), ("g", 1_000_000), period=True), one=["a"]), "one", 0)
    f = by_path(found.frame)["/all/fio/f"]
    assert f["share_ratio"] == pytest.approx(0.75)
    assert pd.isna(f["n_samples"])
    assert pd.isna(f["low_ratio"])
    assert "without intervals" in found.warnings[-1]
    assert "unknown number of samples" in found.sentence()


def test_a_longer_recording_is_no_difference():
    made = profile(stacks("a", *TWO), stacks("b", *((path, 10 * n) for path, n in TWO)), base=["a"], other=["b"])
    found = flame_difference(made, "base", "other", 0)
    assert found.frame["difference_ratio"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert set(found.frame["verdict"]) == {"root", "no difference shown"}
    assert "0 of 6 frames differ" in found.sentence()


def test_a_difference_has_the_interval_of_its_counts():
    made = profile(
        stacks("a", ("f;g", 300), ("h", 700)), stacks("b", ("f;g", 150), ("h", 850)), base=["a"], other=["b"]
    )
    found = flame_difference(made, "base", "other", 0)
    row = by_path(found.frame)["/all/fio/f/g"]
    expected = newcombe(300, 1000, 150, 1000)
    assert (row["difference_ratio"], row["low_ratio"], row["high_ratio"]) == pytest.approx(
        (-0.15, float(expected.low), float(expected.high))
    )
    assert row["p_holm"] == pytest.approx(4 * float(expected.p_value))
    assert row["verdict"] == "lower"
    assert found.numbers()["n_tested"] == 4  # fio, f, g, h
    assert found.numbers()["n_differing"] == 3


def test_frames_of_one_side_alone_are_in_both():
    made = profile(stacks("a", ("f", 10)), stacks("b", ("g", 10)), base=["a"], other=["b"])
    rows = by_path(flame_difference(made, "base", "other", 0).frame)
    assert rows["/all/fio/f"]["difference_ratio"] == -1
    assert rows["/all/fio/g"]["difference_ratio"] == 1


def test_refusals():
    zero = profile(stacks("a", ("f", 0)), one=["a"])
    with pytest.raises(AnalysisError, match="expected samples or periods in every run"):
        flame(zero, "one")
    with pytest.raises(AnalysisError, match="expected samples or periods in every run"):
        flame(zero, "no such side")
    periods = profile(stacks("a", ("f", 9), period=True), stacks("b", ("f", 9), period=True), base=["a"], other=["b"])
    with pytest.raises(AnalysisError, match="needs sample counts or repeats"):
        flame_difference(periods, "base", "other")


def test_one_sample():
    found = flame(profile(stacks("a", ("f;g", 1)), one=["a"]), "one")
    assert list(found.frame["n_samples"]) == [1, 1, 1, 1]
    assert found.frame["low_ratio"].iloc[-1] == pytest.approx(0.025)


PATHS = st.lists(st.sampled_from("fgh"), max_size=4).map(";".join)
ROWS = st.lists(st.tuples(PATHS, st.integers(1, 60), st.sampled_from("ab")), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.floats(0, 0.3))
def test_sums_are_conserved(rows, min_share):
    frame = pd.DataFrame([("f;g", 1, "a"), ("h", 1, "b"), *rows], columns=["stack", "n_samples", "run_id"])
    frame = frame.assign(
        side=frame["run_id"], command="fio", overhead_ratio=None, stack=frame["stack"].where(frame["stack"] != "")
    )
    made = Profile(frame, "cycles", ("a", "b"), ())
    found = flame(made, "a", min_share)
    total = 1 + sum(n for _, n, run in rows if run == "a")
    assert found.n_total == total == found.frame["n_self"].sum() == found.frame["n_samples"].iloc[0]
    shown = found.frame.set_index("id")
    children = shown[shown["parent"] != ""].groupby("parent")["n_samples"].sum()
    assert ((shown["n_samples"] - shown["n_self"])[children.index] == children).all()
    assert (found.frame["n_self"] >= 0).all()
    assert (found.frame["parent"].isin(["", *found.frame["id"]])).all()
    difference = flame_difference(made, "a", "b", min_share).frame
    assert difference["difference_ratio"].iloc[0] == 0
    complete = flame_difference(made, "a", "b", 0.0).frame
    commands = complete[complete["depth"] == 1]
    assert commands["difference_ratio"].sum() == pytest.approx(0, abs=1e-12)
