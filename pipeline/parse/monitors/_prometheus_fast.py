"""Private to ``prometheus``: long answers as Prometheus prints them, without a Python object for each sample."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.parse._compiled import compiled
from pipeline.parse.monitors import _prometheus_kernel as kernel
from pipeline.parse.monitors._prometheus_rows import Rows

_HEAD = re.compile(
    rb'\s*\{"status":"success",(?:"isPartial":(?:true|false),)?"data":\{"resultType":"matrix","result":\['
)
_METRIC, _VALUES, _END = b'{"metric":', b',"values":[[', b'"]]'
_FIRST = re.compile(rb"(\d{1,11})(?:\.(\d{1,6}))?,")
_MIN_SAMPLE_BYTES = 7


@dataclass(frozen=True)
class Series:
    """Where a series stands: its labels, and its samples from the first bracket to behind the last."""

    labels: Mapping[str, object]
    begin: int
    end: int


@dataclass(frozen=True)
class Answer:
    """All series of an answer and what stands around them."""

    series: list[Series]
    rest: bytes  # what is left when the series are taken out
    start_us: int | None


def find_series(data: bytes) -> Answer | None:
    """Cut a whole answer into its series; None when it is laid out in another way, or has no end."""
    head = _HEAD.match(data)
    if head is None:
        return None
    place = head.end()
    found = []
    starts = []
    while data.startswith(_METRIC, place):
        begin = data.find(_VALUES, place)
        end = data.find(_END, begin)
        first = _FIRST.match(data, begin + len(_VALUES)) if begin > 0 else None
        if first is None or end < 0 or data[end + 3 : end + 4] != b"}":
            return None
        try:
            labels = json.loads(data[place + len(_METRIC) : begin])
        except (ValueError, RecursionError):
            return None
        if not isinstance(labels, dict):
            return None
        found.append(Series(labels, begin + len(_VALUES) - 1, end + 2))
        starts.append(int(first[1]) * 1_000_000 + int((first[2] or b"0").ljust(6, b"0")))
        place = end + 4
        if data[place : place + 1] != b",":
            break
        place += 1
    return Answer(found, data[: head.end()] + data[place:], min(starts, default=None))


def add_series(rows: Rows, data: bytes, series: Series) -> bool:
    """Add the samples of one series; False when they are laid out in another way."""
    text = np.frombuffer(data, np.uint8)[series.begin : series.end]
    n_most = len(text) // _MIN_SAMPLE_BYTES + 1
    times, values = np.empty(n_most, np.int64), np.full(n_most, np.nan)
    kinds, places = np.empty(n_most, np.int8), np.empty((n_most, 2), np.int64)
    n = compiled(kernel.parse_samples)(text, times, values, kinds, places)
    if n < 0:
        return False
    times, values, kinds = times[:n].copy(), values[:n].copy(), kinds[:n]
    slow = np.flatnonzero(kinds == kernel.SLOW)
    if len(slow):
        begin = series.begin
        cells = [data[begin + i : begin + j] for i, j in places[slow].tolist()]
        try:
            found = np.array(cells).astype(float)  # by Python's own float: rounded right
        except ValueError:
            found = np.full(len(cells), np.nan)
        if not np.isfinite(found).all():
            found = np.array([rows.number(cell.decode("utf-8", "replace")) for cell in cells])
        values[slow] = found
    for kind, word in ((kernel.NAN, "NaN"), (kernel.PLUS_INF, "+Inf"), (kernel.MINUS_INF, "-Inf")):
        rows.note(word, int((kinds == kind).sum()))
    rows.add(series.labels, times, values)
    return True
