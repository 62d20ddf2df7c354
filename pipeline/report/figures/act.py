"""ACT's certification: shares over its limits of latency, by slice and by load, and the loads that were held."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, COLOURS, GREEN, GREY, ORANGE, RED, new_figure

_SMALLEST = 1e-7  # a share of 0 cannot stand on a logarithmic axis


def slices_figure(slices: pd.DataFrame, *, title: str, slice_title: str = "slice") -> go.Figure:
    """The share over each limit in each slice, with its clustered interval; the dashed line is its limit."""
    figure = new_figure(title, slice_title, "share of the operations (0 is not shown)", height=500)
    for (threshold, part), colour in zip(slices.groupby("threshold_s"), COLOURS, strict=False):
        y = part["over_high_ratio"].where(part["over_high_ratio"] > 0)
        up, down = part["clustered_high_ratio"] - y, y - part["clustered_low_ratio"]
        error = {"type": "data", "symmetric": False, "array": up.clip(lower=0).fillna(0),
                 "arrayminus": down.clip(lower=0).fillna(0), "thickness": 1.2, "width": 4}  # fmt: skip
        label, limit = f"over {threshold * 1000:g} ms", float(part["limit_ratio"].iloc[0])
        figure.add_scatter(x=part["slice"], y=y, name=f"{label} (limit {limit:.1%})", mode="lines+markers",
                           error_y=error, line={"color": colour, "width": 1}, marker={"size": 7},
                           hovertemplate=f"slice %{{x}}: %{{y:.3%}} {label}<extra></extra>")  # fmt: skip
        figure.add_hline(y=limit, line={"color": colour, "dash": "dash", "width": 1.5})
    figure.update_yaxes(type="log", tickformat="~%", dtick=1)
    figure.update_xaxes(dtick=1)
    return figure


def loads_figure(pooled: pd.DataFrame, runs: pd.DataFrame, threshold_s: float, *, title: str) -> go.Figure:
    """The share over one limit by load, a colour a number of devices: a bar from the least to the most it can be."""
    figure = new_figure(title, "offered load a device (x)", f"share over {threshold_s * 1000:g} ms", height=500)
    part = pooled[pooled["threshold_s"] == threshold_s].merge(runs[["run_id", "x_rating", "n_devices"]], on="run_id")
    part = part[(part["over_high_ratio"] > 0) & part["x_rating"].notna()]
    place = {rating: number for number, rating in enumerate(sorted(part["x_rating"].unique()))}
    groups = sorted(part["n_devices"].unique())
    width = 0.8 / max(len(groups), 1)
    for number, (n_devices, colour) in enumerate(zip(groups, COLOURS, strict=False)):
        own = part[part["n_devices"] == n_devices].sort_values(["x_rating", "run_id"])
        repeat, repeats = own.groupby("x_rating").cumcount(), own.groupby("x_rating")["run_id"].transform("size")
        x = own["x_rating"].map(place) - 0.4 + width * (number + (repeat + 0.5) / repeats)
        low = own["over_low_ratio"].clip(lower=_SMALLEST)
        middle = (low * own["over_high_ratio"]) ** 0.5  # of the bar as it is drawn, not an estimate
        error = {"type": "data", "symmetric": False, "array": own["over_high_ratio"] - middle,
                 "arrayminus": middle - low, "thickness": 2, "width": 3}  # fmt: skip
        text = [f"{row['run_id']}: {row['over_low_ratio']:.3%} – {row['over_high_ratio']:.3%}"
                for row in own.to_dict("records")]  # fmt: skip
        figure.add_scatter(x=x, y=middle, mode="markers", error_y=error, text=text,
                           name=f"{n_devices:g} device{'' if n_devices == 1 else 's'}",
                           marker={"color": colour, "size": 2}, hovertemplate="%{text}<extra></extra>")  # fmt: skip
    limit = dict(zip(part["threshold_s"], part["limit_ratio"], strict=True)).get(threshold_s, 1.0)
    figure.add_scatter(x=[-0.5, len(place) - 0.5], y=[limit, limit], mode="lines", name=f"limit {limit:.1%}",
                       line={"color": RED, "dash": "dash", "width": 1.5})  # fmt: skip
    figure.update_yaxes(type="log", tickformat="~%", dtick="D2")
    figure.update_layout(legend={"itemsizing": "constant"})
    figure.update_xaxes(tickvals=list(place.values()), ticktext=[f"{rating:g}" for rating in place])
    return figure


def levels_figure(levels: pd.DataFrame, *, title: str) -> go.Figure:
    """Every load that was tried by number of devices: held, undecided or failed."""
    figure = new_figure(title, "devices", "offered load a device (x)", height=480)
    states: Mapping[str, tuple[str, str]] = {
        "held": (GREEN, "circle"), "undecided": (ORANGE, "diamond"), "failed": (RED, "x"),
    }  # fmt: skip
    for state, (colour, symbol) in states.items():
        part = levels[levels["state"] == state]
        text = [
            f"{r['n_held']} of {r['n_runs']} runs held{': ' + r['why'] if r['why'] else ''}"
            for r in part.to_dict("records")
        ]
        figure.add_scatter(x=part["n_devices"], y=part["x_rating"], mode="markers", name=f"{state} ({len(part)})",
                           text=text, marker={"color": colour, "symbol": symbol, "size": 11},
                           hovertemplate="%{x} devices, %{y:g}x: %{text}<extra></extra>")  # fmt: skip
    ticks = sorted(levels["x_rating"].unique())
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_xaxes(dtick=1)
    return figure


def average_figure(summary: pd.DataFrame, *, title: str) -> go.Figure:
    """act_latency.py's average and maximum of the slices beside the pooled share, by threshold."""
    figure = new_figure(title, "threshold", "share of the operations over it", height=460)
    labels = [f"{threshold * 1000:g} ms" for threshold in summary["threshold_s"]]
    for column, name, colour, symbol in (
        ("tool_max_ratio", "worst slice (act_latency.py: max)", RED, "triangle-up"),
        ("tool_average_ratio", "mean of the slices (act_latency.py: avg)", GREY, "circle-open"),
        ("pooled_ratio", "pooled over all operations", BLUE, "x-thin-open"),
    ):
        y = summary[column].where(summary[column] > 0)
        figure.add_scatter(
            x=labels, y=y, name=name, mode="markers", marker={"color": colour, "symbol": symbol, "size": 12}
        )
    figure.update_yaxes(type="log", tickformat="~%", dtick=1)
    return figure
