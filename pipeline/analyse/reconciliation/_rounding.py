"""What the rounding of printed digits can hide: half a unit of the last digit, worked out from the figures themselves.

A tidy value no longer says how many digits its report printed; its shortest decimal does, except for zeros at the end.
So a figure counts as printed to at least three significant digits (half a unit is then at most 0.5 % of it), and a
report's latencies, which most tools print with fixed decimals, to the finest decimal found among them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pandas as pd

from pipeline.analyse.select import KEYS, whole_run_or_intervals

SIGNIFICANT = 3  # digits that every tool prints, at least
FEW = 3  # different values below which a report's decimals cannot be told
_SCALES = (1.0, 1e3, 1e6, 1e9, 2.0**10, 2.0**20, 2.0**30, 2.0**40)


def half_digit(values: pd.Series, *, is_bytes: bool = False) -> pd.Series:
    """Half a unit of the last printed digit of each figure, in the figure's unit; null where the figure is null.

    Of a figure of bytes, in the unit (KiB, MB, …) that needs the fewest digits: 857 MiB was printed to a MiB.
    """
    scales = _SCALES if is_bytes else _SCALES[:1]
    unique = {value: _own_half(value, scales) for value in values.dropna().unique()}
    return values.map(unique).astype("float64")


def half_latency_digit(frame: pd.DataFrame, column: str, pool: pd.DataFrame) -> pd.Series:
    """The same for latencies of ``frame``, not finer than the finest decimal that the report's ``pool`` shows.

    ``pool`` has KEYS and ``latency_s``: latencies of the same reports. Of a report that shows fewer than FEW different
    ones the decimals stay unknown, and only the significant digits count.
    """
    known = pool.dropna().drop_duplicates([*KEYS, "latency_s"])
    known = known[known["latency_s"] > 0]
    half = {value: _last_digit(value) / 2 for value in known["latency_s"].unique()}
    by_report = known.assign(half=known["latency_s"].map(half)).groupby(KEYS)["half"]
    finest = by_report.min().where(by_report.size() >= FEW)
    of_row = pd.Series(pd.MultiIndex.from_frame(frame[KEYS]).map(finest.to_dict().get), frame.index, dtype="float64")
    return np.fmax(half_digit(frame[column].astype("float64")), of_row)


def latency_pool(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every latency that a report prints of the whole run, for its decimals; sysbench prints intervals with more."""
    sources = [(tables["latency_percentiles"], "latency_s")]
    sources += [(tables["latency_summary"], name) for name in ("mean_s", "min_s", "max_s")]
    sources += [(tables["operations"], f"latency_{name}") for name in ("mean_s", "min_s", "max_s")]
    sources = [(whole_run_or_intervals(frame, KEYS), name) for frame, name in sources]
    parts = [frame[[*KEYS, name]].set_axis([*KEYS, "latency_s"], axis=1) for frame, name in sources]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _own_half(value: float, scales: tuple[float, ...]) -> float:
    if value == 0 or not math.isfinite(value):
        return 0.0
    scale = min(scales, key=lambda s: _n_digits(value / s))
    scaled = abs(value / scale)
    floor = 10.0 ** (math.floor(math.log10(scaled)) - SIGNIFICANT + 1)
    return min(_last_digit(scaled), floor) * scale / 2


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.12g}").normalize()  # 12 digits: what binary fractions add lies behind them


def _n_digits(value: float) -> int:
    return len(_decimal(value).as_tuple().digits)


def _last_digit(value: float) -> float:
    return float(Decimal(1).scaleb(int(_decimal(value).as_tuple().exponent)))
