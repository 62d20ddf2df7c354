"""stress-ng: its metrics as YAML in ``stress_ng.yaml``; its text is the run's stdout.

Parameters are stress-ng's long options without ``--``: ``cpu: 4``, ``cpu-method: matrixprod``, ``timeout: 60``, of the
stressors that cannot hurt a machine. Those that write files take a directory as target, whose ``size_bytes`` bounds
what they may write; the others get the run's own folder and need no target. Only the YAML is a log for the readers: the
text holds the same figures once more.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._programs import as_asked, needs, owned, program
from pipeline.collect.tools._stress_ng_options import AIO_BYTES, BYTES, ON_DISK, OPTIONS, PLAIN, REFUSED, SWITCH
from pipeline.collect.work import FileTarget, Request, Requirement, Step, Work
from pipeline.errors import SpecError


def work(request: Request) -> Work:
    """The command of a point; SpecError names an option that is not allowed."""
    words = options.read(OPTIONS, request.parameters, "parameters", REFUSED)
    options.need("parameters", words, "timeout")
    stressors = [name for name in words if name in PLAIN or name in ON_DISK]
    if not stressors:
        raise SpecError("parameters: expected at least one stressor, such as `cpu: 4`, found none")
    folder = _folder(request, words)
    stress_ng = program(request, "stress-ng")
    argv = [stress_ng]
    for name, word in words.items():
        argv += [] if not word else [f"--{name}"] if OPTIONS[name] is SWITCH else [f"--{name}", word]
    argv += ["--temp-path", folder, "--metrics", "--times", "--yaml", "stress_ng.yaml"]
    return Work(
        measure=as_asked(request, [Step(tuple(argv))]), duration_s=options.seconds(words["timeout"]),
        finish=owned(request), targets=(request.target,) if request.target is not None else (),
        requirements=needs(request, Requirement(stress_ng, "stress-ng", ("--version",))), logs=("stress_ng.yaml",),
    )  # fmt: skip


def _folder(request: Request, words: dict[str, str]) -> str:
    """Where stressors write: the target's directory, or the run's folder when none of them does."""
    target = request.target
    on_disk = [name for name in ON_DISK if name in words]
    if not on_disk:
        if target is not None:
            raise SpecError(f"target: expected none, for no stressor writes files ({', '.join(ON_DISK)})")
        return "."
    if not isinstance(target, FileTarget):
        expected = f"{{directory: …, file: …, size_bytes: …}} for {', '.join(on_disk)}"
        raise SpecError(f"target: expected {expected}, found {'none' if target is None else 'a device'}")
    if ".." in PurePosixPath(target.directory).parts or not target.directory.startswith("/"):
        raise SpecError(f"target: expected an absolute path, found {ascii(target.directory)[:200]}")
    n_bytes = 0
    for name in on_disk:
        if name in BYTES:
            options.need("parameters", words, BYTES[name])
        n_bytes += int(words[name]) * (options.n_bytes(words[BYTES[name]]) if name in BYTES else AIO_BYTES)
    if n_bytes > target.n_bytes:
        raise SpecError(
            f"target.size_bytes: expected at least {n_bytes}, what the stressors write, found {target.n_bytes}"
        )
    return target.directory
