"""Private to the distributions over time: rows of latency tables, counted by op, phase, window and bin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipeline.analyse.distributions._cell_table import CellTable, Columns
from pipeline.analyse.distributions._cells import Floats, Integers, cells

_KEYS = ("op", "phase")


class WindowSums:
    """Counts that are added piece by piece; what comes of them does not depend on how rows were cut into pieces."""

    def __init__(self) -> None:
        self._labels: tuple[dict[Any, int], ...] = tuple({} for _ in _KEYS)  # in the order in which they came
        self._tables: dict[tuple[int, int], CellTable] = {}

    def add(self, rows: pd.DataFrame, number: Floats, edges: tuple[Any, Any], count: Any) -> None:
        """Add cells: ``rows`` has their op and phase, ``number`` the window that each counts in, a whole number."""
        columns = (np.maximum(number, 1), _numbers(edges[0]), _numbers(edges[1]), _whole(count))
        for key, place in self._places(rows):
            table = self._tables.setdefault(key, CellTable())
            table.add(columns if place is None else _taken(columns, place))

    def frame(self, window_s: float) -> pd.DataFrame:
        """What ``merge_jobs`` returns."""
        ops, phases = (np.array([*labels, None], object)[:-1] for labels in self._labels)
        n_phases = max(len(phases), 1)
        pieces = [
            (op * n_phases + phase, columns)
            for (op, phase), table in sorted(self._tables.items())
            for columns in (table.columns(), *table.rest)
        ]
        pair = np.repeat([pair for pair, _ in pieces], [len(columns[0]) for _, columns in pieces]).astype(np.int64)
        number, lower, upper, count = _joined([columns for _, columns in pieces])
        if any(table.rest for table in self._tables.values()) or len({pair for pair, _ in pieces}) < len(pieces):
            pair, number, lower, upper, count = _sorted(pair, number, lower, upper, count)
        columns = {
            "op": _labelled(ops, pair // n_phases), "phase": _labelled(phases, pair % n_phases),
            "time_s": number * window_s, "window_s": window_s,
            "lower_s": lower, "upper_s": np.where(np.isfinite(upper), upper, np.nan), "count": count,
        }  # fmt: skip
        return pd.DataFrame(columns, copy=False)

    def _places(self, rows: pd.DataFrame) -> Iterator[tuple[tuple[int, int], Integers | None]]:
        """Codes of op and phase with the places of their rows; None: all."""
        ops, phases = (self._codes(rows[name], known) for name, known in zip(_KEYS, self._labels, strict=True))
        n_phases = len(self._labels[1]) + 1  # with null, which is -1
        pair = ops * n_phases
        pair += phases
        different = pd.unique(pair).tolist()
        for one in different:
            op, phase = divmod(one + 1, n_phases)
            yield (op, phase - 1), None if len(different) == 1 else np.flatnonzero(pair == one)

    @staticmethod
    def _codes(column: pd.Series, known: dict[Any, int]) -> Integers:
        """The place of each label among all that came so far; null: -1."""
        codes, labels = _factorized(column)
        return np.array([*(known.setdefault(label, len(known)) for label in labels), -1])[codes]


def _factorized(column: pd.Series) -> tuple[Integers, Any]:
    """``pd.factorize``; categories that only one of stands there need no table of values."""
    if len(column) and isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        if codes[0] >= 0 and (codes == codes[0]).all():
            return np.zeros(len(codes), np.int64), column.cat.categories[[codes[0]]]
    return pd.factorize(column)  # type: ignore[no-any-return]


def _labelled(labels: NDArray[np.object_], codes: Integers) -> Any:
    """A column of labels; texts are repeated as texts, not as an object a row."""
    known = pd.Series(labels).array
    return known.take(codes) if len(codes) and isinstance(known.dtype, pd.StringDtype) else labels[codes]


def _taken(columns: Columns, place: Integers) -> Columns:
    number, lower, upper, count = columns
    return number[place], lower[place], upper[place], count[place]


def _joined(pieces: list[Columns]) -> Columns:
    """Pieces one behind another; empty ones go, so that a single piece is not copied."""
    full = [columns for columns in pieces if len(columns[0])]
    if len(full) == 1:
        return full[0]
    none = np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    number, lower, upper, count = (np.concatenate(parts) for parts in zip(none, *full, strict=True))
    return number, lower, upper, count


def _sorted(pair: Integers, number: Floats, lower: Floats, upper: Floats, count: Integers) -> tuple[Any, ...]:
    """Equal cells added, in order: by pair, then window, then edges."""
    window, windows = pd.factorize(number, sort=True)
    found = cells(pair * max(len(windows), 1) + window, lower, upper, count)
    pair, window = np.divmod(found.group, max(len(windows), 1))
    return pair, np.asarray(windows, np.float64)[window], found.lower, found.upper, found.count


def _numbers(column: Any) -> Floats:
    return column.to_numpy(np.float64, na_value=np.nan) if isinstance(column, pd.Series) else np.asarray(column)


def _whole(column: Any) -> Integers:
    """Counts; null is below 0, which no count may be."""
    if isinstance(column, pd.Series) and pd.api.types.is_integer_dtype(column.dtype):
        whole: Integers = column.to_numpy(np.int64, na_value=np.iinfo(np.int64).min)
        return whole
    return np.asarray(_numbers(column), np.int64)
