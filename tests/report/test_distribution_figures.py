"""Figures of distributions: what is drawn are the numbers of the frames, bounds included, and gaps stay gaps."""

import numpy as np
import pandas as pd
import pytest

from pipeline.analyse.distributions.averaging import WAYS, Averaging
from pipeline.analyse.distributions.heat_map import HeatMap
from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.distributions.stalls import COLUMNS, Stalls
from pipeline.report.figures.distributions import averaging_figure, heat_figure, ladder_figure, over_time_figure

STALLS = Stalls("r", "s", pd.DataFrame([(1.0, 2.0, 1.0, "slow", 0, 1, 1.0, 1.0)], columns=COLUMNS), 1.0, 0.1, 9.0, 1.0,
                3.0, 9, "by hand")  # fmt: skip


def test_a_ladder_has_both_bounds_up_to_the_largest_latency():
    histogram = Histogram([1e-3, 2e-3, 1.0], [2e-3, 3e-3, np.inf], [900, 99, 1])
    lower, upper, rungs = ladder_figure({"a": histogram}, title="t").data
    assert lower.x[-1] == upper.x[-1] == pytest.approx(1000)
    assert lower.y[0] == 1e-3
    assert upper.y[0] == 2e-3
    assert lower.y[-2] == 2e-3  # p99.9 is rank 999: still in the second bin
    assert upper.y[-1] <= 1.0  # an open bin has no upper edge to draw
    assert list(rungs.x) == pytest.approx([2, 10, 100])  # p99.9 has no interval
    assert upper.name == "a (n = 1,000)"


def test_a_heat_map_keeps_zero_and_open_rows():
    heat = HeatMap(np.array([1.0, 2.0]), 1.0, np.array([0.0, 1e-3, 1.0, np.inf]), np.array([[1, 0], [100, 0], [0, 10]]))
    (trace,) = heat_figure(heat, title="t").data
    assert list(trace.x) == [0, 1, 2]
    assert list(trace.y) == pytest.approx([5e-4, 1e-3, 1, 2])
    assert np.isnan(trace.z[0][1])
    assert (trace.z[0][0], trace.z[1][0], trace.z[2][1]) == (0, 2, 1)


def test_windows_without_operations_are_gaps_and_stalls_are_spans():
    frame = pd.DataFrame({"time_s": [1.0, 3.0], "window_s": 1.0, "percentile": 99.0, "n_ops": 5, "lower_s": [1.0, 2.0],
                          "upper_s": [1.5, np.nan]})  # fmt: skip
    figure = over_time_figure(frame, STALLS, title="t")
    lower, upper, legend = figure.data
    assert list(lower.x) == [1, 2, 3]
    assert np.isnan(lower.y[1])
    assert (upper.y[0], upper.y[2]) == (1.5, 2.0)
    assert legend.name == "stalls (1)"
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (1.0, 2.0)


def test_every_short_cut_is_drawn():
    rows = [(50.0, 1.0, way, value, value, value) for way, value in zip(WAYS, (1.0, 2.0, 3.0, 0.5), strict=True)]
    frame = pd.DataFrame(rows, columns=["percentile", "pooled_s", "way", "lower_s", "upper_s", "ratio"])
    figure = averaging_figure(Averaging(frame, 10, 2, 1.0), title="t")
    assert [(trace.name, trace.x[0]) for trace in figure.data] == list(zip(WAYS.values(), (1, 2, 3, 0.5), strict=True))
