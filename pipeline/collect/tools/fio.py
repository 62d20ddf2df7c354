"""fio: a job file of the point, JSON+ in ``fio.json``, on request its logs beside it.

A file as target is laid out in ``prepare``, so that its reads find data; then what only reads runs with ``--readonly``.
It is laid out without sudo: it must be the person's own, as the guard wants it.
A device is written only by a job that writes. ``precondition`` is a job of its own before the point; its report is
``precondition.txt``, text for a person: it is in no list of logs. ``runtime`` means ``time_based=1`` unless the spec
says otherwise: a run of a set time is what a campaign compares.
Estimates: the time is that of ramp and runtime; without a runtime fio is taken to move ``ASSUMED_BYTES_PER_S``, and a
device whose size the job leaves open to have ``ASSUMED_DEVICE_BYTES``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._fio_options import OPTIONS, REFUSED, WHERE
from pipeline.collect.tools._programs import as_asked, needs, owned, program
from pipeline.collect.work import DeviceTarget, FileTarget, Request, Requirement, Scalar, Step, Target, Work
from pipeline.errors import SpecError

ASSUMED_BYTES_PER_S = 200e6
ASSUMED_DEVICE_BYTES = 2e12
ASSUMED_IOS_PER_S = 300_000  # of a log of single I/Os

_LOGS = {"latency": "write_lat_log", "histogram": "write_hist_log", "bandwidth": "write_bw_log",
         "iops": "write_iops_log"}  # fmt: skip
_PREFIX = "fio"
_LAYOUT = "layout"  # the one job that may make a file
_LAYOUT_WORDS = {"rw": "read", "bs": "1m", "ioengine": "psync", "create_only": "1"}
_PATH = re.compile(r"/[A-Za-z0-9+,./:=@_-]{1,1000}", re.ASCII)  # what a job file takes as it stands, the colon aside
_LINE_BYTES = 40
_HISTOGRAM_LINE_BYTES = 6000
_SPARE_BYTES = 1 << 26


def work(request: Request) -> Work:
    """The job files and commands of a point; SpecError names an option that is not allowed."""
    target = request.target
    if target is None:
        raise SpecError("target: expected a device or a file for fio, found none")
    words = _words(request.parameters, target, "parameters")
    logs = _logs(request.logs, words)
    ramp = {"ramp_time": options.time_word(request.warm_up_s)} if request.warm_up_s else {}
    files = {"fio.job": _job(_section(request.point), target, words | ramp | logs)}
    layout, prepare, prepare_s, is_written = [], [], 0.0, _writes(words)
    fio = program(request, "fio")
    if isinstance(target, FileTarget):
        files["layout.job"] = _job(_LAYOUT, target, _LAYOUT_WORDS)
        layout.append(_run(fio, "layout", writes=True))
        prepare_s += target.n_bytes / ASSUMED_BYTES_PER_S
    if request.precondition:
        before = _words(request.precondition, target, "precondition")
        files["precondition.job"] = _job("precondition", target, before)
        prepare.append(_run(fio, "precondition", writes=_writes(before)))
        prepare_s += _duration_s(before, target)
        is_written |= _writes(before)
    command = Step((fio, *_readonly(_writes(words)), "--output-format=json+", "--output=fio.json", "fio.job"))
    duration_s = request.warm_up_s + _duration_s(words, target)
    return Work(
        measure=as_asked(request, [command]), duration_s=duration_s,
        prepare=(*layout, *as_asked(request, prepare)), prepare_s=prepare_s, finish=owned(request), files=files,
        targets=(replace(target, is_written=is_written) if isinstance(target, DeviceTarget) else target,),
        requirements=needs(request, Requirement(fio, "fio", ("--version",))),
        logs=("fio.json", *_log_names(request.logs, words)), free_bytes=_log_bytes(request.logs, words, duration_s),
    )  # fmt: skip


def _words(given: Mapping[str, Scalar], target: Target, where: str) -> dict[str, str]:
    allowed = OPTIONS | WHERE if isinstance(target, DeviceTarget) else OPTIONS
    words = options.read(allowed, given, where, REFUSED)
    options.need(where, words, "rw")
    if "runtime" in words and "time_based" not in words:
        words["time_based"] = "1"
    if words.get("time_based") and "runtime" not in words:
        raise options.wrong(where, "runtime", "a time, for time_based goes on until then", "none")
    return {name: word for name, word in words.items() if word}


def _writes(words: Mapping[str, str]) -> bool:
    """Whether a job writes or trims its target."""
    kind = words["rw"].split(":")[0]
    return kind not in ("read", "randread")


def _readonly(writes: bool) -> tuple[str, ...]:
    return () if writes else ("--readonly",)


def _run(fio: str, name: str, *, writes: bool) -> Step:
    """A job of ``prepare``, with its report as text."""
    return Step((fio, *_readonly(writes), f"--output={name}.txt", f"{name}.job"))


def _job(section: str, target: Target, words: Mapping[str, str]) -> str:
    """A job file of one section, its target first. A colon separates files there, so the path's own are escaped."""
    if not _PATH.fullmatch(target.path) or ".." in target.path.split("/"):
        expected = "a path of letters, digits and +,-./:=@_ (fio's job files know no quotes)"
        raise SpecError(f"target: expected {expected}, found {ascii(target.path)[:200]}")
    where = {"filename": target.path.replace(":", r"\:")}
    if isinstance(target, FileTarget):
        where["size"] = str(target.n_bytes)
    if section != _LAYOUT:
        where["allow_file_create"] = "0"  # or fio makes a file in /dev where a device has gone
    return "".join((f"[{section}]\n", *(f"{name}={word}\n" for name, word in (where | dict(words)).items())))


def _section(point: str) -> str:
    """The job's name: the point's, but fio takes what begins with ``global`` for its defaults; ``layout`` is ours."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", point, re.ASCII):
        raise SpecError(f"point: expected letters, digits, '.', '_' and '-', found {ascii(point)[:80]}")
    return f"job-{point}" if point.lower().startswith(("global", _LAYOUT)) else point


def _logs(names: tuple[str, ...], words: Mapping[str, str]) -> dict[str, str]:
    """The options that write the logs; rows are means over 1 s and histograms of 1 s unless the spec says otherwise."""
    for name in names:
        if name not in _LOGS:
            raise SpecError(f"logs: expected {', '.join(_LOGS)}, found {ascii(name)[:80]}")
    if names and options.is_on(words, "gtod_reduce"):
        raise options.wrong("parameters", "gtod_reduce", "false, for `logs` need the clock", True)
    if "histogram" in names and options.is_on(words, "disable_clat"):
        raise options.wrong("parameters", "disable_clat", "false, for the histogram's log needs it", True)
    found = {_LOGS[name]: _PREFIX for name in names}
    if set(names) - {"histogram"} and "log_avg_msec" not in words:
        found["log_avg_msec"] = "1000"
    if "histogram" in names and "log_hist_msec" not in words:
        found["log_hist_msec"] = "1000"
    return found


def _kinds(names: tuple[str, ...], words: Mapping[str, str]) -> list[str]:
    """How the logs' names end: latency has three, without those that the job switches off."""
    kinds = {"latency": ("lat", "clat", "slat"), "histogram": ("clat_hist",), "bandwidth": ("bw",), "iops": ("iops",)}
    found = [kind for name in kinds if name in names for kind in kinds[name]]
    switches = {"bw": "disable_bw_measurement"}
    return [kind for kind in found if not options.is_on(words, switches.get(kind, f"disable_{kind}"))]


def _log_names(names: tuple[str, ...], words: Mapping[str, str]) -> tuple[str, ...]:
    n_jobs = int(words.get("numjobs", 1))
    return tuple(f"{_PREFIX}_{kind}.{job}.log" for kind in _kinds(names, words) for job in range(1, n_jobs + 1))


def _log_bytes(names: tuple[str, ...], words: Mapping[str, str], duration_s: float) -> int:
    """What the logs may take: a line a window, job and direction, or a line an I/O."""
    n_lines = 0.0
    n_jobs = 2 * int(words.get("numjobs", 1))
    for kind in _kinds(names, words):
        window_ms = int(words.get("log_hist_msec" if kind == "clat_hist" else "log_avg_msec", 1000))
        if kind == "clat_hist":
            n_lines += duration_s * 1000 / window_ms * n_jobs * _HISTOGRAM_LINE_BYTES / _LINE_BYTES
        else:
            n_lines += duration_s * (1000 / window_ms * n_jobs if window_ms else ASSUMED_IOS_PER_S)
    return _SPARE_BYTES + int(n_lines * _LINE_BYTES)


def _duration_s(words: Mapping[str, str], target: Target) -> float:
    """How long a job takes, without its ramp: to its runtime, or until it moved its bytes at the assumed rate."""
    delay_s = options.seconds(words.get("startdelay", "0"))
    if "runtime" in words:
        return delay_s + options.seconds(words["runtime"])
    region = words.get("io_size") or words.get("size") or "100%"
    whole = float(target.n_bytes) if isinstance(target, FileTarget) else ASSUMED_DEVICE_BYTES
    n_bytes = whole * int(region[:-1]) / 100 if region.endswith("%") else float(options.n_bytes(region))
    n_times = int(words.get("loops", 1)) * int(words.get("numjobs", 1))
    return delay_s + n_bytes * n_times / ASSUMED_BYTES_PER_S
