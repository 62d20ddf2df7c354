"""``run`` and ``cancel`` on hosts that are not there: what is refused, recorded and told."""

import _network as network
import pytest
from _network import SLUG, THERE

from pipeline import ledger
from pipeline.campaign import load_index
from pipeline.collect import plan, spec
from pipeline.collect.run import running
from pipeline.errors import CollectError, UnreachableError
from pipeline.ledger import Entry

DISKS = """\
title: Disks
hosts:
  db1: {devices: {disk: {id: /dev/disk/by-id/nvme-A_1, serial: S123, destructive: true}}}
  db2: {devices: {disk: {id: /dev/disk/by-id/nvme-A_2, serial: S456, destructive: true}}}
runs:
  - {tool: fio, name: fill, target: disk, parameters: {rw: write, bs: 4k, size: 1m}}
"""


def entry(run_id, **more):
    """A run that is complete."""
    host, tool, point, repeat = run_id.rsplit("-", 3)
    values = {
        "run_id": run_id, "host": host, "tool": tool, "point": point, "repeat": int(repeat[1:]), "attempt": 1,
        "state": "complete", "exit_status": 0, "started_at": "2026-11-21T08:00:00Z",
        "stopped_at": "2026-11-21T08:01:00Z", "command": "true", "work": "5" * 64, "sha256": "0f" * 32, "n_bytes": 10,
        "ssh": host, "archive": f"/spool/done/{run_id}.tar.zst",
    }  # fmt: skip
    return Entry(**{**values, **more})


# ---- --destroy ----


def complete(root):
    """All runs of the campaign as complete."""
    plans = plan.make(spec.load(root, SLUG))
    return [entry(run.run_id, work=run.digest) for held in plans for run in held.runs]


def test_the_same_command_again_is_no_error_when_all_is_complete(tmp_path, monkeypatch):
    network.write(tmp_path, DISKS)
    first, second = complete(tmp_path)
    hosts = network.Hosts(monkeypatch, db1=network.status(done=[first]), db2=network.status(done=[second]))
    assert running.run(SLUG, tmp_path, ["S123", "S456"], 16) == 0
    assert not any(asked[1] == "submit" for asked in hosts.asked)


def test_a_campaign_that_ended_before_it_was_in_the_index_gets_there(tmp_path, monkeypatch):
    network.write(tmp_path, DISKS)
    done = complete(tmp_path)
    with ledger.writer(tmp_path, SLUG) as book:
        book.add(done)
    assert load_index(tmp_path) == []
    network.Hosts(monkeypatch, db1=network.status(done=done[:1]), db2=network.status(done=done[1:]))
    assert running.run(SLUG, tmp_path, [], 16) == 0
    assert load_index(tmp_path) == [SLUG]


def test_it_watches_again_what_is_in_hand(tmp_path, monkeypatch):
    network.write(tmp_path, DISKS)
    first, second = complete(tmp_path)
    hosts = network.Hosts(monkeypatch, db1=network.status(first.run_id, agent="working"),
                          db2=network.status(done=[second]))  # fmt: skip
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        hosts.statuses["db1"] = network.status(done=[first])

    monkeypatch.setattr("pipeline.collect.run.watching.time.sleep", sleep)
    assert running.run(SLUG, tmp_path, ["S123", "S456"], 16) == 0
    assert len(slept) == 1


def test_a_serial_of_a_host_that_is_away_stops_nothing(tmp_path, monkeypatch, capsys):
    network.write(tmp_path, DISKS)
    _, second = complete(tmp_path)
    hosts = network.Hosts(monkeypatch, db2=network.status(done=[second]))
    hosts.failing["db1", None] = UnreachableError("db1: no connection")
    assert running.run(SLUG, tmp_path, ["S123", "S456"], 16) == 1
    assert "db1: 0 of 1 runs complete: db1: no connection" in capsys.readouterr().out


def test_a_serial_that_the_campaign_does_not_know_is_refused(tmp_path, monkeypatch):
    network.write(tmp_path, DISKS)
    network.Hosts(monkeypatch, db1=network.status(), db2=network.status())
    message = r"--destroy: expected serials of devices that the campaign overwrites, found \['S124'\]"
    with pytest.raises(CollectError, match=message):
        running.run(SLUG, tmp_path, ["S124"], 16)


def test_consent_is_still_asked_for_each_device(tmp_path, monkeypatch):
    network.write(tmp_path, DISKS)
    hosts = network.Hosts(monkeypatch, db1=network.status(), db2=network.status())
    monkeypatch.setattr(running.consent, "terminal", lambda: None)
    with pytest.raises(CollectError, match="db2: /dev/disk/by-id/nvme-A_2, pass --destroy S456") as caught:
        running.run(SLUG, tmp_path, ["S123"], 16)
    assert "S123" not in str(caught.value)
    assert not any(asked[1] == "submit" for asked in hosts.asked)


# ---- cancel ----


def test_cancel_records_the_others_where_a_host_has_what_is_not_its_own(tmp_path, monkeypatch, capsys):
    network.write(tmp_path)
    foreign, own = entry("db2-stress_ng-alone-r1"), entry(THERE)
    network.Hosts(monkeypatch, db1=network.status(done=[foreign]), db2=network.status(done=[own]))
    assert running.cancel(SLUG, tmp_path, 16) == 1
    assert ledger.Ledger.load(tmp_path, SLUG).entries == {THERE: own}
    said = capsys.readouterr().err
    assert said.count("error:") == 1
    assert "error: db1: not recorded here: db1: expected its own runs in its spool, found those of db2" in said
