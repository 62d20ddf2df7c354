"""Changes of level and bandwidth over fill: a published series, simulation, exact sums, degenerate input."""

import numpy as np
import pandas as pd
import pytest
from frames import report, tables
from simulation import N_DRAWS
from test_trend import ar1

from pipeline.analyse.steadiness.change_points import change_points
from pipeline.analyse.steadiness.fill import fill
from pipeline.analyse.steadiness.fill_repeats import fill_of_point, fill_repeats
from pipeline.errors import AnalysisError

# Annual flow of the Nile at Aswan 1871–1970 (Cobb, Biometrika 65, 1978): the level falls in 1899.
NILE = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831,
    726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845,
    944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918,
    986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
]  # fmt: skip


def test_the_niles_break_is_where_it_was_published():
    assert np.mean(NILE) == pytest.approx(919.35)
    (found,) = change_points(NILE)
    assert found.index == 28  # 1899 is the first year of the lower level; strucchange: breakpoint 28, interval 25–32
    assert (found.before, found.after) == (pytest.approx(1097.75), pytest.approx(849.972, abs=1e-3))
    assert 22 <= found.low <= 25
    assert 31 <= found.high <= 34


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
def test_no_change_is_found_where_there_is_none(phi):
    wrong = np.mean([bool(change_points(x)) for x in ar1(phi, (N_DRAWS, 150), seed=3)])
    assert wrong <= 0.05


@pytest.mark.parametrize(("phi", "step"), [(0.0, 2.0), (0.3, 4.0)])
def test_the_interval_of_the_place_holds_it(phi, step):
    held = found = 0  # Bai's interval of a place is whole windows: it covers at least what it says
    for x in ar1(phi, (500, 150), seed=4):
        changes = change_points(x + step * (np.arange(150) >= 60))
        found += bool(changes)
        held += any(c.low <= 60 <= c.high for c in changes)
    assert found >= 495
    assert held / found >= 0.95


def test_two_changes_in_order():
    y = np.repeat([10.0, 4.0, 7.0], 40) + np.random.default_rng(1).normal(0, 0.3, 120)
    assert [c.index for c in change_points(y)] == [40, 80]
    assert change_points(y, min_ratio=0.7) == ()


def test_degenerate_changes():
    assert change_points([5.0] * 40) == ()
    (exact,) = change_points([5.0] * 20 + [3.0] * 20)
    assert (exact.index, exact.low, exact.high) == (20, 19, 21)
    for values, confidence in (([1.0], 0.95), ([np.nan] * 30, 0.95), ([1.0] * 30, 0.8)):
        with pytest.raises(AnalysisError):
            change_points(values, confidence=confidence)


def filling(rates, *, capacity="1000", run_id="r1", jobs=("j",), n_bytes=None, length=0.1):
    made = report(run_id=run_id, point="fill")
    if capacity:
        made.parameter("size", capacity)
    for job in jobs:
        for i, rate in enumerate(rates):
            made.add("throughput_series", op="write", job=job, time_s=(i + 1) * length, window_s=length,
                     bytes_per_s=None if rate is None else float(rate))  # fmt: skip
    if n_bytes is not None:
        made.add("operations", op="write", scope="job", job="j", n_bytes=n_bytes)
    return made


STEP = [100.0] * 40 + [50.0] * 80  # 400 B, then 400 B


def test_bytes_are_summed_exactly():
    rates = np.random.default_rng(1).integers(0, 1000, 200).astype(float)
    found = fill(tables(filling(rates)), "r1")
    assert found.windows["bytes_written"].to_numpy() == pytest.approx(np.cumsum(rates) * 0.1, rel=1e-12)
    assert found.windows["fill_ratio"].iloc[-1] == pytest.approx(rates.sum() * 0.1 / 1000, rel=1e-12)


def test_a_step_lies_at_its_share_of_the_capacity():
    found = fill(tables(filling(STEP, n_bytes=800)), "r1")
    change = found.changes.iloc[0]
    assert change["fill_ratio"] == pytest.approx(0.4)
    assert change["fill_low"] < 0.4 < change["fill_high"]
    assert (change["bytes_per_s_before"], change["bytes_per_s_after"]) == (100, 50)
    assert found.sustained_bytes_per_s == pytest.approx(50)
    assert found.sustained.estimate.value == pytest.approx(50)
    assert found.warnings == ()
    assert "100 B/s → 50.0 B/s at 40.0%" in found.sentence()
    assert found.numbers()["n_windows"] == 120
    binned = found.binned(10)
    assert binned["bytes_per_s"].tolist() == pytest.approx([100] * 4 + [50] * 4)
    assert binned["fill_high"].iloc[-1] == pytest.approx(0.8)


def test_workers_are_added_and_a_given_capacity_counts():
    assert fill(tables(filling(STEP, capacity="1k")), "r1").capacity_bytes == 1024  # as fio writes it
    made = filling(STEP, jobs=("a", "b"))
    for i in range(60):  # a third worker with other windows
        made.add("throughput_series", op="write", job="c", time_s=(i + 1) * 0.2, window_s=0.2, bytes_per_s=10.0)
    found = fill(tables(made), "r1", 4000)
    assert found.windows["bytes_written"].iloc[-1] == pytest.approx(1600 + 120)
    assert found.windows["bytes_per_s"].iloc[0] == pytest.approx(210)
    assert found.windows["fill_ratio"].iloc[-1] == pytest.approx(1720 / 4000)


def test_repeats_give_medians_and_intervals():
    factors = [0.9, 0.95, 1.0, 1.05, 1.1, 1.15]
    made = tables(*(filling(np.array(STEP) * f, run_id=f"r{i}") for i, f in enumerate(factors)))
    found = fill_of_point(made, "fill", 1000)
    assert found.sustained.value == pytest.approx(51.25)
    assert (found.sustained.low, found.sustained.high) == (pytest.approx(45), pytest.approx(57.5))
    assert found.binned["n_runs"].tolist()[:3] == [6, 6, 6]
    assert len(found.changes()) == 6
    assert "n = 6 runs" in found.sentence("fill")
    assert found.to_frame()["n_changes"].tolist() == [1] * 6
    assert "of n = 6 runs" in found.against(0.4)
    one = fill_repeats([fill(made, "r0", 1000)])
    assert "need ≥ 6 runs" in one.sentence("fill")
    assert one.binned["interval_low_bytes_per_s"].isna().all()


def test_what_cannot_be_filled():
    short = fill(tables(filling([100.0] * 30, n_bytes=500)), "r1")
    assert short.sustained is None
    assert "without an interval" in short.warnings[1]
    assert "add up to 300" in short.warnings[0]
    assert pd.isna(short.changes["fill_ratio"]).all()
    for made, capacity, message in (
        (filling([1.0] * 10), None, "≥ 20 windows"), (filling([None] * 30), None, "no bandwidth"),
        (filling([1.0] * 30, capacity=None), None, "give the capacity"),
        (filling([0.0] * 30), None, "nothing was written"),
        (filling([1.0] * 30, capacity="50%"), None, "no number of bytes"), (filling([1.0] * 30), 0, "above 0 B"),
        (report(), 10, "found none"),
    ):  # fmt: skip
        with pytest.raises(AnalysisError, match=message):
            fill(tables(made), "r1", capacity)
    with pytest.raises(AnalysisError, match="found none"):
        fill_of_point(tables(report()), "absent", 10)
