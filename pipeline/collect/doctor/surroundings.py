"""What surrounds a host's runs, judged: its clock, permissions, logind, ports, and what else goes on there. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pipeline import units
from pipeline.collect.doctor.facts import Facts, Needs
from pipeline.collect.plan.planned import HostPlan

CLOCK_WARNING_S = 1.0
LOAD_WARNING = 1.0  # processes that run or wait, beside ours

Verdict = Literal["ok", "warning", "stop"]
Found = Iterator[tuple[str, Verdict, str]]  # subject, verdict, message


def clock(facts: Facts) -> Found:
    """Its difference from ours; figures don't need it, the order of events across hosts does."""
    if facts.clock is None:
        yield "clock", "warning", "the host's time was not told: its difference from ours is not known"
        return
    offset_s, uncertainty_s = facts.clock.offset_s, facts.clock.uncertainty_s
    text = f"{abs(offset_s):.3f} s {'ahead of' if offset_s >= 0 else 'behind'} ours, ± {uncertainty_s:.3f} s"
    if abs(offset_s) - uncertainty_s > CLOCK_WARNING_S:
        yield "clock", "warning", f"{text}: times of its runs are off by this; let chrony or ntpd set it"
    else:
        yield "clock", "ok", text


def permissions(facts: Facts, needs: Needs) -> Found:
    """Sudo, where a run needs it."""
    if needs.is_sudo:
        said = (*facts.answer("sudo"), "no answer")[0]
        if said == "yes":
            yield "sudo", "ok", "needs no password"
        else:
            yield "sudo", "stop", f"`sudo -n` must work without a password (NOPASSWD in sudoers); it says: {said}"


def probes(facts: Facts, needs: Needs) -> Found:
    """Perf, tried with the events of the runs."""
    for probe in needs.probes:
        lines = facts.answers.get(probe, [])
        status, said = (*lines[0], "-")[0] if lines else "-", [line[0] for line in lines[1:] if line]
        command = " ".join(word for word in probe[1:] if word not in {"--", "true"})
        if status == "0":
            missing = [
                text.split(";")[2] for text in said if text.startswith("<not supported>;") and text.count(";") > 2
            ]
            if missing:
                yield (
                    "perf",
                    "warning",
                    f"this machine does not count {', '.join(missing)} (a virtual one?); `{command}`",
                )
            else:
                yield "perf", "ok", f"`{command}` works"
            continue
        paranoid = (*facts.fact("paranoid"), "-")[0]
        reason = " ".join(said)[:300] or "nothing"
        level = "" if paranoid == "-" else f" (kernel.perf_event_paranoid is {paranoid}; 0 or less lets any user watch)"
        yield "perf", "stop", f"`{command}` fails{level}; it says: {reason}"


def logout(facts: Facts) -> Found:
    """Logind may end what a session leaves behind; lingering covers only the user's own services, no session."""
    if facts.fact("session") != ("yes",) or facts.fact("kill_user_processes") != ("b true",):
        return
    user = (*facts.fact("user"), "?", "?")[1]
    only, excluded = _names(facts.fact("kill_only_users")), _names(facts.fact("kill_exclude_users"))
    if user in excluded or (only and user not in only):
        return
    yield (
        "logout", "stop", "systemd-logind ends what a user leaves behind (KillUserProcesses=yes): runs would end with"
        f" the connection; put KillUserProcesses=no, or KillExcludeUsers=root {user}, into /etc/systemd/logind.conf"
        " and `systemctl restart systemd-logind` (`loginctl enable-linger` does not cover an ssh session)",
    )  # fmt: skip


def _names(value: tuple[str, ...]) -> list[str]:
    """Of busctl's ``as 2 "root" "db"``."""
    return re.findall(r'"([^"]*)"', value[0]) if value else []


def ports(facts: Facts, plan: HostPlan, needs: Needs, campaign: str) -> Found:
    """Where services of this host must listen."""
    is_ours = (campaign,) in facts.answers.get(("agents", plan.host.spool), [])
    for port in needs.ports:
        answer = (*facts.answer("port", port), "-")[0]
        if answer == "used" and not is_ours:
            text = "is in use: end what listens there (an earlier run's service does by itself), or give another `port`"
            yield "port", "stop", f"{port} {text}"
        elif answer == "free":
            yield "port", "ok", f"{port} is free"


def disturbances(facts: Facts, plan: HostPlan, campaign: str) -> Found:
    """What else goes on there, or will."""
    agents = [name[0] for name in facts.answers.get(("agents", plan.host.spool), []) if name]
    for name in agents:
        if name == campaign:
            yield "agent", "ok", "it is at work on this campaign"
        else:
            yield (
                "agent",
                "warning",
                f"another one is at work here, on campaign {name}: the two would disturb each other",
            )
    governors = (*facts.fact("governor"), "")[0]
    others = [word for word in governors.split() if not word.isdigit() and word != "performance"]
    if others:
        yield "governor", "warning", f"processors are governed by {governors}: `cpupower frequency-set -g performance`"
    if used := integer((*facts.fact("swap_bytes"), "0")[0]):
        yield "swap", "warning", f"{size(used)} of memory are swapped out: figures may hold the swapping"
    load, n_cpus = (*facts.fact("load"), "-", "-")[:2]
    if not agents and re.fullmatch(r"[0-9]{1,6}\.[0-9]{1,3}", load) and float(load) >= LOAD_WARNING:
        yield "load", "warning", f"{load} on {n_cpus} processors: other programs run here"
    if facts.fact("reboot"):
        yield "reboot", "warning", "a reboot is pending (/run/reboot-required): do it before, not during the campaign"


def integer(text: str) -> int | None:
    """A host's figure; None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def size(n_bytes: int) -> str:
    """Bytes for a person."""
    return units.format_si(n_bytes, "B")
