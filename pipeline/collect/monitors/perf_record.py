"""perf record beside a run: samples of the whole machine; when the run is over, as text and as a table of hot spots."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.tools import _options as options
from pipeline.collect.tools import _perf as perf
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Monitor, Step

_NAME = "perf_record_monitor"  # a run of perf_record itself may stand beside it
_WHERE = "monitors.perf_record"


def monitor(given: Mapping[str, Value]) -> Monitor:
    """The commands; options: ``events``, ``frequency_hz`` (99), ``call_graph`` (fp), ``cpus``, ``keep_data``."""
    rest, events = perf.split_events(given, _WHERE)
    words = options.read(perf.SAMPLING, rest, _WHERE, perf.REFUSED)
    step = Step(perf.record(words, events, f"{_NAME}.data"))
    return Monitor("perf_record", step, perf.reports(words, _NAME), (perf.requirement(),), perf.logs(_NAME))
