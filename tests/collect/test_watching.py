"""Watching: hosts that fall silent while others go on, with a clock that only sleeping moves."""

from types import SimpleNamespace

import pytest
from _network import status

from pipeline.collect.run import watching
from pipeline.collect.run.watching import PATIENCE_S, Watch

HOUR_S = 3600.0


class Clock:
    now_s = 0.0

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


class Session:
    """Hosts that answer at some times only; each works until an hour has passed."""

    def __init__(self, clock, silent):
        self._clock, self._silent = clock, silent
        self.plans = {host: SimpleNamespace(runs=()) for host in silent}
        self.statuses, self.problems, self.unserved = {}, {}, {}
        self.ledger = SimpleNamespace(entries={})
        self.looks = []

    def look(self, hosts):
        now_s, answered = self._clock.now_s, []
        for host in hosts:
            self.looks.append((now_s, host))
            if self._silent[host](now_s):
                self.problems[host] = f"{host}: the connection was lost"
                continue
            self.problems.pop(host, None)
            self.statuses[host] = status(agent="working" if now_s < HOUR_S else "idle")
            answered.append(host)
        return answered

    def states(self, _):
        return {}

    def last_look(self, host):
        return max(now_s for now_s, looked in self.looks if looked == host)


@pytest.fixture
def clock(monkeypatch):
    held = Clock()
    monkeypatch.setattr(watching, "time", held)
    return held


def watch(clock, **silent):
    """Watch until the end; the session, and what was shown of each host last."""
    session, shown = Session(clock, silent), {}
    Watch(session).until_done(list(silent), SimpleNamespace(show=shown.__setitem__))
    return session, shown


def never(_):
    return False


def always(_):
    return True


def test_a_silent_host_is_waited_for_while_another_goes_on(clock):
    back_s = HOUR_S / 2
    session, shown = watch(clock, db1=never, db2=lambda now_s: 60 < now_s < back_s)
    assert session.last_look("db2") >= HOUR_S  # it was there again after half an hour, and watched to its end
    assert shown["db2"].problem is None


def test_it_is_given_up_once_the_others_are_done(clock):
    session, shown = watch(clock, db1=never, db2=lambda now_s: now_s > 60)
    assert session.last_look("db2") < HOUR_S + 60
    assert shown["db2"].problem.startswith("no answer for")
    assert "the connection was lost" in shown["db2"].problem


def test_all_are_given_up_when_none_answers_for_so_long(clock):
    watch(clock, db1=always, db2=lambda now_s: now_s > 60)
    assert PATIENCE_S <= clock.now_s < PATIENCE_S + 100


def test_a_host_that_fell_silent_a_moment_ago_keeps_the_others_too(clock):
    session, _ = watch(clock, db1=lambda now_s: 60 < now_s < 900, db2=lambda now_s: now_s > 650)
    assert session.last_look("db1") >= HOUR_S
    assert {now_s for now_s, host in session.looks if host == "db1"} & set(range(800, 1000))


def test_a_silent_host_that_answered_something_else_has_no_reason_to_show(clock):
    session = Session(clock, {"db1": always})
    held = Watch(session)
    held._goes_on("db1", is_answering=False)
    assert held.state("db1").problem == "no answer for 0 s"
