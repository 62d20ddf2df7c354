"""The reconciliation gate: which checks hold in which campaigns, and how far apart the two numbers are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pipeline.report.figures.style import BLUE, GREY, RED, YELLOW, new_figure

LINEAR_UP_TO = 1e-4  # relative difference below which the symmetric logarithmic axis is linear
BEYOND = 1e3  # an infinite difference (right is 0) is drawn here
STEP = 0.05  # of the axis: what lies closer together is one point
_STATUS = {"unknown": YELLOW, "green": "#7fc9a9", "red": RED}
_TICKS = (0, 1e-3, 1e-2, 1e-1, 1, 10, 100)


def matrix_figure(counts: pd.DataFrame, *, title: str) -> go.Figure:
    """Checks × campaigns, coloured by the worst status, with the numbers of comparisons in each cell.

    ``counts`` has campaign, check, green, red, unknown. A cell is red with any red, green with any green and no red,
    yellow where all are unknown, empty where there is nothing to compare.
    """
    checks, campaigns = list(dict.fromkeys(counts["check"])), list(dict.fromkeys(counts["campaign"]))
    figure = new_figure(title, "", "", height=250 + 26 * len(checks))
    names = list(_STATUS)
    code = np.select([counts["red"] > 0, counts["green"] > 0], [names.index("red"), names.index("green")], 0)
    rows = counts.to_dict("records")
    hover = [f"{row['green']:,} green, {row['red']:,} red, {row['unknown']:,} unknown" for row in rows]
    cells = counts.assign(code=code, text=[_cell(row) for row in rows], hover=hover)
    codes, text, hover_text = (
        cells.pivot(index="check", columns="campaign", values=name).reindex(index=checks, columns=campaigns)
        for name in ("code", "text", "hover")
    )
    scale = [stop for n, colour in enumerate(_STATUS.values()) for stop in ((n / 3, colour), ((n + 1) / 3, colour))]
    figure.add_heatmap(
        z=codes.astype("float64").to_numpy(), x=campaigns, y=checks, text=text.fillna("").to_numpy(),
        texttemplate="%{text}", textfont={"size": 11}, colorscale=scale, zmin=-0.5, zmax=2.5, showscale=False,
        xgap=2, ygap=2,
        customdata=hover_text.fillna("nothing to compare").to_numpy(),
        hovertemplate="%{x}<br>%{y}<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(side="top", tickangle=-35, showgrid=False)
    figure.update_layout(margin={"t": 190, "r": 120})
    return figure


def _cell(row: dict[str, int]) -> str:
    """Counts of a cell: contradicting (!) alone if there are any, else agreeing, then unknown (?)."""
    if row["red"]:
        return f"{row['red']:,}!"
    parts = [f"{row['green']:,}"] if row["green"] else []
    parts += [f"{row['unknown']:,}?"] if row["unknown"] else []
    return " ".join(parts)


def difference_figure(frame: pd.DataFrame, tolerance: float, *, title: str) -> go.Figure:
    """Relative differences by check on a symmetric logarithmic axis, with the band of the tolerance.

    The axis shows sign(d) · log10(1 + |d| / LINEAR_UP_TO). Points closer than STEP are one, as large as the logarithm
    of their number; unknown comparisons that have both numbers are shown too.
    """
    checks = list(dict.fromkeys(frame["check"]))
    figure = new_figure(title, "relative difference, (left − right) / right", "", height=160 + 26 * len(checks))
    known = frame[frame["difference_ratio"].notna()]
    checks = [check for check in checks if check in set(known["check"])]
    known = known.assign(place=(symlog(known["difference_ratio"]) / STEP).round() * STEP)
    band = float(symlog(pd.Series([tolerance])).iloc[0])
    figure.add_vrect(x0=-band, x1=band, fillcolor=GREY, opacity=0.15, line_width=0, layer="below")
    for status, colour in (("green", BLUE), ("unknown", YELLOW), ("red", RED)):
        part = known[known["status"] == status]
        points = part.groupby(["check", "place"]).agg(
            n=("place", "size"), low=("difference_ratio", "min"), high=("difference_ratio", "max")
        )
        points = points.reset_index()
        texts = [f"{n:,} comparisons, {low:+.3%} to {high:+.3%}" for n, low, high in
                 zip(points["n"], points["low"], points["high"], strict=True)]  # fmt: skip
        figure.add_scatter(
            x=points["place"], y=points["check"], mode="markers", name=f"{status} ({len(part):,})", text=texts,
            marker={"color": colour, "size": 5 + 3 * np.log10(points["n"].astype("float64")), "opacity": 0.8,
                    "line": {"width": 0.5, "color": GREY}},
            hovertemplate="%{y}<br>%{text}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    ticks = [-tick for tick in _TICKS[:0:-1] if tick <= 1] + list(_TICKS)
    places = symlog(pd.Series(ticks, dtype="float64"))
    labels = [f"{tick:+.4g} %".replace("+0 %", "0") for tick in (100 * t for t in ticks)]
    figure.update_xaxes(tickvals=places.tolist(), ticktext=labels)
    figure.update_yaxes(categoryorder="array", categoryarray=checks[::-1])
    figure.update_layout(margin={"t": 100}, title={"y": 1 - 22 / figure.layout.height})
    return figure


def symlog(values: pd.Series) -> pd.Series:
    """Linear up to LINEAR_UP_TO, logarithmic beyond; infinite values at BEYOND."""
    held = values.astype("float64").clip(-BEYOND, BEYOND)
    return np.sign(held) * np.log10(1 + held.abs() / LINEAR_UP_TO)
