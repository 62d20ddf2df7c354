"""Distributions of latency: ladders of percentiles, heat maps, percentiles over time with stalls, short cuts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pipeline.analyse.distributions.averaging import WAYS
from pipeline.report.figures.style import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, RED, new_figure
from pipeline.units import format_si

if TYPE_CHECKING:
    from pipeline.analyse.distributions.averaging import Averaging
    from pipeline.analyse.distributions.heat_map import HeatMap
    from pipeline.analyse.distributions.histogram import Histogram
    from pipeline.analyse.distributions.stalls import Stalls

RUNGS = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
_POINTS_A_DECADE = 60
_DECADES = tuple(10.0**power for power in range(-9, 5))
_SECONDS = {"type": "log", "tickvals": _DECADES, "ticktext": [format_si(s, "s", 1) for s in _DECADES]}


def ladder_figure(histograms: Mapping[str, Histogram], *, title: str, confidence: float = 0.95) -> go.Figure:
    """Percentiles of each histogram, the rare ones spread out: a step band of the bins, intervals at the rungs.

    The horizontal axis is 1 / (1 − p): the share of one in so many operations that takes longer. The band reaches to
    the outer edges of the bins, and to the largest latency; error bars are ``Histogram.percentile_estimate``.
    """
    figure = new_figure(title, "percentile", "latency", height=520)
    for (name, histogram), colour in zip(histograms.items(), COLOURS, strict=False):
        last = max(np.log10(histogram.n_ops), 0.0)
        one_in = 10 ** np.linspace(0, last, int(last * _POINTS_A_DECADE) + 2)
        lower, upper = histogram.percentile_bounds(np.round(100 * (1 - 1 / one_in), 10).tolist())
        lines = {"line": {"color": colour, "width": 1.5, "shape": "hv"}, "mode": "lines", "legendgroup": name}
        text = [f"p{100 * (1 - 1 / x):.6g}: {format_si(a, 's')} … {format_si(b, 's')}"
                for x, a, b in zip(one_in, lower, upper, strict=True)]  # fmt: skip
        figure.add_scatter(x=one_in, y=lower, showlegend=False, hoverinfo="skip", **lines)
        figure.add_scatter(x=one_in, y=np.where(np.isfinite(upper), upper, lower), fill="tonexty", text=text,
                           name=f"{name} (n = {histogram.n_ops:,})", hovertemplate="%{text}", **lines)  # fmt: skip
        _rungs(figure, histogram, name, colour, confidence)
    last = max((np.log10(h.n_ops) for h in histograms.values()), default=1.0)
    ticks = [p for p in RUNGS if 1 / (1 - p / 100) <= 10 ** (last + 0.05)]
    figure.update_xaxes(type="log", tickvals=[1 / (1 - p / 100) for p in ticks], ticktext=[f"p{p:g}" for p in ticks])
    figure.update_yaxes(**_SECONDS)
    figure.update_layout(legend={"y": -0.16, "yanchor": "top"}, height=520 + 20 * len(histograms))
    return figure


def _rungs(figure: go.Figure, histogram: Histogram, name: str, colour: str, confidence: float) -> None:
    frame = histogram.ladder(RUNGS, confidence).dropna(subset=["interval_low_s", "interval_high_s", "upper_s"])
    middle = np.sqrt(frame["lower_s"].clip(lower=1e-12) * frame["upper_s"].clip(lower=1e-12))
    high, low = frame["interval_high_s"] - middle, middle - frame["interval_low_s"]
    figure.add_scatter(
        x=1 / (1 - frame["percentile"] / 100), y=middle, mode="markers", legendgroup=name, showlegend=False,
        marker={"color": colour, "size": 6}, hoverinfo="skip",
        error_y={"type": "data", "array": high, "arrayminus": low, "thickness": 1.5, "width": 6},
    )  # fmt: skip


def heat_figure(heat: HeatMap, *, title: str) -> go.Figure:
    """Operations by window and latency, the colour on a log scale; where nothing is drawn there was no operation."""
    figure = new_figure(title, "time since the start of the run (s)", "latency", height=520)
    finite = heat.edges_s[np.isfinite(heat.edges_s)]
    bottom = float(finite[finite > 0].min()) if (finite > 0).any() else 1.0
    edges = np.where(np.isfinite(heat.edges_s), heat.edges_s, max(float(finite.max()), bottom) * 2)
    edges = np.where(edges > 0, edges, bottom / 2)  # zero has no place on a log axis
    largest = int(heat.count.max())
    powers = np.arange(int(np.floor(np.log10(max(largest, 1)))) + 1)
    with np.errstate(divide="ignore"):
        colour = np.where(heat.count > 0, np.log10(heat.count), np.nan)
    figure.add_heatmap(
        x=np.concatenate([heat.time_s - heat.window_s, heat.time_s[-1:]]), y=edges, z=colour,
        zmin=0, zmax=max(float(np.log10(max(largest, 1))), 0.3), colorscale="Viridis", reversescale=True,
        customdata=np.dstack([heat.count, np.broadcast_to(heat.time_s, heat.count.shape)]),
        hovertemplate="window ends at %{customdata[1]} s, about %{y:.3s}s: %{customdata[0]} operations<extra></extra>",
        colorbar={"title": {"text": "operations"}, "tickvals": powers, "ticktext": [f"{10**int(p):,}" for p in powers]},
    )  # fmt: skip
    used = np.flatnonzero(heat.count.any(axis=1))
    figure.update_yaxes(**_SECONDS, range=[float(np.log10(edges[used[0]])), float(np.log10(edges[used[-1] + 1]))])
    return figure


def over_time_figure(percentiles: pd.DataFrame, found: Stalls | None, *, title: str) -> go.Figure:
    """Bounds of each percentile of each window at the window's end, and the stalls as spans.

    ``percentiles``: of ``OverTime.percentiles``. A window without an operation leaves a gap.
    """
    figure = new_figure(title, "time since the start of the run (s), windows at their end", "latency")
    window = float(percentiles["window_s"].iloc[0]) if len(percentiles) else 1.0
    for (percentile, rows), colour in zip(
        percentiles.groupby("percentile"), (BLUE, ORANGE, PURPLE, GREEN), strict=False
    ):
        number = np.rint(rows["time_s"] / window).astype(int)
        times = np.arange(number.min(), number.max() + 1)
        ordered = rows.set_index(number).reindex(times)
        upper = ordered["upper_s"].fillna(ordered["lower_s"])
        text = [f"n = {n:,.0f}, {format_si(a, 's')} … {format_si(b, 's')}" for n, a, b in
                zip(ordered["n_ops"], ordered["lower_s"], upper, strict=True)]  # fmt: skip
        name = f"p{percentile:g}"
        shared = {"x": times * window, "mode": "lines+markers", "line": {"color": colour, "width": 1.5},
                  "marker": {"size": 4}, "legendgroup": name}  # fmt: skip
        figure.add_scatter(y=ordered["lower_s"], showlegend=False, hoverinfo="skip", **shared)
        figure.add_scatter(y=upper, fill="tonexty", name=name, text=text,
                           hovertemplate="%{x} s: %{text}<extra>%{fullData.name}</extra>", **shared)  # fmt: skip
    if found is not None:
        for stall in found.frame.to_dict("records"):
            figure.add_vrect(x0=stall["start_s"], x1=stall["end_s"], fillcolor=RED, opacity=0.25, line_width=0)
        figure.add_scatter(x=[None], y=[None], mode="markers", name=f"stalls ({len(found.frame)})",
                           marker={"color": RED, "symbol": "square", "size": 12, "opacity": 0.4})  # fmt: skip
    figure.update_yaxes(**_SECONDS)
    figure.update_xaxes(rangemode="tozero")
    return figure


def averaging_figure(result: Averaging, *, title: str) -> go.Figure:
    """Each short cut over the percentile of all operations, on a log scale; 1 is right."""
    figure = new_figure(title, "ratio to the percentile of all operations", "", height=420)
    names = [f"p{p:g}" for p in result.frame["percentile"].unique()]
    figure.add_vline(x=1, line={"color": GREY, "dash": "dot", "width": 1.5})
    symbols = ("circle", "diamond", "square", "triangle-up")
    for (way, label), colour, symbol in zip(WAYS.items(), (GREEN, ORANGE, PURPLE, RED), symbols, strict=True):
        rows = result.frame[result.frame["way"] == way]
        text = [f"{format_si(v, 's')} for {format_si(r, 's')}" for v, r in
                zip(rows["lower_s"], rows["pooled_s"], strict=True)]  # fmt: skip
        figure.add_scatter(x=rows["ratio"], y=names, mode="markers", name=label, text=text,
                           marker={"color": colour, "size": 11, "symbol": symbol},
                           hovertemplate="%{y}: %{text} (%{x:.3g})<extra>%{fullData.name}</extra>")  # fmt: skip
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}×" for tick in ticks])
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1])
    figure.update_layout(legend={"y": -0.2, "yanchor": "top"})
    return figure
