"""perf record of the whole machine for ``duration_s``; the samples as text and the table of hot spots, made there.

Parameters: ``duration_s``, ``events`` (a text with commas; a list would be a sweep), ``frequency_hz`` (99),
``call_graph`` (fp), ``cpus``, ``keep_data`` (``perf.data`` is removed when its text was made, unless true).
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.collect.tools import _options as options
from pipeline.collect.tools import _perf as perf
from pipeline.collect.tools._programs import as_asked, needs, owned, program
from pipeline.collect.work import Request, Step, Work
from pipeline.errors import SpecError

ASSUMED_CPUS, SAMPLE_BYTES = 64, 4096  # a sample with its stack, as data and twice as text

_NAME = "perf_record"
_OPTIONS = {"duration_s": options.number(0.01, 10**6)} | perf.SAMPLING


def work(request: Request) -> Work:
    """The commands of a point; SpecError names an option that is not allowed."""
    if request.target is not None:
        raise SpecError("target: expected none for perf_record: it writes nothing")
    rest, events = perf.split_events(request.parameters, "parameters")
    words = options.read(_OPTIONS, rest, "parameters", perf.REFUSED)
    options.need("parameters", words, "duration_s")
    binary = program(request, perf.PERF)
    argv = (*perf.record(words, events, f"{_NAME}.data"), "--", "sleep", words["duration_s"])
    finish = [_with(binary, step) for step in perf.reports(words, _NAME)]
    duration_s = float(words["duration_s"])
    n_samples = duration_s * int(words.get("frequency_hz", 99)) * ASSUMED_CPUS
    return Work(
        measure=as_asked(request, [_with(binary, Step(argv))]), duration_s=duration_s,
        finish=(*as_asked(request, finish), *owned(request)), requirements=needs(request, perf.requirement(binary)),
        logs=perf.logs(_NAME), free_bytes=(1 << 26) + int(n_samples * SAMPLE_BYTES),
    )  # fmt: skip


def _with(binary: str, step: Step) -> Step:
    """The step with the spec's path of perf."""
    return replace(step, argv=(binary, *step.argv[1:])) if step.argv[0] == perf.PERF else step
