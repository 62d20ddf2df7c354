"""Monitors: golden cases, hostile options, and the real programs started and interrupted as beside a run."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import _golden as golden
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.collect.work import script
from pipeline.errors import SpecError

HERE = Path(__file__).parent
CASES = sorted((HERE / "monitors").glob("*/*.yaml"))
MONITORS = ("iostat", "mpstat", "perf_record", "perf_stat")


def test_each_monitor_has_golden_cases():
    assert {case.parent.name for case in CASES} == set(MONITORS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_golden(case):
    content = yaml.safe_load(case.read_text("utf-8"))
    if "error" in content:
        with pytest.raises(SpecError) as caught:
            golden.monitor_of(case.parent.name, content["options"])
        assert str(caught.value) == content["error"]
        return
    monitor = golden.monitor_of(case.parent.name, content["options"])
    assert golden.described_monitor(monitor) == content["monitor"]
    assert monitor.name == case.parent.name


values = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.text(max_size=12),
    st.lists(st.one_of(st.sampled_from(["cycles", "a\nb", "$(id)", "./x.c", "{a", "b}", "-x", "--", "a b"]),
                       st.text(max_size=5), st.integers()), max_size=4),
)  # fmt: skip
options = st.dictionaries(
    st.one_of(st.sampled_from(["events", "interval_s", "cpus", "frequency_hz", "call_graph"]), st.text(max_size=8)),
    values,
)


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(MONITORS), given_=options)
def test_no_option_becomes_another_word(name, given_):
    try:
        monitor = golden.monitor_of(name, given_)
    except SpecError as error:
        assert str(error).isprintable() and len(str(error)) < 2000
        return
    for step in (monitor.step, *monitor.finish):
        assert "\n" not in step.line
        assert shlex.split(step.line) == [*step.argv, *([">", step.stdout] if step.stdout else [])]
        assert all(word.isprintable() and word.isascii() for word in step.argv)


@pytest.mark.parametrize(("name", "given_", "tables"), [
    ("iostat", {}, {"cpu_usage", "device_series"}),
    ("mpstat", {}, {"cpu_usage"}),
    ("perf_stat", {"events": ["task-clock", "context-switches"], "interval_s": 0.5}, {"perf_counters"}),
    ("perf_record", {"events": ["cpu-clock"]}, {"perf_stacks", "perf_hotspots"}),
])  # fmt: skip
def test_an_interrupted_monitor_leaves_a_whole_log(name, given_, tables, tmp_path):
    monitor = golden.monitor_of(name, given_)
    program = monitor.requirements[0].program
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if program == "perf":
        done = subprocess.run(
            ["perf", "stat", "-a", "-e", "task-clock", "true"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"perf may not watch the whole machine: {done.stderr.strip()[:200]}")
    (tmp_path / "monitor.sh").write_text(script([monitor.step]))
    # A shell starts what is in the background with SIGINT ignored: the monitor must hear it all the same.
    command = "sh monitor.sh & echo $!; wait"
    with subprocess.Popen(["sh", "-c", command], cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:  # fmt: skip
        time.sleep(3.3)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
    subprocess.run(
        ["sh", "-c", script(monitor.finish)], cwd=tmp_path, check=True, timeout=60, stderr=subprocess.DEVNULL
    )
    only = tmp_path / "logs"
    only.mkdir()
    for log in monitor.logs:
        shutil.copy(tmp_path / log, only / log)
    found = pipeline.read(only)
    assert found.runs["is_complete"].all()
    assert {table for table in tables if len(found[table]) > 0} == tables
