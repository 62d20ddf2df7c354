"""What a header line of sysstat's tables says about the rows below: where each cell goes in the tidy tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from pipeline import units
from pipeline.parse.monitors import _iostat_columns as iostat
from pipeline.parse.monitors._sysstat_groups import GROUPS, KEYS, SOFTIRQS, group_of, metric

CPU_COLUMNS = frozenset(GROUPS["cpu"])
_DEVICE_ALIASES = {"rd_sec/s": "rsec/s", "wr_sec/s": "wsec/s", "dc_sec/s": "dsec/s", "sect/s": "sec/s",
                   "blks/s": "Blk/s"}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A cell of a row: its position, the column it becomes (or, with ``unit``, the metric), and its factor to SI."""

    index: int
    name: str
    factor: float = 1.0
    unit: str | None = None
    is_bytes: bool = False
    rate: str | None = None  # the column that counts the requests which this one is a mean of
    label: tuple[str, str] | None = None  # one more label of this metric: ("cpu", "0")


@dataclass(frozen=True)
class Layout:
    """The rows of one table: what they are (``cpu``, ``device`` or ``metric``), their keys and their cells."""

    kind: str
    family: str  # rows of one family follow one another in time
    header: tuple[str, ...]
    keys: tuple[tuple[str, int], ...]  # label and position
    fields: tuple[Field, ...]

    @property
    def n_cells(self) -> int:
        """How many cells a row has."""
        return len(self.header)

    @property
    def probe(self) -> int:
        """The position of a cell that is a number in each row."""
        return self.fields[-1].index if self.fields else 0

    def unknown(self) -> list[str]:
        """Columns that no known version has."""
        known = {column for names in GROUPS.values() for column in names} | KEYS.keys() | set(_DEVICE_ALIASES)
        if self.family.startswith(("interrupt", "softirq")) or self.header[0].startswith("Device"):
            return []
        return [column for column in self.header if column not in known and column != "intr/s"]


@lru_cache(maxsize=4096)
def layout_of(header: tuple[str, ...], *, as_metrics: bool = False) -> Layout | None:
    """The layout of a header's columns; None when it is none of sysstat's.

    ``as_metrics``: all cells become metrics, also those of processors and devices (the extremes of ``sar -x``).
    """
    keys = tuple((KEYS[name], index) for index, name in enumerate(header) if name in KEYS)
    names = [name for name in header if name not in KEYS]
    if not names:
        return None
    if "INTR" in header or (header[0] == "CPU" and _is_interrupts(names)):
        return _interrupts(header, keys)
    group = group_of(frozenset(header))
    if group is None:
        return None
    if group == "cpu" and not {"CPU", "NODE"} & set(header):
        return None
    fields = []
    for index, name in enumerate(header):
        if name not in KEYS:
            fields.append(_field(index, name, group, as_metrics=as_metrics))
    kind = group if group in ("cpu", "device") and not as_metrics else "metric"
    family = f"{group} {'NODE' if header[0] == 'NODE' else names[0]}"
    return Layout(kind, family, header, keys, tuple(fields))


@lru_cache(maxsize=4096)
def iostat_layout(header: tuple[str, ...]) -> Layout:
    """The layout of a sample's processors (``CPU`` first) or devices (``Device`` first), as iostat names columns."""
    is_cpu = header[0] == "CPU"
    fields = []
    for index, name in enumerate(header[1:], 1):
        if is_cpu:
            if name in CPU_COLUMNS:
                fields.append(Field(index, name.removeprefix("%"), units.PERCENT))
        elif column := iostat.COLUMNS.get(name):
            fields.append(Field(index, column.name, column.factor, column.unit, column.is_bytes, column.rate))
    kind = "cpu" if is_cpu else "device"
    return Layout(kind, kind, header, (("cpu" if is_cpu else "device", 0),), tuple(fields))


def _field(index: int, name: str, group: str, *, as_metrics: bool) -> Field:
    if group == "device" and (column := iostat.COLUMNS.get(_DEVICE_ALIASES.get(name, name))):
        field = Field(index, column.name, column.factor, column.unit, column.is_bytes, column.rate)
        return replace(field, unit=iostat.UNITS.get(column.name, "1")) if as_metrics and not field.unit else field
    if group == "cpu" and name in CPU_COLUMNS and not as_metrics:
        return Field(index, name.removeprefix("%"), units.PERCENT)
    found = metric("interrupt" if name == "intr/s" else group, name)
    if name == "intr/s":
        return Field(index, "interrupt_per_s", 1, "1/s", label=("interrupt", "sum"))
    return Field(index, found.name, found.factor, found.unit, found.is_bytes)


def _is_interrupts(names: list[str]) -> bool:
    """Whether mpstat's columns below ``CPU`` are interrupts: ``24/s  NMI/s``, ``HI/s  TIMER/s``, ``intr/s``."""
    softnet = GROUPS["softnet"][0]
    return all(name.endswith("/s") for name in names) and softnet not in names


def _interrupts(header: tuple[str, ...], keys: tuple[tuple[str, int], ...]) -> Layout:
    """Interrupts: a column each (mpstat), or a row each with the processors as columns (sar)."""
    fields = []
    is_soft = len({name[:-2] for name in header} & SOFTIRQS) > 1
    for index, name in enumerate(header):
        if name in KEYS:
            continue
        if name == "intr/s":
            label = ("interrupt", "sum") if "INTR" not in header else ("cpu", "all")
        elif name.endswith("/s"):
            label = ("softirq" if is_soft else "interrupt", name[:-2])
        else:
            label = ("cpu", name.removeprefix("CPU"))
        fields.append(Field(index, "softirq_per_s" if is_soft else "interrupt_per_s", 1, "1/s", label=label))
    single = " sum" if header[-1] == "intr/s" or "INTR" in header else ""
    return Layout("metric", ("softirq" if is_soft else "interrupt") + single, header, keys, tuple(fields))
