"""A network campaign on hosts that are not there: `db1` measures to `db2`, and each does something alone."""

from datetime import UTC, datetime

from pipeline import ledger
from pipeline.collect import plan, spec
from pipeline.collect.run import session as sessions
from pipeline.collect.run.session import Session
from pipeline.collect.spool.spool import RunState, Status

SLUG = "2026-11-network"
NETWORK, ALONE, THERE = "db1-iperf3-net-r1", "db1-stress_ng-alone-r1", "db2-stress_ng-there-r1"
SPEC = """\
title: Network
hosts:
  db1: {address: 10.0.0.1}
  db2: {address: 10.0.0.2}
runs:
  - {tool: iperf3, name: net, hosts: [db1], parameters: {server: db2, time: 10}}
  - {tool: stress_ng, name: alone, hosts: [db1], parameters: {cpu: 1, timeout: 10}}
  - {tool: stress_ng, name: there, hosts: [db2], parameters: {cpu: 1, timeout: 10}}
"""


def status(*attempts, agent="idle", done=(), **states):
    """What a host says; ``states``: of attempts that do not wait."""
    held = tuple(RunState(attempt, states.get(attempt, "waiting"), None) for attempt in attempts)
    return Status(datetime(2026, 11, 21, tzinfo=UTC), agent, held, {entry.run_id: entry for entry in done})


class Hosts:
    """What each host says, what fails where, and what hosts were asked for."""

    def __init__(self, monkeypatch, **statuses):
        self.statuses, self.failing, self.asked = statuses, {}, []
        monkeypatch.setattr(sessions.remote, "each", self._each)
        monkeypatch.setattr(sessions, "Spool", lambda _, held, __, ___: FakeSpool(self, held.host.name))

    def _each(self, aliases, work, _):
        for alias in list(aliases):
            try:
                result = work(alias, None)
            except sessions.CollectError as error:
                result = error
            yield alias, result


class FakeSpool:
    """The spool of one host."""

    folder = "/spool"

    def __init__(self, hosts, host):
        self._hosts, self._host = hosts, host

    def _answer(self, verb, *details):
        self._hosts.asked.append((self._host, verb, *details))
        if error := self._hosts.failing.get((self._host, verb)) or self._hosts.failing.get((self._host, None)):
            raise error

    def status(self):
        self._answer("status")
        return self._hosts.statuses[self._host]

    def cancel(self):
        self._answer("cancel")
        return self._hosts.statuses[self._host]

    def guard(self, _):
        self._answer("guard")
        return []

    def serve(self, service, seconds):
        self._answer("serve", service.name, seconds)

    def stop_serving(self, service):
        self._answer("stop_serving", service.name)

    def submit(self, runs):
        self._answer("submit", *runs)

    def start(self):
        self._answer("start")


def write(root, text=SPEC):
    """Put the spec where a project has it."""
    folder = root / "data/campaigns"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{SLUG}.yaml").write_text(text, "utf-8")
    (folder / "index.yaml").write_text("campaigns: {}\ncollected: {}\n", "utf-8")


def session(root, text=SPEC):
    """A session of it."""
    write(root, text)
    found = spec.load(root, SLUG)
    return Session(found, plan.make(found), root, ledger.Ledger.load(root, SLUG), 16)
