"""What a run may touch: only what the spec names; a device is written only where the spec says `destructive: true`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.collect.spec import Host
from pipeline.collect.spec.document import Keys, Problem
from pipeline.collect.work import DeviceTarget, FileTarget, Monitor, Step, Work

# What `/dev` holds beside devices that have data: these may stand in any command.
_HARMLESS = re.compile(r"/dev/+(null|zero|full|u?random|std(in|out|err)|tty|fd/[0-9]+|shm/[^\s]*)(?![\w./-])")
_DEV = re.compile(r"/dev(?=/)")
_ENDS = re.compile(r"[\s:;,'\"=)\]}]|$")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_MONITOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_OWN_FILES = frozenset(
    (
        "command.json", "prepare.sh", "measure.sh", "finish.sh", "targets", "limits", "status", "pid", "boot_id",
        "started_at", "stopped_at", "exit_status", "stdout", "stderr", "environment-before.txt",
        "environment-after.txt", "manifest.json",
    )
)  # fmt: skip


def problems_of_work(work: Work, monitors: Sequence[Monitor], host: Host, keys: Keys) -> Iterator[Problem]:
    """Every reason why this work must not be planned on a host; ``keys`` is the entry that asks for it."""
    names = {device.id: name for name, device in host.devices.items()}
    folders = {directory.path for directory in host.directories.values()}
    for target in work.targets:
        match target:
            case FileTarget() if target.directory not in folders:
                yield Problem(keys, f"expected files in directories of host {host.name!r} only, found {target.path}")
            case DeviceTarget() if target.path not in names:
                yield Problem(keys, f"expected devices of host {host.name!r} only, found {target.path}")
            case DeviceTarget():
                device = host.devices[names[target.path]]
                if target.identity != device.identity:
                    yield Problem(
                        keys, f"expected the identity {device.identity} of {target.path}, found {target.identity}"
                    )
                if target.is_written and not device.destructive:
                    yield Problem(
                        ("hosts", host.name, "devices", names[target.path]),
                        f"expected `destructive: true`, because {_shown(keys)} overwrites the device, found none"
                        " (nothing is written by default; all that is on it would be lost)",
                    )
    yield from _stray_devices(work, monitors, host, keys)
    yield from _shared_files(work, monitors, keys)


def _stray_devices(work: Work, monitors: Sequence[Monitor], host: Host, keys: Keys) -> Iterator[Problem]:
    """Devices in commands and job files that are no target: the guard would not see them. A second line of defence."""
    allowed = {target.path for target in work.targets if isinstance(target, DeviceTarget)}
    allowed |= {path.replace(":", r"\:") for path in allowed}  # as fio writes a colon
    steps = [*work.prepare, *work.measure, *work.finish]
    for monitor in monitors:
        steps += [monitor.step, *monitor.finish]
    for text in (*(word for step in steps for word in step.argv), *work.files.values()):
        for found in _DEV.finditer(text):
            rest = text[found.start() :]
            is_target = any(rest.startswith(path) and _ENDS.match(rest, len(path)) for path in allowed)
            if not is_target and not _HARMLESS.match(rest):
                stray = rest[:60].split()[0]
                yield Problem(
                    keys, f"expected no device but the `target` in commands on {host.name!r}, found {stray!r}"
                )


def _shared_files(work: Work, monitors: Sequence[Monitor], keys: Keys) -> Iterator[Problem]:
    """Names of files that two parts of a run would both write."""
    names = [monitor.name for monitor in monitors]
    for name in sorted({name for name in names if names.count(name) > 1 or not _MONITOR.fullmatch(name)}):
        yield Problem((*keys, "monitors"), f"expected each monitor once, by a plain name, found {name!r}")
    tool_files = {*work.files, *work.logs, *_written(work.prepare), *_written(work.measure), *_written(work.finish)}
    seen = dict.fromkeys(tool_files, "the tool") | dict.fromkeys(_OWN_FILES, "the run itself")
    for name in sorted(tool_files):
        if not _FILE.fullmatch(name) or name in _OWN_FILES - {"stdout"} or name.startswith("monitor-"):
            yield Problem(keys, f"expected names of files that a run does not use itself, found {name!r}")
    for monitor in monitors:
        for name in sorted({*monitor.logs, *_written((monitor.step, *monitor.finish))}):
            owner = seen.setdefault(name, monitor.name)
            if owner != monitor.name:
                yield Problem(
                    (*keys, "monitors"), f"expected files of its own for {monitor.name}, found {name!r} of {owner}"
                )


def _written(steps: Sequence[Step]) -> set[str]:
    return {step.stdout for step in steps if step.stdout}


def _shown(keys: Keys) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else key for key in keys)
