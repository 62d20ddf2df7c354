"""What the rounding of a printed figure leaves open, carried through products and ratios as an interval.

A figure printed as 1.71 was somewhere from 1.705 to 1.715. Ends are carried by interval arithmetic (Moore 1966): the
result's interval holds every value that the printed figures allow. It is a bound by rounding alone; it says nothing of
how far a repeat of the measurement would be off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.select import published_row
from pipeline.errors import AnalysisError

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PERCENT = 0.01


@dataclass(frozen=True)
class Interval:
    """A value and the ends between which it lies; in the unit of the value.

    Ends of operands are taken as independent: of a figure that stands on both sides of a ratio the result is wider
    than need be, never narrower.
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        """AnalysisError unless low ≤ value ≤ high, none of them null."""
        if not self.low <= self.value <= self.high:
            raise AnalysisError(f"expected low ≤ value ≤ high, found {self.low!r}, {self.value!r}, {self.high!r}")

    @classmethod
    def exact(cls, value: float) -> Interval:
        """A value that is known exactly."""
        return cls(value, value, value)

    def __mul__(self, other: Interval | float) -> Interval:
        """Product; its ends are the smallest and largest of the products of ends."""
        other = _interval(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(self.value * other.value, min(ends), max(ends))

    def __truediv__(self, other: Interval | float) -> Interval:
        """Ratio; AnalysisError where the divisor may be 0."""
        other = _interval(other)
        if other.low <= 0 <= other.high:
            raise AnalysisError(f"expected a divisor other than 0, found {other.low:g} to {other.high:g}")
        return self * Interval(1 / other.value, 1 / other.high, 1 / other.low)

    def __sub__(self, other: Interval | float) -> Interval:
        """Difference."""
        other = _interval(other)
        return Interval(self.value - other.value, self.low - other.high, self.high - other.low)

    def overlaps(self, other: Interval) -> bool:
        """Whether a value may lie in both."""
        return self.low <= other.high and other.low <= self.high


def printed(row: Mapping[str, Any]) -> Interval:
    """The interval of a row of ``published``: half a unit of the last printed digit to either side.

    Zeros at the end of an integer are not taken as digits: 616,000 is 615,500 … 616,500. Counts (a plain integer in
    unit 1), and products such as 8 x 3750, are exact. A range is itself, its value the middle; "<" and ">" reach from 0
    or to infinity, their value being the bound; "~" is read as the figure behind it. AnalysisError: no figure.
    """
    low, high, text = row["value_low"], row["value_high"], str(row["value_text"])
    if row["relation"] == "range":
        return Interval((low + high) / 2, low, high)
    if row["relation"] == "<":
        return Interval(high, 0.0, high)
    if row["relation"] == ">":
        return Interval(low, low, math.inf)
    if row["relation"] is None or pd.isna(row["relation"]) or pd.isna(row["value"]):
        raise AnalysisError(f"expected a figure in {row['exhibit']!r}, {row['row']!r}, found {text!r}")
    value = float(row["value"])
    numbers = _NUMBER.findall(text.split("(", maxsplit=1)[0])
    is_count = row["unit"] == "1" and "%" not in text and "." not in numbers[0]
    if is_count or re.search(r"\d\s*[x×]\s*\d", text):
        return Interval.exact(value)
    number = float(numbers[0].replace(",", ""))
    scale = abs(value) / number if number else _PERCENT if "%" in text else 1.0
    half = half_unit(numbers[0]) * scale
    return Interval(value, value - half, value + half)


def printed_values(
    tables: Mapping[str, pd.DataFrame], exhibit: str, rows: Mapping[str, str], value: str, *, column: str = "workload"
) -> pd.DataFrame:
    """The figures of an exhibit's rows, with the ends of their rounding.

    ``rows`` maps an exhibit's row to the instance it is of. Columns: instance, ``column`` (the exhibit's column's
    label), ``value``, ``<value>_low``, ``<value>_high``. AnalysisError where a row is not there.
    """
    found = []
    for row, instance in rows.items():
        for figure in published_row(tables, exhibit, row).to_dict("records"):
            interval = printed(figure)
            found.append({"instance": instance, column: figure["column"], value: interval.value,
                          f"{value}_low": interval.low, f"{value}_high": interval.high})  # fmt: skip
    return pd.DataFrame(found)


def printed_columns(
    tables: Mapping[str, pd.DataFrame],
    exhibit: str,
    columns: Mapping[str, str],
    value: str,
    *,
    rows: Sequence[str] | None = None,
    column: str = "workload",
) -> pd.DataFrame:
    """As ``printed_values``, of an exhibit whose columns are instances: ``columns`` maps a column to its instance.

    ``rows``: those of the exhibit to take, without it all that these columns have.
    """
    published = tables["published"]
    labels = published.loc[(published["exhibit"] == exhibit) & published["column"].isin(list(columns)), "row"].unique()
    labels = labels if rows is None else [label for label in labels if label in rows]
    if not len(labels):
        raise AnalysisError(f"expected columns {list(columns)} in {exhibit!r}, found none")
    found = []
    for label in labels:
        for figure in published_row(tables, exhibit, label).to_dict("records"):
            if figure["column"] in columns:
                interval = printed(figure)
                found.append({"instance": columns[figure["column"]], column: label, value: interval.value,
                              f"{value}_low": interval.low, f"{value}_high": interval.high})  # fmt: skip
    return pd.DataFrame(found)


def half_unit(number: str) -> float:
    """Half a unit of the last digit of a printed number: 0.005 of 1.71, 500 of 616,000, 0.5 of 0 and of 38."""
    digits = number.replace(",", "")
    if "." in digits:
        return float(0.5 * 10.0 ** -len(digits.split(".")[1]))
    zeros = len(digits) - len(digits.rstrip("0")) if digits.strip("0") else 0
    return float(0.5 * 10.0**zeros)


def _interval(value: Interval | float) -> Interval:
    return value if isinstance(value, Interval) else Interval.exact(float(value))
