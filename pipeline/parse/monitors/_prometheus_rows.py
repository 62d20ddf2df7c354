"""Rows of metric_series from Prometheus's samples, with what its values hold beside numbers counted."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline import units
from pipeline.parse._report import Report

NAME = "__name__"
_UNITS = {
    "seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "bytes": "B", "bits": "bit",
    "ratio": "1", "percent": "%", "info": "1", "joules": "J", "watts": "W", "volts": "V", "amperes": "A",
    "hertz": "Hz", "celsius": "°C", "meters": "m", "grams": "g", "bucket": "1", "count": "1",
}  # fmt: skip
_WORDS = {"NaN": "NaN", "+Inf": "+Inf", "Inf": "+Inf", "-Inf": "-Inf"}


def unit_of(metric: str) -> str | None:
    """The unit that the last part of a metric's name says, as Prometheus's rules for names have it."""
    base = metric.removesuffix("_total").removesuffix("_sum")
    unit = _UNITS.get(base.rpartition("_")[2])
    return "1" if unit is None and metric.endswith("_total") else unit


def labels_text(labels: Mapping[str, object]) -> str | None:
    """Labels without the name as JSON, sorted; None for none."""
    rest = {name: value for name, value in labels.items() if name != NAME}
    return json.dumps(rest, sort_keys=True, ensure_ascii=False) if rest else None


class Rows:
    """Adds series to a report; ``start_us`` is the first sample's time."""

    def __init__(self, report: Report, start_us: int | None) -> None:
        self.n_rows = 0
        self._report = report
        self._start_us = start_us
        self._words: Counter[str] = Counter()

    def add(
        self, labels: Mapping[str, object], times_us: NDArray[np.int64] | None, values: Sequence[Any] | Any
    ) -> None:
        """Add one series: times in µs since 1970 (None: no times), values as floats, NaN where there is none.

        ValueError for a time before the start.
        """
        import pyarrow as pa

        if not len(values):
            return
        if times_us is not None and self._start_us is not None and int(times_us.min()) < self._start_us:
            raise ValueError("a sample before the first ones of all series")
        metric = str(labels.get(NAME) or self._report.source.stem)
        times = None if times_us is None else (times_us - (self._start_us or 0)) * units.MICRO
        known = NAME in labels and labels[NAME]
        self._report.add_block("metric_series", {
            "metric": metric, "labels": labels_text(labels), "time_s": times,
            "value": pa.array(np.asarray(values, float), from_pandas=True), "unit": unit_of(metric) if known else None,
        })  # fmt: skip
        self.n_rows += len(values)

    def add_one(self, labels: Mapping[str, object], time_us: int | None, value: float) -> None:
        """Add one sample."""
        metric = str(labels[NAME])
        self._report.add(
            "metric_series", metric=metric, labels=labels_text(labels), unit=unit_of(metric),
            time_s=None if time_us is None else (time_us - (self._start_us or 0)) * units.MICRO,
            value=None if math.isnan(value) else value,
        )  # fmt: skip
        self.n_rows += 1

    def number(self, text: object) -> float:
        """A value as Prometheus writes it; NaN, counted, where it is no finite number."""
        if isinstance(text, str):
            word = _WORDS.get(text.strip())
            try:
                value = float(text) if word is None and len(text) < 400 and "_" not in text else math.nan
            except ValueError:
                word, value = "other text", math.nan
        else:
            word, value = "other text", math.nan
        if not math.isfinite(value):
            self.note(word or ("other text" if math.isnan(value) else "a number beyond all doubles"))
            return math.nan
        return value

    def note(self, word: str, n: int = 1) -> None:
        """Count values that are no finite numbers."""
        if n:
            self._words[word] += n

    def finish(self) -> None:
        """Say how many values are null, and why."""
        if self._words:
            found = ", ".join(f"{n} × {word}" for word, n in sorted(self._words.items()))
            self._report.warn(None, "not_finite", f"expected finite values, found {found}: null")
