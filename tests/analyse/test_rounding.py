"""Rounding carried as intervals: every value that the printed figures allow lies inside."""

import math

import numpy as np
import pytest
from frames import report, tables

from pipeline.analyse.rounding import Interval, half_unit, printed, printed_columns, printed_values
from pipeline.errors import AnalysisError
from pipeline.parse.published import figure_of


def row(text, unit):
    return {"exhibit": "e", "row": "r", "value_text": text, "value": None, "value_low": None, "value_high": None,
            "relation": None, **figure_of(text, unit)}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "half"),
    [("1.71", 0.005), ("616,000", 500), ("0", 0.5), ("38", 0.5), ("100", 50), ("6.30", 0.005), ("1,247,000", 500)],
)
def test_half_a_unit_of_the_last_digit(number, half):
    assert half_unit(number) == pytest.approx(half)


@pytest.mark.parametrize(
    ("text", "unit", "low", "high"),
    [
        ("1.71", "million ops/s", 1.705e6, 1.715e6),
        ("56%", "%", 0.555, 0.565),
        ("+ 0%", "%", -0.005, 0.005),
        ("-2.02%", "%", -0.02025, -0.02015),
        ("3.7ms", "ms", 0.00365, 0.00375),
        ("192,000(64x)", "ops/s", 191_500, 192_500),
        ("96", "1", 96, 96),
        ("0.99954", "1", 0.999535, 0.999545),
        ("8 x 3750 GB", "GB", 30e12, 30e12),
        ("$0.172 – $10.892/hr", "USD/h", 0.172, 10.892),
        ("<1 ms", "ms", 0, 0.001),
        (">5 million", "million ops/s", 5e6, math.inf),
        ("~45TB", "TB", 44.5e12, 45.5e12),
    ],
)
def test_what_a_printed_figure_leaves_open(text, unit, low, high):
    found = printed(row(text, unit))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.low <= found.value <= found.high


def test_a_text_is_no_figure():
    for text, unit in (("n/a", "ms"), ("-", "1")):
        with pytest.raises(AnalysisError, match="expected a figure"):
            printed(row(text, unit))


def test_products_ratios_and_differences_hold_every_value_of_their_operands():
    rng = np.random.default_rng(1)
    for _ in range(200):
        centres, halves = rng.uniform(-5, 5, 2), rng.uniform(0, 1, 2)
        a, b = (Interval(c, c - h, c + h) for c, h in zip(centres, halves, strict=True))
        xs, ys = rng.uniform(a.low, a.high, 50), rng.uniform(b.low, b.high, 50)
        product, difference = a * b, a - b
        assert (product.low <= xs * ys).all()
        assert (xs * ys <= product.high).all()
        assert (difference.low <= xs - ys).all()
        assert (xs - ys <= difference.high).all()
        if b.low > 0 or b.high < 0:
            ratio = a / b
            assert (ratio.low - 1e-12 <= xs / ys).all()
            assert (xs / ys <= ratio.high + 1e-12).all()
    known = Interval(6.30, 6.295, 6.305) / Interval(3.57, 3.565, 3.575) - 1
    assert (known.low, known.high) == pytest.approx((6.295 / 3.575 - 1, 6.305 / 3.565 - 1))


def test_a_divisor_that_may_be_0_and_ends_in_disorder_are_refused():
    for divisor in (0.0, Interval(0.1, -0.1, 0.3), Interval(0.1, 0, 0.2)):
        with pytest.raises(AnalysisError, match="other than 0"):
            Interval.exact(1.0) / divisor
    for ends in ((2.0, 1.0, 1.5), (math.nan, 0.0, 1.0), (1.0, math.nan, 2.0)):
        with pytest.raises(AnalysisError, match="low ≤ value ≤ high"):
            Interval(*ends)


def published():
    made = report(tool="published")
    for name, values in (("new", ("1.71", "1.78")), ("old", ("1.09", "1.42"))):
        for column, text in zip(("read", "mixed"), values, strict=True):
            made.add("published", source="s", exhibit="e", row=name, column=column, value_text=text,
                     **figure_of(text, "million ops/s"))  # fmt: skip
    return tables(made)


def test_rows_and_columns_of_an_exhibit():
    by_row = printed_values(published(), "e", {"new": "b", "old": "a"}, "ops_per_s")
    assert list(by_row["instance"]) == ["b", "b", "a", "a"]
    assert list(by_row["workload"]) == ["read", "mixed"] * 2
    assert by_row["ops_per_s_high"].iloc[0] == pytest.approx(1.715e6)
    by_column = printed_columns(published(), "e", {"read": "a"}, "ops_per_s", rows=["old"])
    assert list(by_column.iloc[0, :3]) == ["a", "old", 1.09e6]
    with pytest.raises(AnalysisError):
        printed_values(published(), "e", {"none": "a"}, "ops_per_s")
    with pytest.raises(AnalysisError):
        printed_columns(published(), "e", {"none": "a"}, "ops_per_s")
