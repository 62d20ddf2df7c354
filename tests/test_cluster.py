"""Parsing on a dask cluster and on an S3 server, both real: processes on loopback."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from upath import UPath

from pipeline import batch, tidy
from pipeline.__main__ import main
from pipeline.errors import PipelineError

CASES = Path(__file__).parent / "parse"
S3 = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
pytestmark = pytest.mark.xdist_group("cluster")


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An S3 server; its address also in the environment, as users have theirs."""
    log = tmp_path_factory.mktemp("s3") / "log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file)
    wait_for(lambda: "Running on" in log.read_text(), "the S3 server")
    address = log.read_text().split("Running on ")[1].split()[0]
    old = dict(os.environ)
    os.environ.update(S3, AWS_ENDPOINT_URL=address)
    yield address
    os.environ.clear()
    os.environ.update(old)
    process.terminate()
    process.wait()


@pytest.fixture
def cluster(tmp_path, server):  # noqa: ARG001 - the workers inherit the S3 server's address
    """A scheduler and two workers, started as a user would; gives the address and the workers' processes."""
    file = tmp_path / "scheduler.json"
    started = [start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)]
    wait_for(lambda: file.exists() and file.read_text().strip().endswith("}"), "the scheduler")
    for _ in range(2):
        started.append(start("worker", "--scheduler-file", file, "--no-nanny", "--nthreads", "1", "--no-dashboard"))
    yield json.loads(file.read_text())["address"], started[1:]
    for process in reversed(started):
        process.terminate()
        process.wait(30)


def start(tool, *arguments):
    command = [sys.executable, "-m", "dask", tool, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def logs(tmp_path):
    """Two hundred logs; enough that a worker can be killed in mid-parse."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (source,) = [path for path in (CASES / "pgbench_log/first_2000_lines").iterdir() if path.name != "expected.yaml"]
    for number in range(200):
        shutil.copy(source, folder / f"run{number:03}.log")
    return folder


def read_all(out):
    return tidy.load_folder(out)


def assert_same(left, right):
    for name in left:
        pd.testing.assert_frame_equal(left[name], right[name], obj=name)


def test_a_worker_killed_in_mid_parse_loses_nothing(cluster, logs, tmp_path):
    address, processes = cluster
    assert batch.parse_paths([logs], tmp_path / "alone", None) == 0
    command = [sys.executable, "-m", "pipeline", "parse", logs, "--out", tmp_path / "out", "--scheduler", address]
    parse = subprocess.Popen(list(map(str, command)))
    read = tmp_path / "out/.incoming/read"
    wait_for(lambda: read.is_dir() and any(read.glob("*/entry.json")), "the first file to be read")
    processes[0].send_signal(signal.SIGKILL)
    assert parse.wait(120) == 0
    assert_same(read_all(tmp_path / "out"), read_all(tmp_path / "alone"))


def test_logs_and_tables_may_lie_in_s3(cluster, logs, tmp_path):
    bucket = UPath("s3://bench")
    bucket.fs.mkdir("bench")
    few = sorted(logs.iterdir())[:5]
    with (logs / "run001.log").open("a") as log:  # long enough for a part of its own
        log.writelines(f"0 {n} {5000 + n % 977} 0 1795216271 {n % 1000000}\n" for n in range(2000, 300_000))
    for path in few:
        (bucket / "raw" / path.name).write_bytes(path.read_bytes())
    address, _ = cluster
    assert main(["parse", "s3://bench/raw", "--out", "s3://bench/tidy", "--scheduler", address]) == 0
    assert batch.parse_paths(few, tmp_path / "local", None) == 0
    there, here = read_all(bucket / "tidy"), read_all(tmp_path / "local")
    for name in here:
        columns = [column for column in here[name].columns if column != "source_path"]
        frames = (t[name][columns].sort_values(columns, ignore_index=True) for t in (there, here))
        pd.testing.assert_frame_equal(*frames, obj=name)
    assert set(there.runs["source_path"]) == {f"s3://bench/raw/{path.name}" for path in few}
    assert tidy.scan("s3://bench/tidy", "latency_series").count_rows() == len(here.latency_series)
    assert (bucket / "tidy/latency_series.parquet").is_dir()
    names = {path.name for path in (bucket / "tidy").iterdir()}
    assert names == {f"{name}.parquet" for name in here if len(here[name])} | {"warnings.parquet"}


def test_an_absent_scheduler_is_one_clear_error(logs, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.workers.CONNECT_S", "1s")
    with pytest.raises(PipelineError, match="expected a dask scheduler"):
        batch.parse_paths([logs], tmp_path / "out", None, "tcp://127.0.0.1:1")
