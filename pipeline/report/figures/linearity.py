"""Rates over a number of devices: fits and efficiencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, COLOURS, GREY, RED, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.linest import Linest


def fit_figure(
    fit: Linest, x: pd.Series, y: pd.Series, *, title: str, x_title: str, y_title: str = "operations a second"
) -> go.Figure:
    """Points, the fitted line with the equation, and perfect scaling from the first point for comparison."""
    figure = new_figure(title, x_title, y_title)
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
    figure = new_figure(title, x_title, "efficiency a device")
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
