"""iostat beside a run: extended statistics of all devices as JSON, which it closes when it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.monitors import _sysstat
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Monitor


def monitor(options: Mapping[str, Value]) -> Monitor:
    """The command; option: ``interval_s``, whole seconds, 1 unless given."""
    return _sysstat.monitor("iostat", ("-y", "-x", "-t"), options)
