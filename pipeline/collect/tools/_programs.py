"""Private to the tools: where a program is on the host, and what it needs there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from pipeline.collect.work import Request, Requirement, Step, with_sudo
from pipeline.errors import SpecError

SUDO = Requirement("sudo", "sudo", ("-V",))
# What a tool wrote as root belongs to the person again, so that it can be packed and removed.
OWN = Step(("sudo", "-n", "chown", "-hR", "--reference=.", "."))

_PATH = re.compile(r"/[!-~]{0,1000}[!-.0-~]", re.ASCII)


def program(request: Request, name: str) -> str:
    """The spec's path of the program, or the name that the host looks up in its PATH."""
    if request.binary is None:
        return name
    if not _PATH.fullmatch(request.binary) or ".." in PurePosixPath(request.binary).parts:
        raise SpecError(f"binary: expected the absolute path of {name}, found {ascii(request.binary)[:80]}")
    return request.binary


def beside(path: str, name: str) -> str:
    """Another program of the same folder; its plain name where the first is in the PATH."""
    return str(PurePosixPath(path).with_name(name)) if "/" in path else name


def as_asked(request: Request, steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, through sudo where the spec says so."""
    return tuple(with_sudo(step, is_sudo=request.is_sudo) for step in steps)


def owned(request: Request) -> tuple[Step, ...]:
    """What gives files of a tool that ran as root back to the person."""
    return (OWN,) if request.is_sudo else ()


def needs(request: Request, *requirements: Requirement) -> tuple[Requirement, ...]:
    """What the host must have, sudo too where the spec says so."""
    return (*requirements, SUDO) if request.is_sudo else requirements
