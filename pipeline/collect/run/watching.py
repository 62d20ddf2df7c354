"""Watch hosts work until they are done: look at each now and then, record what came, show how far they are."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime

from pipeline.collect.run.progress import HostState, Progress, remaining_s
from pipeline.collect.run.session import Session
from pipeline.collect.spool.spool import Status, time_of

PATIENCE_S = 300.0  # a host that does not answer for so long is given up, once the others are done
RESTARTS = 3  # of an agent that ended in mid-queue, as when its host was rebooted
LEAST_S, MOST_S = 2.0, 30.0  # between two looks: each costs the host a little of what is measured


class Watch:
    """The hosts that are at work, as the client sees them from time to time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._silent_since: dict[str, float] = {}
        self._restarts: dict[str, int] = {}

    def until_done(self, hosts: Iterable[str], progress: Progress) -> None:
        """Look until each host is idle, has stopped for a reason, or is silent while the others are done."""
        pending = list(hosts)
        while pending:
            started = time.monotonic()
            answered = self._session.look(pending)
            pending = self._without_lost([host for host in pending if self._goes_on(host, host in answered)])
            states = {host: self.state(host) for host in self._session.plans}
            for host, state in states.items():
                progress.show(host, state)
            if pending:
                heard = [host for host in pending if host not in self._silent_since]  # what is left of others is old
                pause_s = _pause_s(states[host] for host in heard or pending)
                time.sleep(max(0.0, pause_s - (time.monotonic() - started)))

    def state(self, host: str) -> HostState:
        """What there is to show of a host."""
        session = self._session
        planned, status = session.plans[host].runs, session.statuses.get(host)
        states = session.states(host)
        current = _current(status)
        elapsed_s = _elapsed_s(status, current[1]) if status and current else None
        left = [run for run in planned if states[run.run_id] is None]
        return HostState(
            host=host, n_runs=len(planned), n_done=sum(state == "complete" for state in states.values()),
            n_failed=sum(state not in (None, "complete") for state in states.values()),
            current=current[0] if current else None, started_at=current[1] if current else None,
            now=status.now if status else None, problem=self._problem(host),
            remaining_s=remaining_s(left, elapsed_s, self._took(host)),
        )  # fmt: skip

    def _took(self, host: str) -> list[tuple[float, float]]:
        """Of each run that is complete the estimate of its measured part, and what that took."""
        entries = self._session.ledger.entries
        times = [(run, entries[run.run_id]) for run in self._session.plans[host].runs if run.run_id in entries]
        return [
            (run.work.duration_s, (time_of(entry.stopped_at) - time_of(entry.started_at)).total_seconds())
            for run, entry in times
            if entry.state == "complete" and entry.started_at and entry.stopped_at
        ]

    def _goes_on(self, host: str, is_answering: bool) -> bool:
        """Whether to look at a host again; one whose agent was killed is started again."""
        if not is_answering:
            self._silent_since.setdefault(host, time.monotonic())
            return True
        self._silent_since.pop(host, None)
        status = self._session.statuses[host]
        if status.is_working:
            return True
        if not status.runs or self._restarts.get(host, 0) >= RESTARTS or status.agent.startswith("stopped: disk full"):
            return False
        self._restarts[host] = self._restarts.get(host, 0) + 1
        self._session.resume(host)
        return True

    def _without_lost(self, pending: list[str]) -> list[str]:
        """The hosts to look at again: all while one of them answers, or did a moment ago; none once none does."""
        now = time.monotonic()
        is_one_there = any(now - self._silent_since.get(host, now) < PATIENCE_S for host in pending)
        return pending if is_one_there else []

    def _problem(self, host: str) -> str | None:
        session, status = self._session, self._session.statuses.get(host)
        problem = session.problems.get(host)
        if host in self._silent_since:
            silence = f"no answer for {time.monotonic() - self._silent_since[host]:.0f} s"
            return f"{silence}: {problem}" if problem else silence  # none: it answered something else meanwhile
        told = [status.agent] if status and status.agent.startswith("stopped") else [problem] if problem else []
        if host in session.unserved and set(session.states(host).values()) != {"complete"}:
            told.append(session.unserved[host])
        return "; ".join(told) or None


def _pause_s(states: Iterable[HostState]) -> float:
    """A twentieth of what is left, so that a run of a day is asked for less often than one of seconds."""
    left = [state.remaining_s or 0.0 for state in states]
    return min(max(min(left, default=0.0) / 20, LEAST_S), MOST_S)


def _current(status: Status | None) -> tuple[str, datetime | None] | None:
    """The attempt in hand and its start."""
    active = [run for run in status.runs if run.status != "waiting"] if status and status.is_working else []
    return (active[0].attempt, active[0].started_at) if active else None


def _elapsed_s(status: Status, started_at: datetime | None) -> float | None:
    """By the host's own clock, whatever ours says."""
    return (status.now - started_at).total_seconds() if started_at else None
