"""The files of an attempt at a run, as they are put on its host."""

from __future__ import annotations

import json
import math

from pipeline.collect.plan.attempts import attempt_id, number_of
from pipeline.collect.plan.planned import PlannedRun
from pipeline.collect.work import script


def files_of(run: PlannedRun, attempt: str, campaign: str) -> dict[str, str]:
    """What is uploaded for an attempt of a run: file name → text. ValueError for an attempt of another run."""
    number = number_of(attempt)
    if attempt != attempt_id(run.run_id, number):
        raise ValueError(f"{attempt} is no attempt of {run.run_id}")
    work = run.work
    command = {
        "run_id": attempt, "campaign": campaign, "host": run.host, "tool": run.tool, "point": run.point,
        "repeat": run.repeat, "attempt": number, "command": work.command, "work": run.digest,
        "logs": [*work.logs, *(log for monitor in run.monitors for log in monitor.logs)],
    }  # fmt: skip
    limits = {
        "PREPARE_LIMIT_S": run.prepare_limit_s,
        "TIME_LIMIT_S": run.time_limit_s,
        "WARM_UP_S": run.warm_up_s,
        "COOL_DOWN_S": run.cool_down_s,
        "FREE_BYTES": work.free_bytes,
    }
    files = {
        **work.files,
        "command.json": json.dumps(command, indent=1, ensure_ascii=False) + "\n",
        "measure.sh": script(work.measure),
        "targets": "".join(f"{target.line}\n" for target in dict.fromkeys(work.targets)),
        "limits": "".join(f"{name}={math.ceil(value)}\n" for name, value in limits.items()),
    }
    finish = (*work.finish, *(step for monitor in run.monitors for step in monitor.finish))
    if work.prepare:
        files["prepare.sh"] = script(work.prepare)
    if finish:
        files["finish.sh"] = script(finish)
    for monitor in run.monitors:  # `exec`: the signal that stops it must reach the program itself
        files[f"monitor-{monitor.name}.sh"] = f"{script(())}exec {monitor.step.line}\n"
    return files
