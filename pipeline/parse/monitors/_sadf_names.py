"""sadf's JSON: its groups and keys, and the columns of sar's text that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pipeline.parse.monitors._sysstat_groups import GROUPS

_GROUP_OF = {
    "cpu-load": "cpu", "cpu-load-all": "cpu", "process-and-context-switch": "task", "swap-pages": "swap",
    "paging": "paging", "io": "io", "memory": "memory", "hugepages": "hugepages", "kernel": "kernel",
    "queue": "queue", "serial": "tty", "disk": "device", "net-dev": "net", "net-edev": "net_errors",
    "net-nfs": "nfs", "net-nfsd": "nfsd", "net-sock": "sock", "net-ip": "ip", "net-eip": "ip_errors",
    "net-icmp": "icmp", "net-eicmp": "icmp_errors", "net-tcp": "tcp", "net-etcp": "tcp_errors", "net-udp": "udp",
    "net-sock6": "sock6", "net-ip6": "ip6", "net-eip6": "ip6_errors", "net-icmp6": "icmp6",
    "net-eicmp6": "icmp6_errors", "net-udp6": "udp6", "fchosts": "fc_host", "softnet": "softnet",
    "cpu-frequency": "cpu_frequency", "cpu-weighted-frequency": "cpu_frequency", "fan-speed": "fan",
    "temperature": "temperature", "voltage-input": "voltage", "usb-devices": "usb", "battery": "battery",
    "filesystems": "filesystem", "psi-cpu": "pressure_cpu", "psi-io": "pressure_io", "psi-mem": "pressure_memory",
}  # fmt: skip
_CONTAINERS = ("network", "power-management", "psi")
_KEY_COLUMNS = {
    "cpu": "CPU", "line": "TTY", "disk-device": "DEV", "iface": "IFACE", "fchost": "FCHOST", "device": "DEVICE",
    "filesystem": "FILESYSTEM", "mountpoint": "MOUNTPOINT", "bus_number": "BUS", "idvendor": "idvendor",
    "idprod": "idprod", "manufact": "manufact", "product": "product", "status": "status",
}  # fmt: skip
_NUMBER_OF = {"cpu_frequency": "CPU", "fan": "FAN", "temperature": "TEMP", "voltage": "IN", "battery": "BAT"}
_NAMES = {
    "active": "kbactive", "inactive": "kbinact", "shared": "kbshmem", "frequency": "MHz",
    "weighted-frequency": "wghMHz", "weighted_frequency": "wghMHz", "weightedFreq": "wghMHz",
    "percent-capacity": "%cap", "variation": "cap/min", "percent-temp": "%temp", "percent-in": "%in",
}  # fmt: skip
_OLD = {"rd_sec": "rkB", "wr_sec": "wkB", "dc_sec": "dkB", "avgrq-sz": "areq-sz", "avgqu-sz": "aqu-sz"}
_PRESSURE = re.compile(r"(some|full)_avg(\d*)")
Row = tuple[tuple[str, ...], list[object]]


def rows_of(entry: dict[str, Any]) -> Iterator[Row | str]:
    """The sample's rows as those of sar's text (header and cells); a text is the name of a group that nobody knows."""
    for name, value in entry.items():
        if name in _CONTAINERS and isinstance(value, dict):
            yield from rows_of(value)
        elif name == "interrupts" and isinstance(value, list):
            for row in value:
                if isinstance(row, dict):
                    yield _interrupts(row)
        elif name in _GROUP_OF:
            group = _GROUP_OF[name]
            for row in value if isinstance(value, list) else [value]:
                if isinstance(row, dict):
                    yield from _split(group, _flat(row))
        elif name != "timestamp":
            yield name


def _flat(row: dict[str, Any]) -> dict[str, object]:
    """An object without the objects in it (``io-reads``), their keys among the others; old names beside new ones go."""
    found: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found |= {name: inner for name, inner in value.items() if isinstance(inner, float | str)}
        elif not (key in _OLD and _OLD[key] in row):
            found[key] = value if isinstance(value, float | str) else None
    return found


def _split(group: str, row: dict[str, object]) -> Iterator[Row]:
    """Memory and swap space stand together in JSON; they are two tables of the text."""
    columns = {column_of(group, key): value for key, value in row.items()}
    if group == "memory":
        swap = {name: value for name, value in columns.items() if name in GROUPS["swap_space"]}
        columns = {name: value for name, value in columns.items() if name not in swap}
        if swap:
            yield tuple(swap), list(swap.values())
    if columns:
        yield tuple(columns), list(columns.values())


def _interrupts(row: dict[str, Any]) -> Row:
    """An interrupt: a column for each processor, or up to 12.4 one value."""
    columns = {"INTR" if key == "intr" else "intr/s" if key == "value" else key: value for key, value in row.items()}
    values = [value if isinstance(value, float | str) else None for value in columns.values()]
    return tuple(columns), [value.strip() if isinstance(value, str) else value for value in values]


@cache
def column_of(group: str, key: str) -> str:
    """The column of sar's text that a key of sadf's JSON is; the key itself where there is none."""
    if key in _KEY_COLUMNS:
        return _KEY_COLUMNS[key]
    if key == "number" and group in _NUMBER_OF:
        return _NUMBER_OF[group]
    if match := _PRESSURE.fullmatch(key):
        what = {"pressure_cpu": "cpu", "pressure_io": "io"}.get(group, "mem")
        return f"%{match[1][0]}{what}" + (f"-{match[2]}" if match[2] else "")
    known = GROUPS[group] + (GROUPS["swap_space"] if group == "memory" else [])
    short = key.removesuffix("-percent")
    names = [_NAMES.get(key, key), f"{key}/s", f"kb{key}"] if short == key else [f"%{short}"]
    return next((name for name in [*names, f"%{short}"] if name in known), key)
