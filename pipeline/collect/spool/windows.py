r"""Windows hosts: one PowerShell script that carries a host's queue and works through it, by hand or over OpenSSH.

The script is ``host/windows-*.ps1`` in their order, with the runs as literals. It works in the folder that it stands
in, which has the layout of agent.sh's spool (``run.ps1`` in place of its scripts, archives ``.tar.gz``: Windows' own
tar packs no zstd everywhere). ``submit`` lays out the runs that the script carries and that are not there yet;
``start``, ``status``, ``cancel`` are as agent.sh's; ``guard`` prints why targets must not be written, a line a reason.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.campaign import check_host, check_run_id, check_slug
from pipeline.collect.plan import HostPlan, PlannedRun, files_of
from pipeline.collect.spool.quoting import for_powershell, for_program, powershell
from pipeline.collect.tools.diskspd import NEW_FILE
from pipeline.collect.work import FileTarget, Step
from pipeline.errors import SpecError

SCRIPT = "run.ps1"
VERBS = ("submit", "start", "status", "cancel", "guard", "version")

_HERE = Path(__file__).parents[1] / "host"
_SETTINGS = "#SETTINGS#"

# Reads the script from stdin; a cut or changed one is not taken. Prints the folder.
_INSTALL = """
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$spool = {spool}
if ($spool.StartsWith('~')) {{ $spool = $env:USERPROFILE + $spool.Substring(1).Replace('/', '\\') }}
$folder = [IO.Path]::GetFullPath([IO.Path]::Combine($spool, {campaign}))
$null = [IO.Directory]::CreateDirectory($folder)
$temporary = [IO.Path]::Combine($folder, 'run.' + [Guid]::NewGuid().ToString('N') + '.tmp')
$file = [IO.File]::Open($temporary, [IO.FileMode]::CreateNew)
try {{ [Console]::OpenStandardInput().CopyTo($file) }} finally {{ $file.Dispose() }}
if ((Get-FileHash -LiteralPath $temporary -Algorithm SHA256).Hash -ne {sha256}) {{
    [IO.File]::Delete($temporary)
    throw 'the script came cut or changed'
}}
Move-Item -LiteralPath $temporary -Destination ([IO.Path]::Combine($folder, {name})) -Force
[Console]::Out.Write($folder)
"""


def script(plan: HostPlan, campaign: str, attempts: Mapping[str, PlannedRun] | None = None) -> str:
    """``run.ps1`` of a host: its whole plan, or some attempts of it. ASCII, whose lines end as Windows has them.

    SpecError for a run that Windows cannot be given.
    """
    runs = {run.run_id: run for run in plan.runs} if attempts is None else attempts
    parts = [path.read_text("ascii") for path in sorted(_HERE.glob("windows-*.ps1"))]
    text = "\n".join(parts).replace(_SETTINGS, _settings(plan.host.name, campaign, runs), 1)
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def install(spool: str, campaign: str, text: str) -> tuple[str, bytes]:
    """The command that puts the script into the spool, and what it reads from stdin; it prints the folder there."""
    data = text.encode("ascii")
    values = {
        "spool": spool,
        "campaign": check_slug(campaign),
        "name": SCRIPT,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return powershell(_INSTALL.format(**{name: for_powershell(value) for name, value in values.items()})), data


def command(folder: str, verb: str) -> str:
    """The command of a verb, in the folder that ``install`` printed; also for cmd as sshd's shell."""
    if verb not in VERBS:
        raise ValueError(f"expected one of {', '.join(VERBS)}, found {verb!r}")
    path = for_powershell(folder.rstrip("\\") + "\\" + SCRIPT)
    return powershell(f"$ProgressPreference = 'SilentlyContinue'\n& {path} -Verb {verb}\nexit $LASTEXITCODE\n")


def _settings(host: str, campaign: str, runs: Mapping[str, PlannedRun]) -> str:
    lines = [
        f"# campaign {check_slug(campaign)}, host {check_host(host)}",
        "$Queue = New-Object Collections.Generic.List[object]",
    ]
    for attempt, run in runs.items():
        said = json.dumps(json.loads(files_of(run, attempt, campaign)["command.json"]))
        texts = (check_run_id(attempt), said, json.dumps(_work(run)))
        lines.append(f"$Queue.Add(@({', '.join(map(for_powershell, texts))}))")
    return "\n".join(lines)


def _work(run: PlannedRun) -> dict[str, Any]:
    """What the script reads of a run, as JSON; every key is always there."""
    work = run.work
    if run.monitors:
        raise SpecError(f"monitors: expected none on Windows, found {', '.join(one.name for one in run.monitors)}")
    if work.finish or work.files or work.services:
        raise SpecError(f"tool: expected one that runs on Windows, found {run.tool}")
    targets = []
    for target in work.targets:
        if not isinstance(target, FileTarget):
            raise SpecError(f"target: expected a file on Windows, found {target.path}")
        targets.append(
            {"directory": target.directory.replace("/", "\\"), "name": target.name.replace("/", "\\"),
             "n_bytes": target.n_bytes}
        )  # fmt: skip
    return {
        "targets": targets, "prepare": [_step(step) for step in work.prepare],
        "measure": [_step(step) for step in work.measure],
        "prepare_limit_s": math.ceil(run.prepare_limit_s), "time_limit_s": math.ceil(run.time_limit_s),
        "cool_down_s": math.ceil(run.cool_down_s), "free_bytes": work.free_bytes,
    }  # fmt: skip


def _step(step: Step) -> dict[str, Any]:
    program, *arguments = step.argv
    if program == NEW_FILE:
        path, n_bytes = arguments
        return {"new_file": path, "n_bytes": int(n_bytes), "program": None, "arguments": None, "stdout": None}
    return {"new_file": None, "n_bytes": 0, "program": program, "arguments": for_program(arguments),
            "stdout": step.stdout}  # fmt: skip
