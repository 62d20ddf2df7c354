"""Golden cases of tools and monitors: from a case's YAML to the request, and from the work to what the YAML says."""

from importlib import import_module

from pipeline.collect.work import DeviceTarget, FileTarget, Request


def request_of(tool, content):
    content = dict(content)
    target = content.pop("target", None)
    if target is not None:
        is_device = "device" in target
        target = DeviceTarget(target["device"], target["identity"], False) if is_device else FileTarget(**target)
    return Request(tool, content.pop("point"), content.pop("parameters"), target=target, **_tuples(content))


def _tuples(content):
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}


def work_of(tool, request):
    return import_module(f"pipeline.collect.tools.{tool}").work(request)


def monitor_of(tool, options):
    return import_module(f"pipeline.collect.monitors.{tool}").monitor(options)


def described(work):
    """A work as plain data, without what is empty."""
    content = {
        "prepare": lines(work.prepare), "measure": lines(work.measure), "finish": lines(work.finish),
        "files": dict(work.files), "targets": [target.line for target in work.targets],
        "services": [f"{service.host} {service.name}: {service.step.line}" for service in work.services],
        "requirements": requirements(work.requirements), "logs": list(work.logs),
        "duration_s": work.duration_s, "prepare_s": round(work.prepare_s, 3), "free_bytes": work.free_bytes,
    }  # fmt: skip
    return {name: value for name, value in content.items() if value}


def described_monitor(monitor):
    content = {
        "name": monitor.name, "step": monitor.step.line, "finish": lines(monitor.finish),
        "requirements": requirements(monitor.requirements), "logs": list(monitor.logs),
    }  # fmt: skip
    return {name: value for name, value in content.items() if value}


def lines(steps):
    return [step.line for step in steps]


def requirements(found):
    return [" ".join((entry.program, *entry.version)) + f" – {entry.package}" for entry in found]
