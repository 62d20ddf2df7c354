"""Facts of a host → findings: what would stop a campaign there, what would disturb it, what is as it must be. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from pipeline.collect.doctor.facts import AGENT_NEEDS, DEVICE_NEEDS, Facts, Needs
from pipeline.collect.doctor.surroundings import (
    Found,
    Verdict,
    clock,
    disturbances,
    integer,
    logout,
    permissions,
    ports,
    probes,
    size,
)  # fmt: skip
from pipeline.collect.plan.planned import HostPlan
from pipeline.collect.work import DeviceTarget, FileTarget, Requirement

PACKED_RATIO = 0.2  # of what logs may take, what their archives are assumed to take
_TEMPORARY = {"tmpfs", "ramfs"}
_WORLD_WRITABLE, _STICKY = 0o002, 0o1000


@dataclass(frozen=True)
class Finding:
    """Something about a host: what it is about, whether it would stop the run, and what to do."""

    host: str
    subject: str
    verdict: Verdict
    message: str


def judge(facts: Facts, plan: HostPlan, needs: Needs, campaign: str) -> list[Finding]:
    """All findings about a host that answered."""
    if not facts.facts:
        return [Finding(plan.host.name, *found) for found in _answers(facts)]
    checks = (
        _answers(facts), _system(facts), clock(facts), _agent(facts, needs), _tools(facts, needs), _spool(facts, plan),
        _directories(facts, plan, needs), _targets(facts, needs), permissions(facts, needs), probes(facts, needs),
        logout(facts), ports(facts, plan, needs, campaign), disturbances(facts, plan, campaign),
    )  # fmt: skip
    return [Finding(plan.host.name, *found) for check in checks for found in check]


def _answers(facts: Facts) -> Found:
    if not facts.is_whole:
        said = f": {facts.said}" if facts.said else ""
        yield "answers", "stop", f"expected facts about the host, found none, or not all{said}"


def _system(facts: Facts) -> Found:
    name, release, machine = (*facts.fact("system"), "?", "?", "?")[:3]
    user = facts.fact("user")[1:2] or ("?",)
    if name not in {"Linux", "?"}:
        yield "system", "stop", f"expected Linux (or `windows: true` in the spec), found {name}"
    else:
        yield "system", "ok", f"answers as {user[0]}; {name} {release}, {machine}"


def _agent(facts: Facts, needs: Needs) -> Found:
    """The programs without which the agent, or the guard before a device is written, cannot work."""
    is_device = any(isinstance(target, DeviceTarget) and target.is_written for target in needs.targets)
    wanted = (*AGENT_NEEDS, *DEVICE_NEEDS) if is_device else AGENT_NEEDS
    missing = [needed for needed in wanted if not _path(facts, needed)]
    for needed in missing:
        yield needed.program, "stop", f"not found: {_install(needed)}"
    if not missing:
        yield "agent", "ok", f"{', '.join(needed.program for needed in wanted)} are there"


def _tools(facts: Facts, needs: Needs) -> Found:
    for needed in needs.requirements:
        if path := _path(facts, needed):
            version = facts.answer("program", needed.program, *needed.version)[1:2]
            yield needed.program, "ok", version[0] if version and version[0] != "-" else path
        else:
            yield needed.program, "stop", f"not found: {_install(needed)}"


def _path(facts: Facts, needed: Requirement) -> str:
    path = (*facts.answer("program", needed.program, *needed.version), "-")[0]
    return "" if path == "-" else path


def _install(needed: Requirement) -> str:
    return needed.package if " " in needed.package else f"sudo apt-get install {needed.package}"


def _spool(facts: Facts, plan: HostPlan) -> Found:
    host = plan.host
    _, writable, free, inodes, system, options, mode = (*facts.answer("space", host.spool), *"-------")[:7]
    most = max((run.work.free_bytes for run in plan.runs), default=0)
    all_of_them = most + int(PACKED_RATIO * sum(run.work.free_bytes for run in plan.runs))
    n_free = integer(free)
    found: list[tuple[str, Verdict, str]] = []
    if writable != "yes":
        found.append(
            ("spool", "stop", f"{host.spool} can't be written: name another `spool`, or make it the user's own")
        )
    if n_free is None:
        found.append(("spool", "stop", f"{host.spool}: how much is free there is not told"))
    elif n_free < most:
        found.append(("spool", "stop", f"{host.spool}: {size(n_free)} are free, a run's logs may take {size(most)}"))
    elif n_free < all_of_them:
        text = f"{size(n_free)} are free, logs and archives of all runs may take {size(all_of_them)}"
        found.append(("spool", "warning", f"{host.spool}: {text}; the agent stops before a run that doesn't fit"))
    if integer(inodes) == 0:
        found.append(("spool", "stop", f"{host.spool}: no inodes are free there: no file can be made"))
    if system in _TEMPORARY:
        found.append(("spool", "warning", f"{host.spool} is in memory ({system}): a reboot loses what was not pulled"))
    if "noexec" in options.split(","):
        found.append(
            ("spool", "warning", f"{host.spool} is mounted noexec: a tool that runs files of its own there fails")
        )
    if re.fullmatch("[0-7]{3,4}", mode) and int(mode, 8) & _WORLD_WRITABLE and not int(mode, 8) & _STICKY:
        text = "is, or will be made in, a folder that everybody may write: others could exchange scripts; chmod o-w"
        found.append(("spool", "warning", f"{host.spool} {text}"))
    yield from found or [("spool", "ok", f"{host.spool}: {size(n_free or 0)} are free, on {system}")]


def _directories(facts: Facts, plan: HostPlan, needs: Needs) -> Found:
    """Room for the files, and for what the spec wants to stay free beside them; guard.sh looks at the rest."""
    wanted: Counter[str] = Counter()
    largest: dict[str, FileTarget] = {}
    for target in needs.targets:
        if isinstance(target, FileTarget) and target.n_bytes >= getattr(largest.get(target.path), "n_bytes", 0):
            largest[target.path] = target
    for path, target in largest.items():
        held = integer((*facts.answer("file", path), "0")[0]) or 0
        wanted[target.directory] += max(0, target.n_bytes - held)
    for directory in plan.host.directories.values():
        is_there, writable, free, _, system, *_ = (*facts.answer("space", directory.path), *"-----")
        is_used = directory.path in wanted
        needed, n_free = wanted[directory.path] + (directory.free_bytes or 0), integer(free)
        verdict: Verdict = "stop" if is_used else "warning"
        if is_there != "yes":
            yield "directory", verdict, f"{directory.path} does not exist: make it, as the user who runs the benchmark"
        elif writable != "yes":
            yield "directory", verdict, f"{directory.path} can't be written by this user"
        elif n_free is None:
            yield "directory", verdict, f"{directory.path}: how much is free there is not told"
        elif n_free < needed:
            beside = f", {size(directory.free_bytes)} of them to stay free" if directory.free_bytes else ""
            yield (
                "directory",
                verdict,
                f"{directory.path}: {size(n_free)} are free, {size(needed)} are needed{beside}",
            )
        elif system in _TEMPORARY and is_used:
            yield "directory", "warning", f"{directory.path} is in memory ({system}): no disk is measured there"
        else:
            yield (
                "directory",
                "ok",
                f"{directory.path}: {size(n_free)} are free on {system}, {size(needed)} are needed",
            )


def _targets(facts: Facts, needs: Needs) -> Found:
    if not needs.targets:
        return
    reasons = [(*reason, "?", "?")[:2] for reason in facts.facts.get("reason", [])]
    for place, why in reasons:
        yield "target", "stop", f"{place} {why}"
    status, said = (*facts.fact("guard"), "-", "-")[:2]
    if status == "working":
        yield (
            "target",
            "ok",
            "this campaign's agent is at work: targets are not checked now, it checks them before each run",
        )
    elif status != "0" and not reasons:
        yield "target", "stop", f"the targets can't be checked: guard.sh says {said if said != '-' else 'nothing'}"
    elif not reasons:
        for target in needs.targets:
            place = target.path
            if isinstance(target, DeviceTarget):
                text = "WILL BE OVERWRITTEN: `run` asks for its serial" if target.is_written else "is only read"
                place = f"{place} ({target.identity}) {text}"
            else:
                place = f"{place}, at most {size(target.n_bytes)}, will be written"
            yield "target", "ok", place
