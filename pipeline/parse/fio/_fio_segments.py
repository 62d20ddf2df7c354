"""Private to fio's readers: a long table whose rows come in segments of constant keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.parse._report import Report, Row

_TEXTS = ("job", "target", "op", "scope", "phase")
_TIMES = ("interval_start_s", "interval_end_s")
_MANY = 1 << 16  # rows that are worth a block of their own


Columns = dict[str, Any]
Finish = Callable[[Columns], tuple[Columns, NDArray[np.bool_] | None]]


class Segments:
    """Collects the rows of one table and writes them as few blocks as can be: a block costs more than its rows.

    ``finish`` makes the columns of the table of those that were collected, and says which rows stay (None: all).
    """

    def __init__(self, report: Report, table: str, finish: Finish | None = None) -> None:
        self._report, self._table, self._finish = report, table, finish
        self._keys: list[Row] = []
        self._lengths: list[int] = []
        self._figures: dict[str, list[Any]] = {}
        self._n_rows = 0

    def add(self, keys: Row, n_rows: int, figures: Columns) -> None:
        """Add ``n_rows`` rows: ``keys`` are the same in all of them, ``figures`` are arrays or lists."""
        if not n_rows:
            return
        self._keys.append(keys)
        self._lengths.append(n_rows)
        for name, values in figures.items():
            self._figures.setdefault(name, []).append(values)
        self._n_rows += n_rows
        if self._n_rows >= _MANY:
            self.write()

    def write(self) -> None:
        """Hand what was collected to the report."""
        if not self._keys:
            return
        columns: Columns = {name: np.concatenate(values) for name, values in self._figures.items()}
        lengths = np.array(self._lengths)
        if self._finish:
            columns, is_kept = self._finish(columns)
            if is_kept is not None:
                starts = np.cumsum(lengths) - lengths
                columns = {name: values[is_kept] for name, values in columns.items()}
                lengths = np.add.reduceat(is_kept, starts, dtype=np.int64)
        for name in _TEXTS:
            columns[name] = _texts([keys.get(name) for keys in self._keys], lengths)
        for name in _TIMES:
            columns[name] = _times([keys.get(name) for keys in self._keys], lengths)
        self._report.add_block(self._table, columns)
        self._keys, self._lengths, self._figures, self._n_rows = [], [], {}, 0


def _texts(values: list[str | None], lengths: NDArray[np.int64]) -> Any:
    """A scalar where all segments have the same text, else a dictionary array."""
    different = tuple(dict.fromkeys(values))
    if len(different) == 1:
        return values[0]
    places = {value: place for place, value in enumerate(different)}
    codes = np.repeat(np.array([places[value] for value in values], np.int32), lengths)
    indices = pa.array(codes, mask=codes == places[None]) if None in places else codes
    return pa.DictionaryArray.from_arrays(indices, _dictionary(different))


@lru_cache(maxsize=256)
def _dictionary(values: tuple[str | None, ...]) -> pa.Array:
    return pa.array(["" if value is None else value for value in values], pa.string())


def _times(values: list[float | None], lengths: NDArray[np.int64]) -> Any:
    if all(value is None for value in values):
        return None
    return np.repeat(np.array([np.nan if value is None else value for value in values]), lengths)
