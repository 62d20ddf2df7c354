"""The look that all figures share: colours, the template, an empty figure with its titles."""

from __future__ import annotations

import plotly.graph_objects as go
import plotly.io as pio

# Okabe and Ito's colours: they stay apart for colour-blind readers and in print.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#767676",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY)
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_AXIS = {"gridcolor": "#e5e7eb", "linecolor": "#9ca3af", "ticks": "outside", "tickcolor": "#9ca3af", "zeroline": False,
         "showline": True, "automargin": True, "title": {"standoff": 8}}  # fmt: skip

# The one renderer that stores the figure itself: JupyterLab draws it, and the site takes it from the notebook.
pio.renderers.default = "plotly_mimetype"
pio.templates["benchmark"] = go.layout.Template(
    layout={
        "font": {"family": _FONT, "size": 13, "color": "#1f2937"},
        "title": {"x": 0, "xanchor": "left", "xref": "paper", "font": {"size": 16}, "yref": "container", "y": 0.97},
        "colorway": COLOURS, "paper_bgcolor": "white", "plot_bgcolor": "white", "xaxis": _AXIS, "yaxis": _AXIS,
        "margin": {"l": 70, "r": 24, "t": 64, "b": 60}, "hoverlabel": {"font": {"family": _FONT}},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    }
)  # fmt: skip
pio.templates.default = "benchmark"


def new_figure(title: str, x_title: str, y_title: str, height: int = 460) -> go.Figure:
    """An empty figure in the project's look; height in pixels."""
    figure = go.Figure()
    figure.update_layout(title_text=title, xaxis_title_text=x_title, yaxis_title_text=y_title, height=height)
    return figure


def wrapped(text: str, width: int = 18) -> str:
    """Break a label into lines of about ``width`` characters, for an axis."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)
