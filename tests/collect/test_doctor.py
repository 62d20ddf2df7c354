"""doctor: findings judged from facts, facts asked of real shells and real sshds, and what a hostile host may say."""

import fcntl
import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from pipeline.collect import plan, spec
from pipeline.collect.doctor import examination as doctor
from pipeline.collect.doctor import facts as _facts
from pipeline.collect.doctor.examination import Finding, judge
from pipeline.collect.doctor.facts import Clock, Facts, Needs
from pipeline.collect.ssh.loopback import LoopbackHosts

SLUG = "2026-11-look"
SPEC = """\
title: Look
hosts:
  db1:
    ssh: host1
    spool: {folder}/spool
    directories: {{scratch: {{path: {folder}/scratch, free_bytes: 1000000}}}}
    devices: {{nvme: {{id: /dev/disk/by-id/nvme-none, serial: "S1", destructive: true}}}}
  db2: {{ssh: host2, spool: {folder}/spool2}}
runs:
  - tool: fio
    hosts: [db1]
    target: {{directory: scratch, file: t.dat, size_bytes: 1M}}
    parameters: {{rw: randread, bs: 4k, direct: 0, ioengine: psync, runtime: 2, time_based: 1}}
    monitors: [iostat, {{perf_stat: {{events: [cycles, task-clock]}}}}]
"""
DEVICE = """\
  - tool: fio
    name: raw
    hosts: [db1]
    target: nvme
    parameters: {rw: randwrite, bs: 4k, direct: 1, ioengine: psync, runtime: 2, time_based: 1}
    sudo: true
"""
NETWORK = """\
  - {tool: iperf3, hosts: [db1], parameters: {server: db2, time: 2, port: PORT}}
"""


def planned(root, more=""):
    path = root / "data" / "campaigns" / f"{SLUG}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    (root / "scratch").mkdir(exist_ok=True)
    path.write_text(SPEC.format(folder=root) + more, "utf-8")
    found = spec.load(root, SLUG)
    return found, plan.make(found)


def needs_of(plans, number=0):
    return Needs.of(plans[number], plans)


# ---- judged, without a host ----


def healthy(held, needs):
    """Facts of a host where nothing is wrong."""
    answers = {}
    for question in _facts.questions(held, needs):
        kind = question[0]
        answers[question] = {
            "program": [("/usr/bin/program", "1.0")],
            "space": [("yes", "yes", str(10**12), "1000", "ext2/ext3", "rw,relatime", "700")],
            "file": [("0",)], "port": [("free",)], "sudo": [("yes",)], "agents": [], "probe": [("0",)],
        }[kind]  # fmt: skip
    facts = {
        "system": [("Linux", "6.1.0", "x86_64")], "user": [("1000", "bench")], "load": [("0.05", "8")], "end": [()],
        "paranoid": [("2",)], "guard": [("0", "-")], "session": [("yes",)], "swap_bytes": [("0",)],
    }  # fmt: skip
    return Facts(answers, facts, Clock(0.01, 0.02))


def with_fact(name, *values):
    return with_facts({name: [values]})


def with_facts(more):
    return lambda facts: replace(facts, facts={**facts.facts, **more})


def without_fact(name):
    return lambda facts: replace(facts, facts={k: v for k, v in facts.facts.items() if k != name})


def with_answer(question, *lines):
    """To the questions that begin so."""

    def change(facts):
        changed = {held: list(lines) for held in facts.answers if held[: len(question)] == question}
        assert changed, question
        return replace(facts, answers={**facts.answers, **changed})

    return change  # fmt: skip


def space(*, is_there="yes", writable="yes", free="1000000000000", inodes="9", system="xfs", options="rw", mode="700"):
    return (is_there, writable, free, inodes, system, options, mode)


GONE = [("-", "-")]
KILLS = {"kill_user_processes": [("b true",)], "kill_only_users": [("as 0",)]}
TABLE = {
    "nothing wrong": (lambda facts: facts, None),
    "no answer at all": (lambda facts: replace(facts, facts={}, answers={}, is_whole=False, said="sh: no"),
                         ("answers", "stop", "sh: no")),
    "cut": (lambda facts: replace(facts, is_whole=False), ("answers", "stop", "not all")),
    "not Linux": (with_fact("system", "Darwin", "24", "arm64"), ("system", "stop", "Darwin")),
    "clock ahead": (lambda f: replace(f, clock=Clock(3.5, 0.1)), ("clock", "warning", "3.500 s ahead of ours")),
    "clock behind": (lambda f: replace(f, clock=Clock(-1.2, 0.1)), ("clock", "warning", "1.200 s behind ours")),
    "clock within its error": (lambda f: replace(f, clock=Clock(1.05, 0.1)), None),
    "no clock": (lambda f: replace(f, clock=None), ("clock", "warning", "not told")),
    "no zstd": (with_answer(("program", "zstd"), *GONE), ("zstd", "stop", "sudo apt-get install zstd")),
    "no flock": (with_answer(("program", "flock"), *GONE), ("flock", "stop", "sudo apt-get install util-linux")),
    "no wipefs": (with_answer(("program", "wipefs"), *GONE), ("wipefs", "stop", "sudo apt-get install util-linux")),
    "no fuser": (with_answer(("program", "fuser"), *GONE), ("fuser", "stop", "sudo apt-get install psmisc")),
    "no fio": (with_answer(("program", "fio"), *GONE), ("fio", "stop", "sudo apt-get install fio")),
    "no iostat": (with_answer(("program", "iostat"), *GONE), ("iostat", "stop", "sudo apt-get install sysstat")),
    "no perf": (with_answer(("program", "perf"), *GONE), ("perf", "stop", "linux-perf (Ubuntu")),
    "spool not writable": (with_answer(("space", "SPOOL"), space(writable="no")), ("spool", "stop", "be written")),
    "spool full": (with_answer(("space", "SPOOL"), space(free="1000")), ("spool", "stop", "1.00 kB are free")),
    "spool tight": (with_answer(("space", "SPOOL"), space(free="80000000")), ("spool", "warning", "of all runs")),
    "spool without inodes": (with_answer(("space", "SPOOL"), space(inodes="0")), ("spool", "stop", "inodes")),
    "spool in memory": (with_answer(("space", "SPOOL"), space(system="tmpfs")), ("spool", "warning", "in memory")),
    "spool noexec": (with_answer(("space", "SPOOL"), space(options="rw,noexec")), ("spool", "warning", "noexec")),
    "spool of all": (with_answer(("space", "SPOOL"), space(mode="777")), ("spool", "warning", "everybody may write")),
    "spool sticky": (with_answer(("space", "SPOOL"), space(mode="1777")), None),
    "spool untold": (with_answer(("space", "SPOOL"), space(free="-")), ("spool", "stop", "not told")),
    "no directory": (with_answer(("space", "SCRATCH"), space(is_there="no")), ("directory", "stop", "does not exist")),
    "directory closed": (with_answer(("space", "SCRATCH"), space(writable="no")), ("directory", "stop", "be written")),
    "directory tight": (with_answer(("space", "SCRATCH"), space(free="2000000")),
                        ("directory", "stop", "2.00 MB are free, 2.05 MB are needed, 1.00 MB of them to stay free")),
    "directory in memory": (with_answer(("space", "SCRATCH"), space(system="tmpfs")),
                            ("directory", "warning", "in mem")),
    "target in use": (with_facts({"guard": [("1", "-")], "reason": [("/dev/disk/by-id/x", "is mounted at /srv")]}),
                      ("target", "stop", "/dev/disk/by-id/x is mounted at /srv")),
    "guard fails": (with_fact("guard", "127", "not found"), ("target", "stop", "can't be checked")),
    "guard says nothing": (without_fact("guard"), ("target", "stop", "can't be checked")),
    "agent at work": (with_fact("guard", "working"), None),
    "sudo asks": (with_answer(("sudo",), ("a password is required",)), ("sudo", "stop", "a password is required")),
    "no counters": (with_answer(("probe",), ("0",), ("<not supported>;;cycles;0;100.00;;",)),
                    ("perf", "warning", "does not count cycles")),
    "perf forbidden": (with_answer(("probe",), ("255",), ("Access to performance monitoring is limited",)),
                       ("perf", "stop", "kernel.perf_event_paranoid is 2")),
    "perf not asked": (with_answer(("probe",)), ("perf", "stop", "nothing")),
    "logind kills": (with_facts({**KILLS, "kill_exclude_users": [('as 1 "root"',)]}),
                     ("logout", "stop", "KillExcludeUsers=root bench")),
    "logind spares": (with_facts({**KILLS, "kill_exclude_users": [('as 1 "bench"',)]}), None),
    "logind without session": (with_facts({**KILLS, "session": [("no",)]}), None),
    "logind kills others": (with_facts({**KILLS, "kill_only_users": [('as 1 "eve"',)]}), None),
    "governor": (with_fact("governor", "8 powersave"), ("governor", "warning", "8 powersave")),
    "governor fits": (with_fact("governor", "8 performance"), None),
    "swap": (with_fact("swap_bytes", "2000000"), ("swap", "warning", "2.00 MB")),
    "load": (with_fact("load", "3.20", "8"), ("load", "warning", "3.20 on 8 processors")),
    "reboot": (with_fact("reboot", "yes"), ("reboot", "warning", "pending")),
    "another agent": (with_answer(("agents",), ("2026-10-other",)), ("agent", "warning", "2026-10-other")),
    "nonsense": (with_facts({"load": [("nan", "x")], "swap_bytes": [("9" * 300,)], "user": [()], "governor": [()],
                             "system": [("Linux",)]}), None),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_a_fact_becomes_a_finding(case, tmp_path):
    change, expected = TABLE[case]
    _, plans = planned(tmp_path, DEVICE)
    needs = needs_of(plans)
    facts = healthy(plans[0], needs)
    places = {"SPOOL": f"{tmp_path}/spool", "SCRATCH": f"{tmp_path}/scratch"}
    renamed = {
        tuple({v: k for k, v in places.items()}.get(word, word) for word in q): a for q, a in facts.answers.items()
    }
    changed = change(replace(facts, answers=renamed))
    facts = replace(changed, answers={tuple(places.get(w, w) for w in q): a for q, a in changed.answers.items()})
    bad = [finding for finding in judge(facts, plans[0], needs, SLUG) if finding.verdict != "ok"]
    if expected is None:
        assert bad == []
        return
    assert [(finding.subject, finding.verdict) for finding in bad] == [expected[:2]] * len(bad)
    assert bad and any(expected[2] in finding.message for finding in bad)


def test_a_port_that_is_taken_stops_unless_our_own_agent_is_at_work(tmp_path):
    _, plans = planned(tmp_path, NETWORK.replace("PORT", "5999"))
    needs = needs_of(plans, 1)
    assert needs.ports == ("5999",)
    assert [needed.program for needed in needs.requirements] == ["iperf3"]
    facts = with_answer(("port",), ("used",))(healthy(plans[1], needs))
    assert [f.subject for f in judge(facts, plans[1], needs, SLUG) if f.verdict == "stop"] == ["port"]
    facts = with_answer(("agents",), (SLUG,))(facts)
    assert not [f for f in judge(facts, plans[1], needs, SLUG) if f.verdict != "ok"]


def test_perf_is_tried_as_the_runs_call_it(tmp_path):
    _, plans = planned(tmp_path)
    assert needs_of(plans).probes == (
        ("probe", "perf", "stat", "-a", "-e", "cycles,task-clock", "-x", ";", "--", "true"),
    )  # fmt: skip


# ---- the report ----


def test_report_sorts_counts_and_tells_what_is_next():
    findings = [Finding("db1", "fio", "ok", "fio-3.33"), Finding("db1", "clock", "warning", "3 s"),
                Finding("db1", "zstd", "stop", "not found: " + "sudo apt-get install zstd " * 9),
                Finding("db2", "fio", "stop", "not found")]  # fmt: skip
    text = doctor.report(findings, SLUG)
    assert text.splitlines()[1].split()[:2] == ["stop", "zstd"]
    assert text.splitlines()[-1] == "2 things would stop the run: 1 on db1, 1 on db2"
    assert max(map(len, text.splitlines())) <= 110
    assert doctor.report(findings[:2], SLUG).splitlines()[-1] == f"ready; next: python -m pipeline run {SLUG}"


def test_report_of_many_hosts_counts_what_is_well():
    findings = [Finding(f"db{n}", "fio", "ok", str(k)) for n in range(50) for k in range(12)]
    text = doctor.report(findings, SLUG)
    assert "12 are as they must be" in text
    assert len(text.splitlines()) < 160


def test_what_a_host_says_is_bounded_and_cannot_reach_the_terminal():
    lines = ["1\tprogram\t/bin/x\t\x1b]0;owned\x07\x9b31m" + "y" * 10**6, "1", "x\ty", "99999999999999\tprogram\tz",
             "-1\tprogram\tz", "7\tprogram\tz", "\u0661\tprogram\tz", "0\tsystem\tLin\u202eux", "0\tend"]  # fmt: skip
    data = "\n".join(lines).encode() + b"\n\xff\xfe\0" + b"1\tprogram\tq\n" * 10**6
    facts = _facts.read(data, b"\x1b[2J" + b"e" * 10**6, [("program", "x")])
    (path, version) = facts.answer("program", "x")
    assert path == "/bin/x"
    assert len(version) <= 401
    assert facts.fact("system") == ("Lin�ux",)
    assert "\x1b" not in version + facts.said
    assert len(facts.answers[("program", "x")]) < 10_000
    text = doctor.report([Finding("db1\x1b[2J", "a\nb", "stop", "x\x1b[31m\r\ny\x9b" + "z" * 10**6)], SLUG)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(text) < 10_000


# ---- facts.sh in real shells ----

SHELLS = {"dash": ["dash", "-s"], "bash": ["bash", "--posix", "-s"], "busybox": ["busybox", "ash", "-s"]}


def asked(root, plans, shell=("sh", "-s"), number=0, environment=None):
    held, needs = plans[number], needs_of(plans, number)
    questions = _facts.questions(held, needs)
    found = subprocess.run(shell, input=_facts.script(held, needs, questions, SLUG), capture_output=True, check=True,
                           env=environment or dict(os.environ), cwd=root)  # fmt: skip
    assert found.stderr == b""
    return _facts.read(found.stdout, found.stderr, questions, Clock(0, 0)), needs


@pytest.mark.parametrize("name", SHELLS)
def test_every_shell_answers_every_question(name, tmp_path):
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"needs {name}")
    _, plans = planned(tmp_path)
    facts, needs = asked(tmp_path, plans, SHELLS[name])
    assert facts.is_whole
    assert facts.answer("program", "fio", "--version")[1].startswith("fio-3")
    assert facts.answer("program", "iostat", "-V")[1].startswith("sysstat version")
    is_there, writable, free, *_ = facts.answer("space", f"{tmp_path}/spool")
    assert (is_there, writable, free.isdigit()) == ("no", "yes", True)
    assert facts.fact("guard")[0] == "0"
    assert {f.subject for f in judge(facts, plans[0], needs, SLUG) if f.verdict == "stop"} <= {"perf"}


def test_looking_changes_nothing(tmp_path):
    _, plans = planned(tmp_path)
    (tmp_path / "tmp").mkdir()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "tmp"}
    asked(tmp_path, plans, environment={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "tmp"} == before


def test_a_host_with_hardly_a_program_says_what_is_missing(tmp_path):
    _, plans = planned(tmp_path, DEVICE)
    (tmp_path / "bin").mkdir()
    for name in ("sh", "cat", "head", "tr", "id", "uname", "stat", "mktemp", "rm", "readlink", "od"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    script = tmp_path / "facts.sh"
    held, needs = plans[0], needs_of(plans)
    questions = _facts.questions(held, needs)
    # Without the system's own folders, which facts.sh would look into as well.
    text = _facts.script(held, needs, questions, SLUG).replace(b":/usr/local/sbin:/usr/sbin:/sbin", b"")
    script.write_bytes(text)
    found = subprocess.run(
        [shutil.which("sh"), script], capture_output=True, check=True, env={"PATH": f"{tmp_path}/bin"}
    )
    facts = _facts.read(found.stdout, found.stderr, questions)
    stops = {f.subject for f in judge(facts, held, needs, SLUG) if f.verdict == "stop"}
    assert {"flock", "setsid", "tar", "zstd", "sha256sum", "timeout", "lsblk", "wipefs", "fuser", "blkid", "fio",
            "perf", "sudo", "target"} <= stops  # fmt: skip
    assert facts.is_whole


def test_words_of_the_spec_stay_words(tmp_path):
    _, plans = planned(tmp_path)
    odd = tmp_path / "it's $(touch owned) `touch owned` *; é"
    odd.mkdir()
    held = replace(plans[0], host=plans[0].host.model_copy(update={"spool": str(odd)}))
    facts, _ = asked(tmp_path, (held, plans[1]))
    assert facts.answer("space", str(odd))[:2] == ("yes", "yes")
    assert not (tmp_path / "owned").exists()


def test_a_link_and_a_full_target_are_told_by_the_guard(tmp_path):
    _, plans = planned(tmp_path)
    (tmp_path / "scratch" / "t.dat").symlink_to("/etc/passwd")
    facts, needs = asked(tmp_path, plans)
    messages = [f.message for f in judge(facts, plans[0], needs, SLUG) if f.subject == "target"]
    assert len(messages) == 1
    assert "is a link" in messages[0]


def test_agents_at_work_are_seen(tmp_path):
    _, plans = planned(tmp_path)
    for name in (SLUG, "2026-10-other", "2026-09-idle"):
        (tmp_path / "spool" / name).mkdir(parents=True)
        (tmp_path / "spool" / name / "agent.lock").touch()
    (tmp_path / "scratch" / "t.dat").symlink_to("/etc/passwd")  # the guard would tell
    with (
        (tmp_path / f"spool/{SLUG}/agent.lock").open() as ours,
        (tmp_path / "spool/2026-10-other/agent.lock").open() as other,
    ):
        fcntl.flock(ours, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)
        facts, needs = asked(tmp_path, plans)
    assert facts.answers[("agents", f"{tmp_path}/spool")] == [("2026-10-other",), (SLUG,)]
    findings = judge(facts, plans[0], needs, SLUG)
    assert [f.verdict for f in findings if f.subject == "agent"] == ["ok", "warning", "ok"]
    assert [f.verdict for f in findings if f.subject == "target"] == ["ok"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts")
def test_a_small_spool_in_memory_is_told(tmp_path):
    _, plans = planned(tmp_path)
    (tmp_path / "spool").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,noexec", "none", tmp_path / "spool"], check=True)
    try:
        facts, needs = asked(tmp_path, plans)
    finally:
        subprocess.run(["umount", tmp_path / "spool"], check=True)
    told = [(f.verdict, f.message) for f in judge(facts, plans[0], needs, SLUG) if f.subject == "spool"]
    assert [verdict for verdict, _ in told] == ["stop", "warning", "warning"]
    assert "1.05 MB are free" in told[0][1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: becomes another user")
def test_another_user_is_told_what_is_closed(tmp_path):
    found, plans = planned(tmp_path)
    held, needs = plans[0], needs_of(plans)
    questions = _facts.questions(held, needs)
    text = _facts.script(held, needs, questions, SLUG)
    said = subprocess.run(["sh", "-s"], input=text, capture_output=True, check=True, user=65534, group=65534, cwd="/",
                          extra_groups=[], env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})  # fmt: skip
    facts = _facts.read(said.stdout, said.stderr, questions)
    stops = {f.subject for f in judge(facts, held, needs, found.slug) if f.verdict == "stop"}
    assert {"spool", "directory", "target"} <= stops


# ---- over real connections ----


@pytest.fixture(scope="module")
def hosts():
    if shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("needs sshd")
    with LoopbackHosts(2) as started:
        yield started


def test_doctor_looks_at_all_hosts_side_by_side(hosts, tmp_path, monkeypatch):
    monkeypatch.setenv("PIPELINE_SSH_CONFIG", str(hosts.config))
    found, plans = planned(tmp_path, NETWORK.replace("PORT", str(hosts.ports["host1"])))
    findings = doctor.examine(found, plans, root=tmp_path)
    assert [f.host for f in findings if f.subject == "clock"] == ["db1", "db2"]
    assert all(
        f.verdict == "ok" for f in findings if f.subject in {"clock", "system", "spool", "agent", "fio", "target"}
    )
    assert [(f.host, f.verdict) for f in findings if f.subject == "port"] == [("db2", "stop")]  # sshd listens there
    assert not (tmp_path / "spool").exists()


def test_hosts_that_are_unknown_or_away_stop_the_run_in_their_own_words(hosts, tmp_path, monkeypatch):
    monkeypatch.setenv("PIPELINE_SSH_CONFIG", str(hosts.config))
    found, plans = planned(tmp_path)
    hosts.write_known_hosts(("host1",))
    try:
        findings = [f for f in doctor.examine(found, plans) if f.host == "db2"]
        assert [(f.subject, f.verdict) for f in findings] == [("reachable", "stop")]
        assert "host key" in findings[0].message or "known_hosts" in findings[0].message
        hosts.write_known_hosts()
        hosts.stop("host2")
        findings = [f for f in doctor.examine(found, plans) if f.host == "db2"]
        assert [(f.subject, f.verdict) for f in findings] == [("reachable", "stop")]
    finally:
        hosts.write_known_hosts()
        if "host2" not in hosts._servers:
            hosts.start("host2")


def test_a_clock_of_whole_seconds_is_less_certain():
    class Old:
        def run(self, script, timeout_s):
            assert (script, timeout_s) == ("date +%s.%N", 20.0)
            return type("Result", (), {"stdout": b"1000.%N\n"})

    clock = doctor._clock(Old())
    assert clock.uncertainty_s >= 0.5
