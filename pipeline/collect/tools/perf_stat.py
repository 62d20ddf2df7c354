"""perf stat of the whole machine for ``duration_s``: its text in ``perf_stat.txt``, or CSV at an interval.

Parameters: ``duration_s``, ``events`` (a text with commas; a list would be a sweep), ``cpus``, ``interval_s``. The text
has an end mark and the time that went by, which CSV lacks, and every version of perf writes both.
"""

from __future__ import annotations

from pipeline.collect.tools import _options as options
from pipeline.collect.tools import _perf as perf
from pipeline.collect.tools._programs import as_asked, needs, owned, program
from pipeline.collect.work import Request, Step, Work
from pipeline.errors import SpecError

_OPTIONS = {"duration_s": options.number(0.01, 10**7), "interval_s": options.number(0.01, 86400), "cpus": perf.CPUS}
_LINE_BYTES, _EVENTS = 120, 30


def work(request: Request) -> Work:
    """The command of a point; SpecError names an option that is not allowed."""
    if request.target is not None:
        raise SpecError("target: expected none for perf_stat: it writes nothing")
    rest, events = perf.split_events(request.parameters, "parameters")
    words = options.read(_OPTIONS, rest, "parameters", perf.REFUSED)
    options.need("parameters", words, "duration_s")
    binary = program(request, perf.PERF)
    form: tuple[str, ...] = ()
    log, n_intervals = "perf_stat.txt", 1.0
    if "interval_s" in words:
        form, log = ("-I", str(round(float(words["interval_s"]) * 1000)), "-x", perf.SEPARATOR), "perf_stat.csv"
        n_intervals = float(words["duration_s"]) / float(words["interval_s"])
    argv = (binary, "stat", *perf.processors(words), *form, *events, "-o", log, "--", "sleep", words["duration_s"])
    return Work(
        measure=as_asked(request, [Step(argv)]), duration_s=float(words["duration_s"]), finish=owned(request),
        requirements=needs(request, perf.requirement(binary)), logs=(log,),
        free_bytes=(1 << 24) + int(n_intervals * _EVENTS * _LINE_BYTES),
    )  # fmt: skip
