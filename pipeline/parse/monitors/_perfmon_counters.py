r"""Counters of Windows: ``\\HOST\Object(Instance)\Counter`` and what each becomes in the tidy tables, in SI."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pipeline import units

_PATH = re.compile(r"(?:\\\\([^\\]*))?\\([^\\]*?)(?:\((.*)\))?\\([^\\].*)", re.DOTALL)
_DISKS = ("physicaldisk", "logicaldisk")
_DISK_COLUMNS = {
    "disk reads/sec": ("reads_per_s", 1.0), "disk writes/sec": ("writes_per_s", 1.0),
    "disk read bytes/sec": ("read_bytes_per_s", 1.0), "disk write bytes/sec": ("write_bytes_per_s", 1.0),
    "avg. disk sec/read": ("read_await_s", 1.0), "avg. disk sec/write": ("write_await_s", 1.0),
    "avg. disk queue length": ("queue_depth", 1.0),
}  # fmt: skip
_CPU_COLUMNS = {
    "% user time": "user_ratio", "% privileged time": "kernel_ratio", "% interrupt time": "irq_ratio",
    "% dpc time": "softirq_ratio", "% idle time": "idle_ratio", "% processor time": "busy_ratio",
}  # fmt: skip
_SIZES = {"kbytes": units.KIBI, "mbytes": units.MEBI, "bytes": 1}


@dataclass(frozen=True)
class Counter:
    """A column of the log: the table and row it belongs to, its column or metric there, and its factor to SI."""

    table: str
    key: str  # the processor or the device; the labels of a metric
    name: str
    factor: float = 1.0
    unit: str | None = None


def counter_of(path: str, *, only_metrics: bool = False) -> Counter:
    """What a counter's path stands for. Names are localized: only English ones go into the tables of their own."""
    match = _PATH.fullmatch(path)
    host, thing, instance, counter = match.groups() if match else (None, None, None, path)
    what, which = (thing or "").casefold(), counter.casefold().strip()
    if not only_metrics and instance is not None:
        if what in _DISKS and which in _DISK_COLUMNS:
            name, factor = _DISK_COLUMNS[which]
            return Counter("device_series", f"{thing}({instance})", name, factor)
        if what == "processor" and which in _CPU_COLUMNS:
            cpu = "all" if instance.casefold() == "_total" else instance
            return Counter("cpu_usage", cpu, _CPU_COLUMNS[which], units.PERCENT)
    name, unit, factor = _metric(counter.strip())
    labels = {"host": host, "instance": instance, "counter": counter}
    text = json.dumps({key: value for key, value in labels.items() if value is not None}, ensure_ascii=False)
    return Counter("metric_series", text, f"{_snake(thing or '')}_{name}".strip("_"), factor, unit)


def _metric(counter: str) -> tuple[str, str | None, float]:
    """Name, unit and factor of a counter: ``% Disk Time``, ``Disk Bytes/sec``, ``Available MBytes``."""
    words = counter.casefold().split()
    if counter.startswith("%"):
        return f"{_snake(counter)}_ratio", "1", units.PERCENT
    size = next((factor for name, factor in _SIZES.items() if any(name == word.split("/")[0] for word in words)), None)
    spelt = re.sub(r"(?i)\b[km]bytes\b", "bytes", counter)
    if re.search(r"(?i)/sec$", counter):
        return f"{_snake(spelt[:-4])}_per_s", "1/s" if size is None else "B/s", float(size or 1)
    if re.search(r"(?i)\bsec/\w+$", counter):
        return re.sub(r"_sec_(\w+)$", r"_per_\1_s", _snake(counter)), "s", 1.0
    return _snake(spelt.replace("/", " per ")), None if size is None else "B", float(size or 1)


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()
