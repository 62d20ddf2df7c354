"""Where the time of an operation goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from pipeline.analyse.budget.agreement import CONTRADICTION, MEASURED, UNJUDGED
from pipeline.report.figures.style import BLUE, COLOURS, GREEN, GREY, ORANGE, RED, new_figure, wrapped
from pipeline.units import microseconds

if TYPE_CHECKING:
    from pipeline.analyse.budget.layers import Budget
    from pipeline.analyse.budget.quantity import Expanded
    from pipeline.analyse.budget.tail import TailBudget


def waterfall_figure(budget: Budget) -> go.Figure:
    """Layers from the outside in as floating bars with ±U, then the total and the residual to the elapsed time.

    A layer not told from 0 is hatched, a contradiction red.
    """
    rows: list[tuple[str, Expanded, float, str]] = []
    at = 0.0
    for layer in budget.layers:
        rows.append((layer.layer, layer.own, at, _colour(layer.verdict)))
        at += layer.own.value
    rows.append(("sum of the layers", budget.total, 0.0, GREEN))
    if budget.residual is not None:
        rows.append((f"residual to the elapsed time: {budget.residual_verdict}", budget.residual, at, ORANGE))
    figure = new_figure(f"{budget.title}: from the outside in, ± U at {budget.confidence:.0%}", "", "µs", height=560)
    hatched = ["" if value.excludes_zero else "/" for _, value, *_ in rows]
    figure.add_bar(
        x=[wrapped(name) for name, *_ in rows], y=[microseconds(value.value) for _, value, *_ in rows],
        base=[microseconds(base) for _, _, base, _ in rows],
        marker={"color": [colour for *_, colour in rows], "pattern": {"shape": hatched}},
        error_y={"array": [microseconds(value.half_width) for _, value, *_ in rows], "thickness": 1.5},
        hovertext=[value.text() for _, value, *_ in rows], hoverinfo="x+text", showlegend=False,
    )  # fmt: skip
    for name, value, base, _ in rows:
        top = max(base, base + value.value, base + value.value + value.half_width)
        figure.add_annotation(x=wrapped(name), y=microseconds(top), text=value.text(), showarrow=False, yshift=12)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(margin={"b": 110})
    return figure


def _colour(verdict: str) -> str:
    return {MEASURED: BLUE, CONTRADICTION: RED, UNJUDGED: RED}.get(verdict, GREY)


def stacked_figure(budgets: Mapping[str, Budget], *, title: str) -> go.Figure:
    """Budgets side by side as shares of their own total with ±U, a bar a budget; one below 0 is left of it."""
    figure = new_figure(title, "share of the mean time of an operation", "", height=130 + 120 * len(budgets))
    for name, budget in budgets.items():
        label = f"{wrapped(name, 26)}<br>{budget.total.text()}"
        for i, layer in enumerate(budget.layers):
            if layer.share is None:
                continue
            share = layer.share.value
            text = (
                f"{wrapped(layer.layer, max(10, int(100 * share)))}<br>{layer.share.percent()}" if share > 0.1 else ""
            )
            figure.add_bar(
                x=[share], y=[label], orientation="h", marker={"color": COLOURS[i % len(COLOURS)]}, showlegend=False,
                text=[text], textposition="inside", insidetextanchor="middle", textangle=0, textfont={"size": 11},
                hovertext=[f"{layer.layer}: {layer.own.text()}, {layer.share.percent()}"], hoverinfo="text",
            )  # fmt: skip
    figure.update_layout(barmode="relative", bargap=0.12)
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(autorange="reversed")
    return figure


def tail_figure(tail: TailBudget, *, title: str) -> go.Figure:
    """Mean time of each layer in all operations beside that in the slowest ones, with ±U."""
    figure = new_figure(title, "", "mean time, µs", height=480)
    parts = tail.layers
    names = [wrapped(row.layer) for row in parts]
    slowest = f"above the {100 * tail.quantile:g} % quantile (n = {tail.n_tail:,})"
    for label, colour, values in (
        (f"all operations (n = {tail.n_ops:,})", BLUE, [row.mean for row in parts]),
        (slowest, ORANGE, [row.tail for row in parts]),
    ):
        errors: dict[str, Any] = {"array": [microseconds(value.half_width) for value in values], "thickness": 1.5}
        figure.add_bar(
            x=names, y=[microseconds(value.value) for value in values], name=label, marker={"color": colour},
            error_y=errors, hovertext=[value.text() for value in values], hoverinfo="x+text",
        )  # fmt: skip
    figure.update_layout(barmode="group")
    figure.update_yaxes(tickformat=",")
    return figure
