"""Tools: the real programs, run with what comes out, and read."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import _golden as golden
import pytest

import pipeline
from pipeline.collect.tools import _fio_options
from pipeline.collect.work import DeviceTarget, FileTarget, Request, Work, script

NVME = DeviceTarget("/dev/disk/by-id/nvme-ACME_1", "1", False)


def needs(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def run(folder: Path, work: Work):
    """Write what a host gets and run its scripts, as an agent does."""
    folder.mkdir(exist_ok=True)
    for name, text in work.files.items():
        (folder / name).write_text(text)
    for name in ("prepare", "measure", "finish"):
        (folder / f"{name}.sh").write_text(script(getattr(work, name)))
        done = subprocess.run(["sh", f"{name}.sh"], cwd=folder, capture_output=True, text=True, timeout=120,
                              check=False)  # fmt: skip
        assert done.returncode == 0, f"{name}: {done.stdout}\n{done.stderr}"
        (folder / f"{name}.out").write_text(done.stdout + done.stderr)
    assert set(work.logs) <= names_in(folder)


def names_in(folder: Path):
    return {path.name for path in folder.iterdir()}


def read(folder: Path, work: Work):
    """What readers make of the logs: nothing else of the folder is theirs, as in a run with a manifest."""
    only = folder / "logs"
    only.mkdir()
    for name in work.logs:
        shutil.copy(folder / name, only / name)
    return pipeline.read(only)


EXAMPLES = {  # a value that each kind of option takes, where a number or a flag will not do
    "rw": "randrw", "bs": "4k,8k", "ba": "4k", "bsrange": "4k-8k", "bssplit": "4k/60:8k/40", "io_size": "1m",
    "runtime": "1s", "startdelay": "1", "random_distribution": "zipf:1.2", "random_generator": "lfsr",
    "rw_sequencer": "identical", "ioengine": "psync", "io_submit_mode": "inline", "sync": "dsync",
    "sync_file_range": "wait_before,write:8", "fallocate": "none", "fadvise_hint": "random",
    "write_hint": "short",
    "cpus_allowed": "0", "cpus_allowed_policy": "split", "numa_cpu_nodes": "0", "numa_mem_policy": "local",
    "mem": "mmap", "rate_process": "poisson",
    "lockmem": "4k", "iomem_align": "4k", "hugepage-size": "2m", "rate": "1m", "rate_min": "1k",
    "thinktime_blocks_type": "issue", "max_latency": "10s", "steadystate": "iops_slope:0.3%",
    "percentile_list": "50:99.9",
    "buffer_pattern": "0xdeadbeef", "verify_pattern": "0xff", "verify": "crc32c", "unified_rw_reporting": "both",
    "clocksource": "clock_gettime", "continue_on_error": "all", "percentage_random": "50,50", "rwmixread": 70,
    "verify_interval": "4k", "buffer_compress_chunk": "4k", "size": "50%", "offset": "1m", "offset_increment": "10%",
    "offset_align": "4k", "zonemode": "strided", "zonesize": "1m", "zonerange": "1m", "zoneskip": "1m",
    "zonecapacity": "1m", "latency_target": "10ms", "latency_percentile": 99.9,
}  # fmt: skip
BESIDE = {  # an option that must stand beside another
    "rate_min": {"rate": "1m"}, "rate_iops_min": {"rate_iops": 10}, "time_based": {"runtime": 1},
    "steadystate": {"runtime": 100}, "latency_target": {"latency_window": "1s"}, "log_hist_msec": {},
    "verify_pattern": {"verify": "pattern"}, "zonesize": {"zonemode": "strided", "zonerange": "1m"},
    "zonerange": {"zonemode": "strided", "zonesize": "1m"}, "zonemode": {"zonesize": "1m", "zonerange": "1m"},
    **{name: {"ioengine": "io_uring"} for name in ("fixedbufs", "registerfiles", "sqthread_poll", "sqthread_poll_cpu",
       "nonvectored", "uncached", "force_async", "hipri", "cmdprio_percentage", "cmdprio_class", "cmdprio")},
    **{name: {"ioengine": "libaio"} for name in ("userspace_reap", "nowait")},
    "hipri_percentage": {"ioengine": "pvsync2"}, "buffered": {"direct": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({**_fio_options.OPTIONS, **_fio_options.WHERE}))
def test_fio_takes_each_option_that_is_allowed(name, tmp_path):
    needs("fio")
    value = EXAMPLES.get(name, 1)
    parameters = {"rw": "randwrite", "ioengine": "psync"} | BESIDE.get(name, {}) | {name: value}
    work = golden.work_of("fio", Request("fio", "a", parameters, NVME))
    (tmp_path / "fio.job").write_text(work.files["fio.job"])
    done = subprocess.run(["fio", "--parse-only", "fio.job"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Bad option" not in done.stderr


def test_fio_runs_a_file_with_all_its_logs(tmp_path):
    needs("fio")
    (tmp_path / "data").mkdir()
    parameters = {"rw": "randread", "bs": "4k", "ioengine": "libaio", "iodepth": 4, "direct": True, "runtime": 3,
                  "numjobs": 2}  # fmt: skip
    target = FileTarget(str(tmp_path / "data"), "with:colon.dat", 8 << 20)
    logs = ("latency", "histogram", "bandwidth", "iops")
    request = Request("fio", "randread-qd4", parameters, target, 1.0, {"rw": "write", "bs": "1m"}, logs)
    work = golden.work_of("fio", request)
    run(tmp_path / "run", work)
    assert names_in(tmp_path / "data") == {"with:colon.dat"}
    assert (tmp_path / "data" / "with:colon.dat").stat().st_size == 8 << 20
    tables = read(tmp_path / "run", work)
    assert list(tables.runs["tool"]) == ["fio"] and tables.runs["is_complete"].all()  # one run: the logs joined it
    assert set(tables.latency_bins["job"]) >= {"randread-qd4#1", "randread-qd4#2"}
    assert set(tables.latency_series["phase"]) == {"total", "completion", "submission"}
    assert len(tables.throughput_series) > 0
    options = {row["name"]: row["value"] for _, row in tables.parameters.iterrows()}
    assert options["ramp_time"] == "1" and options["time_based"] == "1"


def test_fio_makes_no_file_where_a_device_has_gone(tmp_path):
    needs("fio")
    gone = DeviceTarget(str(tmp_path / "gone"), "1", False)
    parameters = {"rw": "write", "bs": "4k", "size": "1m"}
    work = golden.work_of("fio", Request("fio", "layout", parameters, gone, precondition=parameters))
    for name, text in work.files.items():
        (tmp_path / name).write_text(text)
    for step in (*work.prepare, *work.measure):
        done = subprocess.run(step.argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode != 0 and not (tmp_path / "gone").exists()


def test_fio_that_only_reads_cannot_write(tmp_path):
    """--readonly holds where the job's own file would be written after all."""
    needs("fio")
    target = FileTarget(str(tmp_path), "a.dat", 1 << 20)
    (tmp_path / "a.dat").write_bytes(bytes(1 << 20))
    work = golden.work_of("fio", Request("fio", "a", {"rw": "read", "bs": "4k"}, target))
    (tmp_path / "fio.job").write_text(work.files["fio.job"].replace("rw=read", "rw=write"))
    done = subprocess.run(work.measure[0].argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and (tmp_path / "a.dat").read_bytes() == bytes(1 << 20)


@pytest.mark.parametrize("parameters", [
    {"cpu": 1, "cpu-method": "int64", "timeout": 1},
    {"hdd": 1, "hdd-bytes": "1m", "timeout": 1},
])  # fmt: skip
def test_stress_ng_runs(parameters, tmp_path):
    needs("stress-ng")
    (tmp_path / "data").mkdir()
    target = FileTarget(str(tmp_path / "data"), "x", 1 << 20) if "hdd" in parameters else None
    work = golden.work_of("stress_ng", Request("stress_ng", "a", parameters, target))
    run(tmp_path / "run", work)
    assert names_in(tmp_path / "data") == set()
    tables = read(tmp_path / "run", work)
    assert list(tables.stressors["stressor"]) == [next(iter(parameters))]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing answers on port {port}")


def iperf3(port, seconds):
    """A client's work against this machine; skips the test where there is no iperf3."""
    needs("iperf3")
    parameters = {"server": "b", "port": port, "time": seconds}
    return golden.work_of("iperf3", Request("iperf3", "a", parameters, addresses={"b": "127.0.0.1"}))


@contextmanager
def served(work, port):
    """The work's service, once it answers."""
    (service,) = work.services
    with subprocess.Popen(service.step.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(port)
            yield server
        finally:
            server.terminate()


def test_iperf3_runs_twice_against_one_service(tmp_path):
    work = iperf3(port := free_port(), seconds=1)
    with served(work, port):
        for number in (1, 2):
            time.sleep(0.3)  # the look whether it answers counts as a client that left
            run(tmp_path / f"run{number}", work)
            tables = read(tmp_path / f"run{number}", work)
            assert tables.runs["is_complete"].all() and (tables.network_streams["n_bytes"] > 0).any()


def test_iperf3_that_measured_nothing_fails_and_says_why(tmp_path):
    """With --json it exits with 0 where nobody answers."""
    done = measured(tmp_path, iperf3(free_port(), seconds=1))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == '"error":\t"unable to connect to server: Connection refused"'
    assert json.loads((tmp_path / "iperf3.json").read_text())["intervals"] == []


def test_iperf3_whose_server_went_away_fails(tmp_path):
    work = iperf3(port := free_port(), seconds=20)
    with served(work, port) as server:
        timer = threading.Timer(2, server.kill)
        timer.start()
        done = measured(tmp_path, work)
    assert done.returncode != 0
    assert '"error":' in done.stderr
    assert json.loads((tmp_path / "iperf3.json").read_text())["intervals"]  # what came before is kept


@pytest.mark.parametrize("text", [
    '{\n\t"title":\t"\\"error\\": no"\n}\n', '{\n\t"title":\t"\\n\\t\\"error\\":\\t\\"no\\""\n}\n',
    '{\n\t"server_output_json":\t{\n\t\t"error":\t"the other side\'s"\n\t}\n}\n',
])  # fmt: skip
def test_an_error_within_iperf3s_json_is_not_that_of_the_run(text, tmp_path):
    """Texts are on one line with their quotes escaped, and what is inside of something is indented further."""
    work = golden.work_of("iperf3", Request("iperf3", "a", {"server": "b", "time": 1}, addresses={"b": "127.0.0.1"}))
    (tmp_path / "iperf3.json").write_text(text)
    json.loads(text)
    done = subprocess.run(["sh", "-c", work.measure[-1].line], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def measured(folder: Path, work: Work):
    """What measure.sh alone came to."""
    (folder / "measure.sh").write_text(script(work.measure))
    return subprocess.run(["sh", "measure.sh"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_act_config_is_what_its_reader_knows(tmp_path):
    parameters = {"x_rating": 2, "test-duration-sec": 60, "record-bytes": 1024, "commit-to-device": True}
    work = golden.work_of("act", Request("act", "a", parameters, NVME))
    (tmp_path / "act.conf").write_text(work.files["act.conf"])
    tables = pipeline.read(tmp_path / "act.conf")
    values = dict(zip(tables.parameters["name"], tables.parameters["value"], strict=True))
    assert values == {
        "device-names": NVME.path, "test-duration-sec": "60", "record-bytes": "1024", "commit-to-device": "yes",
        "read-reqs-per-sec": "4000", "write-reqs-per-sec": "2000",
    }  # fmt: skip
    assert tables.warnings.empty


def can_watch_the_machine():
    needs("perf")
    done = subprocess.run(
        ["perf", "stat", "-a", "-e", "task-clock", "true"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"perf may not watch the whole machine: {done.stderr.strip()[:200]}")


@pytest.mark.parametrize("parameters", [
    {"duration_s": 1, "events": "task-clock,context-switches"},
    {"duration_s": 1.2, "interval_s": 0.5, "events": "{task-clock,cpu-clock},page-faults"},
])  # fmt: skip
def test_perf_stat_runs(parameters, tmp_path):
    can_watch_the_machine()
    work = golden.work_of("perf_stat", Request("perf_stat", "a", parameters))
    run(tmp_path / "run", work)
    tables = read(tmp_path / "run", work)
    assert list(tables.runs["tool"]) == ["perf_stat"] and tables.runs["is_complete"].all()
    assert "task-clock" in set(tables.perf_counters["event"])


@pytest.mark.parametrize("graph", ["fp", "none"])
def test_perf_record_runs(graph, tmp_path):
    can_watch_the_machine()
    parameters = {"duration_s": 1, "events": "cpu-clock", "call_graph": graph}
    work = golden.work_of("perf_record", Request("perf_record", "a", parameters))
    run(tmp_path / "run", work)
    assert not (tmp_path / "run" / "perf_record.data").exists()
    tables = read(tmp_path / "run", work)
    assert set(tables.runs["tool"]) == {"perf_script", "perf_report"}
    assert len(tables.perf_stacks) > 0 and len(tables.perf_hotspots) > 0


@pytest.fixture(scope="module")
def postgres():
    """A private server on a socket in a temporary folder: (folder of its programs, folder of its socket)."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) if Path("/usr/lib/postgresql").is_dir() else []
    if not found:
        pytest.skip("postgresql is not installed")
    programs = found[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own are closed to another user
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    data = folder / "data"
    subprocess.run([*as_user, programs / "initdb", "-D", data, "-A", "trust", "-U", "bench", "--no-sync"],
                   cwd=folder, check=True, capture_output=True)  # fmt: skip
    settings_ = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = [*as_user, programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    subprocess.run([*control, "-o", settings_, "start"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    try:
        subprocess.run([programs / "createdb", "-h", folder, "-U", "bench", "bench"], check=True)
        yield programs, folder
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)


def test_pgbench_runs(postgres, tmp_path):
    programs, folder = postgres
    parameters = {"dbname": "bench", "host": str(folder), "username": "bench", "initialize": True, "scale": 1,
                  "time": 2, "client": 4, "jobs": 2, "aggregate-interval": 0}  # fmt: skip
    request = Request("pgbench", "a", parameters, warm_up_s=1, binary=str(programs / "pgbench"))
    work = golden.work_of("pgbench", request)
    run(tmp_path / "run", work)
    tables = read(tmp_path / "run", work)
    assert sorted(tables.runs["tool"]) == ["pgbench", "pgbench_log", "pgbench_log"]
    assert (tables.operations["n_ops"] > 0).all()


def test_pgbench_that_only_reads_writes_nothing(postgres, tmp_path):
    programs, folder = postgres
    base = {"dbname": "bench", "host": str(folder), "username": "bench", "time": 1}
    binary = str(programs / "pgbench")
    making = Request("pgbench", "a", base | {"initialize": True}, binary=binary)
    run(tmp_path / "make", golden.work_of("pgbench", making))
    query = [programs / "psql", "-h", folder, "-U", "bench", "-Atc", "select count(*) from pgbench_history", "bench"]
    before = subprocess.run(query, capture_output=True, check=True).stdout
    parameters = base | {"builtin": "select-only", "aggregate-interval": 0}
    work = golden.work_of("pgbench", Request("pgbench", "a", parameters, binary=binary))
    run(tmp_path / "run", work)
    assert subprocess.run(query, capture_output=True, check=True).stdout == before != b"0\n"
    assert json.loads("[" + (tmp_path / "run" / "pgbench_log.0").read_text().split("\n")[0].replace(" ", ",") + "]")
