"""Divide a mean latency into layers: means only (percentiles do not add), with propagated uncertainty.

Uncertainty is propagated to first order with correlations (GUM, JCGM 100:2008, 5.1–5.2) by the package
``uncertainties``: two layers that share a measurement do not count its uncertainty twice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from uncertainties import UFloat, ufloat

from pipeline.analyse.select import published_row
from pipeline.errors import AnalysisError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """A mean latency in seconds: as a level it holds all levels inside it, as a layer it is what they leave over.

    ``layer`` names the time outside the next level, ``source`` what was measured and how.
    """

    layer: str
    latency: UFloat
    source: str


@dataclass(frozen=True)
class Breakdown:
    """Layers from the outside in, each with its standard uncertainty; the residual is elapsed minus their sum."""

    layers: tuple[Level, ...]
    elapsed: UFloat
    warnings: tuple[str, ...]

    @property
    def total(self) -> UFloat:
        """Sum of the layers in seconds."""
        return sum(level.latency for level in self.layers)

    @property
    def residual(self) -> UFloat:
        """Elapsed time an operation that no layer holds, in seconds; negative when the layers exceed it."""
        return self.elapsed - self.total

    def to_frame(self) -> pd.DataFrame:
        """A row a layer, then the residual: layer, latency_s, uncertainty_s, share_ratio, source."""
        rows = [(level.layer, level.latency, level.source) for level in self.layers]
        rows.append(("residual", self.residual, "elapsed time an operation, minus the layers"))
        total = self.total.nominal_value
        return pd.DataFrame(
            [{"layer": name, "latency_s": value.nominal_value, "uncertainty_s": value.std_dev,
              "share_ratio": value.nominal_value / total, "source": source} for name, value, source in rows]
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """The layers, their sum and the residual, by name."""
        frame = self.to_frame()
        values = [level.latency for level in self.layers] + [self.residual]
        frame["text"] = [_microseconds(value) for value in values]
        return {
            "layers": frame.iloc[:-1], "total_s": self.total.nominal_value,
            "total_uncertainty_s": self.total.std_dev, "elapsed_s": self.elapsed.nominal_value,
            "residual_s": self.residual.nominal_value, "residual_uncertainty_s": self.residual.std_dev,
            "warnings": self.warnings,
        }  # fmt: skip

    def sentence(self) -> str:
        """The largest layer, and what the residual is."""
        largest = max(self.layers, key=lambda level: level.latency.nominal_value)
        share = largest.latency.nominal_value / self.total.nominal_value
        residual, uncertainty = self.residual.nominal_value * 1e6, self.residual.std_dev * 1e6
        return (
            f"Of {_microseconds(self.total)}, the largest layer is “{largest.layer}” with "
            f"{_microseconds(largest.latency)} ({share:.0%}); the elapsed time an operation differs from the sum "
            f"of the layers by {residual:+.1f} ± {uncertainty:.1f} µs."
        )


def nested(levels: Sequence[Level], elapsed: UFloat) -> Breakdown:
    """Divide nested means, the outermost first: a layer is what a level has over the next one inside it.

    ``elapsed`` is the wall time an operation from an independent count (elapsed / operations). A layer that comes out
    negative by more than two standard uncertainties means that the levels are not nested: it is kept, and warned of.
    AnalysisError when there are fewer than two levels.
    """
    if len(levels) < 2:
        raise AnalysisError(f"a breakdown needs at least two nested means, found {len(levels)}")
    inner = [level.latency for level in levels[1:]] + [0.0]
    layers = tuple(
        Level(level.layer, level.latency - inside, level.source)
        for level, inside in zip(levels, inner, strict=True)
    )  # fmt: skip
    warnings = [
        f"“{level.layer}” is {_microseconds(level.latency)}: its level is not inside the one before it"
        for level in layers
        if level.latency.nominal_value < -2 * level.latency.std_dev
    ]
    return Breakdown(layers, elapsed, tuple(warnings))


def _microseconds(value: UFloat) -> str:
    return f"{value.nominal_value * 1e6:.1f} ± {value.std_dev * 1e6:.1f} µs"


def published_quantity(tables: Mapping[str, pd.DataFrame], exhibit: str, row: str) -> UFloat:
    """A printed figure with the uncertainty of its rounding: half a unit of its last digit, uniform (GUM 4.3.7)."""
    figure = published_row(tables, exhibit, row).iloc[0]
    digits = re.search(r"\d[\d,]*(\.\d+)?", figure["value_text"])
    if digits is None or pd.isna(figure["value"]):
        raise AnalysisError(f"{exhibit!r}, {row!r}: expected a figure, found {figure['value_text']!r}")
    printed = float(digits[0].replace(",", ""))
    last_place = 10.0 ** -len((digits[1] or ".")[1:]) * (figure["value"] / printed if printed else 1.0)
    return ufloat(figure["value"], last_place / 2 / math.sqrt(3), tag=f"{exhibit}: {row}")


def series_mean(values: pd.Series, times: pd.Series, window_s: float = 1.0, tag: str = "") -> UFloat:
    """Mean of a series of single latencies with its standard error by batch means.

    Neighbouring latencies are correlated, so that σ/√n is too small; the means of windows of ``window_s`` are nearly
    independent (Law and Kelton, Simulation Modeling and Analysis, ch. 9.5.3). AnalysisError with fewer than 2 windows.
    """
    window = np.floor(times.to_numpy("float64") / window_s)
    batches = values.groupby(window).agg(["mean", "size"])
    if len(batches) < 2:
        raise AnalysisError(f"{tag or 'a mean'}: expected at least 2 windows of {window_s} s, found {len(batches)}")
    # Windows differ in size: weight each by its operations.
    return ufloat(*_weighted(batches["mean"].to_numpy("float64"), batches["size"].to_numpy("float64")), tag=tag)


def sampled_mean(samples: pd.Series, weights: pd.Series, resolution: float = 0.0, tag: str = "") -> UFloat:
    """Mean of independent samples of ``weights`` operations each, with its standard error.

    The resolution of the print (uniform) is added in quadrature. AnalysisError with fewer than 2 samples of weight.
    """
    is_there = samples.notna() & weights.gt(0)
    values, weight = samples[is_there].to_numpy("float64"), weights[is_there].to_numpy("float64")
    if len(values) < 2:
        raise AnalysisError(f"{tag or 'a mean'}: expected at least 2 samples, found {len(values)}")
    mean, standard_error = _weighted(values, weight)
    return ufloat(mean, math.hypot(standard_error, resolution / math.sqrt(12)), tag=tag)


def _weighted(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted mean and its standard error; with equal weights, σ/√n."""
    share, n = weights / weights.sum(), len(values)
    mean = float((share * values).sum())
    return mean, math.sqrt(float((share**2 * (values - mean) ** 2).sum()) * n / (n - 1))


def device_commit_times(device: pd.DataFrame, resolution_s: float) -> tuple[UFloat, UFloat]:
    """Mean time of a commit's data write and of its flush on the device, from iostat's samples.

    iostat counts a flush in ``writes_per_s`` too and mixes its time into ``write_await_s``; with one flush a commit,
    the data write's own time is (w · w_await − f · f_await) / (w − f). ``resolution_s`` is that of the printed awaits.
    """
    writes, flushes = device["writes_per_s"], device["flushes_per_s"]
    w, f = float(writes.mean()), float(flushes.mean())
    if not w > f > 0:
        raise AnalysisError(f"expected more writes than flushes a second and some of each, found {w:g} and {f:g}")
    flush = sampled_mean(device["flush_await_s"], flushes, resolution_s, tag="iostat f_await")
    mixed = sampled_mean(device["write_await_s"], writes, resolution_s, tag="iostat w_await")
    data_write: Any = (w * mixed - f * flush) / (w - f)
    return data_write, flush
