"""Two sides compared: every repeat with medians, and ratios with their intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pipeline.report.comparison_table import change_text, described, scaled
from pipeline.report.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, new_figure

if TYPE_CHECKING:
    from pipeline.analyse.comparison.compare import Comparison

_COLOURS = {"better": GREEN, "worse": RED, "differs": BLUE, "no difference": GREY, "not enough": PURPLE}
_JITTER = 0.16  # half the width over which the dots of a side are spread
_LOG_FROM = 3.0  # largest over smallest value from which a panel has a logarithmic axis
_TICKS = sorted({10.0**d * m for d in range(-4, 5) for m in (1, 2, 5)} | {0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5})
_POWERS = [10.0**d * m for d in range(-9, 13) for m in (1, 2, 5)]
_ROW_PX = 26


def strip_figure(comparison: Comparison, *, title: str) -> go.Figure:
    """Every run as a dot, a panel a measure; the line is the median, the box its interval where there is one.

    For one point; the axis is logarithmic where a panel's values span more than a factor of 3.
    """
    frame = comparison.frame.reset_index(drop=True)
    n_columns = min(3, max(1, len(frame)))
    n_rows = max(1, math.ceil(len(frame) / n_columns))
    with_tool = frame["tool"].nunique() > 1
    titles = [described(row, with_tool=with_tool) for row in frame.to_dict("records")]
    figure = make_subplots(rows=n_rows, cols=n_columns, subplot_titles=titles, horizontal_spacing=0.1,
                           vertical_spacing=0.34 / n_rows)  # fmt: skip
    for index, row in enumerate(frame.to_dict("records")):
        place = {"row": index // n_columns + 1, "col": index % n_columns + 1}
        values = _values_of(comparison.values, row)
        for name in ("a", "b"):
            _add_side(figure, row, values[values["side"] == name.upper()], name, place)
        labels = [f"A, n = {row['n_a']}", f"B, n = {row['n_b']}"]
        figure.update_xaxes(tickvals=[0, 1], ticktext=labels, range=[-0.5, 1.5], **place)
        _scale(figure, values["value"], row["unit"], place)
    figure.update_annotations(font_size=13)
    key = f"a dot is a run, a line the median, a box its {comparison.confidence:.0%} interval"
    figure.update_layout(title_text=f"{title}<br><sup>{key}</sup>", height=110 + 280 * n_rows, showlegend=False,
                         margin={"t": 110})  # fmt: skip
    return figure


def forest_figure(comparison: Comparison, *, title: str, measure: str | None = None) -> go.Figure:
    """Ratios B / A with their intervals on a logarithmic axis, a row a comparison, coloured by the verdict.

    ``measure`` restricts the rows; an open marker has too few runs for an interval. On the right: p after Holm, and n.
    """
    frame = comparison.frame[comparison.frame["ratio"].notna()]
    frame = frame if measure is None else frame[frame["measure"] == measure]
    with_point, with_tool = frame["point"].nunique() > 1, frame["tool"].nunique() > 1
    height = 190 + _ROW_PX * max(3, len(frame))
    figure = new_figure(title, f"ratio B / A, {comparison.confidence:.0%} interval", "", height=height)
    records = frame.to_dict("records")
    names = [(f"{row['point']}  " if with_point else "") + described(row, with_tool=with_tool) for row in records]
    places = pd.Series(range(len(frame)), index=frame.index)
    figure.add_vline(x=1, line={"color": GREY, "dash": "dot", "width": 1.5})
    for verdict, part in frame.groupby("verdict", sort=True):
        has_interval = part["ratio_low"].notna()
        ratio = part["ratio"].astype(float)
        error = {"type": "data", "array": part["ratio_high"] - ratio, "arrayminus": ratio - part["ratio_low"],
                 "thickness": 1.6, "width": 4}  # fmt: skip
        figure.add_scatter(
            x=ratio, y=places[part.index], mode="markers", name=f"{verdict} ({len(part)})", error_x=error,
            marker={"size": 9, "color": _COLOURS[str(verdict)],
                    "symbol": np.where(has_interval, "circle", "circle-open").tolist()},
            text=[names[place] for place in places[part.index]],
            hovertemplate="%{text}<br>ratio %{x:.4g}<extra></extra>",
        )  # fmt: skip
    for place, row in enumerate(records):
        text = f"{change_text(row['ratio'])}, p = {row['p_holm']:.2g}, n = {row['n_a']} + {row['n_b']}"
        figure.add_annotation(x=1.01, xref="paper", xanchor="left", y=place, showarrow=False, font_size=11, text=text)
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.4, -0.6])
    _ratio_axis(figure, frame)
    figure.update_layout(margin={"r": 230, "t": 100}, showlegend=True, legend={"y": 1.0})
    return figure


def _values_of(values: pd.DataFrame, row: dict[Any, Any]) -> pd.DataFrame:
    """The runs behind one row."""
    chosen = values
    for key in ("point", "tool", "op", "phase", "part", "measure"):
        chosen = chosen[chosen[key].isna() if pd.isna(row[key]) else chosen[key] == row[key]]
    return chosen


def _add_side(figure: go.Figure, row: dict[Any, Any], runs: pd.DataFrame, name: str, place: dict[str, int]) -> None:
    """One side of a panel: the box, the median, the runs."""
    position, colour = (0, BLUE) if name == "a" else (1, ORANGE)
    low, high, median = row[f"median_{name}_low"], row[f"median_{name}_high"], row[f"median_{name}"]
    left, right = position - 0.3, position + 0.3
    if not pd.isna(low) and not pd.isna(high):
        figure.add_scatter(
            x=[left, right, right, left, left], y=[low, low, high, high, low], mode="lines", fill="toself",
            fillcolor=colour, opacity=0.25, line={"color": colour, "width": 1}, hoverinfo="skip", **place,
        )  # fmt: skip
    line = {"color": colour, "width": 3}
    figure.add_scatter(x=[left, right], y=[median] * 2, mode="lines", hoverinfo="skip", line=line, **place)
    spread = np.linspace(-_JITTER, _JITTER, len(runs)) if len(runs) > 1 else np.zeros(1)
    texts = [f"{run}: {scaled(value, row['unit'])}" for run, value in zip(runs["run_id"], runs["value"], strict=True)]
    marker = {"color": colour, "size": 8, "line": {"color": "white", "width": 1}}
    figure.add_scatter(x=position + spread, y=runs["value"], mode="markers", text=texts, marker=marker,
                       hovertemplate="%{text}<extra></extra>", **place)  # fmt: skip


def _scale(figure: go.Figure, values: pd.Series, unit: Any, place: dict[str, int]) -> None:
    """A logarithmic axis where the values need one; ticks in the unit with its prefix."""
    low, high = float(values.min()), float(values.max())
    if low > 0 and high / low > _LOG_FROM:
        ticks = [tick for tick in _POWERS if low / 2 <= tick <= high * 2]
        figure.update_yaxes(type="log", range=[math.log10(low / 1.5), math.log10(high * 1.5)], **place)
    else:
        margin = (high - low) * 0.2 or abs(high) * 0.05 or 1.0
        ticks = _round_ticks(low - margin, high + margin)
        figure.update_yaxes(range=[low - margin, high + margin], **place)
    figure.update_yaxes(tickvals=ticks, ticktext=[scaled(tick, unit) for tick in ticks], **place)


def _round_ticks(low: float, high: float) -> list[float]:
    """About four round numbers within."""
    power = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(power * m for m in (1, 2, 5, 10) if (high - low) / (power * m) <= 5)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _ratio_axis(figure: go.Figure, frame: pd.DataFrame) -> None:
    ends = frame[["ratio", "ratio_low", "ratio_high"]].astype(float).to_numpy().ravel()
    ends = ends[np.isfinite(ends) & (ends > 0)]
    low, high = math.log10(min(ends.min(initial=1), 0.9)), math.log10(max(ends.max(initial=1), 1.1))
    margin = (high - low) * 0.05
    ticks: list[float] = []
    for tick in _TICKS:
        is_near = any(abs(math.log10(tick / other)) < (high - low) * 0.07 for other in (*ticks, 1.0) if other != tick)
        if low - margin <= math.log10(tick) <= high + margin and (tick == 1 or not is_near):
            ticks.append(tick)
    figure.update_xaxes(type="log", range=[low - margin, high + margin], tickvals=ticks,
                        ticktext=[f"{tick:g}" for tick in ticks])  # fmt: skip
