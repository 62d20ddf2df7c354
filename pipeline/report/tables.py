"""Frames and sentences for people: SI values scaled, ratios as per cent, everything else as it is."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown

from pipeline.units import format_si

LONG = 50  # characters from which a cell may break into lines


def readable(frame: pd.DataFrame) -> HTML:
    """A table of texts: columns scaled by the unit in their name, missing as a dash, everything escaped."""
    is_efficiency = "efficiency" in frame
    names = [str(name) for name in frame.columns]
    classes = [' class="n"' if pd.api.types.is_numeric_dtype(frame[name]) else "" for name in frame.columns]
    head = "".join(f"<th{c}>{escape(name.replace('_', ' '))}</th>" for name, c in zip(names, classes, strict=True))
    rows = [
        "".join(
            _cell(cell_text(name, value, is_efficiency=is_efficiency), c)
            for name, value, c in zip(names, row, classes, strict=True)
        )
        for row in frame.itertuples(index=False, name=None)
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return HTML(f'<table class="dataframe">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>')


def said(*sentences: str) -> Markdown:
    """Sentences as paragraphs."""
    return Markdown("\n\n".join(sentences))


def _cell(text: str, css_class: str) -> str:
    if len(text) > LONG:
        css_class = ' class="long"'
    return f"<td{css_class}>{escape(text)}</td>"


def cell_text(column: str, value: Any, *, is_efficiency: bool = False) -> str:
    """One value as its column's name says; of an efficiency, the interval is a share too."""
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)) or value is pd.NaT:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if column.endswith(("_ratio", "efficiency")) or (is_efficiency and column.startswith("interval_")):
        return f"{value:.1%}"
    if column.endswith("_per_s"):
        return format_si(value, "B/s", 4) if "bytes" in column else f"{value:,.1f} /s"
    if column.endswith("_s"):
        return format_si(value, "s", 4)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.7g}" if abs(value) >= 1000 else f"{value:.4g}"
