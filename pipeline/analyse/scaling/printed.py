"""Figures that an article prints beside the same figures recomputed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pipeline.errors import AnalysisError

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.(\d+))?")


def beside_printed(rows: pd.DataFrame, recomputed: Sequence[float]) -> pd.DataFrame:
    """Columns exhibit, row, column, printed (the text), recomputed, agrees; a row each of ``published`` in ``rows``.

    A recomputed value agrees when it rounds to the printed one: |difference| ≤ half a unit of the last printed
    decimal (of the last digit before the point where there are none). AnalysisError: another number of values than
    rows, or a text that is not its row's value, whose last digit would then say nothing.
    """
    if len(rows) != len(recomputed):
        raise AnalysisError(f"expected {len(rows)} recomputed values, found {len(recomputed)}")
    halves = [_half_unit(str(text), value) for text, value in zip(rows["value_text"], rows["value"], strict=True)]
    values = np.asarray(recomputed, dtype=float)
    slack = 1e-9 * np.abs(values)  # a difference of half a unit exactly is rounding either way
    agrees = np.abs(values - rows["value"].to_numpy(dtype=float)) <= np.array(halves) + slack
    named = rows[["exhibit", "row", "column"]].reset_index(drop=True)
    return named.assign(printed=rows["value_text"].to_numpy(), recomputed=values, agrees=agrees)


def _half_unit(text: str, value: float) -> float:
    match = _NUMBER.search(text)
    if match is None or pd.isna(value) or abs(float(match.group().replace(",", "")) - value) > 1e-9 * abs(value):
        raise AnalysisError(f"expected a printed number equal to its value, found {text!r} and {value!r}")
    return 0.5 * 10.0 ** -len(match.group(1) or "")
