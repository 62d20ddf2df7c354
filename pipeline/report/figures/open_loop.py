"""Response time beside service time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, GREEN, ORANGE, PURPLE, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.queueing.response_time import ResponseRepeats, ResponseTimes

_KINDS = {
    "service": ("service time, measured", BLUE, "circle"),
    "measured": ("response time, measured", GREEN, "diamond"),
    "estimate": ("response time, ESTIMATE (queue)", ORANGE, "x"),
    "histogram": ("response time, ESTIMATE (HdrHistogram)", PURPLE, "cross"),
}


def response_figure(repeats: ResponseRepeats, *, title: str) -> go.Figure:
    """Percentiles of service and response time on a logarithmic axis: medians over the runs with intervals."""
    figure = new_figure(title, "percentile", "latency", height=520)
    labels = [f"p{p:g}" for p in sorted(repeats.frame["percentile"].unique())]
    places = {label: i for i, label in enumerate(labels)}
    kinds = [kind for kind in _KINDS if kind in set(repeats.frame["kind"])]
    for offset, kind in enumerate(kinds):
        part = repeats.frame[repeats.frame["kind"] == kind]
        shift = (offset - (len(kinds) - 1) / 2) * 0.12
        name, colour, symbol = _KINDS[kind]
        error = {"type": "data", "array": (part["high_s"] - part["latency_s"]).fillna(0),
                 "arrayminus": (part["latency_s"] - part["low_s"]).fillna(0), "thickness": 1.2, "width": 4}  # fmt: skip
        figure.add_scatter(
            x=[places[f"p{p:g}"] + shift for p in part["percentile"]], y=part["latency_s"], mode="markers", name=name,
            error_y=error, marker={"color": colour, "symbol": symbol, "size": 10},
            hovertemplate="%{y:.3s}s<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(tickvals=list(places.values()), ticktext=labels)
    figure.update_yaxes(type="log", exponentformat="SI", ticksuffix="s", dtick=1)
    figure.update_layout(legend={"y": 1.0, "entrywidth": 340}, margin={"t": 110})
    return figure


def timeline_figure(run: ResponseTimes, *, title: str, every: int = 1) -> go.Figure:
    """Service and estimated response time of single operations over the time at which they were to start."""
    figure = new_figure(title, "scheduled start since the start of the run, s", "latency")
    part = run.operations.iloc[::every]
    for column, name, colour in (
        ("response_s", "response time, ESTIMATE (queue)", ORANGE), ("service_s", "service time, measured", BLUE),
    ):  # fmt: skip
        figure.add_scatter(x=part["scheduled_s"].round(4), y=part[column].clip(lower=1e-6).round(7), mode="markers",
                             name=name, marker={"color": colour, "size": 3, "opacity": 0.6})  # fmt: skip
    figure.update_yaxes(type="log", exponentformat="SI", ticksuffix="s", dtick=1)
    figure.update_layout(legend={"itemsizing": "constant"})
    return figure
