"""agent.sh on a spool of this machine, with small real commands: what ends well, and everything that may go wrong."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
import uuid
from datetime import datetime
from pathlib import Path

import pytest
from _host import HOST, Spool, add, attempt_files, script, tar_of

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts")


@pytest.fixture
def spool(tmp_path):
    spool = Spool(tmp_path / "a campaign's spool")
    yield spool
    subprocess.run(["sh", spool.folder / "agent.sh", "cancel", spool.folder], check=False, capture_output=True)


def alive(marker):
    """Processes whose command line holds a text, other than this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("shell", [("dash",), ("bash",), ("busybox", "ash")], ids=" ".join)
def test_runs_are_packed_one_after_another(tmp_path, shell):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"needs {shell[0]}")
    spool = Spool(tmp_path / "spool", shell)
    attempts = {
        "h-sh-p1-r1": attempt_files(
            "echo measured; echo said >&2; sleep 1",
            prepare="echo prepared > prepared.txt",
            finish="wc -l < m.log > lines.txt",
            monitor_m="trap 'echo stopped >> m.log; exit 0' INT; while :; do echo tick >> m.log; sleep 0.1; done",
        ),
        "h-sh-p1-r2+a2": attempt_files("exit 3"),
    }
    agent, runs, done = spool.run(attempts)
    assert (agent, runs) == ("idle", {})
    assert [(item["state"], item["exit_status"]) for item in done.values()] == [("complete", 0), ("failed", 3)]
    item = done["h-sh-p1-r1"]
    data = (spool.folder / "done" / "h-sh-p1-r1.tar.zst").read_bytes()
    assert (item["sha256"], item["n_bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    assert item["run"] == json.loads(attempts["h-sh-p1-r1"]["command.json"])
    took = datetime.fromisoformat(item["stopped_at"]) - datetime.fromisoformat(item["started_at"])
    assert 0 <= took.total_seconds() <= 5
    files = spool.unpack("h-sh-p1-r1", tmp_path)
    assert files.keys() >= attempts["h-sh-p1-r1"].keys()
    assert (files["stdout"], files["stderr"], files["prepared.txt"]) == ("measured\n", "said\n", "prepared\n")
    assert files["m.log"].count("tick") > 5
    assert files["m.log"].endswith("stopped\n")  # SIGINT came, and its last words are in finish.sh's report
    assert int(files["lines.txt"]) == len(files["m.log"].splitlines())
    assert (files["status"], files["exit_status"]) == ("complete\n", "0\n")
    for moment in ("before", "after"):
        assert f"\nmoment\t{moment}\n" in files[f"environment-{moment}.txt"]
        assert "\nend\t" in files[f"environment-{moment}.txt"]
    assert list((spool.folder / "runs").iterdir()) == []
    spool.submit(attempts)  # they stay done
    assert spool.run({}) == (agent, {}, done)
    assert spool.folder.stat().st_mode & 0o077 == 0 or spool.folder.parent == tmp_path
    assert (spool.folder / "done").stat().st_mode & 0o077 == 0


def test_the_time_limit_strikes_all_processes(spool, tmp_path):
    name = f"99{uuid.uuid4().int % 10**7}"
    files = attempt_files(f"sleep {name} & sleep {name}", finish="echo report > report.txt", limits={"TIME_LIMIT_S": 2})
    _, _, done = spool.run({"a-r1": files})
    assert done["a-r1"]["state"] == "timed_out"
    found = spool.unpack("a-r1", tmp_path)
    assert "measure.sh reached its time limit of 2 s" in found["stderr"]
    assert found["report.txt"] == "report\n"
    assert alive(name) == []


def test_steps_and_monitors_that_fail(spool, tmp_path):
    _, _, done = spool.run({
        "prepare-r1": attempt_files("touch measured", prepare="false"),
        "finish-r1": attempt_files("true", finish="exit 4"),
        "monitor-r1": attempt_files("sleep 0.5", monitor_x="exit 5"),
        "stubborn-r1": attempt_files("exit 0", monitor_x="trap '' INT; while :; do sleep 0.1; done"),
        "links-r1": attempt_files("ln -s / stolen; mkfifo pipe; mkdir sub", "echo x > sub/kept; ln sub/kept twin"),
        "no-guard-r1": attempt_files("touch measured", targets="nonsense\n"),
    })  # fmt: skip
    states = {attempt: item["state"] for attempt, item in done.items()}
    assert states == {"prepare-r1": "failed", "finish-r1": "failed", "monitor-r1": "complete",
                      "stubborn-r1": "complete", "links-r1": "complete", "no-guard-r1": "refused"}  # fmt: skip
    assert done["finish-r1"]["exit_status"] == 0
    assert done["prepare-r1"]["exit_status"] is None
    assert "measured" not in spool.unpack("prepare-r1", tmp_path)
    assert "exit status 5" in spool.unpack("monitor-r1", tmp_path)["stderr"]
    files = spool.unpack("links-r1", tmp_path)
    assert files["stderr"].count("left out") == 2
    assert (tmp_path / "links-r1" / "sub" / "kept").read_text() == files["twin"] == "x\n"
    files = spool.unpack("no-guard-r1", tmp_path)
    assert "refused: nonsense\texpected a line of targets" in files["stderr"]
    assert "measured" not in files


@needs_root
@pytest.mark.xdist_group("loop-devices")
def test_the_guard_looks_again_just_before_the_write(spool, tmp_path):
    """What prepare.sh is about takes hours; somebody mounts the target meanwhile."""
    image, place = tmp_path / "disk.img", tmp_path / "place"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    place.mkdir()
    node = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    link = Path("/dev/disk/by-id") / f"bench-test-{uuid.uuid4().hex}"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(node)
    try:
        line = f"device\t{link}\t{image}\n"
        somebody = f"mkfs.ext4 -q {node} && mount {node} {place}"
        _, _, done = spool.run({
            "fine-r1": attempt_files(f"printf written > {link}", targets=line),
            "taken-r1": attempt_files(f"printf written > {link}; touch measured", targets=line, prepare=somebody),
        })  # fmt: skip
        assert (done["fine-r1"]["state"], done["taken-r1"]["state"]) == ("complete", "refused")
        files = spool.unpack("taken-r1", tmp_path)
        assert "is mounted at" in files["stderr"]
        assert "signatures of ext4" in files["stderr"]
        assert "measured" not in files
    finally:
        subprocess.run(["umount", place], check=False, capture_output=True)
        subprocess.run(["losetup", "-d", node], check=False)
        link.unlink()


def laid_out(path, *further, measure="true"):
    """An attempt that makes a file as its target."""
    line = f"file\t{path.parent}\t{path.name}\t1000\n"
    return attempt_files(measure, targets=line, prepare="\n".join((f"printf 'laid out' > '{path}'", *further)))


def test_a_file_that_was_there_before_is_not_overwritten(spool, tmp_path):
    target = tmp_path / "scratch" / "test.dat"
    target.parent.mkdir()
    target.write_text("precious data")
    _, _, done = spool.run({"a-r1": laid_out(target)})
    assert (done["a-r1"]["state"], target.read_text()) == ("refused", "precious data")
    assert "no campaign noted that it made it" in spool.unpack("a-r1", tmp_path)["stderr"]
    target.unlink()
    again = f"rm '{target}'; printf 'laid out' > '{target}'"  # as fio does where it makes it anew
    _, _, done = spool.run({"a-r1+a2": laid_out(target), "a-r2": laid_out(target, again, "exit 1"),
                            "a-r3": laid_out(target)})  # fmt: skip
    assert [item["state"] for item in done.values()] == ["complete", "refused", "failed", "complete"]
    _, _, done = Spool(tmp_path / "another campaign").run({"a-r1": laid_out(target)})
    assert done["a-r1"]["state"] == "complete"
    target.write_text("precious data")
    _, _, done = spool.run({"a-r4": laid_out(target)})
    assert (done["a-r4"]["state"], target.read_text()) == ("refused", "precious data")


def test_a_file_that_was_half_made_is_made_anew(spool, tmp_path):
    target = tmp_path / "scratch" / "test.dat"
    target.parent.mkdir()
    spool.submit({"a-r1": laid_out(target, "sleep 600"), "a-r2": laid_out(target)})
    spool.verb("start")
    spool.wait(lambda *_: target.exists() and target.stat().st_size > 0)
    os.kill(spool.agent_pid, signal.SIGKILL)
    spool.wait()
    spool.verb("start")
    _, _, done = spool.wait()
    assert {attempt: item["state"] for attempt, item in done.items()} == {"a-r1": "interrupted", "a-r2": "complete"}


def slow_start(folder, seconds):
    """A folder for PATH whose `timeout` is slow to start a step, once."""
    folder.mkdir()
    shim = folder / "timeout"
    wait = f'case "$*" in *" step "*) if mkdir "{folder}/once" 2>/dev/null; then sleep {seconds}; fi ;; esac'
    shim.write_text(script(wait, f'exec {shutil.which("timeout")} "$@"'))
    shim.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_machine_under_load_may_take_long_to_start_a_run(spool, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", slow_start(tmp_path / "bin", 4))
    _, _, done = spool.run({"a-r1": attempt_files("echo measured"), "a-r2": attempt_files("true")})
    assert [item["state"] for item in done.values()] == ["complete", "complete"]
    assert spool.unpack("a-r1", tmp_path)["stdout"] == "measured\n"


def test_what_was_given_up_never_runs_and_is_in_nobodys_way(spool, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", slow_start(tmp_path / "bin", 5))
    agent = spool.folder / "agent.sh"
    agent.write_text(agent.read_text().replace("readonly START_S=50 ", "readonly START_S=3 "))
    ran = tmp_path / "ran"
    _, _, done = spool.run({f"a-r{i}": attempt_files(f"echo {i} >> '{ran}'") for i in (1, 2, 3)})
    assert "measure.sh could not be started" in spool.unpack("a-r1", tmp_path)["stderr"]
    assert [item["state"] for item in done.values()] == ["failed", "complete", "complete"]
    assert ran.read_text().split() == ["2", "3"]


@pytest.mark.parametrize("is_rebooted", [False, True])
def test_a_killed_agent_is_noticed_and_continued(spool, tmp_path, is_rebooted):
    name = f"98{uuid.uuid4().int % 10**7}"
    spool.submit({"a-r1": attempt_files(f"echo begun; sleep {name}", monitor_m=f"sleep {name}"),
                  "a-r2": attempt_files("echo second")})  # fmt: skip
    spool.verb("start")
    spool.wait_for("a-r1", "running")
    spool.wait(lambda *_: len(alive(name)) >= 2)
    os.kill(spool.agent_pid, signal.SIGKILL)
    agent, runs, _ = spool.wait()
    assert agent.startswith("stopped: the agent was killed or the host was rebooted")
    assert runs == {"a-r1": "running", "a-r2": "waiting"}
    left = alive(name)
    assert left  # nobody stops them before the next start
    if is_rebooted:  # the numbers of another boot belong to others now
        for record in (spool.folder / "live").iterdir():
            if record.stat().st_size:
                record.write_text(" ".join([*record.read_text().split()[:2], "another-boot"]) + "\n")
        (spool.folder / "runs" / "a-r1" / "boot_id").write_text("another-boot\n")
    spool.verb("start")
    _, _, done = spool.wait()
    assert {attempt: item["state"] for attempt, item in done.items()} == {"a-r1": "interrupted", "a-r2": "complete"}
    assert spool.unpack("a-r1", tmp_path)["stdout"] == "begun\n"
    assert bool(alive(name)) == is_rebooted
    for pid in alive(name):
        os.kill(pid, signal.SIGKILL)


def test_a_group_that_got_a_number_anew_is_left_alone(spool):
    """The agent died, its group is gone, and another program has that number now."""
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        spool.submit({"a-r1": attempt_files("true")})
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        live = spool.folder / "live"
        (live / "measure").write_text(f"{other.pid} 12345 {boot}\n")
        (live / "measure.lock").touch()
        (spool.folder / "runs" / "a-r1" / "status").write_text("running\n")
        spool.verb("start")
        _, _, done = spool.wait()
        assert done["a-r1"]["state"] == "interrupted"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("is_alive", [True, False])
def test_cancel(spool, tmp_path, is_alive):
    name = f"97{uuid.uuid4().int % 10**7}"
    spool.submit({"a-r1": attempt_files(f"echo begun; sleep {name}"), "a-r2": attempt_files("true")})
    assert spool.verb("service", "iperf", "60", data=f"sleep {name}".encode()) == "started\n"
    assert spool.verb("service", "iperf", "60", data=f"sleep {name}".encode()) == "running\n"
    assert "service\tiperf\trunning\n" in spool.verb("status")
    spool.verb("start")
    spool.wait_for("a-r1", "running")
    spool.wait(lambda *_: len(alive(name)) >= 2)
    if not is_alive:
        os.kill(spool.agent_pid, signal.SIGKILL)
    start = time.monotonic()
    assert spool.verb("cancel") == "cancelled\n"
    assert time.monotonic() - start < 20
    agent, runs, done = spool.status()
    assert (agent, runs) == ("stopped: cancelled", {})
    assert {attempt: item["state"] for attempt, item in done.items()} == {"a-r1": "cancelled"}
    assert spool.unpack("a-r1", tmp_path)["stdout"] == "begun\n"
    assert (spool.folder / "queue").read_text() == "a-r1\n"
    assert "service\tiperf\tended\n" in spool.verb("status")
    assert alive(name) == []
    agent, _, done = spool.run({"a-r1+a2": attempt_files("true"), "a-r2": attempt_files("true")})
    assert agent == "idle"
    assert {item["state"] for attempt, item in done.items() if attempt != "a-r1"} == {"complete"}


def test_a_service_ends_by_itself_or_when_told(spool):
    name = f"96{uuid.uuid4().int % 10**7}"
    spool.verb("service", "short", "1", data=f"sleep {name}".encode())
    spool.verb("service", "long", "60", data=f"sleep {name}1".encode())
    spool.verb("service-stop", "long")
    spool.wait(lambda *_: not alive(name))
    assert "service\tlong\tended\nservice\tshort\tended\n" in spool.verb("status")
    for bad in (("../x", "5"), ("x", "5; id"), ("", "5"), ("x", "")):
        assert "expected a" in spool.verb("service", *bad, ok=False)


def test_a_signal_stops_the_agent_and_loses_nothing(spool):
    """As when the host is shut down: what runs is interrupted, and the next is not begun."""
    spool.submit({"a-r1": attempt_files("sleep 600"), "a-r2": attempt_files("true")})
    spool.verb("start")
    spool.wait_for("a-r1", "running")
    spool.wait(lambda *_: (spool.folder / "runs" / "a-r1" / "pid").exists())
    os.kill(spool.agent_pid, signal.SIGTERM)
    agent, runs, done = spool.wait()
    assert agent.startswith("stopped: it was told to end")
    assert (runs, done["a-r1"]["state"]) == ({"a-r2": "waiting"}, "interrupted")
    spool.verb("start")
    agent, _, done = spool.wait()
    assert (agent, done["a-r2"]["state"]) == ("idle", "complete")


def test_many_starts_and_submits_at_once(spool, tmp_path):
    counter = tmp_path / "counter"
    spool.submit({})
    attempts = {f"a{i}-r1": attempt_files(f"echo {i} >> {counter}") for i in range(4)}
    jobs = []
    for i in range(4):
        data = tar_of({f"a{i}-r1": attempts[f"a{i}-r1"], "a0-r1": attempts["a0-r1"]})
        for verb, content in (("submit", data), ("submit", data), ("start", b""), ("start", b"")):
            job = subprocess.Popen(["sh", spool.folder / "agent.sh", verb, spool.folder], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)  # fmt: skip
            job.stdin.write(content)
            job.stdin.close()
            jobs.append(job)
    assert [job.wait(60) for job in jobs] == [0] * len(jobs)
    spool.verb("start")
    agent, runs, done = spool.wait()
    assert (agent, runs, sorted(done)) == ("idle", {}, sorted(attempts))
    assert sorted(counter.read_text().split()) == ["0", "1", "2", "3"]
    assert sorted((spool.folder / "queue").read_text().split()) == sorted(attempts)
    assert list(spool.folder.glob("incoming.*")) == []


def test_a_submission_that_is_cut_leaves_nothing(spool):
    data = tar_of({"a-r1": attempt_files("true"), "a-r2": attempt_files("true")}).rstrip(b"\0")
    spool.submit({"b-r1": attempt_files("true")})
    for cut in (0, 1, 512, 1024, len(data) // 512 // 2 * 512, len(data) // 512 * 512, len(data)):
        message = spool.verb("submit", data=data[:cut], ok=False)
        assert "nothing was taken" in message
        assert [path.name for path in (spool.folder / "runs").iterdir()] == ["b-r1"]
    stuck = subprocess.Popen(["sh", spool.folder / "agent.sh", "submit", spool.folder], stdin=subprocess.PIPE)
    stuck.stdin.write(data[:1000])
    stuck.stdin.flush()
    spool.wait(lambda *_: any(spool.folder.glob("incoming.*/tar")))
    spool.submit({"c-r1": attempt_files("true")})  # does not wait for that one, nor sweep it
    assert any(spool.folder.glob("incoming.*/tar"))
    stuck.kill()
    stuck.wait()
    stuck.stdin.close()
    spool.wait(lambda *_: len(alive(str(spool.folder))) == 0)
    spool.submit({"d-r1": attempt_files("true")})
    assert not any(spool.folder.glob("incoming.*"))
    assert (spool.folder / "queue").read_text() == "b-r1\nc-r1\nd-r1\n"


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "..", ".hidden", "-rf", "a b", "$(touch evil)", "a;b", "a\nb", "ä", "a" * 201, "a..b"],
)
def test_hostile_attempt_names(spool, tmp_path, name):
    assert "nothing was taken" in spool.submit({name: attempt_files("true")}, ok=False)
    if "\n" not in name:  # in the queue these are two names
        assert "nothing was taken" in spool.verb("submit", data=tar_of({}, [name]), ok=False)
    assert [path.name for path in spool.folder.rglob("*evil*")] == []
    assert [path.name for path in tmp_path.iterdir()] == [spool.folder.name]


def test_hostile_members(spool, tmp_path):
    def submit(*members):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
            add(archive, "queue", "a-r1\n")
            for name, kind, link in members:
                member = tarfile.TarInfo(name)
                member.type, member.linkname = kind, link
                archive.addfile(member)
        assert "nothing was taken" in spool.verb("submit", data=buffer.getvalue(), ok=False)

    submit(("runs/a-r1/x", tarfile.SYMTYPE, "/etc/passwd"))
    submit(("runs/a-r1", tarfile.SYMTYPE, str(tmp_path)), ("runs/a-r1/x", tarfile.REGTYPE, ""))
    submit(("runs/a-r1/x", tarfile.LNKTYPE, "queue"))
    submit(("runs/a-r1/x", tarfile.FIFOTYPE, ""))
    submit(("runs/a-r1/x", tarfile.CHRTYPE, ""))
    submit(("agent.sh", tarfile.REGTYPE, ""))
    submit(("/evil", tarfile.REGTYPE, ""))
    submit(("runs/a-r1/sub/x", tarfile.REGTYPE, ""))
    submit(("runs/a-r1/x", tarfile.REGTYPE, ""))  # without measure.sh
    assert list((spool.folder / "runs").iterdir()) == []
    assert "measure" not in spool.verb("status")


def test_limits_are_read_and_never_run(spool, tmp_path):
    files = attempt_files("true")
    files["limits"] += "FREE_BYTES=$({0})\nTIME_LIMIT_S=`{0}`\n; {0}\n".format(f"touch {tmp_path}/evil")
    _, _, done = spool.run({"a-r1": files})
    assert done["a-r1"]["state"] == "complete"
    assert not (tmp_path / "evil").exists()


@needs_root
def test_a_full_disk_stops_the_agent_and_nothing_half_is_done(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], check=True)
    try:
        spool = Spool(place / "spool")
        noise = "head -c 9000000 /dev/urandom > noise"  # does not get smaller: there is no room for its archive, too
        fill = f"head -c 7500000 /dev/zero > {place}/filler"
        agent, runs, done = spool.run({"a-r1": attempt_files(f"{noise}; {fill}"), "a-r2": attempt_files("true")})
        assert agent.startswith("stopped: disk full: cannot pack a-r1")
        assert (runs, done) == ({"a-r1": "complete", "a-r2": "waiting"}, {})
        assert list((spool.folder / "done").iterdir()) == []
        (place / "filler").unlink()
        spool.verb("start")
        agent, runs, done = spool.wait()
        assert (agent, {item["state"] for item in done.values()}) == ("idle", {"complete"})
        assert len(spool.unpack("a-r1", tmp_path)["noise"]) > 1000
        agent, runs, done = spool.run({"b-r1": attempt_files("true", limits={"FREE_BYTES": 1 << 30})})
        assert agent.startswith("stopped: disk full: ")
        assert "b-r1 may take" in agent
        assert (runs, len(done)) == ({"b-r1": "waiting"}, 2)
        subprocess.run(["sh", "-c", f"cat /dev/zero > {place}/filler"], check=False, capture_output=True)
        assert spool.verb("submit", data=tar_of({"c-r1": attempt_files("true")}), ok=False)
        assert not (spool.folder / "runs" / "c-r1").exists()
        assert spool.status()[0].startswith("stopped: disk full: ")
        (place / "filler").unlink()
        assert spool.verb("cancel") == "cancelled\n"
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_run_that_fills_the_disk_is_not_complete(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", place], check=True)
    try:
        spool = Spool(place / "spool")
        agent, runs, _ = spool.run({"a-r1": attempt_files(f"cat /dev/zero > {place}/filler || true")})
        assert agent.startswith("stopped: disk full: ")
        assert "complete" not in runs.values()
        (place / "filler").unlink()
        spool.verb("start")
        _, _, done = spool.wait()
        assert done["a-r1"]["state"] in ("failed", "interrupted")
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_status_is_right_and_cheap_while_files_change(spool):
    attempts = {f"a-r{i}": attempt_files("sleep 0.2") for i in range(1, 4)}
    spool.submit(attempts)
    spool.verb("start")
    while True:
        agent, runs, done = spool.status()
        assert {*runs, *done} == attempts.keys()
        assert all(word.isalpha() or word == "timed_out" for word in runs.values())
        if agent != "working":
            break
    assert len(done) == 3


def test_unknown_verbs_and_folders(spool):
    assert "expected submit, start" in spool.verb("destroy", ok=False)
    done = subprocess.run(["sh", HOST / "agent.sh", "status", "relative"], check=False, capture_output=True, text=True)
    assert "expected: sh agent.sh VERB /absolute/folder" in done.stderr
    assert subprocess.run(["sh", HOST / "agent.sh", "version"], check=True, capture_output=True).stdout == b"1\n"
    assert spool.verb("status").splitlines()[1:] == ["agent\tidle"]
