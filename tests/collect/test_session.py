"""What a session does where a host is too busy to answer in time, or a service that runs need does not start."""

import _network as network
import pytest
from _network import ALONE, NETWORK, THERE

from pipeline.collect.run import session
from pipeline.collect.run.watching import Watch
from pipeline.errors import CollectError, UnreachableError


class Host:
    """Raises these errors, one a call, and then answers."""

    def __init__(self, *errors):
        self.errors, self.n_calls = list(errors), 0

    def work(self):
        self.n_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def late():
    return UnreachableError("host35: a command did not end in the time it was given")


@pytest.mark.parametrize("n_late", [0, 1, 2])
def test_a_busy_host_is_asked_again(n_late):
    host = Host(*(late() for _ in range(n_late)))
    assert session._patiently(host.work) == "done"
    assert host.n_calls == n_late + 1


def test_but_not_for_ever():
    host = Host(late(), late(), late())
    with pytest.raises(UnreachableError, match="did not end in the time"):
        session._patiently(host.work)
    assert host.n_calls == 3


def test_a_refusal_is_final():
    host = Host(CollectError("db1: expected a queue, found none"))
    with pytest.raises(CollectError, match="expected a queue"):
        session._patiently(host.work)
    assert host.n_calls == 1


# ---- services ----


def begin(held):
    """What ``run`` does, up to the watching."""
    held.look(held.plans)
    held.submit(held.missing())


def test_runs_whose_service_cannot_be_started_are_held_back_and_it_is_told(tmp_path, monkeypatch):
    hosts = network.Hosts(monkeypatch, db1=network.status(), db2=network.status())
    hosts.failing["db2", "serve"] = CollectError("db2: expected agent.sh service to do its work, found: disk full")
    held = network.session(tmp_path)
    begin(held)
    assert ("db1", "submit", ALONE) in hosts.asked  # what needs no service goes on, on both
    assert ("db2", "submit", THERE) in hosts.asked
    assert not any(NETWORK in asked for asked in hosts.asked)
    assert held.unserved.keys() == {"db1"}
    state = Watch(held).state("db1")
    assert state.problem.startswith("runs lack iperf3-5201 on db2: db2: expected agent.sh service")
    assert "disk full" in state.problem


def test_a_host_that_is_given_nothing_tells_why_too(tmp_path, monkeypatch):
    hosts = network.Hosts(monkeypatch, db1=network.status(agent="stopped: cancelled"), db2=network.status())
    hosts.failing["db2", "serve"] = UnreachableError("db2: the connection was lost")
    text = "".join(line for line in network.SPEC.splitlines(keepends=True) if "name: alone" not in line)
    held = network.session(tmp_path, text)
    begin(held)
    assert [asked for asked in hosts.asked if asked[0] == "db1"] == [("db1", "status")]
    assert Watch(held).state("db1").problem == (
        "stopped: cancelled; runs lack iperf3-5201 on db2: db2: the connection was lost"
    )


def test_runs_that_a_host_still_has_in_its_queue_get_their_service(tmp_path, monkeypatch):
    """As after a reboot: they are in hand and not missing."""
    left = network.status(NETWORK, ALONE, agent="stopped: the host was rebooted in mid-run; continue")
    hosts = network.Hosts(monkeypatch, db1=left, db2=network.status(THERE, agent="working"))
    held = network.session(tmp_path)
    begin(held)
    (served,) = [asked for asked in hosts.asked if asked[1] == "serve"]
    assert served[:3] == ("db2", "serve", "iperf3-5201")
    longest_s = sum(run.longest_s for run in held.plans["db1"].runs)
    assert served[3] == longest_s + session._SERVICE_MARGIN_S  # as long as all of that host's runs may take
    assert hosts.asked.index(served) < hosts.asked.index(("db1", "start"))
    assert not any(asked[1] == "submit" for asked in hosts.asked)


def test_a_service_that_fails_does_not_end_the_watching_of_what_its_host_measures_itself(tmp_path, monkeypatch):
    working = network.status(THERE, agent="working")
    hosts = network.Hosts(monkeypatch, db1=network.status(NETWORK, agent="working"), db2=working)
    hosts.failing["db2", "serve"] = CollectError("db2: expected a service, found none")
    held = network.session(tmp_path)
    begin(held)
    assert not held.problems
    assert "iperf3-5201 on db2" in Watch(held).state("db1").problem
    assert Watch(held).state("db2").problem is None


def test_an_agent_that_is_started_again_has_its_service(tmp_path, monkeypatch):
    hosts = network.Hosts(monkeypatch, db1=network.status(NETWORK), db2=network.status())
    held = network.session(tmp_path)
    held.look(held.plans)
    held.resume("db1")
    assert [asked[:2] for asked in hosts.asked[2:]] == [("db2", "serve"), ("db1", "start")]
