"""Plotly figures from result frames: units are scaled here, for display only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio

from pipeline.units import format_si, microseconds

if TYPE_CHECKING:
    from pipeline.analyse.breakdown import Breakdown
    from pipeline.analyse.linest import Linest

# Okabe and Ito's colours: they stay apart for colour-blind readers and in print.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#767676",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY)
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_AXIS = {"gridcolor": "#e5e7eb", "linecolor": "#9ca3af", "ticks": "outside", "tickcolor": "#9ca3af", "zeroline": False,
         "showline": True, "automargin": True, "title": {"standoff": 8}}  # fmt: skip

# The one renderer that stores the figure itself: JupyterLab draws it, and the site takes it from the notebook.
pio.renderers.default = "plotly_mimetype"
pio.templates["benchmark"] = go.layout.Template(
    layout={
        "font": {"family": _FONT, "size": 13, "color": "#1f2937"},
        "title": {"x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 16}, "yref": "container", "y": 0.97},
        "colorway": COLOURS, "paper_bgcolor": "white", "plot_bgcolor": "white", "xaxis": _AXIS, "yaxis": _AXIS,
        "margin": {"l": 70, "r": 24, "t": 64, "b": 60}, "hoverlabel": {"font": {"family": _FONT}},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }
)  # fmt: skip
pio.templates.default = "benchmark"


def _figure(title: str, x_title: str, y_title: str, height: int = 460) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(title_text=title, xaxis_title_text=x_title, yaxis_title_text=y_title, height=height)
    return figure


def fit_figure(
    fit: Linest, x: pd.Series, y: pd.Series, *, title: str, x_title: str, y_title: str = "operations a second"
) -> go.Figure:
    """Points, the fitted line with the equation, and perfect scaling from the first point for comparison."""
    figure = _figure(title, x_title, y_title)
    ends = np.array([0.0, float(x.max()) * 1.05])
    smallest = x == x.min()
    unit = float((y[smallest] / x[smallest]).mean())
    figure.add_scatter(x=ends, y=unit * ends, mode="lines", name="perfect scaling from the first point",
                       line={"color": GREY, "dash": "dot", "width": 1.5})  # fmt: skip
    line = fit.intercept + fit.slope * ends
    equation = f"least squares: {fit.slope:,.0f} · n {'+' if fit.intercept >= 0 else '−'} {abs(fit.intercept):,.0f}"
    figure.add_scatter(x=ends, y=line, mode="lines", name=equation, line={"color": RED, "dash": "dash", "width": 2})
    figure.add_scatter(x=x, y=y, mode="markers", name="measured", marker={"color": BLUE, "size": 10, "opacity": 0.75},
                       hovertemplate="%{x}: %{y:,.0f}/s<extra></extra>")  # fmt: skip
    figure.update_yaxes(rangemode="tozero", tickformat="~s")
    figure.update_xaxes(range=[0, float(ends[1])], dtick=1)
    return figure


def efficiency_figure(sweeps: dict[str, pd.DataFrame], *, title: str, x_title: str) -> go.Figure:
    """Efficiency y(n) / (n · y(1)) a device count, a line a sweep; 1 is perfect scaling.

    Each frame has ``n_devices``, ``efficiency`` and, where there are repeats, ``interval_low`` and ``interval_high``.
    """
    figure = _figure(title, x_title, "efficiency a device")
    figure.add_hline(y=1, line={"color": GREY, "dash": "dot", "width": 1.5})
    for (name, sweep), colour in zip(sweeps.items(), COLOURS, strict=False):
        frame = sweep.reindex(columns=["n_devices", "efficiency", "interval_low", "interval_high"])
        high, low = frame["interval_high"] - frame["efficiency"], frame["efficiency"] - frame["interval_low"]
        error = {"type": "data", "array": high.fillna(0), "arrayminus": low.fillna(0), "thickness": 1.5, "width": 6}
        figure.add_scatter(x=frame["n_devices"], y=frame["efficiency"], name=name, mode="lines+markers", error_y=error,
                           line={"color": colour}, marker={"size": 8})  # fmt: skip
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(dtick=1)
    return figure


def depth_figure(frame: pd.DataFrame, *, title: str) -> go.Figure:
    """N by Little's law against the configured depth on logarithmic axes; on the line they agree."""
    figure = _figure(title, "configured queue depth", "N = rate × mean latency", height=540)
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


def waterfall_figure(breakdown: Breakdown, *, title: str) -> go.Figure:
    """Layers from the outside in as a waterfall, then the total and the residual."""
    frame = breakdown.to_frame()
    layers = frame.iloc[:-1]
    total, residual = breakdown.total.nominal_value, frame.iloc[-1]
    names = [*layers["layer"], "sum of the layers", "residual to the elapsed time"]
    values = [*layers["latency_s"], total, residual["latency_s"]]
    uncertainties = [*layers["uncertainty_s"], breakdown.total.std_dev, residual["uncertainty_s"]]
    labels = [f"{microseconds(v):.1f} ± {microseconds(u):.1f} µs" for v, u in zip(values, uncertainties, strict=True)]
    figure = _figure(title, "", "µs", height=520)
    figure.add_waterfall(
        x=[_wrapped(name) for name in names], y=[microseconds(value) for value in values], text=labels,
        measure=["relative"] * len(layers) + ["total", "relative"], textposition="outside",
        connector={"line": {"color": GREY, "width": 1}}, increasing={"marker": {"color": BLUE}},
        decreasing={"marker": {"color": ORANGE}}, totals={"marker": {"color": GREEN}}, cliponaxis=False,
    )  # fmt: skip
    figure.update_yaxes(rangemode="tozero", range=[0, microseconds(total) * 1.12])
    figure.update_layout(showlegend=False)
    return figure


def _wrapped(text: str, width: int = 18) -> str:
    """Break a label into lines of about ``width`` characters."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def rate_latency_figure(frame: pd.DataFrame, *, title: str) -> go.Figure:
    """Mean latency over rate, a line a workload joined in the order of the depth."""
    figure = _figure(title, "operations a second", "mean latency")
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
