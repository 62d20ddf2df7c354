import math

import numpy as np
import pandas as pd
import pytest
from frames import report, tables
from uncertainties import ufloat

from pipeline.analyse.breakdown import Level, device_commit_times, nested, published_quantity, sampled_mean, series_mean
from pipeline.errors import AnalysisError


def level(name, value, uncertainty):
    return Level(name, ufloat(value, uncertainty), "measured")


def test_layers_are_differences_and_sum_to_the_outermost_level():
    result = nested([level("a", 10.0, 0.3), level("b", 6.0, 0.4), level("c", 1.0, 0.1)], ufloat(10.5, 0.4))
    frame = result.to_frame()
    assert list(frame["layer"]) == ["a", "b", "c", "residual"]
    assert list(frame["latency_s"]) == pytest.approx([4, 5, 1, 0.5])
    assert list(frame["uncertainty_s"]) == pytest.approx([0.5, math.hypot(0.4, 0.1), 0.1, 0.5])
    # The inner levels cancel in the sum: it is as well known as the outermost level, not worse.
    assert (result.total.nominal_value, result.total.std_dev) == pytest.approx((10, 0.3))
    assert result.warnings == ()
    assert "the largest layer is “b”" in result.sentence()


def test_shared_measurements_are_correlated():
    total, share = ufloat(385.0, 1.0), ufloat(0.78, 0.01)
    result = nested([Level("not I/O", total, ""), Level("I/O", share * total, "")], total)
    outside = result.layers[0].latency  # (1 − share) · total
    assert outside.std_dev == pytest.approx(math.hypot(0.22 * 1.0, 385 * 0.01))


def test_levels_that_are_not_nested_are_warned_of():
    result = nested([level("a", 1.0, 0.1), level("b", 2.0, 0.1)], ufloat(1.0, 0.1))
    assert len(result.warnings) == 1
    assert "“a”" in result.warnings[0]
    with pytest.raises(AnalysisError, match="at least two"):
        nested([level("a", 1.0, 0.1)], ufloat(1, 0.1))


@pytest.mark.parametrize(
    ("text", "value", "half_place"),
    [("385 uSec", 385e-6, 0.5e-6), ("84.7uSec", 84.7e-6, 0.05e-6), ("2,597.4", 2597.4, 0.05), ("78%", 0.78, 0.005),
     ("~160 uSec", 160e-6, 0.5e-6), ("38350msec", 38.35, 0.5e-3)],
)  # fmt: skip
def test_a_printed_figure_has_the_uncertainty_of_its_last_digit(text, value, half_place):
    made = report(tool="published")
    made.add("published", source="s", exhibit="e", row="r", value_text=text, value=value, unit="s")
    quantity = published_quantity(tables(made), "e", "r")
    assert quantity.nominal_value == value
    assert quantity.std_dev == pytest.approx(half_place / math.sqrt(3))


def test_a_figure_that_is_not_there_names_what_is():
    made = report(tool="published")
    made.add("published", source="s", exhibit="e", row="r", value_text="n/a")
    with pytest.raises(AnalysisError, match=r"there are rows \['r'\]"):
        published_quantity(tables(made), "e", "x")
    with pytest.raises(AnalysisError, match=r"there are exhibits \['e'\]"):
        published_quantity(tables(made), "f", "r")
    with pytest.raises(AnalysisError, match="found 'n/a'"):
        published_quantity(tables(made), "e", "r")


def test_batch_means_see_the_correlation_that_sigma_over_root_n_misses():
    rng = np.random.default_rng(1)
    seconds = np.repeat(rng.normal(100.0, 10.0, 400), 50)  # 50 equal latencies a second: 400 independent values
    times = np.repeat(np.arange(400), 50) + np.tile(np.linspace(0, 0.98, 50), 400)
    mean = series_mean(pd.Series(seconds), pd.Series(times))
    assert mean.nominal_value == pytest.approx(seconds.mean())
    assert mean.std_dev == pytest.approx(seconds[::50].std(ddof=1) / math.sqrt(400), rel=1e-9)
    with pytest.raises(AnalysisError, match="at least 2 windows"):
        series_mean(pd.Series([1.0, 2.0]), pd.Series([0.1, 0.2]))


def test_sampled_mean_adds_the_resolution_of_the_print():
    quantity = sampled_mean(pd.Series([1.0, 3.0, None]), pd.Series([5.0, 5.0, 5.0]), resolution=0.6)
    assert (quantity.nominal_value, quantity.std_dev) == pytest.approx((2, math.hypot(1, 0.6 / math.sqrt(12))))


def test_samples_count_by_their_operations():
    quantity = sampled_mean(pd.Series([1.0, 2.0]), pd.Series([300.0, 100.0]))
    assert quantity.nominal_value == pytest.approx(1.25)


def test_the_data_write_is_taken_out_of_iostats_mixed_await():
    # 1,000 data writes of 60 µs and 1,000 flushes of 40 µs a second: iostat shows 2,000 writes of 50 µs.
    device = pd.DataFrame({"writes_per_s": [2000.0] * 3, "flushes_per_s": [1000.0] * 3,
                           "write_await_s": [50e-6] * 3, "flush_await_s": [40e-6] * 3})  # fmt: skip
    data_write, flush = device_commit_times(device, 1e-9)
    assert data_write.nominal_value == pytest.approx(60e-6)
    assert flush.nominal_value == pytest.approx(40e-6)
    with pytest.raises(AnalysisError, match="more writes than flushes"):
        device_commit_times(device.assign(flushes_per_s=0.0), 1e-9)
