"""A comparison as people read it, in a page or a terminal: values scaled, medians with ±, ratios as changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from pipeline.units import format_si

if TYPE_CHECKING:
    from pipeline.analyse.comparison.compare import Comparison

_DIGITS = 4
_LARGE = 10.0  # ratio from which a factor reads better than a percentage


def comparison_table(comparison: Comparison) -> pd.DataFrame:
    """A row a compared measure: point, what, A, B, B against A, p after Holm, n, verdict.

    The tool is named where there are several. ± is the interval's farther end from the median, in per cent of it (∞:
    too few runs for an interval); the change is the ratio's, with its interval.
    """
    with_tool = comparison.frame["tool"].nunique() > 1
    rows = [
        {
            "point": str(row["point"]),
            "what": described(row, with_tool=with_tool),
            "A": _median(row, "a"),
            "B": _median(row, "b"),
            "B against A": _change(row),
            "p (Holm)": f"{row['p_holm']:.2g}",
            "n": f"{row['n_a']} + {row['n_b']}",
            "verdict": f"need ≥ {row['n_needed']}" if row["verdict"] == "not enough" else row["verdict"],
        }
        for row in comparison.frame.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["point", "what", "A", "B", "B against A", "p (Holm)", "n", "verdict"])


def geomean_table(comparison: Comparison) -> pd.DataFrame:
    """A row a measure: the geometric mean of the ratios over the matched points, with its interval and their number."""
    with_tool = comparison.frame["tool"].nunique() > 1
    rows = [
        {"what": described(row, with_tool=with_tool), "B against A": _change(row), "points": row["n_points"]}
        for row in comparison.geomeans.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=["what", "B against A", "points"])


def described(row: dict[Any, Any], *, with_tool: bool = True) -> str:
    """What a row is about: tool, part, operation, measure without its unit, and a percentile's phase."""
    measure = str(row["measure"])
    name = None if measure == "figure" else measure.removesuffix("_s") if measure.startswith("latency") else measure
    parts = [row["tool"] if with_tool else None, row["part"], row["op"], name]
    text = " ".join(str(part) for part in parts if not _is_missing(part))
    is_named = not _is_missing(row["phase"]) and row["phase"] != "total"
    return f"{text} ({row['phase']})" if is_named else text


def scaled(value: float, unit: Any) -> str:
    """A value with the unit's prefix: ``65.69 k/s``."""
    name = "" if _is_missing(unit) or unit == "1" else "/s" if unit == "1/s" else str(unit)
    return format_si(value, name, _DIGITS)


def change_text(ratio: float) -> str:
    """A ratio as a change in per cent, or as a factor where it is large."""
    if ratio >= _LARGE:
        return f"×{ratio:.3g}"
    change = (ratio - 1) * 100
    decimals = 2 if change < -99 else 1 if change < 99 else 0
    return f"{change:+.{decimals}f} %".replace("-", "−")


def _median(row: dict[Any, Any], name: str) -> str:
    value, low, high = (row[f"median_{name}{end}"] for end in ("", "_low", "_high"))
    text = scaled(value, row["unit"])
    if _is_missing(low) or _is_missing(high):
        return f"{text} ± ∞"
    if value <= 0:
        return f"{text} [{scaled(low, row['unit'])}, {scaled(high, row['unit'])}]"
    return f"{text} ± {100 * max(high / value - 1, 1 - low / value):.0f} %"


def _change(row: dict[Any, Any]) -> str:
    if _is_missing(row["ratio"]):
        return "–"
    if _is_missing(row["ratio_low"]):
        return f"{change_text(row['ratio'])} [no interval]"
    return f"{change_text(row['ratio'])} [{change_text(row['ratio_low'])}, {change_text(row['ratio_high'])}]"


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))
