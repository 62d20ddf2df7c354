"""Normalised rates and prices as bars, with what rounding leaves open."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, COLOURS, GREEN, GREY, ORANGE, RED, new_figure, wrapped

_OUTCOMES = {"agrees": GREEN, "cut off": BLUE, "within rounding": ORANGE, "differs": RED}


def bars_figure(
    frame: pd.DataFrame, column: str, *, by: str, title: str, y_title: str, ticks: str = "~s", suffix: str = ""
) -> go.Figure:
    """One normalised column, a group a value of ``by``, a colour an instance; whiskers are the ends of its rounding."""
    figure = new_figure(title, "", y_title)
    for (instance, part), colour in zip(frame.groupby("instance", sort=True), COLOURS, strict=False):
        error = {"type": "data", "symmetric": False, "array": part[f"{column}_high"] - part[column],
                 "arrayminus": part[column] - part[f"{column}_low"], "thickness": 1.5, "width": 5}  # fmt: skip
        labels = [wrapped(str(name), 22) for name in part[by]]
        figure.add_bar(x=labels, y=part[column], name=str(instance), error_y=error, marker={"color": colour},
                       hovertemplate="%{y:,.4s}<extra>%{fullData.name}</extra>")  # fmt: skip
    figure.update_layout(barmode="group")
    figure.update_yaxes(rangemode="tozero", tickformat=ticks, ticksuffix=suffix)
    return figure


def improvement_figure(frame: pd.DataFrame, columns: dict[str, str], *, by: str, title: str) -> go.Figure:
    """How much more one instance gives, by denominator (``columns``: its column to its label), a group a workload."""
    figure = new_figure(title, "", "more than the other instance", height=500)
    labels = [wrapped(str(name), 22) for name in frame[by]]
    for (column, label), colour in zip(columns.items(), (GREY, *COLOURS), strict=False):
        value = frame[f"{column}_change_ratio"]
        error = {"type": "data", "symmetric": False, "array": frame[f"{column}_change_high_ratio"] - value,
                 "arrayminus": value - frame[f"{column}_change_low_ratio"], "thickness": 1.5, "width": 4}  # fmt: skip
        figure.add_bar(x=labels, y=value, name=label, error_y=error, marker={"color": colour},
                       hovertemplate="%{y:+.1%}<extra>%{fullData.name}</extra>")  # fmt: skip
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    figure.update_layout(barmode="group")
    figure.update_yaxes(tickformat="+.0%")
    return figure


def claims_figure(checked: pd.DataFrame, *, title: str) -> go.Figure:
    """How many results of each article follow from its own figures: a bar an article, a colour an outcome."""
    figure = new_figure(title, "printed results", "", height=360)
    counts = checked.groupby(["campaign", "outcome"]).size().unstack(fill_value=0)
    for outcome, colour in _OUTCOMES.items():
        n = counts[outcome] if outcome in counts else pd.Series(0, index=counts.index)
        figure.add_bar(y=counts.index, x=n, name=outcome, orientation="h", marker={"color": colour},
                       text=[str(k) if k else "" for k in n], textposition="inside")  # fmt: skip
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_yaxes(autorange="reversed")
    return figure
