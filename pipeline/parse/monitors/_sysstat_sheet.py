"""Rows of sysstat's tables, gathered by their header and written to the tidy tables as blocks of columns."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse.monitors._iostat_columns import number_of
from pipeline.parse.monitors._sysstat_layout import Field, Layout

Numbers = npt.NDArray[np.float64]
Cells = Sequence[object]
Columns = Sequence[Cells]
CELLS_IN_MEMORY = 1 << 18  # of a sheet, before it is written
_TOPOLOGY = ("socket", "node", "core")


class Sheet:
    """The rows below one header; they are written as blocks when they grow many."""

    def __init__(self, report: Report, layout: Layout, labels: dict[str, str] | None = None) -> None:
        self.report = report
        self.layout = layout
        self.n_bad = 0  # cells that are no numbers
        self.rows: list[Cells] = []
        self.limit = max(64, CELLS_IN_MEMORY // max(1, layout.n_cells))
        self._labels = labels or {}  # of all rows
        self._whens: list[tuple[float | None, float | None]] = []  # of runs of rows, and where each begins
        self._starts: list[int] = []
        self._last: Cells = ()
        self._json: dict[tuple[object, object], str] = {}
        self._shared: pa.Array | None = None  # labels of the rows that are being written

    def at(self, time_s: float | None, window_s: float | None) -> None:
        """Say when the next rows are of."""
        self._whens.append((time_s, window_s))
        self._starts.append(len(self.rows))

    def add(self, cells: Cells, time_s: float | None, window_s: float | None) -> None:
        """Add a row: as many cells as the header has."""
        self.at(time_s, window_s)
        self.rows.append(cells)
        if len(self.rows) >= self.limit:
            self.flush()

    @property
    def last_key(self) -> object:
        """What the last row is about: its first key; None where rows have none."""
        last = self.rows[-1] if self.rows else self._last
        return last[self.layout.keys[0][1]] if last and self.layout.keys else None

    def flush(self) -> None:
        """Write what was gathered; the next row is of the last row's time, unless ``at`` says otherwise."""
        if not self.rows:
            return
        columns: Columns = list(zip(*self.rows, strict=True))
        counts = np.diff([*self._starts, len(self.rows)])
        times, windows = (
            _array(np.repeat(np.array([np.nan if when[i] is None else when[i] for when in self._whens]), counts))
            for i in (0, 1)
        )
        self._last, self.rows = self.rows[-1], []
        self._whens, self._starts = self._whens[-1:], [0]
        self._shared = None
        match self.layout.kind:
            case "cpu":
                self._write_cpus(columns, {"time_s": times, "window_s": windows})
            case "device":
                self._write_devices(columns, {"time_s": times, "window_s": windows})
        self._write_metrics(columns, times)

    def _write_cpus(self, columns: Columns, when: dict[str, Any]) -> None:
        """``user`` has nice and guest in it, as iostat has; ``busy`` is what is neither idle nor waiting for I/O."""
        shares = {field.name: self._numbers(field, columns) for field in self.layout.fields if field.unit is None}
        n = len(columns[0])
        nothing = np.full(n, np.nan)
        user = shares.get("user", shares.get("usr", nothing))
        nice, guest = shares.get("nice"), shares.get("guest")
        guest_nice = shares.get("gnice", 0.0)
        user_all = user + (0.0 if nice is None else nice)
        if guest is not None and "usr" in shares:  # %usr and %nice leave the time of guests out, %user does not
            user_all = user_all + guest + guest_nice
            nice = None if nice is None else nice + guest_nice
        idle, iowait = shares.get("idle", nothing), shares.get("iowait", nothing)
        was_on = np.nansum(list(shares.values()), axis=0) > 0  # a processor that is off line has zeros alone
        busy = np.where(was_on, np.maximum(0.0, 1 - idle - iowait), np.nan)
        block = {
            "user_ratio": self._ratio(user_all), "kernel_ratio": shares.get("sys", shares.get("system")),
            "iowait_ratio": shares.get("iowait"), "irq_ratio": shares.get("irq"), "softirq_ratio": shares.get("soft"),
            "steal_ratio": shares.get("steal"), "idle_ratio": shares.get("idle"), "busy_ratio": busy,
            "nice_ratio": nice, "guest_ratio": None if guest is None else guest + guest_nice,
        }  # fmt: skip
        ratios = {name: _array(self._ratio(values)) for name, values in block.items() if values is not None}
        keys = dict(self.layout.keys)
        cpus = _named(columns[keys["cpu"]]) if "cpu" in keys else [f"node{cell}" for cell in columns[keys["node"]]]
        names = {name: pa.array([_text(cell) for cell in columns[keys[name]]]) for name in _TOPOLOGY if name in keys}
        self.report.add_block("cpu_usage", {"cpu": pa.array(cpus), **names, **when, **ratios})

    def _ratio(self, values: Numbers) -> Numbers:
        """Shares of at most 1: rounding may put a sum a little above; what is far above is no share."""
        self.n_bad += int(np.count_nonzero(values > 1 + units.PERCENT))
        return np.where(values > 1 + units.PERCENT, np.nan, np.minimum(values, 1.0))

    def _write_devices(self, columns: Columns, when: dict[str, Any]) -> None:
        block: dict[str, Any] = {}
        for field in self.layout.fields:
            if field.unit is None and field.name not in block:
                block[field.name] = _array(self._measured(field, columns))
        names = columns[self.layout.keys[0][1]]
        self.report.add_block("device_series", {"device": pa.array([str(name) for name in names]), **when, **block})

    def _write_metrics(self, columns: Columns, times: pa.Array) -> None:
        fields = [field for field in self.layout.fields if field.unit is not None]
        keys = [(label, columns[index]) for label, index in self.layout.keys]
        for field in fields:
            values = self._measured(field, columns)
            labels = self._labels_of(field, keys)
            known = ~np.isnan(values)
            when = times
            if not known.all():
                if not known.any():
                    continue
                mask = pa.array(known)
                values, when = values[known], times.filter(mask)
                labels = labels.filter(mask) if isinstance(labels, pa.Array) else labels
            block = {"metric": field.name, "labels": labels, "time_s": when, "value": values, "unit": field.unit}
            self.report.add_block("metric_series", block)

    def _labels_of(self, field: Field, keys: list[tuple[str, Cells]]) -> pa.Array | str | None:
        """Labels of each row as JSON; one text where all rows have the same."""
        constant = dict([field.label]) if field.label else {}
        if not keys:
            labels = {**constant, **self._labels}
            return json.dumps(labels, ensure_ascii=False) if labels else None
        if field.label is None and self._shared is not None:
            return self._shared
        rows: list[Any] = list(zip(*(cells for _, cells in keys), strict=True)) if len(keys) > 1 else list(keys[0][1])
        texts = {row: self._label_text(field, [label for label, _ in keys], row) for row in set(rows)}
        labels_of_rows = pa.array([texts[row] for row in rows])
        if field.label is None:
            self._shared = labels_of_rows
        return labels_of_rows

    def _label_text(self, field: Field, names: list[str], row: object) -> str:
        """The labels of one row as JSON: its keys, the field's own label, and those of all rows."""
        found = self._json.get((field.label, row))
        if found is None:
            values = row if len(names) > 1 and isinstance(row, tuple) else (row,)
            labels = {name: _label(name, value) for name, value in zip(names, values, strict=True)}
            known = {name: value for name, value in labels.items() if value is not None}
            constant = dict([field.label]) if field.label else {}
            found = json.dumps({**known, **constant, **self._labels}, ensure_ascii=False)
            if len(self._json) < CELLS_IN_MEMORY:
                self._json[field.label, row] = found
        return found

    def _measured(self, field: Field, columns: Columns) -> Numbers:
        """A column's values; the mean of no requests, which is printed as 0.00, is none."""
        values = self._numbers(field, columns)
        if field.rate is not None and (values == 0).any():
            requests = self._requests(field.rate, columns)
            if requests is not None:
                values = np.where((values == 0) & (requests == 0), np.nan, values)
        return values

    def _requests(self, rate: str, columns: Columns) -> Numbers | None:
        header = self.layout.header
        names = [rate] if rate != "tps" or "tps" in header else ["r/s", "w/s", "d/s"]
        found = [numbers(columns[header.index(name)], 1.0)[0] for name in names if name in header]
        if not found:
            return None
        return np.nansum(found, axis=0) if len(found) > 1 else found[0]

    def _numbers(self, field: Field, columns: Columns) -> Numbers:
        may_be_negative = field.unit is not None and self.layout.kind == "metric"
        values, n_bad = numbers(
            columns[field.index], field.factor, is_bytes=field.is_bytes, may_be_negative=may_be_negative
        )
        self.n_bad += n_bad
        return values


def numbers(
    cells: Cells, factor: float, *, is_bytes: bool = False, may_be_negative: bool = False
) -> tuple[Numbers, int]:
    """Cells in SI, NaN where there is no number, and how many cells are none. None and blanks are simply missing."""
    n_missing = 0
    try:
        values = np.array(list(map(float, cells)))  # type: ignore[arg-type]
        if isinstance(cells[0], str) and "_" in "".join(cells):  # type: ignore[arg-type]
            raise ValueError
        with np.errstate(over="ignore"):
            values = values * factor
    except (TypeError, ValueError):
        found = [_number(cell, factor, is_bytes=is_bytes) for cell in cells]
        n_missing = sum(cell is None or cell == "" for cell in cells)
        values = np.array(found)
    bad = ~np.isfinite(values)
    if not may_be_negative:
        bad |= values < 0
    n_bad = int(np.count_nonzero(bad))
    if n_bad:
        values[bad] = np.nan
    return values, n_bad - n_missing


def _number(cell: object, factor: float, *, is_bytes: bool) -> float:
    value = number_of(cell, factor, is_bytes=is_bytes)
    return math.nan if value is None else value


def _array(values: Numbers) -> pa.Array:
    return pa.array(values, from_pandas=True)


def _named(cells: Cells) -> list[str]:
    """Names of processors; the usual ones need no look at each."""
    names = {cell: _cpu_name(cell) for cell in set(cells)}
    return [names[cell] for cell in cells]


def _text(cell: object) -> str | None:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return None if cell is None or cell == "" else str(cell)


def _cpu_name(cell: object) -> str:
    """``all`` is -1 in ``sadf -d`` and in some versions' JSON; ``sadf -p`` puts ``cpu`` before the number."""
    text = _text(cell) or "?"
    return "all" if text == "-1" else text.removeprefix("cpu") if text != "cpu" else text


def _label(name: str, cell: object) -> str | None:
    return _cpu_name(cell) if name == "cpu" else _text(cell)
