"""Where the time of an operation goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, GREEN, GREY, ORANGE, new_figure, wrapped
from pipeline.units import microseconds

if TYPE_CHECKING:
    from pipeline.analyse.breakdown import Breakdown


def waterfall_figure(breakdown: Breakdown, *, title: str) -> go.Figure:
    """Layers from the outside in as a waterfall, then the total and the residual."""
    frame = breakdown.to_frame()
    layers = frame.iloc[:-1]
    total, residual = breakdown.total.nominal_value, frame.iloc[-1]
    names = [*layers["layer"], "sum of the layers", "residual to the elapsed time"]
    values = [*layers["latency_s"], total, residual["latency_s"]]
    uncertainties = [*layers["uncertainty_s"], breakdown.total.std_dev, residual["uncertainty_s"]]
    labels = [f"{microseconds(v):.1f} ± {microseconds(u):.1f} µs" for v, u in zip(values, uncertainties, strict=True)]
    figure = new_figure(title, "", "µs", height=520)
    figure.add_waterfall(
        x=[wrapped(name) for name in names], y=[microseconds(value) for value in values], text=labels,
        measure=["relative"] * len(layers) + ["total", "relative"], textposition="outside",
        connector={"line": {"color": GREY, "width": 1}}, increasing={"marker": {"color": BLUE}},
        decreasing={"marker": {"color": ORANGE}}, totals={"marker": {"color": GREEN}}, cliponaxis=False,
    )  # fmt: skip
    figure.update_yaxes(rangemode="tozero", range=[0, microseconds(total) * 1.12])
    figure.update_layout(showlegend=False)
    return figure
