"""Private to fio's readers: a long table whose rows come in segments of constant keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.parse._report import Report, Row

_KEYS = ("job", "target", "op", "scope", "phase", "interval_start_s", "interval_end_s")
_MANY = 1 << 16  # rows that are worth a block of their own


Columns = dict[str, Any]
Finish = Callable[[Columns], tuple[Columns, NDArray[np.bool_] | None]]


class Segments:
    """Collects the rows of one table and writes them as few blocks as can be: a block costs more than its rows.

    ``finish`` makes the columns of the table of those that were collected, and says which of the rows it kept (None:
    all).
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
        columns: Columns = {name: _joined(values) for name, values in self._figures.items()}
        keys, lengths = self._keys, np.array(self._lengths)
        self._keys, self._lengths, self._figures, self._n_rows = [], [], {}, 0
        if self._finish:
            columns, is_kept = self._finish(columns)
            if is_kept is not None:
                lengths = np.add.reduceat(is_kept, np.cumsum(lengths) - lengths, dtype=np.int64)
                keys = [held for held, length in zip(keys, lengths.tolist(), strict=True) if length]
                lengths = lengths[lengths > 0]
        if keys:
            ends = pa.array(np.cumsum(lengths))
            shared = {name: _runs([held.get(name) for held in keys], ends) for name in _KEYS}
            self._report.add_block(self._table, {**shared, **columns})


def _joined(parts: list[Any]) -> NDArray[Any]:
    """One array of arrays, or of lists, of which few numbers are not worth an array each."""
    is_list = isinstance(parts[0], list | tuple)
    return np.array(list(chain.from_iterable(parts)), float) if is_list else np.concatenate(parts)


def _runs(values: list[Any], ends: pa.Array) -> Any:
    """A scalar where all segments have the same value, else an array that holds the value of each once."""
    is_constant = values.count(values[0]) == len(values)
    return values[0] if is_constant else pa.RunEndEncodedArray.from_arrays(ends, _array(tuple(values)))


@lru_cache(maxsize=256)
def _array(values: tuple[Any, ...]) -> pa.Array:
    return pa.array(values)
