"""Figures on lines and scaling: the bands are those of the analysis, and no interval is no bar."""

import math

import numpy as np
import pandas as pd
import pytest

from pipeline.analyse.scaling.curves import scaling
from pipeline.analyse.scaling.fit_checks import band
from pipeline.analyse.scaling.linest import linest
from pipeline.report.figures.linearity import efficiency_figure, fit_figure, scaling_figure

X, Y = pd.Series([1.0, 2, 4, 5]), pd.Series([190e3, 354e3, 708e3, 900e3])


def traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_a_line_has_both_bands_of_the_fit():
    fit = linest(Y, X)
    found = traces(fit_figure(fit, X, Y, title="t", x_title="SSDs"))
    area = found["one further run (95 %, df 2)"]
    at = np.array(area.x[: len(area.x) // 2])
    assert at[-1] == pytest.approx(5 * 1.05)
    assert list(area.y[: len(at)]) == pytest.approx(list(band(fit, at)["prediction_high"]))
    assert list(found["mean (95 %)"].y[len(at) :]) == pytest.approx(list(band(fit, at)["confidence_low"][::-1]))
    assert list(found["measured, n = 4"].y) == list(Y)


def test_two_points_have_a_line_without_a_band():
    names = traces(fit_figure(linest([3, 7], [1, 2]), pd.Series([1.0, 2]), pd.Series([3.0, 7]), title="t", x_title="x"))
    assert not [name for name in names if "95 %" in name]


def test_scaling_shows_the_curves_and_a_peak_that_is_proved():
    n = np.repeat([1.0, 2, 4, 8, 16, 32, 64], 3)
    noise = np.exp(0.02 * np.random.default_rng(4).standard_normal(len(n)))
    rates = pd.Series(1000 * n / (1 + 0.03 * (n - 1) + 0.0008 * n * (n - 1)) * noise)
    result = scaling(pd.DataFrame({"n_devices": n, "ops_per_s": rates}))
    figure = scaling_figure(result, pd.Series(n), rates, title="t", x_title="devices")
    found, peak = traces(figure), result.fit("usl").peak
    mark = found["USL's peak (95 %)"]
    assert list(mark.x) == [peak.value]
    assert mark.error_x.array[0] == pytest.approx(peak.high - peak.value)
    assert mark.error_x.arrayminus[0] == pytest.approx(peak.value - peak.low)
    band_of_best = found["USL: mean (95 %)"]
    assert list(band_of_best.y[:120]) == pytest.approx(list(result.curve(np.linspace(1, 64, 120))["confidence_high"]))
    assert [name for name in found if name.startswith("Amdahl (AICc weight")]


def test_refused_curves_leave_the_points():
    result = scaling(pd.DataFrame({"n_devices": [1, 2, 4], "ops_per_s": [192e3, 354e3, 708e3]}))
    figure = scaling_figure(result, X[:3], Y[:3], title="t", x_title="SSDs")
    assert [trace.name for trace in figure.data] == ["measured, n = 3"]


def test_an_efficiency_without_an_interval_has_no_bar():
    frame = pd.DataFrame({"n_devices": [1, 2], "efficiency": [1, 0.9], "interval_low": [None, 0.85],
                          "interval_high": [None, 0.97]}, dtype=float)  # fmt: skip
    trace = efficiency_figure({"s": frame}, title="t", x_title="devices").data[0]
    assert math.isnan(trace.error_y.array[0])
    assert trace.error_y.array[1] == pytest.approx(0.07)
    assert trace.error_y.arrayminus[1] == pytest.approx(0.05)
