"""Single processors over time, and what the mean over all of them does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from pipeline.errors import AnalysisError
from pipeline.report.figures.style import BLUE, GREY, ORANGE, PURPLE, RED, SKY, new_figure

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.analyse.processors.saturation import Saturation

_KINDS = {"user": BLUE, "kernel": SKY, "irq": RED, "softirq": ORANGE, "steal": PURPLE}


def cpu_heat_map(saturation: Saturation, run_id: str, *, title: str) -> go.Figure:
    """Busy share of each processor over a run's time; a gap is a window that the tool does not have."""
    windows = saturation.windows
    windows = windows[(windows["run_id"] == run_id) & windows["time_s"].notna()]
    if windows.empty:
        raise AnalysisError(f"{run_id}: expected processors over time, found none")
    table = windows.pivot_table(index="cpu", columns="time_s", values="busy_ratio", aggfunc="mean")
    table = table.reindex(sorted(table.index, key=_number))
    figure = new_figure(title, "time since the start of the recording, s", "processor",
                        height=min(220 + 18 * len(table), 1400))  # fmt: skip
    figure.add_heatmap(
        x=table.columns, y=[f"CPU {cpu}" for cpu in table.index], z=table, zmin=0, zmax=1, xgap=1, ygap=1,
        colorscale=[[0, "#f3f4f6"], [0.5, SKY], [0.8, BLUE], [saturation.threshold, "#1f2937"],
                    [saturation.threshold, RED], [1, RED]],
        colorbar={"title": {"text": "busy"}, "tickformat": ".0%"},
        hovertemplate="%{y}, %{x:g} s: %{z:.0%} busy<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", type="category")
    return figure


def busiest_figure(saturation: Saturation, *, title: str, limit: int = 20) -> go.Figure:
    """The busiest processors of all runs: what their time went to, beside the mean over all processors of the run.

    Bars are means over the windows; the mark is the share of windows in which the processor was saturated.
    """
    frame = saturation.frame.sort_values("busy_ratio", ascending=False, kind="stable").head(limit).iloc[::-1]
    labels = [f"{row['run_id']}, CPU {row['cpu']}" for row in frame.to_dict("records")]
    figure = new_figure(title, "share of the time", "", height=150 + 26 * len(frame))
    for kind, colour in _KINDS.items():
        shares = frame[f"{kind}_ratio"].fillna(0.0)
        figure.add_bar(y=labels, x=shares, orientation="h", name=kind, marker={"color": colour},
                       hovertemplate="%{y}: %{x:.1%}<extra>%{fullData.name}</extra>")  # fmt: skip
    means = saturation.findings.set_index(["run_id", "tool"])["mean_ratio"]
    mean = [means[(row["run_id"], row["tool"])] for row in frame.to_dict("records")]
    figure.add_scatter(y=labels, x=mean, mode="markers", name="mean over all<br>processors of the run",
                       marker={"symbol": "line-ns", "size": 16, "line": {"width": 3, "color": "#1f2937"}},
                       hovertemplate="%{y}: %{x:.1%}<extra>mean over all</extra>")  # fmt: skip
    figure.add_scatter(y=labels, x=frame["saturated_ratio"], mode="markers",
                       name=f"share of windows<br>at least {saturation.threshold:.0%} busy",
                       marker={"symbol": "diamond-open", "size": 10, "color": GREY, "line": {"width": 2}},
                       hovertemplate="%{y}: %{x:.0%}<extra>saturated</extra>")  # fmt: skip
    figure.update_layout(barmode="stack", legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1.05])
    return figure


def cpu_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a saturation's frame that a page has room for."""
    return frame[["run_id", "cpu", "n_windows", "busy_ratio", "irq_ratio", "softirq_ratio", "steal_ratio",
                  "saturated_ratio", "longest_s", "kind"]]  # fmt: skip


def _number(cpu: str) -> tuple[int, str]:
    return (int(cpu), "") if cpu.isdigit() else (1 << 30, cpu)
