"""Printed figures beside recomputed ones, to the last printed digit."""

import pandas as pd
import pytest

from pipeline.analyse.scaling.printed import beside_printed
from pipeline.errors import AnalysisError


def printed(*pairs):
    rows = [("Table 1", "r", str(number), text, value) for number, (text, value) in enumerate(pairs)]
    return pd.DataFrame(rows, columns=["exhibit", "row", "column", "value_text", "value"])


def test_a_value_agrees_when_it_rounds_to_what_is_printed():
    rows = printed(
        ("0.99954", 0.99954), ("0.99954", 0.99954), ("64x", 64.0), ("192,000 (64x)", 192000.0), ("18%", 18.0)
    )
    frame = beside_printed(rows, [0.9995384, 0.9995349, 64.4, 192000.6, 18.5])
    assert list(frame["agrees"]) == [True, False, True, False, True]
    assert list(frame) == ["exhibit", "row", "column", "printed", "recomputed", "agrees"]


@pytest.mark.parametrize("pair", [("n/a", None), ("5.34", 5.34e6), ("<1 ms", 1e-3)])
def test_a_text_in_another_unit_is_refused(pair):
    with pytest.raises(AnalysisError, match="expected a printed number equal to its value"):
        beside_printed(printed(pair), [1.0])


def test_another_number_of_values_is_refused():
    with pytest.raises(AnalysisError, match="expected 1 recomputed values, found 2"):
        beside_printed(printed(("1", 1.0)), [1, 2])
