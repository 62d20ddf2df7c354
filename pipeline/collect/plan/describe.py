"""The plan as text, for `run --dry-run`: what is destroyed, written or read, each command in order, the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.collect.plan.planned import HostPlan, PlannedRun
from pipeline.collect.spec import Host, Spec
from pipeline.collect.spec.fields import is_windows
from pipeline.collect.work import DeviceTarget, FileTarget, Service

_RULE = "=" * 100


def describe(plans: Sequence[HostPlan], spec: Spec) -> str:
    """The whole plan. Preparation, job files and monitors are shown with a point's first run, commands always."""
    blocks = [_summary(plans, spec), _written(plans)]
    for plan in plans:
        served = [service for other in plans for service in _services(other) if service.host == plan.host.name]
        blocks.append(_host(plan, list(dict.fromkeys(served)), spec))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _duration(seconds: float) -> str:
    """``2 h 05 min``, ``12 min 30 s``, ``45 s``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _summary(plans: Sequence[HostPlan], spec: Spec) -> str:
    n_runs = sum(len(plan.runs) for plan in plans)
    longest = max(plans, key=lambda plan: plan.estimate_s)
    lines = [
        f"Campaign {spec.slug}: {spec.title}",
        f"{_n(n_runs, 'run')} on {_n(sum(bool(plan.runs) for plan in plans), 'host')}, order random by blocks"
        f" (a block is every point once), seed {spec.seed}",
        f"Estimated time: {_duration(longest.estimate_s)}"
        + (f" on {longest.host.name}, the slowest; hosts work side by side" if len(plans) > 1 else "")
        + (f" (limit {_duration(spec.time_limit_s)})" if spec.time_limit_s else ""),
    ]
    return "\n".join(lines)


def _written(plans: Sequence[HostPlan]) -> str:
    """What no reader may overlook, before anything else."""
    lines = [
        f"  {plan.host.name}: {target.path}, {_identity(plan.host, target.path)}"
        for plan in plans
        for target in _devices(plan)
        if target.is_written
    ]
    if not lines:
        return "No device is written to."
    return "\n".join(["ALL DATA ON THESE DEVICES WILL BE DESTROYED (the serial or WWN of each must be typed):", *lines])


def _host(plan: HostPlan, served: Sequence[Service], spec: Spec) -> str:
    host = plan.host
    title = f"{host.name}: {_n(len(plan.runs), 'run')}, about {_duration(plan.estimate_s)}"
    facts = [
        ("ssh", host.ssh + (f" (others call it {host.address})" if host.address != host.ssh else "")),
        ("role", host.role or ""),
        (
            "spool",
            f"{host.spool}/{spec.slug}{_space(plan.runs)}",
        ),
        *(("device", line) for line in _device_lines(plan)),
        *(("file", line) for line in _file_lines(plan)),
        *(("serves", f"{service.name}: {service.step.line}") for service in served),
        *(("needs", f"{service.name} on host {service.host}") for service in _services(plan)),
    ]
    lines = [_RULE, title, _RULE, *(f"{name:<8}{value}" for name, value in facts if value)]
    first: dict[str, int] = {}  # the number of the first run of each point
    start_s = 0.0
    for number, run in enumerate(plan.runs, 1):
        name = f"{run.tool}-{run.point}"
        lines += ["", f"{number}. {run.run_id}   starts after {_duration(start_s)}, takes {_duration(run.estimate_s)}"]
        lines += [f"   {line}" for line in _run(run, first.setdefault(name, number), number)]
        start_s += run.estimate_s + run.cool_down_s
    return "\n".join(lines)


def _run(run: PlannedRun, first: int, number: int) -> Iterator[str]:
    work = run.work
    yield from (f"on      {_target(target)}" for target in dict.fromkeys(work.targets))
    if first == number:
        for name, text in work.files.items():
            yield f"file    {name}:"
            yield from (f"          {line}" for line in text.splitlines())
        yield from (f"prepare {step.line}" for step in work.prepare)
        yield from (f"beside  {monitor.step.line}" for monitor in run.monitors)
        yield from (f"measure {step.line}" for step in work.measure)
        yield from (f"finish  {step.line}" for step in work.finish)
        yield from (f"finish  {step.line}" for monitor in run.monitors for step in monitor.finish)
    else:
        has_finish = work.finish or any(monitor.finish for monitor in run.monitors)
        parts = {"job files": work.files, "preparation": work.prepare, "monitors": run.monitors, "finish": has_finish}
        same = ", ".join(name for name, held in parts.items() if held)
        yield from (f"measure {step.line}" for step in work.measure)
        yield from [f"with    the {same} of run {first}"] if same else []
    yield f"time    {_times(run)}"


def _times(run: PlannedRun) -> str:
    others_s = run.estimate_s - run.work.prepare_s - run.work.duration_s
    times = [f"prepare {_duration(run.work.prepare_s)}"] if run.work.prepare else []
    times += [f"measure {_duration(run.work.duration_s)}"]
    times += [f"pack {_duration(others_s)}", *([f"cool down {_duration(run.cool_down_s)}"] if run.cool_down_s else [])]
    limits = [f"preparation {_duration(run.prepare_limit_s)}"] if run.work.prepare else []
    limits += [f"measurement {_duration(run.time_limit_s)}"]
    warm_up = f"warm-up of {run.warm_up_s:g} s within; " if run.warm_up_s else ""
    return f"{'; '.join(times)} ({warm_up}limit of the {', of the '.join(limits)})"


def _target(target: DeviceTarget | FileTarget) -> str:
    if isinstance(target, FileTarget):
        path = target.path.replace("/", "\\") if is_windows(target.directory) else target.path
        return f"{path}, at most {_size(target.n_bytes)}: written"
    return f"{target.path}: {'WRITTEN' if target.is_written else 'read only'}"


def _device_lines(plan: HostPlan) -> Iterator[str]:
    used: dict[str, bool] = {}
    for target in _devices(plan):
        used[target.path] = used.get(target.path, False) or target.is_written
    for name, device in plan.host.devices.items():
        what = {True: "WRITTEN, all data on it destroyed", False: "read only", None: "not used"}[used.get(device.id)]
        hint = ", though the spec allows to write" if device.destructive and not used.get(device.id) else ""
        yield f"{name}: {device.id}, {_identity(plan.host, device.id)}: {what}{hint}"


def _file_lines(plan: HostPlan) -> Iterator[str]:
    files = dict.fromkeys(target for run in plan.runs for target in run.work.targets if isinstance(target, FileTarget))
    for target in sorted(files, key=lambda target: (target.path, target.n_bytes)):
        yield _target(target)
    for name, directory in plan.host.directories.items():
        if directory.free_bytes:
            yield f"below {directory.path} ({name}), {_size(directory.free_bytes)} must stay free"


def _devices(plan: HostPlan) -> list[DeviceTarget]:
    """The devices of a host's runs, each once as written and once as read; those written first."""
    found = dict.fromkeys(
        target for run in plan.runs for target in run.work.targets if isinstance(target, DeviceTarget)
    )
    return sorted(found, key=lambda target: (not target.is_written, target.path))


def _services(plan: HostPlan) -> list[Service]:
    return list(dict.fromkeys(service for run in plan.runs for service in run.work.services))


def _identity(host: Host, path: str) -> str:
    device = next(device for device in host.devices.values() if device.id == path)
    return f"serial {device.serial}" if device.serial else f"WWN {device.wwn}"


def _space(runs: Iterable[PlannedRun]) -> str:
    most = max((run.work.free_bytes for run in runs), default=0)
    return f" (logs of one run: at most {_size(most)})" if most else ""


def _n(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(n_bytes: int) -> str:
    """``1 GiB (1,073,741,824 B)``; exact ones in the largest unit that leaves no rest."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if n_bytes >= 1 << power:
            value = n_bytes / (1 << power)
            return f"{value:.4g} {unit}" if value == round(value, 3) else f"{value:.1f} {unit} ({n_bytes:,} B)"
    return f"{n_bytes} B"
