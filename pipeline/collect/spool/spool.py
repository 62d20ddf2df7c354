"""A campaign's spool on a host, seen from the client: install the agent there, submit runs, look, cancel.

What comes back was written by a host and is checked: names by the campaign's patterns, times and states by their form.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.campaign import check_run_id
from pipeline.collect.plan import HostPlan, PlannedRun, files_of
from pipeline.collect.ssh.remote import Remote
from pipeline.collect.work import Service, script
from pipeline.errors import CollectError, PipelineError, printable
from pipeline.ledger import Entry

HOST_SCRIPTS = ("agent.sh", "guard.sh", "snapshot.sh")
HOST = Path(__file__).parents[1] / "host"
WAIT_S = 60.0  # for a verb of the agent; each answers at once
GUARD_S = 300.0  # which may wait for what it looks at
_CANCEL_S = 120.0  # what runs gets time to end, and is packed
_REASON_CHARACTERS = 1000
_WORD = re.compile(r"[a-z_]{1,32}")

# The folder is made private before anything is in it; scripts in use are replaced by renaming, never rewritten.
# What an installation left that was cut is swept when it can be nobody's any more.
_INSTALL = """
set -eu
umask 077
case $1 in '~/'*) dir=$HOME/${1#'~/'} ;; *) dir=$1 ;; esac
mkdir -p -- "$dir/$2"
cd -- "$dir/$2"
find . -maxdepth 1 -name '.new.*' -mmin +60 -exec rm -rf -- {} + || :
new=$(mktemp -d ./.new.XXXXXX)
tar -xf - -C "$new"
for file in "$new"/*; do mv -f -- "$file" .; done
rmdir -- "$new"
pwd -P
"""


@dataclass(frozen=True)
class RunState:
    """An attempt that is in the spool's ``runs``: its status, and when it started there."""

    attempt: str
    status: str
    started_at: datetime | None


@dataclass(frozen=True)
class Status:
    """What an agent says: its clock, whether it works or why not, what is in hand, and what is packed."""

    now: datetime
    agent: str
    runs: tuple[RunState, ...]
    done: Mapping[str, Entry]

    @property
    def is_working(self) -> bool:
        """Whether the agent is at work."""
        return self.agent == "working"

    @property
    def attempts(self) -> set[str]:
        """All attempts that the host knows of."""
        return {run.attempt for run in self.runs} | self.done.keys()


class Spool:
    """A campaign's spool folder on a host, with this version's scripts in it."""

    def __init__(self, remote: Remote, plan: HostPlan, campaign: str, folder: str | None = None) -> None:
        """``folder``: where the spool is, as an earlier one found it (None: the scripts are installed)."""
        self._remote, self._plan, self._campaign, self._alias = remote, plan, campaign, plan.host.ssh
        self.folder = folder or self._install()

    def _install(self) -> str:
        """Make the spool where there is none, and put the scripts there."""
        files = {name: (HOST / name).read_text("utf-8") for name in HOST_SCRIPTS}
        found = self._remote.run(_INSTALL, self._plan.host.spool, self._campaign, input=tar_of(files), timeout_s=WAIT_S)
        folder = found.stdout.decode("utf-8", "replace").strip()
        if found.exit_status or not folder.startswith("/") or not folder.isprintable():
            raise self._refused(f"a spool folder {self._plan.host.spool} that can be written", found.stderr)
        return folder

    def submit(self, runs: Mapping[str, PlannedRun]) -> None:
        """Add attempts to the queue, in this order; one that is there already stays as it is."""
        files = {
            f"runs/{attempt}/{name}": text
            for attempt, run in runs.items()
            for name, text in files_of(run, attempt, self._campaign).items()
        }
        self._verb("submit", input=tar_of({"queue": "".join(f"{attempt}\n" for attempt in runs), **files}))

    def start(self) -> None:
        """Let the agent work, detached from this connection; nothing happens where it is at work."""
        self._verb("start")

    def status(self) -> Status:
        """What is in hand and what is done."""
        return self._status_of(self._verb("status"))

    def cancel(self) -> Status:
        """Stop what runs, drop what waits; what was stopped is packed."""
        self._verb("cancel", timeout_s=_CANCEL_S)
        return self.status()

    def serve(self, service: Service, seconds: float) -> None:
        """Start a service that ends by itself after some time; nothing happens where it is running."""
        self._verb("service", service.name, str(int(seconds)), input=script([service.step]).encode())

    def stop_serving(self, service: Service) -> None:
        """Stop a service."""
        self._verb("service-stop", service.name)

    def guard(self, runs: Mapping[str, PlannedRun]) -> list[str]:
        """Every reason why a target of these runs must not be touched, as the host has it."""
        targets = dict.fromkeys(target for run in runs.values() for target in run.work.targets)
        lines = "".join(f"{target.line}\n" for target in targets)
        if not lines:
            return []
        found = self._remote.run('sh "$1/guard.sh" "${1%/*}"', self.folder, input=lines.encode(), timeout_s=GUARD_S)
        reasons = found.stdout.decode("utf-8", "replace").splitlines()
        if found.exit_status and not reasons:
            raise self._refused("reasons from guard.sh", found.stderr)
        return [shown_reason(reason) for reason in reasons]

    def _verb(self, verb: str, *arguments: str, input: bytes | None = None, timeout_s: float = WAIT_S) -> str:  # noqa: A002
        command = 'folder=$1; verb=$2; shift 2; exec sh "$folder/agent.sh" "$verb" "$folder" "$@"'
        found = self._remote.run(command, self.folder, verb, *arguments, input=input, timeout_s=timeout_s)
        if found.exit_status:
            raise self._refused(f"agent.sh {verb} to do its work", found.stderr or found.stdout)
        return found.stdout.decode("utf-8", "replace")

    def _status_of(self, text: str) -> Status:
        now, agent, runs, done = None, "idle", [], {}
        for line in text.splitlines():
            kind, *values = line.split("\t")
            try:
                if kind == "now":
                    now = time_of(values[0])
                elif kind == "agent":
                    agent = values[0]
                elif kind == "run":
                    runs.append(_run_state(values))
                elif kind == "done":
                    entry = self._entry_of(json.loads(values[0]))
                    done[entry.run_id] = entry
            except (ValueError, IndexError, KeyError, TypeError, AttributeError, PipelineError) as error:
                message = f"{self._alias}: expected the agent's status, found {line[:200]!r}: {error}"
                raise CollectError(message) from error
        if now is None:
            raise CollectError(f"{self._alias}: expected the agent's status, found {text[:200]!r}")
        return Status(now, agent, tuple(runs), done)

    def _entry_of(self, done: dict[str, Any]) -> Entry:
        run = done["run"]
        fields = {key: run[key] for key in ("host", "tool", "point", "repeat", "attempt", "command", "work")}
        result = {key: done[key] for key in ("state", "exit_status", "started_at", "stopped_at", "sha256", "n_bytes")}
        return Entry(run_id=done["attempt"], **fields, **result, ssh=self._alias, archive=self._archive_of(done))

    def _archive_of(self, done: dict[str, Any]) -> str:
        return f"{self.folder}/done/{check_run_id(done['attempt'])}.tar.zst"

    def _refused(self, expected: str, said: bytes) -> CollectError:
        words = " ".join(said.decode("utf-8", "replace").split())[-500:]
        return CollectError(f"{self._alias}: expected {expected}, found: {printable(words, 500) or 'nothing said'}")


def shown_reason(line: str) -> str:
    """A guard's line, target and reason, for a person."""
    return ": ".join(printable(part, _REASON_CHARACTERS) for part in line.split("\t", 1))


def tar_of(files: Mapping[str, str]) -> bytes:
    """A tar archive of texts, readable for their owner alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def time_of(text: str) -> datetime:
    """A time of the host's clock, ISO 8601 with its zone; ValueError otherwise."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"a time without zone: {text!r}")
    return time


def _run_state(values: list[str]) -> RunState:
    attempt, status, started_at = values[0], values[1], values[2] if len(values) > 2 else ""
    if not _WORD.fullmatch(status):
        raise ValueError(f"a status {status!r}")
    return RunState(check_run_id(attempt), status, time_of(started_at) if started_at else None)
