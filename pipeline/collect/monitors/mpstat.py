"""mpstat beside a run: each processor's use as JSON, which it closes when it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.monitors import _sysstat
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Monitor


def monitor(options: Mapping[str, Value]) -> Monitor:
    """The command; option: ``interval_s``, whole seconds, 1 unless given."""
    return _sysstat.monitor("mpstat", ("-P", "ALL"), options)
