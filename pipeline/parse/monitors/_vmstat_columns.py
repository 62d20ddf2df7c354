"""Columns of vmstat: the metric that each becomes, its unit and its factor to SI."""

from __future__ import annotations

from pipeline import units

Metric = tuple[str, str, float]  # name, unit, factor
METRICS = {
    "r": ("procs_r", "1", 1.0), "b": ("procs_b", "1", 1.0), "w": ("procs_w", "1", 1.0),
    **{name: (f"memory_{name}_bytes", "B", float(units.KIBI))
       for name in ("swpd", "free", "buff", "cache", "inact", "active")},
    "si": ("swap_si_bytes_per_s", "B/s", float(units.KIBI)), "so": ("swap_so_bytes_per_s", "B/s", float(units.KIBI)),
    "bi": ("io_bi_bytes_per_s", "B/s", float(units.KIBI)), "bo": ("io_bo_bytes_per_s", "B/s", float(units.KIBI)),
    "in": ("system_in_per_s", "1/s", 1.0), "cs": ("system_cs_per_s", "1/s", 1.0),
}  # fmt: skip
CPU = {"us": "user", "sy": "system", "id": "idle", "wa": "iowait", "st": "steal", "gu": "guest"}
DISK = ("total", "merged", "sectors", "ms")
DISK_METRICS = (
    ("disk_reads", "1", 1.0), ("disk_reads_merged", "1", 1.0), ("disk_read_bytes", "B", float(units.SECTOR_BYTES)),
    ("disk_read_s", "s", units.MILLI), ("disk_writes", "1", 1.0), ("disk_writes_merged", "1", 1.0),
    ("disk_written_bytes", "B", float(units.SECTOR_BYTES)), ("disk_write_s", "s", units.MILLI),
    ("disk_requests_in_flight", "1", 1.0), ("disk_busy_s", "s", 1.0),
)  # fmt: skip
PARTITION_METRICS = (
    ("disk_reads", "1", 1.0), ("disk_read_bytes", "B", float(units.SECTOR_BYTES)), ("disk_writes", "1", 1.0),
    ("disk_requested_writes", "1", 1.0),
)  # fmt: skip
SLAB_METRICS = (("slab_objects", "1", 1.0), ("slab_objects_total", "1", 1.0), ("slab_object_bytes", "B", 1.0),
                 ("slab_objects_per_slab", "1", 1.0))  # fmt: skip


def with_guest(names: list[str], shares: list[str]) -> list[str]:
    """``us`` with the time of guests in it: where the row sums up to 100 without it, it is in there already."""
    values = [int(share[:4]) for share in shares]
    at, guest = names.index("us"), values[names.index("gu")]
    others = sum(values) - guest
    is_inside = abs(others - 100) <= abs(others + guest - 100)
    return [str(values[at] + guest) if i == at and not is_inside else share for i, share in enumerate(shares)]
