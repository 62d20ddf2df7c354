"""perf stat beside a run: counters of the whole machine at an interval, as CSV in ``perf_stat_monitor.csv``."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.tools import _options as options
from pipeline.collect.tools import _perf as perf
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Monitor, Step

_LOG = "perf_stat_monitor.csv"  # a run of perf_stat itself may stand beside it
_WHERE = "monitors.perf_stat"


def monitor(given: Mapping[str, Value]) -> Monitor:
    """The command; options: ``events`` (a list, or a text with commas), ``interval_s`` (1), ``cpus``."""
    rest, events = perf.split_events(given, _WHERE)
    words = options.read({"interval_s": options.number(0.01, 3600), "cpus": perf.CPUS}, rest, _WHERE, perf.REFUSED)
    interval_ms = str(round(float(words.get("interval_s", "1")) * 1000))
    chosen = (*perf.processors(words), "-I", interval_ms, "-x", perf.SEPARATOR, *events)
    step = Step((perf.PERF, "stat", *chosen, "-o", _LOG))
    return Monitor("perf_stat", step, requirements=(perf.requirement(),), logs=(_LOG,))
