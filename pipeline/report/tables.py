"""Frames for people: SI values scaled, ratios as per cent, everything else as it is. For display only."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.units import format_si


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of texts: columns scaled by the unit in their name, missing as a dash; notebooks show it as a table."""
    shown = pd.DataFrame({name: [_cell(name, value) for value in frame[name]] for name in frame.columns}, dtype=object)
    return shown.rename(columns=lambda name: str(name).replace("_", " "))


def _cell(name: object, value: Any) -> str:
    column = str(name)
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)) or value is pd.NaT:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if column.endswith(("_ratio", "efficiency")) or column in ("interval_low", "interval_high"):
        return f"{value:.1%}"
    if column.endswith("_per_s"):
        unit = "B/s" if "bytes" in column else "/s"
        return format_si(value, unit, 4)
    if column.endswith("_s"):
        return format_si(value, "s", 4)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
