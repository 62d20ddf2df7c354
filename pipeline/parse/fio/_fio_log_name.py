"""Private to ``fio_log`` and ``fio_hist_log``: what a log's name says – nothing inside a log tells what it measures.

fio names a log ``<prefix>_<kind>.<job number>.log``, without the number to 2.2.8 and with per_job_logs=0, with
``.<host>`` behind it in client mode. A name that lost its prefix (``lat.1.log``) is known by its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

PHASES = {"lat": "total", "clat": "completion", "slat": "submission"}
HISTOGRAM = "clat_hist"
EXPECTED_NAME = (
    "a name that ends in _lat.N.log, _clat.N.log, _slat.N.log, _bw.N.log, _iops.N.log or _clat_hist.N.log, as fio "
    "names its logs: nothing inside says what they measure, so give the file that name"
)
COMPRESSED = (
    "a log as text: this one was stored compressed (log_store_compressed=1); "
    "write `fio --inflate-log=FILE > NAME_lat.1.log` and read that"
)

_NAME = re.compile(
    r"(?:(?P<prefix>.*)_)?(?P<kind>clat_hist|clat|slat|lat|bw|iops)(?:\.(?P<number>\d{1,6}))?\.(?:log|txt|csv)"
    r"(?P<fz>\.fz)?(?:\.(?P<host>.+))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class LogName:
    """A log's name in its parts; ``number``: of the job, from 1 over all jobs of the run."""

    prefix: str
    kind: str
    number: int | None
    host: str | None

    def is_beside(self, other: LogName) -> bool:
        """Whether both are of the same job of the same run."""
        return (self.prefix, self.number, self.host) == (other.prefix, other.number, other.host)


def log_name(path: str) -> LogName | None:
    """The parts of the name of a log; None of another name."""
    name = PurePath(path).name
    for suffix in (".zst", ".gz", ".xz"):
        name = name.removesuffix(suffix)
    match = _NAME.fullmatch(name)
    if match is None or (match["prefix"] is None and match["number"] is None):
        return None
    number = int(match["number"]) if match["number"] else None
    return LogName(match["prefix"] or "", match["kind"], number, match["host"])


def is_compressed(head: str) -> bool:
    """Whether it begins as zlib's streams do, which fio stores one after the other (``.fz``)."""
    return head[:1] == "x" and head[1:2] in ("\x01", "\x5e", "\x9c", "\xda") and any(c < "\t" for c in head[2:400])
