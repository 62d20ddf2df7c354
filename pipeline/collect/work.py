"""What a run is to a host: steps with exact commands, files, targets, monitors; plain data that collect shares."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Step:
    """A command, run in the run's folder with LC_ALL=C; ``stdout`` names a file there (None: the run's stdout)."""

    argv: tuple[str, ...]
    stdout: str | None = None

    @property
    def line(self) -> str:
        """The command for a shell, every word quoted."""
        command = shlex.join(self.argv)
        return f"{command} > {shlex.quote(self.stdout)}" if self.stdout else command


@dataclass(frozen=True)
class Requirement:
    """A program that a host must have: what to install where it is missing, and how it tells its version."""

    program: str  # a name in PATH, or an absolute path
    package: str  # Debian's package, or a sentence for what has none
    version: tuple[str, ...] = ()  # arguments; its first line of output is the version


@dataclass(frozen=True)
class DeviceTarget:
    """A block device by its id; ``identity`` is the serial or WWN that it must have."""

    path: str
    identity: str
    is_written: bool

    @property
    def line(self) -> str:
        """Its line for guard.sh."""
        return "\t".join(("device" if self.is_written else "read", self.path, self.identity))


@dataclass(frozen=True)
class FileTarget:
    """A file inside a directory that the spec names, of at most ``n_bytes``."""

    directory: str
    name: str
    n_bytes: int

    @property
    def path(self) -> str:
        """Where it is on the host."""
        return f"{self.directory}/{self.name}"

    @property
    def line(self) -> str:
        """Its line for guard.sh."""
        return "\t".join(("file", self.directory, self.name, str(self.n_bytes)))


Target = DeviceTarget | FileTarget


@dataclass(frozen=True)
class Monitor:
    """A side monitor: started just before a run, stopped by SIGINT just after; ``finish`` then makes its reports."""

    name: str
    step: Step
    finish: tuple[Step, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    logs: tuple[str, ...] = ()  # files that readers know


@dataclass(frozen=True)
class Service:
    """A program that must answer on another host of the campaign while runs go on (iperf3 -s)."""

    host: str
    name: str
    step: Step
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Request:
    """What the spec asks of a tool at one point on one host."""

    tool: str
    point: str
    parameters: Mapping[str, Scalar]
    target: Target | None = None
    warm_up_s: float = 0.0
    precondition: Mapping[str, Scalar] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    binary: str | None = None  # the program's path on the host, where it is not in PATH
    addresses: Mapping[str, str] = field(default_factory=dict)  # of the campaign's hosts, by name
    is_sudo: bool = False


@dataclass(frozen=True)
class Work:
    """What a run is made of. ``duration_s``, ``prepare_s`` are estimates; ``free_bytes`` is what its logs may take."""

    measure: tuple[Step, ...]
    duration_s: float
    prepare: tuple[Step, ...] = ()
    prepare_s: float = 0.0
    finish: tuple[Step, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # job files in the run's folder: name → text
    targets: tuple[Target, ...] = ()
    services: tuple[Service, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    logs: tuple[str, ...] = ()  # files that readers know, as they will stand in the run's folder
    free_bytes: int = 1 << 26

    @property
    def command(self) -> str:
        """The measured commands, for the manifest."""
        return " && ".join(step.line for step in self.measure)


def script(steps: Iterable[Step]) -> str:
    """A shell script of steps, which ends at the first that fails."""
    return "\n".join(("#!/bin/sh", "set -eu", "export LC_ALL=C", *(step.line for step in steps), ""))


def with_sudo(step: Step, *, is_sudo: bool) -> Step:
    """The step through ``sudo -n``, which never asks for a password."""
    return Step(("sudo", "-n", *step.argv), step.stdout) if is_sudo else step
