"""What ``doctor`` asks of a host, and its answers: the text of questions for host/facts.sh, and its lines as data.

The answers were written by a host: they are bounded, and stripped of what a terminal would obey.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

from pipeline.collect.plan.planned import HostPlan
from pipeline.collect.work import FileTarget, Monitor, Requirement, Service, Step, Target, Work
from pipeline.errors import printable

Question = tuple[str, ...]  # kind, arguments
_HERE = Path(__file__).parents[1] / "host"
_MAX_LINES, _MAX_FIELD = 5000, 400
_UTIL, _CORE = "util-linux", "coreutils"
AGENT_NEEDS = tuple(
    Requirement(program, package)
    for program, package in (
        ("flock", _UTIL), ("setsid", _UTIL), ("nohup", _CORE), ("timeout", _CORE), ("sha256sum", _CORE),
        ("stat", _CORE), ("mktemp", _CORE), ("sync", _CORE), ("tar", "tar"), ("zstd", "zstd"), ("grep", "grep"),
    )
)  # fmt: skip
DEVICE_NEEDS = (
    Requirement("lsblk", _UTIL), Requirement("wipefs", _UTIL), Requirement("blkid", _UTIL),
    Requirement("fuser", "psmisc"),
)  # fmt: skip
_PROBED = {"stat": ("-x", ";", "--", "true"), "record": ("-o", "/dev/null", "--", "true")}
_KEPT = {"-a": 1, "-C": 2, "-e": 2, "-F": 2, "--call-graph": 2}  # options of perf that the kernel may refuse: n words


@dataclass(frozen=True)
class Needs:
    """What a campaign wants of a host: programs, services that it gives to others, permissions."""

    requirements: tuple[Requirement, ...]
    targets: tuple[Target, ...]
    ports: tuple[str, ...]
    probes: tuple[Question, ...]  # perf, as the runs call it, around `true`
    is_sudo: bool

    @classmethod
    def of(cls, plan: HostPlan, plans: Sequence[HostPlan]) -> Needs:
        """The needs of a host among all hosts of the campaign."""
        works = [run.work for run in plan.runs]
        monitors = [monitor for run in plan.runs for monitor in run.monitors]
        services = {
            service: None
            for other in plans
            for run in other.runs
            for service in run.work.services
            if service.host == plan.host.name
        }
        steps = [step for work in works for step in (*work.prepare, *work.measure, *work.finish)]
        steps += [step for monitor in monitors for step in (monitor.step, *monitor.finish)]
        owners: tuple[Work | Monitor | Service, ...] = (*works, *monitors, *services)
        return cls(
            requirements=tuple(dict.fromkeys(needed for owner in owners for needed in owner.requirements)),
            targets=tuple(dict.fromkeys(target for work in works for target in work.targets)),
            ports=tuple(dict.fromkeys(port for service in services for port in _ports(service))),
            probes=tuple(dict.fromkeys(probe for step in steps if (probe := _probe(step)))),
            is_sudo=any(step.argv[0] == "sudo" for step in steps),
        )


@dataclass(frozen=True)
class Clock:
    """How far a host's clock is ahead of ours, in s, and how wrong that may be: half the time of the question."""

    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True)
class Facts:
    """A host's answers. ``answers``: of each question its lines' fields; ``facts``: what was not asked for."""

    answers: Mapping[Question, list[tuple[str, ...]]]
    facts: Mapping[str, list[tuple[str, ...]]]
    clock: Clock | None = None
    said: str = ""  # on stderr
    is_whole: bool = True

    def answer(self, *question: str) -> tuple[str, ...]:
        """The first line of an answer; empty where there is none."""
        return next(iter(self.answers.get(question, [])), ())

    def fact(self, name: str) -> tuple[str, ...]:
        """The first line of a fact; empty where there is none."""
        return next(iter(self.facts.get(name, [])), ())


@dataclass
class _Lines:
    answers: dict[Question, list[tuple[str, ...]]] = field(default_factory=dict)
    facts: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)


def questions(plan: HostPlan, needs: Needs) -> list[Question]:
    """What a host is asked, in this order."""
    host = plan.host
    wanted = [*AGENT_NEEDS, *DEVICE_NEEDS, *needs.requirements]
    asked: list[Question] = [("program", needed.program, *needed.version) for needed in wanted]
    files = [target for target in needs.targets if isinstance(target, FileTarget)]
    folders = [directory.path for directory in host.directories.values()]
    asked += [("space", folder) for folder in (host.spool, *folders, *(target.directory for target in files))]
    asked += [("file", target.path) for target in files]
    asked += [("port", port) for port in needs.ports]
    asked += [("sudo",)] if needs.is_sudo else []
    asked += [("agents", host.spool), *needs.probes]
    return [question for question in dict.fromkeys(asked) if not any(set(word) & set("\t\n") for word in question)]


def script(plan: HostPlan, needs: Needs, asked: Sequence[Question], campaign: str) -> bytes:
    """What is sent to ``sh -s`` on the host: the questions as quoted texts, and host/facts.sh."""
    variables = {
        "QUESTIONS": "\n".join("\t".join((str(number), *one)) for number, one in enumerate(asked, 1)),
        "GUARD": (_HERE / "guard.sh").read_text("utf-8"),
        "TARGETS": "\n".join(target.line for target in needs.targets),
        "SPOOL": plan.host.spool,
        "CAMPAIGN": campaign,
    }
    lines = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join((*lines, (_HERE / "facts.sh").read_text("utf-8"))).encode()


def read(stdout: bytes, stderr: bytes, asked: Sequence[Question], clock: Clock | None = None) -> Facts:
    """The answers in what facts.sh wrote; lines that are none are passed over."""
    lines, is_whole = _Lines(), False
    for line in stdout[: _MAX_LINES * _MAX_FIELD].decode("utf-8", "replace").split("\n")[:_MAX_LINES]:
        number, *rest = line.split("\t")[:20]
        if not rest or not number.isascii() or not number.isdigit() or len(number) > 6:
            continue
        kind, values = rest[0], tuple(printable(value, _MAX_FIELD) for value in rest[1:])
        if number == "0":
            is_whole |= kind == "end"
            lines.facts.setdefault(kind, []).append(values)
        elif 0 < int(number) <= len(asked):
            lines.answers.setdefault(asked[int(number) - 1], []).append(values)
    said = stderr.decode("utf-8", "replace").strip()
    return Facts(lines.answers, lines.facts, clock, printable(said, _MAX_FIELD), is_whole)


def _ports(service: Service) -> list[str]:
    """What a service listens on, as its command says."""
    words = service.step.argv
    return [after for word, after in pairwise(words) if word in {"--port", "-p"} and after.isdigit()]


def _probe(step: Step) -> Question | None:
    """A perf command around `true`, so that the kernel and the events are tried; None for other commands."""
    words = step.argv
    at = next((number for number, word in enumerate(words[:3]) if PurePosixPath(word).name == "perf"), None)
    if at is None or len(words) < at + 2 or words[at + 1] not in _PROBED:
        return None
    kept: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            break
        kept += words[number : number + _KEPT.get(word, 0)] if number > at + 1 else []
    return ("probe", *words[: at + 2], *kept, *_PROBED[words[at + 1]])
