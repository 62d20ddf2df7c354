"""perf stat: numbers by locale, single lines, cut files, and files of any content."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_text_line import counter_of
from pipeline.parse.perf._perf_values import decimal_mark, metric_of, number
from pipeline.tidy import tables_of
from pipeline.tools import load_reader

HERE = Path(__file__).parent
READERS = ("perf_stat_text", "perf_stat_csv", "perf_stat_json")
RAW = {
    f"{reader}/{path.parent.name}": (reader, path)
    for reader in READERS
    for path in sorted((HERE / reader).glob("*/stat.*"))
    if not yaml.safe_load((path.parent / "expected.yaml").read_text("utf-8")).get("error")
}
LINES = sorted({line for _, path in RAW.values() for line in Source(path).text.split("\n")[:12]})


def reports_of(reader, data):
    return load_reader(reader).parse(Source("x", data))


@pytest.mark.parametrize(
    ("lines", "mark"),
    [
        (["1,234 cs", "0.97 insn"], "."),
        (["1.234 cs", "0,97 insn"], ","),
        (["12.345,67 msec"], ","),
        (["12,345.67 msec"], "."),
        (["12.804.551.028 kvm-hv/host_heap_max/"], ","),
        (["12,804,551,028 kvm-hv/host_heap_max/"], "."),
        (["1,17,09,172 ns duration_time"], "."),
        (["1.234 cs"], "."),  # nothing tells: as in the C locale
        (["0.500590839 1,25 msec task-clock"], ","),  # the time has a dot everywhere
        ([" Performance counter stats for 'a 0.5 0.7':", "0,25 msec"], ","),
    ],
)
def test_decimal_mark(lines, mark):
    assert decimal_mark(lines) == mark


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("71,400,216,338", ".", 71400216338),
        ("1,17,09,172", ".", 11709172),
        ("11’185’455", ".", 11185455),
        ("11\u202f097\u202f093", ",", 11097093),
        ("5 410 733,5", ",", 5410733.5),
        ("24.310.771,42", ",", 24310771.42),
        ("1,2", ".", None),  # no group of three: not what the file's other numbers say
        ("nan", ".", None),
        ("9" * 400, ".", None),
        ("1.2.3", ".", None),
        ("", ".", None),
    ],
)
def test_number(text, mark, value):
    assert number(text, mark) == value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("       5277951134      msr/tsc/    #    2.600 G/sec ", {"event": "msr/tsc/", "value": 5277951134}),
        ("       507607140 ns   duration_time", {"value": 0.50760714, "unit": "s"}),
        ("       507607140      duration_time", {"value": 0.50760714, "unit": "s"}),
        ("        12.500000  task-clock-msecs   #  0.691 CPUs", {"event": "task-clock", "value": 0.0125, "unit": "s"}),
        ("     1,000  cpu/event=0x3c,name=two words/", {"event": "cpu/event=0x3c,name=two words/", "cgroup": None}),
        ("           42.50 mV   hwmon/in0/", {"event": "hwmon/in0/", "unit": "mV"}),
        ("      123      cycles        (scaled from 66.67%)", {"running_ratio": 0.6667, "event": "cycles"}),
        ("      123      cycles     ( +-   nan% )  (0.00%)", {"stddev_ratio": None, "running_ratio": 0}),
        ("S0-D0-L3-ID8     16     5  cycles", {"aggregate": "S0-D0-L3-ID8", "n_counters": "16", "value": 5}),
        ("S-1-D-1-C0        1     5  cycles", {"aggregate": "S-1-D-1-C0", "value": 5}),
        ("N1        8  5 410 733  cycles", {"aggregate": "N1", "n_counters": "8", "value": 5410733}),
        ("        a-b c-12       7      cs", {"task": "a-b c-12", "value": 7}),
        ("     1.000100000 CPU3     7      cs", {"time_s": 1.0001, "aggregate": "CPU3", "value": 7}),
        ("S0  2        # 0.50  stalled cycles per insn", {"event": None, "aggregate": "S0", "status": None}),
        ("38    cs                             / #    0.000 /sec", {"cgroup": "/", "event": "cs", "value": 38}),
    ],
)
def test_line(line, expected):
    counter = counter_of(line, 1, ".")
    assert counter is not None
    assert {name: getattr(counter, name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("line", ["42", "done in 12 s, 5% #", "12,5 cycles", "# 5 x", "-", "x" * 5000, "cycles # fast"])
def test_line_that_is_no_counter(line):
    assert counter_of(line, 1, ".") is None


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("insn per cycle", ("insn per cycle", 50, None)),
        ("of all L1-dcache accesses", ("of all L1-dcache accesses", 0.5, "1")),
        ("GHz", (None, 50e9, "Hz")),
        ("/sec", (None, 50, "1/s")),
        ("M/sec", (None, 50e6, "1/s")),
        ("%  tma_retiring", ("tma_retiring", 0.5, "1")),
        ("MiB  memory_used", ("memory_used", 50 * 2**20, "B")),
        ("MB/s  memory_read", ("memory_read", 50e6, "B/s")),
        ("faults/sec  page_faults_per_second", ("page_faults_per_second", 50, "1/s")),
        ("ns  latency", ("latency", 50e-9, "s")),
    ],
)
def test_metric_without_its_sign(label, expected):
    name, value, unit = metric_of(50, label, keeps_sign=False)
    assert (name, unit) == (expected[0], expected[2])
    assert value == pytest.approx(expected[1])


@pytest.mark.parametrize(
    "head",
    [
        "# Samples: 4K of event 'cycles'\n# Event count (approx.): 2,910,000\n#\n    38.10%  fio  [k] copy_user\n",
        "fio 14205 [000] 12.345678:  250000 cycles:  ffffffff81 native_write_msr ([kernel.kallsyms])\n",
        " Summary of events:\n\n fio (13), 1200 events, 95.1%\n   syscall  calls  total (msec)\n   read  600  812.1\n",
        "# Running 'sched/messaging' benchmark:\n     Total time: 0.310 [sec]\n",
        " Task    |   Runtime ms  | Switches | Avg delay ms |\n fio:(2)  |   1200.1 ms |   3000 | avg: 0.012 ms |\n",
        "read,4096,cs,1000,99.90,1.5,ms\n",
        "1000, 5, 0, 4096, 0\n1001, 6, 0, 4096, 0\n",
        "12:00:01 AM all 1.20 0.00 3.40 0.00 95.40\nAverage: all 5 1.20 0.00\n",
        '{"unit" : "ms", "results" : [{"event" : "x"}]}\n',
        '{"events" : 5}\n{"cpu" : "0"}\n',
        "# started on foot\n",
        "",
    ],
)
def test_other_outputs_are_left_alone(head):
    assert [name for name in READERS if load_reader(name).recognise(head)] == []


@pytest.mark.parametrize("name", RAW)
def test_a_cut_file_loses_no_figures_unnoticed(name):
    """A file that ends early is incomplete, unless whole lines of a run without a closing line are lost."""
    reader, path = RAW[name]
    data = Source(path).data
    whole = reports_of(reader, data)
    has_end = reader == "perf_stat_text" and not any(row["time_s"] for row in rows_of(whole[0]))
    step = max(1, len(data) // 80)
    for end in [*range(0, len(data), step), *range(max(0, len(data) - 100), len(data))]:
        try:
            cut = reports_of(reader, data[:end])
        except ParseError:
            continue
        assert len(cut) <= len(whole)
        for report, full in zip(cut, whole, strict=False):
            rows, expected = figures(report), figures(full)
            is_all = (rows, report.rows.get("metric_series")) == (expected, full.rows.get("metric_series"))
            if report.run["is_complete"] and not is_all:
                assert not has_end
                assert len(cut) > 1 or data[:end].rstrip(b" ").endswith((b"\n", b"}"))
            # A share or a deviation may stand on a later line.
            assert rows == expected[: len(rows)]


def rows_of(report):
    """The rows of perf_counters, which come in blocks."""
    blocks = report.blocks.get("perf_counters", [])
    return [row for block in blocks for row in pa.table(dict(block)).to_pylist()]


def figures(report):
    """The rows without what a later line adds."""
    later = ("running_ratio", "stddev_ratio")
    return [{k: v for k, v in row.items() if k not in later} for row in rows_of(report)]


INTERVALS = {
    "perf_stat_csv": (
        "{time:.9f},CPU{cpu},{value:.2f},msec,cpu-clock,{ns},100.00,{metric:.3f},CPUs utilized\n"
        "{time:.9f},CPU{cpu},{count},,context-switches,{ns},{share:.2f},{metric:.3f},K/sec\n"
        "{time:.9f},CPU{cpu},<not counted>,,cycles:u,0,100.00,,\n"
        "{time:.9f},CPU{cpu},,,,,,{metric:.2f},stalled cycles per insn\n"
    ),
    "perf_stat_json": (
        '{{"interval" : {time:.9f}, "cpu" : "{cpu}", "counter-value" : "{value:f}", "unit" : "msec", "event" : '
        '"cpu-clock", "event-runtime" : {ns}, "pcnt-running" : 100.00, "metric-value" : "{metric:f}", "metric-unit" : '
        '"CPUs utilized"}}\n'
        '{{"interval" : {time:.9f}, "cpu" : "{cpu}", "counter-value" : "{count}.000000", "unit" : "", "event" : "cs", '
        '"event-runtime" : {ns}, "pcnt-running" : {share:.2f}, "metric-value" : "{metric:f}", "metric-unit" : '
        '"K/sec"}}\n'
    ),
    "perf_stat_text": (
        "{time:15.9f} CPU{cpu}    {value:14,.2f} msec cpu-clock      # {metric:8.3f} CPUs utilized\n"
        "{time:15.9f} CPU{cpu}    {count:14,}      cycles         # {metric:8.3f} GHz       ({share:.2f}%)\n"
        "{time:15.9f} CPU{cpu}    {count:14,}      branch-misses  # {metric:8.2f}% of all branches\n"
        "{time:15.9f} CPU{cpu}    <not supported>      stalled\n"
        "{time:15.9f} CPU{cpu}                             # {metric:8.2f}  stalled cycles per insn\n"
    ),
}


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_lines_that_are_alike_are_read_as_with_care(reader, seed, monkeypatch):
    """The short way for lines that differ in their numbers alone gives what the long one gives, to the last bit."""
    data = intervals(reader, random.Random(seed), 5, 3).encode()
    short = [rows_of(report) for report in reports_of(reader, data)]
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.parse.perf._perf_memo.Memo.find", lambda *_: None)
        assert [rows_of(report) for report in reports_of(reader, data)] == short
    assert len(short[0]) == 5 * 3 * INTERVALS[reader].count("\n")


def intervals(reader, numbers, n_intervals, n_cpus):
    """Text of perf stat -I -A."""
    parts = ["#           time CPU   counts unit events\n"] if reader == "perf_stat_text" else []
    for i in range(1, n_intervals + 1):
        time = i + numbers.random() / 100
        for cpu in range(n_cpus):
            values = {
                "value": numbers.random() * 10 ** numbers.randrange(7), "metric": numbers.random() * 100,
                "count": numbers.randrange(10 ** numbers.randrange(1, 12)), "share": numbers.random() * 100,
                "ns": numbers.randrange(1, 10**9),
            }  # fmt: skip
            parts.append(INTERVALS[reader].format(time=time, cpu=cpu, **values))
    return "".join(parts)


@pytest.mark.parametrize("reader", READERS)
def test_intervals_do_not_pile_up_in_memory(reader, monkeypatch):
    """Rows of a long log leave the reader block by block."""
    monkeypatch.setattr("pipeline.parse._report.ROWS_IN_MEMORY", 4000)
    monkeypatch.setattr("pipeline.parse.perf._perf_counters._BLOCK_ROWS", 1000)
    sizes = []

    class Spill:
        def take(self, *given):
            *_, blocks = given
            sizes.append(sum(len(block["event"]) for block in blocks))

    source = Source("x", intervals(reader, random.Random(1), 200, 20).encode())
    source.spill = Spill()
    (report,) = load_reader(reader).parse(source)
    assert sizes
    assert max(sizes) < 6000
    assert report.run["is_complete"]


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_content_gives_tables_or_a_parse_error(reader, data):
    lines = data.draw(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=40)), max_size=25))
    text = data.draw(st.sampled_from(["\n", "\r\n", " "])).join(lines)
    try:
        reports = reports_of(reader, text.encode("utf-8", "replace"))
    except ParseError:
        return
    for i, report in enumerate(reports):
        report.describe(run_id=f"x#{i}")
    tables_of(reports)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "line",
    [
        "1-" * 30000,
        "1 " * 30000,
        '"a":"' * 12000,
        '{"a":' * 12000,
        " " * 60000 + "x",
        "}" + " " * 60000,
        "1,1." * 15000,
    ],
)
def test_long_lines_take_no_time(reader, line):
    try:
        reports_of(reader, f"# started on Sat Nov 21 02:23:00 2026\n{line}\n{line}".encode())
    except ParseError as error:
        assert len(str(error)) < 400
