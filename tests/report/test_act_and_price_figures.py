"""Figures of ACT and of prices: a trace for what they show, nothing at 0 on a logarithmic axis, units on the axes."""

import pandas as pd

from pipeline.report.figures.act import average_figure, levels_figure, loads_figure, slices_figure
from pipeline.report.figures.price import bars_figure, claims_figure, improvement_figure

SHARES = pd.DataFrame(
    {"run_id": ["a", "a", "b", "b"], "slice": [1, 2, 1, 2], "threshold_s": 0.001, "n_ops": [10, 10, 10, 0],
     "over_low_ratio": [0.1, 0.0, 0.2, None], "over_high_ratio": [0.1, 0.0, 0.3, None], "limit_ratio": 0.05,
     "clustered_low_ratio": [0.05, None, 0.1, None], "clustered_high_ratio": [0.2, None, 0.4, None]}
)  # fmt: skip
RUNS = pd.DataFrame({"run_id": ["a", "b"], "x_rating": [1.0, 2.0], "n_devices": [1, 2]})


def test_slices_and_loads():
    figure = slices_figure(SHARES[SHARES["run_id"] == "a"], title="t")
    assert figure.data[0].name == "over 1 ms (limit 5.0%)"
    assert pd.isna(figure.data[0].y[1])  # a share of 0
    figure = loads_figure(SHARES, RUNS, 0.001, title="t")
    assert [trace.name for trace in figure.data] == ["1 device", "2 devices", "limit 5.0%"]
    middle, up, down = (figure.data[1].y[0], figure.data[1].error_y.array[0], figure.data[1].error_y.arrayminus[0])
    assert abs(middle + up - 0.3) < 1e-12
    assert abs(middle - down - 0.2) < 1e-12
    assert figure.layout.xaxis.ticktext == ("1", "2")


def test_levels_and_average():
    levels = pd.DataFrame(
        {"n_devices": [1, 1], "x_rating": [1.0, 2.0], "n_runs": 1, "n_held": [1, 0], "state": ["held", "failed"],
         "why": ["", "gave up"]}
    )  # fmt: skip
    assert [trace.name for trace in levels_figure(levels, title="t").data] == [
        "held (1)",
        "undecided (0)",
        "failed (1)",
    ]
    summary = pd.DataFrame(
        {"threshold_s": [0.001], "tool_max_ratio": [0.1], "tool_average_ratio": [0.0], "pooled_ratio": [0.05]}
    )
    figure = average_figure(summary, title="t")
    assert len(figure.data) == 3
    assert pd.isna(figure.data[1].y[0])


def test_bars_improvements_and_claims():
    rates = pd.DataFrame(
        {"instance": ["b", "a"], "w": "read", "v": [2.0, 1.0], "v_low": [1.9, 1.0], "v_high": [2.2, 1.0]}
    )
    figure = bars_figure(rates, "v", by="w", title="t", y_title="operations/s per vCPU")
    assert [trace.name for trace in figure.data] == ["a", "b"]
    assert abs(figure.data[1].error_y.array[0] - 0.2) < 1e-12
    assert figure.layout.yaxis.title.text == "operations/s per vCPU"
    gain = pd.DataFrame(
        {"w": ["read"], "v_change_ratio": [0.5], "v_change_low_ratio": [0.4], "v_change_high_ratio": [0.6]}
    )
    assert improvement_figure(gain, {"v": "a vCPU"}, by="w", title="t").data[0].name == "a vCPU"
    checked = pd.DataFrame({"campaign": ["x", "x", "y"], "outcome": ["agrees", "differs", "agrees"]})
    figure = claims_figure(checked, title="t")
    assert {trace.name: list(trace.x) for trace in figure.data} == {
        "agrees": [1, 1], "cut off": [0, 0], "within rounding": [0, 0], "differs": [1, 0],
    }  # fmt: skip
