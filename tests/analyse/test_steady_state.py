"""The SNIA rule: its limits to the digit, its report's figures, what is still needed; rounds from runs and windows."""

import numpy as np
import pandas as pd
import pytest
from frames import report, run, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analyse.steadiness.rounds import cumulative, rounds_from_runs, rounds_from_windows, windows_of
from pipeline.analyse.steadiness.steady_state import steady_state
from pipeline.errors import AnalysisError


def rounds(values, **others):
    return pd.DataFrame({"round": range(1, len(values) + 1), "ops_per_s": np.array(values, dtype=float), **others})


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [  # mean 100 in each: (a) range ≤ 20, (b) excursion of the line ≤ 10, both inclusive
        ([100, 110, 100, 90, 100], True), ([100, 110.1, 100, 89.9, 100], False),
        ([95, 97.5, 100, 102.5, 105], True), ([94.9, 97.45, 100, 102.55, 105.1], False),
        ([100] * 5, True), ([110, 90, 100, 90, 110], True), ([90, 100, 100, 100, 110], False),
    ],
)  # fmt: skip
def test_both_limits_are_inclusive(values, is_steady):
    found = steady_state(rounds(values))
    assert found.is_reached is is_steady
    assert (found.first_round, found.last_round) == ((1, 5) if is_steady else (None, None))


def test_figures_of_the_report_are_those_of_a_fit():
    y = np.array([812.0, 640.5, 610.2, 633.9, 600.1, 618.4, 605.0])
    found = steady_state(rounds(y))
    window = found.windows[found.windows["last_round"] == 6].iloc[0]
    slope, constant = np.polyfit(np.arange(2, 7), y[1:6], 1)
    assert window["slope_per_round"] == pytest.approx(slope)
    assert (window["line_first"], window["line_last"]) == pytest.approx((constant + 2 * slope, constant + 6 * slope))
    assert window["excursion_ratio"] == pytest.approx(abs(4 * slope) / y[1:6].mean())
    assert window["range_ratio"] == pytest.approx(np.ptp(y[1:6]) / y[1:6].mean())
    assert (found.first_round, found.last_round) == (2, 6)
    assert found.estimates["ops_per_s"].value == pytest.approx(y[1:6].mean())
    assert "rounds 2–6 of 7" in found.sentence()
    assert found.to_frame()["is_steady"].all()
    assert found.numbers()["n_more"] == 0


def test_every_variable_must_be_steady_in_the_same_window():
    ops = [100.0] * 8
    latency = [5e-3, 2e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3]
    found = steady_state(rounds(ops, latency_mean_s=latency))
    assert (found.first_round, found.last_round) == (3, 7)
    assert "bytes_per_s is stated by no round" in found.warnings[0]
    assert set(found.tracked) == {"ops_per_s", "latency_mean_s"}


@pytest.mark.parametrize(
    ("values", "n_more"),
    [([100], 4), ([100, 101, 99], 2), ([100, 200, 100], 4), ([300, 100, 100, 100, 100], 1),
     ([100, 100, 100, 100, 300], 4), ([100, 300, 100, 300, 100, 300], 4), ([50, 100, 150, 200, 250, 300], 3)],
)  # fmt: skip
def test_how_many_more_rounds(values, n_more):
    found = steady_state(rounds(values))
    assert not found.is_reached
    assert found.n_more == n_more
    assert f"need ≥ {n_more} more rounds" in found.sentence()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(50, 200), min_size=1, max_size=12), st.floats(50, 200))
def test_no_fewer_rounds_would_do_and_so_many_can(values, level):
    found = steady_state(rounds(values))
    if found.is_reached:
        return
    for fewer in range(1, found.n_more):  # flat continuations at any level are not enough
        more = steady_state(rounds([*values, *[level] * fewer]))
        assert not more.is_reached
    assert 1 <= found.n_more <= 5


def test_only_25_rounds_count():
    values = [100 if i % 2 else 200 for i in range(25)] + [100] * 5
    found = steady_state(rounds(values))
    assert not found.is_reached
    assert len(found.rounds) == 25
    assert "only the first 25" in found.warnings[-1]
    assert "beyond the 25" in found.sentence()


def test_degenerate_rounds():
    for frame, message in (
        (rounds([0.0] * 5), "limits are shares"), (rounds([1, 2, np.nan, 4, 5]), r"missing in the rounds \[3\]"),
        (rounds([np.nan] * 5), "expected rounds with one of"), (rounds([]), "found none"),
        (rounds([1, 2, 3]).iloc[1:], "1, 2, 3"), (pd.DataFrame({"ops_per_s": [1.0]}), "column round"),
    ):  # fmt: skip
        with pytest.raises(AnalysisError, match=message):
            steady_state(frame)


def round_runs(n=6, **columns):
    rates = [{"op": "write", "ops_per_s": 1000.0 + i, "bytes_per_s": 4096 * (1000.0 + i), "latency_mean_s": 1e-3}
             for i in range(n)]  # fmt: skip
    return [run(row, run_id=f"r{i}", point=f"w-round-{i + 1:02}", **columns) for i, row in enumerate(rates)]


def test_rounds_of_runs():
    found = rounds_from_runs(tables(*reversed(round_runs())), r"w-round-(?P<round>\d+)")
    assert found["round"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found["ops_per_s"].tolist() == [1000, 1001, 1002, 1003, 1004, 1005]
    assert steady_state(found).is_reached


def test_rounds_add_workers_and_weigh_latency():
    made = run({"op": "read", "ops_per_s": 300.0, "bytes_per_s": 3.0, "latency_mean_s": 1e-3},
               {"op": "write", "ops_per_s": 100.0, "bytes_per_s": 1.0, "latency_mean_s": 5e-3}, repeat=1)  # fmt: skip
    row = rounds_from_runs(tables(made), "p").iloc[0]
    assert (row["ops_per_s"], row["bytes_per_s"], row["latency_mean_s"]) == (400, 4, pytest.approx(2e-3))
    no_latency = run({"op": "read", "ops_per_s": 300.0}, repeat=1)
    row = rounds_from_runs(tables(no_latency), "p").iloc[0]
    assert pd.isna(row["latency_mean_s"])
    assert pd.isna(row["bytes_per_s"])


def test_rounds_that_cannot_be():
    made = tables(*round_runs())
    with pytest.raises(AnalysisError, match="found none"):
        rounds_from_runs(made, "other")
    with pytest.raises(AnalysisError, match="several of round"):
        rounds_from_runs(tables(*round_runs(repeat=1)), r"w-round-\d+")
    one_after_another = tables(
        run({"ops_per_s": 1.0}, {"ops_per_s": 2.0, "job": "k"}, repeat=1, warnings=["sequential_jobs"])
    )
    with pytest.raises(AnalysisError, match="do not add up"):
        rounds_from_runs(one_after_another, "p")


def windows(rates, length=0.5, **keys):
    made = report()
    for i, rate in enumerate(rates):
        made.add("throughput_series", **{"op": "write", "job": "j", **keys}, time_s=(i + 1) * length, window_s=length,
                 bytes_per_s=float(rate), ops_per_s=float(rate) / 4)  # fmt: skip
    return made


def test_rounds_of_windows_share_the_window_across_an_edge():
    found, warnings = rounds_from_windows(tables(windows([10, 20, 40, 80, 160], 0.8)), "r1", 1.0)
    # 0.8 s of 10, 0.2 of 20 | 0.6 of 20, 0.4 of 40 | 0.4 of 40, 0.6 of 80 | 0.2 of 80, 0.8 of 160
    assert found["bytes_per_s"].tolist() == pytest.approx([12, 28, 64, 144])
    assert found["ops_per_s"].tolist() == pytest.approx([3, 7, 16, 36])
    assert warnings == ()
    found, warnings = rounds_from_windows(tables(windows([10] * 5)), "r1", 1.0)
    assert len(found) == 2
    assert "0.5 s" in warnings[0]


def test_windows_of_workers_add_up_and_sums_do_not_count_twice():
    made = report()
    for job, rate in (("a", 10.0), ("b", 30.0)):
        for end in (1.0, 2.0):
            made.add("throughput_series", op="write", job=job, time_s=end, window_s=1.0, bytes_per_s=rate)
    made.add("throughput_series", op="total", job="a", time_s=1.0, window_s=1.0, bytes_per_s=99.0)
    found = windows_of(tables(made), "r1")
    assert "total" not in set(found["op"])
    assert cumulative(found, "bytes_per_s", np.array([0.0, 0.5, 1.0, 2.0, 9.0])) == pytest.approx([0, 20, 40, 80, 80])
    for keys, message in (({"run_id": "x"}, "found none"), ({"run_id": "r1", "op": "read"}, "of read")):
        with pytest.raises(AnalysisError, match=message):
            windows_of(tables(made), **keys)
    with pytest.raises(AnalysisError, match="do not fit"):
        rounds_from_windows(tables(made), "r1", 0.5)
