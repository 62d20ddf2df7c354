"""Plans: order, files, times, what may be written; and which runs are still missing."""

import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.campaign import check_run_id
from pipeline.collect import plan, spec, tools
from pipeline.collect.plan import safety as _safety
from pipeline.collect.work import DeviceTarget, FileTarget, Monitor, Step, Work
from pipeline.errors import SpecError

SPECS = Path(__file__).parent / "specs"
SLUG = "2026-11-depth"
DEVICE = spec.Device(id="/dev/disk/by-id/nvme-A:1", serial="1")
HOST = spec.Host(
    name="db1", devices={"nvme": DEVICE}, directories={"scratch": spec.Directory(path="/mnt/scratch/bench")}
)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@pytest.fixture
def example(tmp_path):
    return load(tmp_path, (SPECS / "example.yaml").read_text("utf-8"))


def load(folder, text):
    path = folder / "data/campaigns" / f"{SLUG}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return spec.load(folder, SLUG)


def run_of(work, *monitors):
    return plan.PlannedRun("db1-fio-p-r1", "db1", "fio", "p", 1, work, monitors, 1.5, 2.5, 90.2, 30.0, 60.0)


# ---- the plan ----


def test_the_description_is_as_it_was_read_by_a_person(example):
    expected = SPECS / "example.plan.txt"
    assert plan.describe(plan.make(example), example) == expected.read_text("utf-8")


def test_every_host_measures_every_point_as_often_as_asked(example):
    first, second = plan.make(example)
    assert Counter(run.point for run in first.runs) == {
        "iodepth1": 3, "iodepth8": 3, "iodepth64": 3, "read-bs1m-iodepth32": 3, "file": 3,
    }  # fmt: skip
    assert Counter(run.point for run in second.runs)["writes"] == 2
    assert [run.point for run in first.runs] != [run.point for run in second.runs if run.point != "writes"]
    ids = [run.run_id for held in (first, second) for run in held.runs]
    assert len(set(ids)) == len(ids)
    assert all(check_run_id(run.run_id) == f"{run.host}-{run.tool}-{run.point}-r{run.repeat}" for run in first.runs)


def test_the_example_of_the_readme_only_reads(tmp_path):
    held = load(tmp_path, (SPECS / "readme.yaml").read_text("utf-8"))
    plans = plan.make(held)
    assert [len(host.runs) for host in plans] == [9, 9]
    assert "No device is written to." in plan.describe(plans, held)


def test_a_plan_is_made_twice_alike(example):
    assert plan.make(example) == plan.make(example)


def test_times_add_up(example):
    host = plan.make(example)[1]
    run = next(run for run in host.runs if run.point == "writes")
    assert run.estimate_s == run.work.prepare_s + run.work.duration_s + 5
    assert run.time_limit_s == 3 * run.work.duration_s + 60
    assert run.prepare_limit_s == 3 * run.work.prepare_s + 60
    assert host.estimate_s == sum(run.estimate_s + run.cool_down_s for run in host.runs)


def test_a_limit_of_a_run_holds_for_its_preparation_where_it_is_longer(tmp_path):
    text = (SPECS / "example.yaml").read_text("utf-8").replace("    repeats: 2", "    time_limit_s: 1000")
    run = next(run for run in plan.make(load(tmp_path, text))[1].runs if run.point == "writes")
    assert (run.time_limit_s, run.prepare_limit_s) == (1000, 1000)


def test_only_what_writes_is_written(example):
    targets = {
        (host.host.name, run.point, target.is_written)
        for host in plan.make(example)
        for run in host.runs
        for target in run.work.targets
        if isinstance(target, DeviceTarget)
    }
    assert {found for found in targets if found[2]} == {("db2", "writes", True)}


def test_a_host_that_only_serves_has_a_plan(tmp_path):
    text = """
title: Network
hosts:
  a: {address: 10.0.0.1}
  b: {address: 10.0.0.2}
runs:
  - {tool: iperf3, hosts: [a], parameters: {server: b, time: 10, parallel: [1, 8]}}
"""
    held = load(tmp_path, text)
    first, second = plan.make(held)
    assert (len(first.runs), len(second.runs)) == (2, 0)
    assert "--client 10.0.0.2" in first.runs[0].work.command
    shown = plan.describe((first, second), held)
    assert "serves  iperf3-5201: iperf3 --server --port 5201" in shown
    assert "needs   iperf3-5201 on host b" in shown


def test_a_service_answers_one_host(tmp_path):
    entry = "  - {tool: iperf3, hosts: [HOST], name: HOST, parameters: {server: a, time: 10, port: PORT}}\n"
    text = "title: Network\nhosts: {a: , b: , c: }\nruns:\n" + entry.replace("HOST", "b").replace("PORT", "5201")
    with pytest.raises(SpecError, match="expected a service of its own on 'a' for host 'c', found iperf3-5201 of 'b'"):
        plan.make(load(tmp_path, text + entry.replace("HOST", "c").replace("PORT", "5201")))
    assert len(plan.make(load(tmp_path, text + entry.replace("HOST", "c").replace("PORT", "5202")))) == 3


@pytest.mark.parametrize("tool", ["act", "fio", "iperf3", "perf_record", "perf_stat", "pgbench", "stress_ng"])
def test_all_tools_are_known(tool):
    assert tool in spec.names_of(tools)


def test_monitors_stand_beside_the_run(tmp_path):
    text = (SPECS / "example.yaml").read_text("utf-8").replace(
        "    warm_up_s: 5", "    monitors: [mpstat, {perf_stat: {events: [cycles, instructions], interval_s: 1}}]"
    )  # fmt: skip
    held = load(tmp_path, text)
    run = next(run for run in plan.make(held)[0].runs if run.monitors)
    files = plan.files_of(run, run.run_id, SLUG)
    assert files["monitor-mpstat.sh"].splitlines()[-1].startswith("exec env S_TIME_FORMAT=ISO mpstat ")
    assert "exec perf stat" in files["monitor-perf_stat.sh"]
    assert {"mpstat.json", "fio.json"} <= set(json.loads(files["command.json"])["logs"])
    assert "beside  env S_TIME_FORMAT=ISO mpstat" in plan.describe(plan.make(held), held)


# ---- what is refused ----


@pytest.mark.parametrize(("letters", "count"), [("abcdef", 10**6), ("abcd", 10**4)])
def test_a_matrix_of_a_million_points_is_refused_with_its_count(letters, count, tmp_path):
    values = ", ".join(f"{key}: {list(range(10))}" for key in letters)
    text = f"title: x\nhosts: {{db1: }}\nruns:\n  - {{tool: stress_ng, repeats: 2, parameters: {{{values}}}}}\n"
    with pytest.raises(
        SpecError, match=f":4: runs.0.: expected at most 10,000 runs on host 'db1', found {2 * count:,}"
    ):
        plan.make(load(tmp_path, text))


def test_runs_of_several_entries_are_counted_together(tmp_path):
    entry = "  - {tool: stress_ng, name: NAME, repeats: 6000, parameters: {cpu: 1, timeout: 1}}\n"
    text = "title: x\nhosts: {db1: }\nruns:\n" + entry.replace("NAME", "a") + entry.replace("NAME", "b")
    with pytest.raises(SpecError, match=r"found 6,000 \+ 6,000 = 12,000"):
        plan.make(load(tmp_path, text))


def test_run_ids_of_two_hosts_never_meet(tmp_path):
    text = """
title: x
hosts: {db: , db-stress_ng: }
runs:
  - {tool: stress_ng, hosts: [db], name: stress_ng-a, parameters: {cpu: 1, timeout: 1}}
  - {tool: stress_ng, hosts: [db-stress_ng], name: a, parameters: {cpu: 1, timeout: 1}}
"""
    with pytest.raises(SpecError, match="expected a name that gives other run ids"):
        plan.make(load(tmp_path, text))


def reasons(work, *monitors, host=HOST):
    return [problem.message for problem in _safety.problems_of_work(work, monitors, host, ("runs", 0))]


TARGET = DeviceTarget(DEVICE.id, "1", is_written=False)
FILE = FileTarget("/mnt/scratch/bench", "a.dat", 1)


def work(*argv, **keys):
    return Work(measure=(Step(argv or ("true",)),), duration_s=1, **keys)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (work(targets=(replace(TARGET, is_written=True),)), "expected `destructive: true`"),
        (work(targets=(replace(TARGET, path="/dev/disk/by-id/other"),)), "expected devices of host 'db1' only"),
        (work(targets=(replace(TARGET, identity="2"),)), "expected the identity 1 of"),
        (work(targets=(replace(FILE, directory="/mnt"),)), "expected files in directories of host 'db1' only"),
        (work("dd", "of=/dev/sdb"), "expected no device but the `target` in commands on 'db1', found '/dev/sdb'"),
        (work("dd", "of=/mnt/../dev//sdb"), "expected no device but the `target`"),
        (work("dd", "of=/dev/./null/../sdb"), "expected no device but the `target`"),
        (work("dd", "of=/dev/null/../sdb"), "expected no device but the `target`"),
        (work("dd", f"of={DEVICE.id}-part1", targets=(TARGET,)), "expected no device but the `target`"),
        (work("dd", f"of={DEVICE.id}"), "expected no device but the `target`"),
        (work("fio", f"--filename={DEVICE.id}:/dev/sdb", targets=(TARGET,)), "found '/dev/sdb'"),
        (work(files={"a.conf": "device-names: /dev/sdb\n"}), "found '/dev/sdb'"),
        (work(finish=(Step(("rm", "/dev/sdb")),)), "found '/dev/sdb'"),
        (work(files={"../x": ""}), "expected names of files that a run does not use itself, found '../x'"),
        (work(files={"measure.sh": ""}), "found 'measure.sh'"),
        (work(files={"monitor-x.sh": ""}), "found 'monitor-x.sh'"),
    ],
)
def test_work_that_must_not_be_planned(held, expected):
    found = reasons(held)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    "held",
    [
        work("fio", f"--filename={DEVICE.id}", targets=(TARGET,)),
        work("fio", "--filename=" + DEVICE.id.replace(":", r"\:"), targets=(TARGET,)),
        work("sh", "-c", "cat > /dev/null 2>/dev/stderr"),
        work("pgbench", "-f", "/srv/device/x.sql", targets=(FILE,)),
    ],
)
def test_work_that_may_be_planned(held):
    assert reasons(held) == []


def test_a_device_that_may_be_destroyed_is_written():
    host = HOST.model_copy(update={"devices": {"nvme": DEVICE.model_copy(update={"destructive": True})}})
    assert reasons(work(targets=(replace(TARGET, is_written=True),)), host=host) == []


def test_parts_of_a_run_write_files_of_their_own():
    log = Step(("iostat",), "iostat.json")
    assert reasons(work(), Monitor("iostat", log), Monitor("mpstat", replace(log, stdout="mpstat.json"))) == []
    assert "expected each monitor once" in reasons(work(), Monitor("iostat", log), Monitor("iostat", log))[0]
    assert "found 'iostat.json' of iostat" in reasons(work(), Monitor("iostat", log), Monitor("other", log))[0]
    assert "found 'iostat.json' of the tool" in reasons(work(logs=("iostat.json",)), Monitor("iostat", log))[0]
    assert "found 'status' of the run itself" in reasons(work(), Monitor("iostat", replace(log, stdout="status")))[0]


# ---- files of an attempt ----


def test_the_files_of_an_attempt():
    held = Work(
        measure=(Step(("fio", "a b.fio"), "out"),), duration_s=1, prepare=(Step(("true",)),),
        files={"a b.fio": "[x]\n"},
        targets=(replace(TARGET, is_written=True), FILE), logs=("out",), free_bytes=77,
    )  # fmt: skip
    monitor = Monitor("iostat", Step(("iostat", "1"), "iostat.txt"), (Step(("report",)),), logs=("iostat.txt",))
    files = plan.files_of(run_of(held, monitor), "db1-fio-p-r1+a3", SLUG)
    assert json.loads(files.pop("command.json")) == {
        "run_id": "db1-fio-p-r1+a3", "campaign": SLUG, "host": "db1", "tool": "fio", "point": "p", "repeat": 1,
        "attempt": 3, "command": "fio 'a b.fio' > out", "work": run_of(held, monitor).digest,
        "logs": ["out", "iostat.txt"],
    }  # fmt: skip
    head = "#!/bin/sh\nset -eu\nexport LC_ALL=C\n"
    assert files == {
        "a b.fio": "[x]\n",
        "prepare.sh": f"{head}true\n",
        "measure.sh": f"{head}fio 'a b.fio' > out\n",
        "finish.sh": f"{head}report\n",
        "monitor-iostat.sh": f"{head}exec iostat 1 > iostat.txt\n",
        "targets": "device\t/dev/disk/by-id/nvme-A:1\t1\nfile\t/mnt/scratch/bench\ta.dat\t1\n",
        "limits": "PREPARE_LIMIT_S=60\nTIME_LIMIT_S=91\nWARM_UP_S=2\nCOOL_DOWN_S=3\nFREE_BYTES=77\n",
    }


def test_an_attempt_belongs_to_its_run():
    with pytest.raises(ValueError, match="no attempt of"):
        plan.files_of(run_of(work()), "db2-fio-p-r1", SLUG)
    with pytest.raises(ValueError, match="expected an attempt"):
        plan.files_of(run_of(work()), "nonsense", SLUG)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3), st.none() | WORDS)
def test_scripts_split_again_into_exactly_the_words(argvs, stdout):
    steps = tuple(Step(argv, stdout) for argv in argvs)
    files = plan.files_of(run_of(Work(measure=steps, prepare=steps, duration_s=1)), "db1-fio-p-r1", SLUG)
    monitor = plan.files_of(run_of(work(), Monitor("m", steps[0])), "db1-fio-p-r1", SLUG)["monitor-m.sh"]
    expected = [word for step in steps for word in (*step.argv, *((">", stdout) if stdout else ()))]
    for name in ("measure.sh", "prepare.sh"):
        assert shlex.split(files[name].removeprefix("#!/bin/sh\nset -eu\nexport LC_ALL=C\n")) == expected
    assert shlex.split(monitor)[:5] == shlex.split("#!/bin/sh set -eu export LC_ALL=C", comments=False)[:5]
    n_words = len(steps[0].argv) + (2 if stdout else 0)
    assert shlex.split(monitor)[5:] == ["exec", *expected[:n_words]]


# ---- attempts ----


@dataclass(frozen=True)
class Entry:
    """As much of the ledger's as counts."""

    host: str
    tool: str
    point: str
    repeat: int
    state: str


def entry_of(run, state):
    return Entry(run.host, run.tool, run.point, run.repeat, state)


def test_what_is_missing(example):
    plans = plan.make(example)
    runs = plans[0].runs
    nothing = plan.missing(plans, {}, set())
    assert list(nothing["db1"].items()) == [(run.run_id, run) for run in runs]
    failed, lost, done, waits, hidden = (run.run_id for run in runs[:5])
    entries = {
        failed: entry_of(runs[0], "failed"),
        lost: entry_of(runs[1], "interrupted"),
        f"{lost}+a2": entry_of(runs[1], "timed_out"),
        done: entry_of(runs[2], "failed"),
        f"{done}+a2": entry_of(runs[2], "complete"),
    }
    known = {failed, f"{lost}+a2", waits, f"{hidden}+a7", "not-of-ours", "+a2"}
    found = plan.missing(plans, entries, known)
    assert list(found["db1"])[:3] == [f"{failed}+a2", f"{lost}+a3", runs[5].run_id]
    assert len(found["db1"]) == len(runs) - 3  # done is done, two are in hand
    assert list(found["db2"]) == list(nothing["db2"])


@given(st.data())
def test_an_attempt_id_is_never_used_twice(data):
    runs = tuple(replace(run_of(work()), run_id=f"db1-fio-p-r{n}", repeat=n) for n in range(1, 4))
    plans = (plan.HostPlan(HOST, runs),)
    entries, known = {}, set()
    for _ in range(6):
        found = plan.missing(plans, entries, known)["db1"]
        assert not set(found) & (set(entries) | known)
        for attempt, run in found.items():
            check_run_id(attempt)
            assert plan.run_of(attempt) == run.run_id
            known.add(attempt)
        for attempt in sorted(known - set(entries)):
            if data.draw(st.booleans()):
                continue  # in hand
            run = next(run for run in runs if run.run_id == plan.run_of(attempt))
            entries[attempt] = entry_of(run, data.draw(st.sampled_from(["complete", "failed", "cancelled"])))
        if data.draw(st.booleans()):  # the spool is gone
            known -= set(entries)
    complete = [entry.repeat for entry in entries.values() if entry.state == "complete"]
    assert len(complete) == len(set(complete))  # a complete run is never repeated


@pytest.mark.parametrize("attempt", ["x-r1+a0", "x-r1+a02", "x-r1+a", "x", "x-r+a2", "", "x-r1+a2\n"])
def test_what_is_no_attempt(attempt):
    with pytest.raises(ValueError, match="expected an attempt"):
        plan.number_of(attempt)
    assert plan.run_of(attempt) == attempt


def test_attempt_ids_are_run_ids_of_a_campaign(tmp_path):
    host, point = "h" * 64, "p" * 64
    entry = f"{{tool: stress_ng, name: {point}, parameters: {{cpu: 1, timeout: 1}}}}"
    text = f"title: x\nhosts: {{{host}: }}\nruns: [{entry}]\n"
    (held,) = plan.make(load(tmp_path, text))
    attempt = plan.attempt_id(held.runs[0].run_id, 99999)
    assert check_run_id(attempt) == attempt
    assert plan.number_of(attempt) == 99999
    assert re.fullmatch(r"h{64}-stress_ng-p{64}-r1\+a99999", attempt)
