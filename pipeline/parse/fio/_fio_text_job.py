"""The lines of a job block: from ``name: (groupid=0, jobs=1): err= 0: pid=…`` to the last of its figures."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.parse.fio._fio_text_block import Direction, Job, Latency
from pipeline.parse.fio._fio_text_figures import integer, number, ratio, seconds

PHASES = {"slat": "submission", "clat": "completion", "lat": "total"}  # anything else is a sync
_NUMBER = r"\s*(\S+?)\s*"
_UNIT = r"\((nsec|usec|msec)\)"

JOB = re.compile(
    r"(.+?): \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(-?\d{1,9})(?: \((.*)\))?: pid=(-?\d{1,9})(?:: ?(.*))?$"
)
NEW_RATES = re.compile(
    r"(read|write|trim|mixed)\s*: IOPS=([^\s,]+), BW=(\S+) \(([^\s()]+)\)\(([^\s()/]+)/\s*(\d{1,15})msec\)(?:; (.*))?$"
)
OLD_RATES = re.compile(
    rf"(read|write|trim|mixed)\s*: io={_NUMBER}, bw={_NUMBER}, iops={_NUMBER}, runt=\s*(\d{{1,15}})msec$"
)
_MANY = 5  # lines that are not fio's end a block
_LATENCY = re.compile(
    rf"(?:(high|low) prio_)?(\w+)(?: prio ([\d/]+))? {_UNIT}: min={_NUMBER}, max={_NUMBER}, avg={_NUMBER}, "
    r"stdev=\s*(\S+)$"
)
_PERCENTILES = re.compile(
    rf"(?:(high|low) prio \(\S+%\) )?(\w+)(?: prio ([\d/]+))?(?: \(\S+% of IOs\))? percentiles {_UNIT}\s?:(.*)$"
)
_PERCENTILE = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)th=(?:\[\s*(\d{1,18})\]|(\d{1,18})(?:,|$))")  # to 1.58 no brackets
_SAMPLES = r": min=(\S+), max=(\S+),(?: per=(\S+)%,)? avg=(\S+), stdev=(\S+?)(?:, samples=(\d+))?$"
_BANDWIDTH = re.compile(r"bw \(\s*(\w+)\s*/s\)\s*" + _SAMPLES.replace(r"=(\S", r"=\s*(\S"))
_IOPS = re.compile(r"iops\s*" + _SAMPLES.replace(r"=(\S", r"=\s*(\S"))
_SHARES = re.compile(r"lat \((nsec|usec|msec)\)\s*: (.*)$")
_DEPTHS = re.compile(r"(IO depths|submit|complete)\s*: (.*)$")
_SHARE = re.compile(r"(>=)?(\d{1,9})=(\d{1,9}(?:\.\d{1,9})?)%")
_CPU = re.compile(r"cpu\s*: usr=(\S+)%, sys=(\S+)%, ctx=(\d+), majf=(\d+), minf=(\d+)$")
_FOUR = r"(\d+,\d+,\d+,\d+)"
_ISSUED = re.compile(rf"issued rwts: total={_FOUR} short={_FOUR} dropped={_FOUR}$")
_OLD_ISSUED = re.compile(r"issued(?! rwts)[^:]*: ?total=(\S+?),? short=(\S+?)(?:,? drop(?:ped)?=(\S+))?$")  # to 3.5
_ERRORS = re.compile(r"errors\s*: total=(\d+), first_error=(-?\d+/<.*>)$")
_TARGET = re.compile(r"latency\s*: target=(\S+), window=(\S+), percentile=(\S+)%, depth=(\d+)$")
_STEADY = re.compile(r"steadystate\s*: attained=(yes|no), bw=(\S+) \(\S+\), iops=(\S+?), (?:lat=\S+, )?(.*=.*)$")
_DESCRIPTION = re.compile(r"Description\s*: \[(.*)\]$")
_SYNC = re.compile(r"fsync/fdatasync/sync_file_range(?:/syncfs)?:$")
_LIFETIME = re.compile(r"(?:block lifetime percentiles|states)\s*:")


def start_job(match: re.Match[str], line: int) -> Job:
    """The job of a block's first line."""
    name, group, members, error, error_text, pid, time = match.groups()
    job = Job(line, name, int(group), int(members), int(error), error_text, int(pid), last_line=line)
    job.parameters = {"groupid": group, "jobs": members, "pid": pid, "error": error}
    if time:
        job.parameters["time"] = time.strip()  # local, without its zone
    return job


def read_line(job: Job, line: int, text: str) -> bool:
    """Take a line of the job's block; False if it is none."""
    is_read = text.startswith("|") or (job.percentiles_of is not None and _PERCENTILE.match(text) is not None)
    if is_read:
        _add_percentiles(job, text)
    else:
        job.percentiles_of = None
        for pattern, take in _LINES:
            if match := pattern.match(text):
                take(job, match, line)
                is_read = True
                break
    if is_read:
        job.last_line, job.n_unread_here = line, 0
    return is_read


def begins_another(job: Job, text: str) -> bool:
    """Whether a line is of another block, whose first line is missing: a second line of an operation tells."""
    match = NEW_RATES.match(text) or OLD_RATES.match(text)
    if match is None:
        return False
    return job.n_unread_here >= _MANY or any(direction.op == match[1] for direction in job.directions)


def _phase(level: str | None, name: str, priority: str | None) -> str:
    """The phase of ``clat``, ``high prio_clat`` (to 3.28) or ``clat prio 1/0`` (class, level, from 3.42 hint)."""
    phase = PHASES.get(name, "sync")
    if level:
        return f"{phase}_{level}_prio"
    return f"{phase}_prio_{priority.replace('/', '_')}" if priority else phase


def _new_direction(job: Job, match: re.Match[str], line: int) -> None:
    op, iops, rate, other_rate, n_bytes, runtime, remark = match.groups()
    job.directions.append(
        Direction(op, line, False, iops, rate, other_rate, n_bytes, int(runtime), remark)  # as printed
    )


def _old_direction(job: Job, match: re.Match[str], line: int) -> None:
    op, n_bytes, rate, iops, runtime = match.groups()
    job.directions.append(Direction(op, line, True, iops, rate, None, n_bytes, int(runtime)))


def _sync(job: Job, _: re.Match[str], line: int) -> None:
    job.directions.append(Direction("sync", line))


def _latency(job: Job, match: re.Match[str], line: int) -> None:
    level, name, priority, unit, *figures = match.groups()
    if not job.directions:
        job.leave_out("latencies without a direction", line)
        return
    latency = Latency(*(seconds(figure, unit) for figure in figures))
    if None in (latency.low, latency.high, latency.mean, latency.stddev):
        job.leave_out("unreadable figures", line)
    job.directions[-1].phases[_phase(level, name, priority)] = latency


def _percentiles(job: Job, match: re.Match[str], line: int) -> None:
    level, name, priority, unit, rest = match.groups()
    if not job.directions:
        job.leave_out("percentiles without a direction", line)
        return
    job.percentiles_of = _phase(level, name, priority), unit
    _add_percentiles(job, rest)  # 1.58 begins on this line


def _add_percentiles(job: Job, text: str) -> None:
    if job.percentiles_of is None:
        return
    phase, unit = job.percentiles_of
    for percentile, value, bare_value in _PERCENTILE.findall(text):
        latency = seconds(value or bare_value, unit)
        if latency is not None and float(percentile) <= 100:
            job.directions[-1].percentiles.append((phase, float(percentile), latency))


def _samples(figures: tuple[str | None, ...]) -> dict[str, float | None]:
    low, high, share, mean, stddev, samples = figures
    values = {"min": number(low), "max": number(high), "mean": number(mean), "stddev": number(stddev)}
    return {**values, "samples": number(samples), "share": ratio(share)}


def _bandwidth(job: Job, match: re.Match[str], line: int) -> None:
    unit, *figures = match.groups()
    if job.directions:
        job.directions[-1].bandwidth = unit, _samples(tuple(figures))
    else:
        job.leave_out("rates without a direction", line)


def _iops(job: Job, match: re.Match[str], line: int) -> None:
    if job.directions:
        job.directions[-1].iops_samples = _samples(match.groups())
    else:
        job.leave_out("rates without a direction", line)


def _shares(job: Job, match: re.Match[str], _: int) -> None:
    for is_last, edge, share in _SHARE.findall(match[2]):
        upper = seconds(edge, match[1])
        if upper is None:
            continue
        lower = upper if is_last else (job.shares[-1][1] or 0.0 if job.shares else 0.0)
        job.shares.append((lower, None if is_last else upper, float(share)))


def _depths(job: Job, match: re.Match[str], _: int) -> None:
    what = {"IO depths": "depth"}.get(match[1], match[1])
    job.depths += [(what, sign + level, float(share)) for sign, level, share in _SHARE.findall(match[2])]


def _cpu(job: Job, match: re.Match[str], _: int) -> None:
    user, system, *counts = match.groups()
    names = ("context_switches", "major_faults", "minor_faults")
    job.cpu = {"user_ratio": ratio(user), "system_ratio": ratio(system)}
    job.cpu |= {name: number(text) for name, text in zip(names, counts, strict=True)}


def _issued(job: Job, match: re.Match[str], line: int) -> None:
    for what, text in zip(("total", "short", "dropped"), match.groups(), strict=True):
        counts = [integer(digits) for digits in re.findall(r"\d+", text or "")]
        if None in counts:
            job.leave_out("unreadable figures", line)
        pairs = zip(("read", "write", "trim", "sync"), counts, strict=False)
        job.issued[what] = {op: n for op, n in pairs if n is not None}


def _errors(job: Job, match: re.Match[str], _: int) -> None:
    job.n_errors = integer(match[1])
    job.parameters["first_error"] = match[2]


def _target(job: Job, match: re.Match[str], _: int) -> None:
    names = ("latency_target", "latency_window", "latency_percentile", "latency_depth")
    settings = dict(zip(names, match.groups(), strict=True))
    has_target = settings["latency_target"] not in ("0", "0.00ns")
    job.parameters |= settings if has_target else {"latency_depth": settings["latency_depth"]}


def _steady(job: Job, match: re.Match[str], _: int) -> None:
    attained, rate, iops, job.parameters["steadystate_criterion"] = match.groups()
    job.steady = attained, rate, iops


def _description(job: Job, match: re.Match[str], _: int) -> None:
    job.parameters["desc"] = match[1]


def _lifetime(job: Job, _: re.Match[str], line: int) -> None:
    job.leave_out("block lifetimes", line)


_LINES: tuple[tuple[re.Pattern[str], Callable[[Job, re.Match[str], int], None]], ...] = (
    (_LATENCY, _latency), (_PERCENTILES, _percentiles), (_SHARES, _shares), (_DEPTHS, _depths),
    (NEW_RATES, _new_direction), (OLD_RATES, _old_direction), (_BANDWIDTH, _bandwidth), (_IOPS, _iops), (_CPU, _cpu),
    (_ISSUED, _issued), (_OLD_ISSUED, _issued), (_TARGET, _target), (_SYNC, _sync), (_ERRORS, _errors),
    (_STEADY, _steady), (_DESCRIPTION, _description), (_LIFETIME, _lifetime),
)  # fmt: skip
