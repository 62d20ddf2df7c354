"""The "x" of Aerospike ACT: how many times its unit of load was offered to each device.

ACT's README (github.com/aerospike/act, 2.x to 6.6, the same since the first of 2013): 1x is 2,000 reads and 1,000
writes a second to each device; N x is N times both. The large-block reads and writes that ACT derives from the writes
are no part of it. A partition given to ACT counts as one of its devices, while a rating "per drive" divides by drives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.errors import AnalysisError

ACT_READS_PER_X, ACT_WRITES_PER_X = 2000, 1000
ACT_OPS_PER_S = ACT_READS_PER_X + ACT_WRITES_PER_X
RATING_RULE = "1x = 2,000 reads/s and 1,000 writes/s a device (ACT 2.x – 6.6, README)"
_RATIO_TOLERANCE = 1e-6
_PARTITION = re.compile(r"(.*(?:nvme\d+n\d+|mmcblk\d+|loop\d+))p\d+|(.*/(?:sd|hd|vd|xvd)[a-z]+)\d+")


def x_rating(ops_per_s: float, n_devices: float) -> float:
    """The "x" of an Aerospike ACT load: ops_per_s / (3000 · n_devices), at the tool's read:write ratio of 2:1.

    ``ops_per_s`` are reads and writes together. AnalysisError without a device.
    """
    if not n_devices > 0:
        raise AnalysisError(f"a rating needs at least one device, found {n_devices!r}")
    return ops_per_s / (ACT_OPS_PER_S * n_devices)


def offered_rating(reads_per_s: float, writes_per_s: float, n_devices: float) -> float | None:
    """The rating of an offered load, or None where reads and writes are not 2 to 1: such a load has no "x"."""
    if abs(reads_per_s * ACT_WRITES_PER_X - writes_per_s * ACT_READS_PER_X) > _RATIO_TOLERANCE * ACT_READS_PER_X * max(
        reads_per_s, writes_per_s
    ):
        return None
    return x_rating(reads_per_s + writes_per_s, n_devices)


def drive_of(device: str) -> str:
    """The drive of a device: ``/dev/nvme1n1p3`` is on ``/dev/nvme1n1``, ``/dev/sda2`` on ``/dev/sda``; others are one.

    By the names that Linux gives. What lies behind a loop device, a RAID set or a virtual disk, the name cannot tell.
    """
    match = _PARTITION.fullmatch(device)
    return device if match is None else match[1] or match[2]


def n_drives(devices: Iterable[str]) -> int:
    """Distinct drives among the devices."""
    return len({drive_of(device) for device in devices})
