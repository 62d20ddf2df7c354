"""Where the samples fall: flame graphs as icicles, shares of classes, differences with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, COLOURS, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.processors.flame import Flame, FlameDifference
    from pipeline.analyse.processors.hotspots import HotSpots

_TINTS = ("#fde3c8", "#fbd0a5", "#f9c08a", "#fbdcb6", "#f7cda0")
_POINTS = 100  # a share in percentage points
_COLOUR_OF = {"higher": ORANGE, "lower": BLUE}


def flame_figure(flame: Flame, *, title: str) -> go.Figure:
    """Flame graph with the root on top; a frame is as wide as its share of the samples. A click opens a frame."""
    frame = flame.frame
    samples = frame["n_samples"].astype("object").where(frame["n_samples"].notna(), "not known")
    hover = [
        f"{name}<br>{share:.2%}{_between(low, high, flame.confidence)}<br>samples: {n}"
        for name, share, low, high, n in zip(
            frame["name"].map(_safe),
            frame["share_ratio"],
            frame["low_ratio"],
            frame["high_ratio"],
            samples,
            strict=True,
        )
    ]
    colours = [_TINTS[crc32(name.encode()) % len(_TINTS)] for name in frame["name"]]
    return _icicle(frame, hover, {"colors": colours}, title)


def flame_difference_figure(difference: FlameDifference, *, title: str) -> go.Figure:
    """Differential flame graph: width is the mean of both sides' shares; orange frames grew, blue ones shrank.

    Frames whose difference does not stand after Holm's correction are grey.
    """
    frame = difference.frame
    hover = [
        f"{_safe(row['name'])}<br>{_safe(difference.base)} {row['share_base_ratio']:.2%}, "
        f"{_safe(difference.other)} {row['share_other_ratio']:.2%}<br>{_POINTS * row['difference_ratio']:+.2f} points"
        f"{_between(row['low_ratio'], row['high_ratio'], difference.confidence)}<br>{row['verdict']}"
        for row in frame.to_dict("records")
    ]
    stands = frame["verdict"].isin(["higher", "lower"])
    largest = float((_POINTS * frame["difference_ratio"]).abs()[stands].max()) if stands.any() else 1.0
    marker = {
        "colors": (_POINTS * frame["difference_ratio"]).where(stands, 0.0), "cmin": -largest, "cmax": largest,
        "colorscale": [[0, "#62aede"], [0.499, "#dcebf6"], [0.4999, "#e5e7eb"], [0.5001, "#e5e7eb"], [0.501, "#fbe8cc"],
                       [1, "#f0b23c"]],  # light enough for dark text
        "colorbar": {"title": {"text": "points"}, "thickness": 14, "len": 0.8, "tickformat": "+.0f"},
    }  # fmt: skip
    return _icicle(frame, hover, marker, title)


def _icicle(frame: pd.DataFrame, hover: list[str], marker: dict[str, object], title: str) -> go.Figure:
    figure = new_figure(title, "", "", height=240 + 17 * int(frame["depth"].max()))
    figure.add_icicle(
        ids=frame["id"], labels=frame["name"].map(_safe), parents=frame["parent"], values=frame["share_ratio"],
        branchvalues="total", sort=False, tiling={"orientation": "v", "pad": 1}, pathbar={"visible": False},
        marker={**marker, "line": {"width": 0.5, "color": "white"}}, hovertext=hover, hoverinfo="text",
        textinfo="label", root={"color": "#e5e7eb"}, textfont={"color": "#1f2937"},
    )  # fmt: skip
    figure.update_layout(uniformtext={"minsize": 9, "mode": "hide"}, margin={"l": 10, "r": 10, "t": 56, "b": 10})
    return figure


def shares_figure(spots: HotSpots, *, title: str, limit: int = 16) -> go.Figure:
    """Shares of the most frequent places (classes or symbols), bars of the sides next to each other with intervals."""
    order = spots.shares.groupby(list(spots.by), sort=False)["share_ratio"].max()
    chosen = list(order.sort_values(ascending=False, kind="stable").head(limit).index)[::-1]
    sides = list(spots.shares["side"].unique())
    figure = new_figure(title, f"share of the samples ({spots.confidence:.0%} interval)", "",
                        height=150 + 20 * (len(sides) + 1) * len(chosen))  # fmt: skip
    for side, colour in list(zip(sides, COLOURS, strict=False))[::-1]:
        part = spots.shares[spots.shares["side"] == side].set_index(list(spots.by)).reindex(chosen)
        shares = part["share_ratio"].to_numpy(float)
        low, high = part["low_ratio"].to_numpy(float), part["high_ratio"].to_numpy(float)
        error = {"type": "data", "array": high - shares, "arrayminus": shares - low, "thickness": 1.2, "width": 3}
        figure.add_bar(y=[_label(key) for key in chosen], x=shares, orientation="h", name=_safe(str(side)),
                       error_x=error, marker={"color": colour},
                       hovertemplate="%{y}: %{x:.2%}<extra>%{fullData.name}</extra>")  # fmt: skip
    figure.update_xaxes(rangemode="tozero", tickformat=".0%")
    figure.update_layout(barmode="group", bargap=0.25, **_below_title(figure))
    figure.update_layout(legend_traceorder="reversed")
    return figure


def differences_figure(spots: HotSpots, *, title: str, limit: int = 20) -> go.Figure:
    """Forest of the largest differences between the first side and each other, each with its own interval."""
    frame = spots.differences
    order = frame["difference_ratio"].abs().sort_values(ascending=False, kind="stable").index
    frame = frame.loc[order].head(limit).iloc[::-1]
    base, others = str(frame["base"].iloc[0]), list(frame["other"].unique())
    sides = f"{_safe(str(others[0]))} − {_safe(base)}" if len(others) == 1 else f"difference from {_safe(base)}"
    figure = new_figure(title, f"{sides}, points ({spots.confidence:.0%} interval each)", "",
                        height=170 + 23 * len(frame))  # fmt: skip
    figure.add_vline(x=0, line={"color": GREY, "dash": "dot", "width": 1.5})
    labels = [_label(key) for key in frame[list(spots.by)].itertuples(index=False, name=None)]
    if len(others) > 1:
        labels = [f"{label}, {_safe(str(other))}" for label, other in zip(labels, frame["other"], strict=True)]
    frame = frame.assign(label=labels)
    figure.update_yaxes(categoryorder="array", categoryarray=labels)
    for verdict in ("higher", "lower", "no difference shown", "no interval"):
        part = frame[frame["verdict"] == verdict]
        if part.empty:
            continue
        value = _POINTS * part["difference_ratio"]
        error = {"type": "data", "array": _POINTS * part["high_ratio"] - value, "thickness": 1.5, "width": 4,
                 "arrayminus": value - _POINTS * part["low_ratio"]}  # fmt: skip
        name = f"{verdict} after Holm" if verdict in _COLOUR_OF else verdict
        figure.add_scatter(x=value, y=part["label"], mode="markers", name=name, error_x=error,
                           marker={"color": _COLOUR_OF.get(verdict, GREY), "size": 8},
                           hovertemplate="%{y}: %{x:+.2f} points<extra>%{fullData.name}</extra>")  # fmt: skip
    return figure.update_layout(**_below_title(figure))


def _below_title(figure: go.Figure) -> dict[str, object]:
    """The legend in a row of its own between title and plot, however high the figure is."""
    legend = {"yref": "container", "yanchor": "top", "y": 1 - 44 / figure.layout.height}
    return {"legend": legend, "margin": {"t": 84}}


def _label(key: object) -> str:
    """A place as text: the symbol, then the object where it says more."""
    parts = [str(part) for part in (key if isinstance(key, tuple) else (key,)) if part]
    if len(parts) == 1:
        return _safe(parts[0])
    text = f"{parts[1]} ({parts[0]})" if len(parts) >= 2 and len(parts[-1]) == 1 else " ".join(parts)
    return _safe(text if len(text) <= 48 else text[:47] + "…")


def _between(low: float, high: float, confidence: float) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f" ({_POINTS * low:.2f} to {_POINTS * high:.2f}, {confidence:.0%})"


def _safe(text: str) -> str:
    """Text from a log, so that the figure shows it and does not take it for HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
