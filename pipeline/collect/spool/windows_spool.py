"""A campaign's spool on a Windows host: the same verbs, by the one script that ``windows`` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.campaign import check_run_id
from pipeline.collect.plan import PlannedRun
from pipeline.collect.spool import windows
from pipeline.collect.spool.spool import GUARD_S, WAIT_S, Spool, shown_reason
from pipeline.collect.work import Service
from pipeline.errors import CollectError

_DRIVE = re.compile(r"[A-Za-z]:\\[^\x00-\x1f]*")


class WindowsSpool(Spool):
    """A spool whose script carries its runs: it is written anew for each submission."""

    def _install(self, runs: Mapping[str, PlannedRun] | None = None) -> str:
        text = windows.script(self._plan, self._campaign, runs or {})
        line, data = windows.install(self._plan.host.spool, self._campaign, text)
        found = self._remote.execute(line, input=data, timeout_s=WAIT_S)
        folder = found.stdout.decode("utf-8", "replace").strip()
        if found.exit_status or not _DRIVE.fullmatch(folder):
            raise self._refused(f"a spool folder {self._plan.host.spool} that can be written", found.stderr)
        return folder

    def submit(self, runs: Mapping[str, PlannedRun]) -> None:
        """Put a script there that carries the runs, and let it lay them out."""
        self._install(runs)
        self._verb("submit", timeout_s=WAIT_S)

    def guard(self, runs: Mapping[str, PlannedRun]) -> list[str]:
        """Every reason why a target of these runs must not be touched, as the host has it."""
        self._install(runs)
        found = self._remote.execute(windows.command(self.folder, "guard"), timeout_s=GUARD_S)
        reasons = found.stdout.decode("utf-8", "replace").splitlines()
        if found.exit_status and not reasons:
            raise self._refused("reasons from the guard", found.stderr)
        return [shown_reason(reason) for reason in reasons]

    def serve(self, service: Service, seconds: float) -> None:  # noqa: ARG002
        """CollectError: services want a POSIX shell."""
        raise CollectError(f"{self._alias}: expected a host with a POSIX shell for {service.name}, found Windows")

    def _verb(self, verb: str, *_: str, input: bytes | None = None, timeout_s: float = WAIT_S) -> str:  # noqa: A002, ARG002
        found = self._remote.execute(windows.command(self.folder, verb), timeout_s=timeout_s)
        if found.exit_status:
            raise self._refused(f"{windows.SCRIPT} {verb} to do its work", found.stderr or found.stdout)
        return found.stdout.decode("utf-8", "replace")

    def _archive_of(self, done: dict[str, Any]) -> str:
        name = f"{check_run_id(done['attempt'])}.tar.gz"
        if done.get("archive", name) != name:
            raise ValueError(f"an archive {name}, not {done['archive']!r}")
        return f"{self.folder}\\done\\{name}"
