"""Rates over a number of devices: lines with their bands, scaling curves, efficiencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pipeline.analyse.scaling.fit_checks import band
from pipeline.report.figures.style import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, RED, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.scaling.curves import Scaling
    from pipeline.analyse.scaling.linest import Linest

_MODELS = {"linear": ("proportion", GREY), "amdahl": ("Amdahl", GREEN), "usl": ("USL", PURPLE)}
_BELOW = {"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0}  # a legend of several rows hides the title


def fit_figure(
    fit: Linest, x: pd.Series, y: pd.Series, *, title: str, x_title: str, y_title: str = "operations a second"
) -> go.Figure:
    """Points, the fitted line with the equation and its bands, and perfect scaling from the first point."""
    figure = new_figure(title, x_title, y_title, height=520)
    ends = np.linspace(0.0, float(x.max()) * 1.05, 60)
    smallest = x == x.min()
    unit = float((y[smallest] / x[smallest]).mean())
    bands = band(fit, ends)
    level = f"{fit.confidence * 100:g} %"
    if fit.df:
        _bands(
            figure, bands, {"prediction": f"one further run ({level}, df {fit.df})", "confidence": f"mean ({level})"}
        )
    figure.add_scatter(x=ends[[0, -1]], y=unit * ends[[0, -1]], mode="lines",
                       name="perfect scaling from the first point",
                       line={"color": GREY, "dash": "dot", "width": 1.5})  # fmt: skip
    equation = f"least squares: {fit.slope:,.0f} · n {'+' if fit.intercept >= 0 else '−'} {abs(fit.intercept):,.0f}"
    figure.add_scatter(x=ends[[0, -1]], y=bands["fitted"].iloc[[0, -1]], mode="lines", name=equation,
                       line={"color": RED, "dash": "dash", "width": 2})  # fmt: skip
    _points(figure, x, y, f"measured, n = {fit.n}")
    figure.update_yaxes(rangemode="nonnegative", tickformat="~s")
    figure.update_xaxes(range=[0, float(ends[-1])], dtick=1)
    figure.update_layout(legend=_BELOW)
    return figure


def scaling_figure(
    result: Scaling, x: pd.Series, y: pd.Series, *, title: str, x_title: str, y_title: str = "operations a second"
) -> go.Figure:
    """Points and every fitted curve, the best with its bands; dashed beyond the largest measured n, up to twice it.

    Where the USL has a peak with both ends of its interval, that is drawn above the axis.
    """
    figure = new_figure(title, x_title, y_title, height=520)
    largest = float(x.max())
    inside, beyond = np.linspace(float(x.min()), largest, 120), np.linspace(largest, 2 * largest, 60)
    level = f"{result.confidence * 100:g} %"
    if result.best is not None:
        name = _MODELS[result.best][0]
        names = {"prediction": f"{name}: one further run ({level})", "confidence": f"{name}: mean ({level})"}
        _bands(figure, result.curve(inside), names)
    for fit in result.fits:
        name, colour = _MODELS[fit.model]
        label = name if fit.weight is None else f"{name} (AICc weight {fit.weight:.2g})"
        width = 3.5 if fit.model == result.best else 2
        for at, dash in ((inside, "dot" if fit.model == "usl" else "solid"), (beyond, "dash")):
            figure.add_scatter(x=at, y=result.curve(at, fit.model)["fitted"], mode="lines", name=label,
                               showlegend=at is inside, line={"color": colour, "dash": dash, "width": width},
                               hovertemplate=name + " at %{x:.3g}: %{y:,.0f}/s<extra></extra>")  # fmt: skip
        if fit.peak is not None and fit.peak.has_interval and math.isfinite(fit.peak.value):
            _peak(figure, fit.peak.value, fit.peak.low or 0.0, fit.peak.high or 0.0, level)
    _points(figure, x, y, f"measured, n = {result.n}")
    figure.update_yaxes(range=[0, 1.25 * float(y.max())], tickformat="~s")
    figure.update_xaxes(range=[0, 2 * largest])
    figure.update_layout(legend=_BELOW)
    return figure


def efficiency_figure(sweeps: dict[str, pd.DataFrame], *, title: str, x_title: str) -> go.Figure:
    """Efficiency y(n) / (n · y(1)) a device count, a line a sweep; 1 is perfect scaling.

    Each frame has ``n_devices``, ``efficiency`` and, where there are any, ``interval_low`` and ``interval_high``; a
    point without them has no bar.
    """
    figure = new_figure(title, x_title, "efficiency a device")
    figure.add_hline(y=1, line={"color": GREY, "dash": "dot", "width": 1.5})
    for (name, sweep), colour in zip(sweeps.items(), COLOURS, strict=False):
        frame = sweep.reindex(columns=["n_devices", "efficiency", "interval_low", "interval_high"])
        high, low = frame["interval_high"] - frame["efficiency"], frame["efficiency"] - frame["interval_low"]
        error = {"type": "data", "array": high, "arrayminus": low, "thickness": 1.5, "width": 6}
        figure.add_scatter(x=frame["n_devices"], y=frame["efficiency"], name=name, mode="lines+markers", error_y=error,
                           line={"color": colour}, marker={"size": 8})  # fmt: skip
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(dtick=1)
    return figure


def _bands(figure: go.Figure, bands: pd.DataFrame, names: dict[str, str]) -> None:
    """Filled areas between the ends of the bands, x in the first column; ``names`` gives each its name."""
    x = bands.iloc[:, 0]
    for (name, label), opacity in zip(names.items(), (0.10, 0.22), strict=True):
        around = pd.concat([bands[f"{name}_high"], bands[f"{name}_low"][::-1]])
        figure.add_scatter(x=pd.concat([x, x[::-1]]), y=around, name=label, fill="toself", mode="lines",
                           line={"width": 0}, fillcolor=f"rgba(213, 94, 0, {opacity})", hoverinfo="skip")  # fmt: skip


def _points(figure: go.Figure, x: pd.Series, y: pd.Series, name: str) -> None:
    figure.add_scatter(x=x, y=y, mode="markers", name=name, marker={"color": BLUE, "size": 9, "opacity": 0.75},
                       hovertemplate="%{x}: %{y:,.0f}/s<extra></extra>")  # fmt: skip


def _peak(figure: go.Figure, value: float, low: float, high: float, level: str) -> None:
    error = {"type": "data", "array": [high - value], "arrayminus": [value - low], "thickness": 2, "width": 8}
    figure.add_scatter(x=[value], y=[0], error_x=error, mode="markers", name=f"USL's peak ({level})", cliponaxis=False,
                       marker={"color": ORANGE, "size": 11, "symbol": "triangle-up"})  # fmt: skip
