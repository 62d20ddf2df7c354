"""act_latency.py's unweighted average beside the pooled share."""

import math

import pytest
from act_frames import act_run
from frames import tables

from pipeline.analyse.act.table import latency_table
from pipeline.errors import AnalysisError


def table(*windows, slice_s=10.0, **options):
    return latency_table(tables(act_run(list(windows), **options)), "r1", slice_s=slice_s, n_thresholds=3)


def test_a_slow_slice_of_few_operations_weighs_as_much_as_one_of_many():
    found = table((0.0, 10.0, (99_900, 0)), (10.0, 20.0, (95, 5)))
    row = found.summary.iloc[0]
    assert row["tool_average_ratio"] == pytest.approx(0.025)  # (0.00 % + 5.00 %) / 2
    assert row["pooled_ratio"] == pytest.approx(5 / 100_000)
    assert row["pooled_low_ratio"] < 5 / 100_000 < row["pooled_high_ratio"]
    assert row["tool_max_ratio"] == 0.05
    assert found.spread == pytest.approx(999)
    assert found.printed() == {"1": ["0.00"] * 3, "2": ["5.00", "0.00", "0.00"], "avg": ["2.50", "0.00", "0.00"],
                               "max": ["5.00", "0.00", "0.00"]}  # fmt: skip
    assert "2.50 % and 0.005 %" in found.sentence()
    assert "999-fold" in found.sentence()


def test_equal_slices_differ_by_the_scripts_rounding_alone():
    found = table((0.0, 10.0, (2, 1)), (10.0, 20.0, (1, 2)))
    row = found.summary.iloc[0]
    assert row["pooled_ratio"] == 0.5
    assert row["tool_average_ratio"] == pytest.approx((0.3333 + 0.6667) / 2)
    assert "its rounding" in found.sentence()


def test_a_slice_without_operations_is_0_in_the_scripts_average():
    found = table((0.0, 10.0, (50, 50)), duration=20.0)
    assert found.summary.iloc[0]["tool_average_ratio"] == 0.25
    assert found.summary.iloc[0]["pooled_ratio"] == 0.5
    assert found.spread == math.inf
    assert found.warnings == ("1 slices hold no operation: act_latency.py counts them as 0.00 %",)


def test_a_last_slice_that_is_not_whole_is_left_out():
    found = table((0.0, 10.0, (90, 10)), (10.0, 19.0, (0, 100)))
    assert found.slices["slice"].unique().tolist() == [1]
    assert found.summary.iloc[0]["pooled_ratio"] == pytest.approx(0.1)


def test_slices_around_a_missing_report_are_left_out():
    found = table((0.0, 10.0, (90, 10)), (10.0, 25.0, (0, 100)), (25.0, 30.0, (0, 100)), (30.0, 40.0, (50, 50)))
    assert found.slices["slice"].unique().tolist() == [1, 4]
    assert found.warnings == ("2 slices have no report at their end and are left out",)


def test_what_cannot_be_tabled_is_refused():
    with pytest.raises(AnalysisError, match="whole slice of 10 s"):
        table((0.0, 9.0, (90, 10)))
    with pytest.raises(AnalysisError, match="named 'r2'"):
        latency_table(tables(act_run([(0.0, 9.0, (90, 10))])), "r2")
    assert table((0.0, 10.0, (1, 1)), slice_s=9.5).slice_s == 10  # a multiple of the reporting interval
