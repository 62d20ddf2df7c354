"""Rounds against the rule for steady state, a run's windows with their trend, bandwidth over fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, GREEN, GREY, ORANGE, RED, SKY, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.steadiness.fill_repeats import FillRepeats
    from pipeline.analyse.steadiness.steady_state import SteadyState
    from pipeline.analyse.steadiness.trend import Trend

_TITLES = {"ops_per_s": "operations a second", "bytes_per_s": "bytes a second", "latency_mean_s": "mean latency"}


def rounds_figure(state: SteadyState, variable: str = "ops_per_s", *, title: str) -> go.Figure:
    """A tracked variable round by round, as the specification's steady-state plot.

    The window judged (the measurement window, else the last five rounds) with its mean, the 90 and 110 % of it between
    which a range of 20 % would fit, and the fitted line.
    """
    figure = new_figure(title, "round", _TITLES.get(variable, variable))
    figure.add_scatter(x=state.rounds["round"], y=state.rounds[variable], mode="lines+markers", name="measured",
                       line={"color": BLUE}, marker={"size": 8})  # fmt: skip
    window = state.to_frame()
    for row in window[window["variable"] == variable].to_dict("records"):
        ends = [row["first_round"], row["last_round"]]
        name = "measurement window" if state.is_reached else "not steady"
        colour = GREEN if state.is_reached else ORANGE
        figure.add_vrect(x0=ends[0] - 0.3, x1=ends[1] + 0.3, fillcolor=colour, opacity=0.12, line_width=0,
                         annotation_text=name, annotation_position="bottom left")  # fmt: skip
        mean = row["mean"]
        figure.add_scatter(x=ends, y=[mean, mean], mode="lines", name="mean of the window", line={"color": GREY})
        for share in (0.9, 1.1):
            figure.add_scatter(x=ends, y=[share * mean] * 2, mode="lines", name="mean ± 10 %", showlegend=share > 1,
                               line={"color": GREY, "dash": "dot"})  # fmt: skip
        figure.add_scatter(x=ends, y=[row["line_first"], row["line_last"]], mode="lines", name="least-squares line",
                           line={"color": RED, "dash": "dash"})  # fmt: skip
    figure.update_xaxes(dtick=5 if len(state.rounds) > 15 else 1)
    figure.update_yaxes(rangemode="tozero", exponentformat="SI", ticksuffix="s" if variable.endswith("_s")
                        and variable.startswith("latency") else "")  # fmt: skip
    return figure


def series_figure(windows: pd.DataFrame, found: Trend, *, title: str, dropped_s: float | None = None) -> go.Figure:
    """One run's bandwidth window by window, Sen's line, and the end of the warm-up where one was cut."""
    figure = new_figure(title, "time since the start of the run, s", "bytes a second")
    figure.add_scatter(x=windows["time_s"], y=windows["bytes_per_s"], mode="lines", name="windows",
                       line={"color": BLUE, "width": 1.2})  # fmt: skip
    ends = [float(windows["time_s"].min()), float(windows["time_s"].max())]
    name = "Sen's line" if found.has_trend else "Sen's line (no trend)"
    figure.add_scatter(x=ends, y=[found.intercept + found.slope * end for end in ends], mode="lines", name=name,
                       line={"color": RED, "dash": "dash", "width": 2})  # fmt: skip
    if dropped_s:
        figure.add_vline(x=dropped_s, line={"color": GREY, "dash": "dot"}, annotation_text="warm-up cut (MSER-5)")
    figure.update_yaxes(rangemode="tozero", exponentformat="SI", ticksuffix="B/s")
    return figure


def fill_figure(repeats: FillRepeats, *, title: str, provoked: float | None = None) -> go.Figure:
    """Write bandwidth over the share of the capacity: every run thin, the median with its interval bold."""
    figure = new_figure(title, "share of the capacity written", "write bandwidth", height=500)
    for i, fill in enumerate(repeats.fills):
        part = fill.binned(repeats.n_bins)
        figure.add_scatter(
            x=(part["fill_low"] + part["fill_high"]) / 2, y=part["bytes_per_s"], mode="lines", text=part["run_id"],
            name=f"each of {len(repeats.fills)} runs", legendgroup="runs", showlegend=i == 0,
            line={"color": SKY, "width": 1}, hovertemplate="%{text}<br>%{x:.1%}: %{y:.3s}B/s<extra></extra>",
        )  # fmt: skip
    binned = repeats.binned
    high = binned["interval_high_bytes_per_s"].astype("float64") - binned["bytes_per_s"]
    low = binned["bytes_per_s"] - binned["interval_low_bytes_per_s"].astype("float64")
    figure.add_scatter(
        x=(binned["fill_low"] + binned["fill_high"]) / 2, y=binned["bytes_per_s"], mode="lines+markers",
        name="median of the runs, 95 % interval", line={"color": BLUE, "width": 2.5},
        error_y={"type": "data", "array": high.fillna(0), "arrayminus": low.fillna(0), "thickness": 1.2, "width": 4},
    )  # fmt: skip
    if provoked is not None:
        figure.add_vline(x=provoked, line={"color": RED, "dash": "dot"}, annotation_text="slowed down on purpose")
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(rangemode="tozero", exponentformat="SI", ticksuffix="B/s")
    return figure
