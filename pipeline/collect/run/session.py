"""One client's view of a campaign on its hosts: look at all of them, guard their targets, submit what is missing.

The hosts work alone; whatever happens to the client, nothing there depends on it. What a host has packed goes into the
ledger as soon as it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from pipeline.collect import plan
from pipeline.collect.plan import HostPlan, PlannedRun
from pipeline.collect.spec import Spec
from pipeline.collect.spool.spool import Spool, Status
from pipeline.collect.spool.windows_spool import WindowsSpool
from pipeline.collect.ssh import remote
from pipeline.collect.ssh.remote import Remote
from pipeline.collect.work import Service
from pipeline.errors import CollectError, UnreachableError
from pipeline.indexing import add_to_index
from pipeline.ledger import Ledger

T = TypeVar("T")
_SERVICE_MARGIN_S = 600.0  # a service outlives what its client's runs may take at most
_TRIES = 3  # of what a host that answered a moment ago does not answer in time


class Session:
    """The hosts of a campaign, as one ``run`` or ``status`` sees them."""

    def __init__(self, spec: Spec, plans: Iterable[HostPlan], root: Path, ledger: Ledger, n_connections: int) -> None:
        self.spec, self.root, self.ledger, self._n_connections = spec, root, ledger, n_connections
        self.plans = {held.host.name: held for held in plans}
        self._host_of = {held.host.ssh: held.host.name for held in self.plans.values()}
        self._folders: dict[str, str] = {}  # of the spools, by alias: scripts are installed once
        self.statuses: dict[str, Status] = {}
        self.problems: dict[str, str] = {}
        self.unserved: dict[str, str] = {}  # by host: which service its runs lack, and why

    def each(self, hosts: Iterable[str], work: Callable[[str, Spool], T]) -> Iterator[tuple[str, T]]:
        """Do something in the spool of each host, side by side; a host where it fails is among the ``problems``."""

        def in_spool(alias: str, connection: Remote) -> T:
            held = self.plans[self._host_of[alias]]
            kind = WindowsSpool if held.host.windows else Spool
            spool = kind(connection, held, self.spec.slug, self._folders.get(alias))
            self._folders[alias] = spool.folder
            return work(held.host.name, spool)

        aliases = [self.plans[host].host.ssh for host in hosts]
        for alias, result in remote.each(aliases, in_spool, self._n_connections):
            host = self._host_of[alias]
            if isinstance(result, CollectError):
                self.problems[host] = str(result)
                continue
            self.problems.pop(host, None)
            yield host, result

    def look(self, hosts: Iterable[str]) -> list[str]:
        """See how far hosts are, and record what they have done; the names of those that answered."""
        answered = []
        for host, status in self.each(hosts, lambda _, spool: spool.status()):
            try:
                self.take(host, status)
                answered.append(host)
            except CollectError as error:
                self.problems[host] = str(error)
        return answered

    def take(self, host: str, status: Status) -> None:
        """Record what a host says it has done."""
        self.statuses[host] = status
        fresh = [entry for attempt, entry in status.done.items() if attempt not in self.ledger.entries]
        others = {entry.host for entry in status.done.values()} - {host}
        if others:
            raise CollectError(f"{host}: expected its own runs in its spool, found those of {', '.join(others)}")
        if fresh and self.ledger.is_writable:
            self.ledger.add(fresh)
        if self.ledger.entries and self.ledger.is_writable:  # each time: an end between the two must not lose it
            add_to_index(self.root, self.spec.slug, is_collected=True)

    def states(self, host: str) -> dict[str, str | None]:
        """Of each run of a host ``complete`` or the state of its last attempt; None while it waits or is in hand."""
        runs, status = self.plans[host].runs, self.statuses.get(host)
        found: dict[str, str | None] = {run.run_id: None for run in runs}
        entries = [entry for entry in self.ledger.entries.values() if entry.host == host]
        for entry in sorted(entries, key=lambda entry: entry.attempt):
            run_id = plan.run_of(entry.run_id)
            if run_id in found and found[run_id] != "complete":
                found[run_id] = entry.state
        for run in status.runs if status else ():
            if run.attempt not in self.ledger.entries:
                found[plan.run_of(run.attempt)] = None
        return {run.run_id: found[run.run_id] for run in runs}

    def changed(self) -> list[str]:
        """Runs that are complete with other settings than the spec now has under the same name."""
        planned = {run.run_id: run.digest for held in self.plans.values() for run in held.runs}
        complete = {name: entry for name, entry in self.ledger.entries.items() if entry.state == "complete"}
        return [name for name, entry in complete.items() if planned.get(plan.run_of(name), entry.work) != entry.work]

    def missing(self) -> dict[str, dict[str, PlannedRun]]:
        """For each host that answered, the attempts it has yet to be given: attempt id → run, in order."""
        known = {
            attempt
            for host, status in self.statuses.items()
            for attempt in status.attempts
            if attempt.startswith(f"{host}-")  # no host speaks for another
        }
        found = plan.missing(tuple(self.plans.values()), self.ledger.entries, known)
        return {host: runs for host, runs in found.items() if runs and host in self.statuses}

    def guard(self, missing: Mapping[str, Mapping[str, PlannedRun]]) -> dict[str, list[str]]:
        """Every reason why a target of these runs must not be touched, by host."""
        idle = [host for host in missing if not self.statuses[host].is_working]  # else our own run has it open
        looked = self.each(idle, lambda host, spool: _patiently(partial(spool.guard, missing[host])))
        return {host: found for host, found in looked if found}

    def submit(self, missing: Mapping[str, Mapping[str, PlannedRun]]) -> None:
        """Start the services that runs need, give each host its runs, and let the agents work, on what was left too.

        Without its service a run would measure nothing: it is not given, and ``unserved`` says why.
        """
        left = [host for host, status in self.statuses.items() if status.runs and not status.is_working]
        away = self._serve({host: {**missing.get(host, {}), **self._in_hand(host)} for host in self.plans})
        given = {
            host: {name: run for name, run in runs.items() if not any(one.host in away for one in run.work.services)}
            for host, runs in missing.items()
        }

        def give(host: str, spool: Spool) -> None:
            if given.get(host):
                _patiently(partial(spool.submit, given[host]))
            _patiently(spool.start)

        list(self.each(dict.fromkeys([*(host for host, runs in given.items() if runs), *left]), give))

    def resume(self, host: str) -> None:
        """Start the agent of a host again, with what the runs in its queue need."""
        self._serve({host: self._in_hand(host)})
        list(self.each([host], lambda _, spool: spool.start()))

    def stop_services(self) -> None:
        """Stop what answered the runs of others, where none of those is left."""
        idle = {host for host, status in self.statuses.items() if not status.runs}
        done = {host: {run.run_id: run for run in self.plans[host].runs} for host in idle}
        services = self._services(done)

        def stop(host: str, spool: Spool) -> None:
            for service in services[host]:
                spool.stop_serving(service)

        list(self.each(services, stop))

    def _in_hand(self, host: str) -> dict[str, PlannedRun]:
        """The planned runs that wait or go on in a host's spool, by attempt."""
        planned = {run.run_id: run for run in self.plans[host].runs}
        status = self.statuses.get(host)
        named = ((run.attempt, plan.run_of(run.attempt)) for run in (status.runs if status else ()))
        return {attempt: planned[run_id] for attempt, run_id in named if run_id in planned}

    def _serve(self, runs: Mapping[str, Mapping[str, PlannedRun]]) -> set[str]:
        """Start the services that these runs need; the hosts where one could not be started."""
        services = self._services(runs)

        def start(host: str, spool: Spool) -> None:
            for service, seconds in services[host].items():
                _patiently(partial(spool.serve, service, seconds))

        away = services.keys() - {host for host, _ in self.each(services, start)}
        for host, held in runs.items():
            lacking = {(one.host, one.name) for run in held.values() for one in run.work.services if one.host in away}
            if lacking:
                told = (f"runs lack {name} on {there}: {self.problems[there]}" for there, name in sorted(lacking))
                self.unserved[host] = "; ".join(told)
        for host in away & {host for host, status in self.statuses.items() if status.runs}:
            del self.problems[host]  # its own work goes on, and is watched
        return away

    def _services(self, missing: Mapping[str, Mapping[str, PlannedRun]]) -> dict[str, dict[Service, float]]:
        """What must answer on which host, and for how long at most."""
        found: dict[str, dict[Service, float]] = {}
        for runs in missing.values():
            seconds = sum(run.longest_s for run in runs.values()) + _SERVICE_MARGIN_S
            for service in {service for run in runs.values() for service in run.work.services}:
                found.setdefault(service.host, {})[service] = seconds
        return found


def _patiently(work: Callable[[], T]) -> T:
    """Do it again where a host is too busy to answer; what it did already it does not do twice."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except UnreachableError:
            continue
    return work()
