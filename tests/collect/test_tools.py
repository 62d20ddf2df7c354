"""Tools: golden cases, and hostile names and values."""

import re
import shlex
import sys
from pathlib import Path

import _golden as golden
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.collect.tools import _fio_options, _stress_ng_options
from pipeline.collect.work import DeviceTarget, FileTarget, Request, Step
from pipeline.errors import SpecError

HERE = Path(__file__).parent
TOOLS = ("act", "fio", "iperf3", "perf_record", "perf_stat", "pgbench", "stress_ng")
CASES = [case for tool in TOOLS for case in sorted((HERE / "tools" / tool).glob("*.yaml"))]
NVME = DeviceTarget("/dev/disk/by-id/nvme-ACME_1", "1", False)
FILE = FileTarget("/mnt/scratch/bench", "test.dat", 1 << 30)


# -- golden cases


def test_each_tool_has_golden_cases():
    assert {case.parent.name for case in CASES} == set(TOOLS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_golden(case):
    content = yaml.safe_load(case.read_text("utf-8"))
    request = golden.request_of(case.parent.name, content["request"])
    if "error" in content:
        with pytest.raises(SpecError) as caught:
            golden.work_of(case.parent.name, request)
        assert str(caught.value) == content["error"]
        assert re.match(r"[a-z0-9_.-]+: expected .+, found .+", str(caught.value), re.IGNORECASE)
        return
    work = golden.work_of(case.parent.name, request)
    assert golden.described(work) == content["work"]
    assert all(entry.program and entry.package for entry in work.requirements)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_each_step_is_one_line_of_its_words(case):
    content = yaml.safe_load(case.read_text("utf-8"))
    if "error" in content:
        return
    work = golden.work_of(case.parent.name, golden.request_of(case.parent.name, content["request"]))
    for step in (*work.prepare, *work.measure, *work.finish):
        check_step(step)


def check_step(step: Step):
    assert "\n" not in step.line
    behind = [">", step.stdout] if step.stdout else []
    assert shlex.split(step.line) == [*step.argv, *behind]


# -- hostile names and values

HOSTILE = ["\n", "\r", "\n[x]\n", "\nexec_prerun=id", "`id`", "$(id)", "${HOME}", "$pagesize", ";", "#", "|", "&", "'",
           '"', "\\", "\x00", "\x1b[2J", " ", "[", "]", "=", ":", "\u202e", "\u2028", "ａ", "..", "/", "-",
           "--"]  # fmt: skip
LONG = sys.get_int_max_str_digits() // 10
scalars = st.one_of(
    st.booleans(), st.integers(-(10**LONG), 10**LONG), st.integers(0, 100), st.floats(),
    st.text(max_size=20),
    st.lists(st.sampled_from([*HOSTILE, "4k", "read", "1", "a", "cycles"]), max_size=6).map("".join),
)  # fmt: skip
FIO_NAMES = sorted({*_fio_options.OPTIONS, *_fio_options.WHERE, *_fio_options.REFUSED})
STRESS_NAMES = sorted(_stress_ng_options.OPTIONS)


def names(known):
    return st.one_of(st.sampled_from(known), st.text(max_size=10), st.sampled_from(HOSTILE))


def lines_of(job: str):
    """A job file as fio takes it apart: a section, then an option a line."""
    first, *rest = job.split("\n")
    assert rest.pop() == ""
    section = re.fullmatch(r"\[([A-Za-z0-9._-]+)\]", first)
    assert section and not section[1].lower().startswith("global")
    options = [line.partition("=") for line in rest]
    assert all(re.fullmatch(r"[a-z_-]+=[!-~]+", line) for line in rest)
    assert not any(re.search(r"[\s;#`$'\"\[\]]", value) for _, _, value in options)
    assert len({name for name, _, _ in options}) == len(options)
    return {name: value for name, _, value in options}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parameters=st.dictionaries(names(FIO_NAMES), scalars, max_size=5),
    target=st.sampled_from(
        [NVME, FILE, DeviceTarget("/dev/disk/by-id/a\nb", "x", False), FileTarget("/a b", "c;d", 1)]
    ),
    point=st.one_of(st.just("a"), st.text(max_size=10), st.sampled_from(["global", "Global-1", "[x]", *HOSTILE])),
    rw=st.sampled_from([*_fio_options.RW, "read:4k", "exec"]),
    precondition=st.dictionaries(names(FIO_NAMES), scalars, max_size=2),
)
def test_no_value_of_a_fio_job_is_more_than_a_value(parameters, target, point, rw, precondition):
    request = Request("fio", point, {"rw": rw} | parameters, target, precondition=precondition, logs=("latency",))
    try:
        work = golden.work_of("fio", request)
    except SpecError as error:
        assert "\n" not in str(error) and str(error).isprintable() and len(str(error)) < 2000
        return
    for name, text in work.files.items():
        options = lines_of(text)
        assert options["filename"].replace("\\:", ":") == target.path
        own = {"allow_file_create", "size", "filename", "ramp_time", "create_only", "write_lat_log", "log_avg_msec"}
        assert set(options) <= own | {*_fio_options.OPTIONS, *_fio_options.WHERE}
        assert "size" not in options or isinstance(target, DeviceTarget) or options["size"] == str(target.n_bytes)
        writes = not re.match(r"(?:rand)?read(?::|$)", options["rw"])
        step = next(step for step in (*work.prepare, *work.measure) if name in step.argv)
        check_step(step)
        if not writes and name != "layout.job":
            assert "--readonly" in step.argv
        if writes and isinstance(target, DeviceTarget):
            assert work.targets[0].is_written


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tool=st.sampled_from(TOOLS), data=st.data())
def test_no_value_becomes_another_word(tool, data):
    """Whatever a value is: a SpecError on one line, or steps whose words hold no line feed and start no new option."""
    known = {
        "act": ["test", "x_rating", "prep", "test-duration-sec", "record-bytes", "device-names"],
        "iperf3": ["server", "port", "time", "bitrate", "congestion", "length", "file", "dscp"],
        "pgbench": ["dbname", "time", "host", "username", "builtin", "file", "scale", "initialize"],
        "perf_stat": ["duration_s", "events", "cpus", "interval_s"],
        "perf_record": ["duration_s", "events", "cpus", "call_graph"],
        "stress_ng": STRESS_NAMES, "fio": FIO_NAMES,
    }[tool]  # fmt: skip
    base = {
        "act": {"x_rating": 1, "test-duration-sec": 10}, "iperf3": {"server": "b", "time": 1},
        "pgbench": {"dbname": "x", "time": 1}, "perf_stat": {"duration_s": 1}, "perf_record": {"duration_s": 1},
        "stress_ng": {"cpu": 1, "timeout": 1}, "fio": {"rw": "read"},
    }[tool]  # fmt: skip
    parameters = base | data.draw(st.dictionaries(names(known), scalars, max_size=3))
    target = NVME if tool in ("act", "fio") else None
    address = data.draw(st.one_of(st.just("10.0.0.1"), scalars.map(str)))
    binary = data.draw(st.one_of(st.none(), st.just("/opt/x/y"), scalars.map(str)))
    try:
        work = golden.work_of(tool, Request(tool, "a", parameters, target, binary=binary, addresses={"b": address}))
    except SpecError as error:
        assert str(error).isprintable() and len(str(error)) < 2000
        return
    for step in (*work.prepare, *work.measure, *work.finish, *(service.step for service in work.services)):
        check_step(step)
        assert all(word and word.isprintable() and word.isascii() for word in step.argv)
    for text in work.files.values():
        assert text.isascii() and "\r" not in text
    if tool == "act":
        assert all(re.fullmatch(r"[a-z-]+: [!-~]+", line) for line in work.files["act.conf"].splitlines())
