"""Requests in flight, and what more of them buy."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, new_figure
from pipeline.units import format_si


def depth_figure(frame: pd.DataFrame, *, title: str) -> go.Figure:
    """N by Little's law against the configured depth on logarithmic axes; on the line they agree."""
    figure = new_figure(title, "configured queue depth", "N = rate × mean latency", height=540)
    compared = frame[frame["queue_depth"].gt(0) & frame["queue_depth_configured"].gt(0)]
    configured = compared["queue_depth_configured"]
    ends = [0.7 * float(configured.min()), 1.4 * float(configured.max())] if len(compared) else [0.5, 2]
    figure.add_scatter(x=ends, y=ends, mode="lines", name="N = configured", line={"color": GREY, "dash": "dot"})
    cause = compared["cause"].str.split(":").str[0]
    label = compared["verdict"].where(cause == "", cause)
    order = ["agrees", *sorted(set(label) - {"agrees"})]
    for name, colour in zip(order, (BLUE, ORANGE, RED, PURPLE, GREEN, GREY), strict=False):
        part = compared[label == name]
        text = part["run_id"] + " (" + part["tool"] + ")" + ("<br>" + part["group"]).fillna("")
        figure.add_scatter(x=part["queue_depth_configured"], y=part["queue_depth"], mode="markers", text=text,
                           name=f"{name} ({len(part)})", marker={"color": colour, "size": 8, "opacity": 0.7},
                           hovertemplate="%{text}<br>configured %{x:.3g}, N = %{y:.4g}<extra></extra>")  # fmt: skip
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1)
    figure.update_layout(legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"})
    return figure


def rate_latency_figure(frame: pd.DataFrame, *, title: str) -> go.Figure:
    """Mean latency over rate, a line a workload joined in the order of the depth."""
    figure = new_figure(title, "operations a second", "mean latency")
    for name, part in frame.groupby("workload", sort=True):
        ordered = part.sort_values("queue_depth_configured")
        labels = [f"depth {d:g}: {format_si(latency, 's')}" for d, latency in
                zip(ordered["queue_depth_configured"], ordered["latency_mean_s"], strict=True)]  # fmt: skip
        figure.add_scatter(
            x=ordered["ops_per_s"],
            y=ordered["latency_mean_s"],
            mode="lines+markers",
            name=str(name),
            text=labels,
            hovertemplate="%{text}<br>%{x:,.0f}/s<extra>%{fullData.name}</extra>",
        )
    figure.update_yaxes(type="log", exponentformat="SI", ticksuffix="s", dtick=1)
    figure.update_xaxes(rangemode="tozero", tickformat="~s")
    return figure
