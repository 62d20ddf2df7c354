"""N over the repeats of a point, and the stated figures of one run."""

import numpy as np
import pytest
from frames import run, tables
from scipy.special import stdtrit

from pipeline.analyse.queueing.circularity import stated_depth
from pipeline.analyse.queueing.depth_repeats import repeated_depths
from pipeline.analyse.queueing.littles_law import littles_law
from pipeline.errors import AnalysisError


def repeats(*latencies, warnings=(), depth=8, point="p"):
    return [
        run({"ops_per_s": 1000.0, "latency_mean_s": latency, "queue_depth": depth}, run_id=f"{point}-r{i}", point=point,
            warnings=warnings)
        for i, latency in enumerate(latencies)
    ]  # fmt: skip


def found(*reports, **kwargs):
    return repeated_depths(littles_law(tables(*reports)), **kwargs)


def test_interval_of_student():
    latencies = [7.9e-3, 8.0e-3, 8.05e-3, 8.1e-3]
    result = found(*repeats(*latencies))
    row = result.frame.iloc[0]
    n = 1000 * np.array(latencies)
    half = stdtrit(3, 0.975) * n.std(ddof=1) / 2
    assert (row["n"], row["queue_depth"]) == (4, pytest.approx(n.mean()))
    assert (row["interval_low"], row["interval_high"]) == (
        pytest.approx(n.mean() - half),
        pytest.approx(n.mean() + half),
    )
    assert bool(row["is_within_tolerance"])
    assert "n = 4 to 4 runs" in result.sentence()
    assert result.numbers()["confidence"] == 0.95


def test_an_interval_that_leaves_the_tolerance_is_not_the_depth():
    assert not found(*repeats(7.0e-3, 8.0e-3, 9.0e-3)).frame.iloc[0]["is_within_tolerance"]
    assert found(*repeats(4e-3, 4e-3)).frame.iloc[0]["cause"] == "partly filled"


def test_equal_values_and_zero_latency():
    row = found(*repeats(8e-3, 8e-3)).frame.iloc[0]
    assert row["interval_low"] == row["interval_high"] == pytest.approx(8)
    assert found(*repeats(0.0, 0.0)).frame.iloc[0]["queue_depth"] == 0


def test_one_run_has_no_interval_and_circular_ones_no_n():
    single = repeats(8e-3, point="q")
    circular = repeats(8e-3, 8e-3, point="c", warnings=["latency_from_rate"])
    without = repeats(None, None, point="n")
    result = found(*single, *circular, *without)
    assert (len(result.frame), result.n_single, result.n_circular) == (0, 1, 2)
    assert result.warnings
    assert "makes N circular" in result.sentence()


def test_a_point_without_depth_is_not_judged():
    result = found(*repeats(8e-3, 8.1e-3, depth=None))
    assert result.frame["is_within_tolerance"].isna().all()
    assert "at 0 of the 0" in result.sentence()


def test_confidence_outside_its_range():
    with pytest.raises(AnalysisError):
        found(*repeats(8e-3), confidence=1.0)


def test_rounding_of_the_articles_figures():
    stated = stated_depth(ops_per_s=2597.4, latency_s=385e-6, n_ops=1, elapsed_s=1)
    assert stated.rounding == pytest.approx(385e-6 * 0.05 + 2597.4 * 0.5e-6)
    assert "± 0.001" in stated.sentence()
    assert "n = 1" in stated.sentence()
    with pytest.raises(AnalysisError):
        stated_depth(ops_per_s=2597.4, latency_s=0.0, n_ops=1, elapsed_s=1)
