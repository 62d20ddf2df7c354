"""perf report, bench, sched and trace against lkp-tests' results, against each other, and against perf's own totals."""

import re

import pytest
import yaml

import pipeline

KEYS = ["command", "shared_object", "symbol", "privilege"]


@pytest.fixture
def published(samples):
    folder = samples.parent / "published" / "perf"
    if not folder.is_dir():
        pytest.skip("published samples absent")
    return folder


def test_lkp_reads_the_same_profile(published):
    path = published / "report" / "lkp__perf-profile__1"
    expected = yaml.safe_load(path.with_name(path.name + ".yaml").read_text("utf-8"))
    hotspots = pipeline.read(path).perf_hotspots
    names = hotspots["symbol"].str.replace(r"\.(?:isra|part|constprop)\.\d+", "", regex=True)  # as lkp-tests does
    sums = {
        "children": hotspots["children_ratio"].groupby(names).sum() * 100,
        "self": hotspots["overhead_ratio"].groupby(names).sum() * 100,
    }
    n = 0
    for key, value in expected.items():
        kind, _, symbol = key.partition(".cycles-pp.")
        if kind in sums and value:
            assert sums[kind][symbol] == pytest.approx(value, abs=0.005), key
            n += 1
    assert n > 350


def test_lkp_reads_the_same_benchmarks(published):
    folder = published / "bench"
    memory = pipeline.read(folder / "lkp__perf-bench-mem__01").operations
    expected = yaml.safe_load((folder / "lkp__perf-bench-mem__01.yaml").read_text("utf-8"))
    rates = {
        f"{row.op.removeprefix('mem_')}.{row.job}.GB_per_sec": row.bytes_per_s / 2**30 for row in memory.itertuples()
    }
    assert rates == pytest.approx(expected)
    wake = pipeline.read(folder / "lkp__perf-bench-futex__02")
    expected = yaml.safe_load((folder / "lkp__perf-bench-futex__02.yaml").read_text("utf-8"))
    assert wake.latency_summary["mean_s"].tolist() == pytest.approx([expected["wokeup_time_ms"] / 1000])
    ratios = wake.metric_series.query("metric == 'stderr_ratio' and labels.isna()")["value"]
    assert ratios.tolist() == pytest.approx([expected["stddev%"] / 100])
    messaging = pipeline.read(folder / "lkp__perf-bench-sched-messaging__01").operations
    expected = yaml.safe_load((folder / "lkp__perf-bench-sched-messaging__01.yaml").read_text("utf-8"))
    assert messaging["duration_s"].tolist() == pytest.approx([expected["total_time_sec"]])


def test_styles_of_one_recording_agree(samples):
    """The same recording, reported with six styles of call graphs, gives the same entries."""
    folder = samples / "perf" / "report"
    plain = pipeline.read(folder / "own61_nocg.txt").perf_hotspots
    for style in ("caller", "flat", "folded", "no_children"):
        hotspots = pipeline.read(folder / f"own61_g_{style}.txt").perf_hotspots
        columns = [*KEYS, "overhead_ratio"]
        assert multiset(hotspots[columns]) == multiset(plain[columns]), style
    counted = pipeline.read(folder / "own61_showcpuutil.txt").perf_hotspots
    assert multiset(counted[KEYS]) == multiset(plain[KEYS])
    stats = pipeline.read(folder / "own61_stats.txt").metric_series.set_index("labels")["value"]
    assert (
        counted["n_samples"].sum() == stats['{"type": "SAMPLE"}'] == stats['{"type": "SAMPLE", "event": "cpu-clock"}']
    )
    children = pipeline.read(folder / "own61_header_children_nocg.txt").perf_hotspots
    graph = pipeline.read(folder / "own61_g_children_default.txt").perf_hotspots
    columns = [*KEYS, "overhead_ratio", "children_ratio"]
    assert multiset(children[columns]) == multiset(graph[columns])


def multiset(frame):
    return sorted(map(str, frame.itertuples(index=False, name=None)))


def test_every_entry_of_every_report_is_a_row(samples, published):
    """Lines that begin with a share in the first column, counted without the reader."""
    n = 0
    for path in [*(samples / "perf" / "report").iterdir(), *(published / "report").glob("*[!l]")]:
        text = path.read_text("utf-8")
        entries = re.findall(r"^ {3,5}\d+\.\d\d%(?:  .*| {4}.*)$", text, re.MULTILINE)
        if not entries:
            continue
        n_events = 2 if "group {" in text else 1
        assert len(pipeline.read(path).perf_hotspots) == len(entries) * n_events, path.name
        n += len(entries)
    assert n > 30_000


def test_scheduler_totals(samples):
    """Runtimes of the tasks add up to perf's total; so do the switches."""
    for path in ("perf/sched_trace/own61_sched_latency.txt", "latency_breakdown/main/01b_perf_sched_latency.txt"):
        tables = pipeline.read(samples / path)
        runtime = tables.metric_series.query("metric == 'runtime_s'")
        total = runtime[runtime["labels"].isna()]["value"].item()
        assert runtime[runtime["labels"].notna()]["value"].sum() == pytest.approx(total, abs=1e-6 * len(runtime))
        summary = tables.latency_summary
        assert summary[summary["scope"] == "job"]["n_ops"].sum() == summary[summary["scope"] == "total"]["n_ops"].item()


def test_system_calls_are_those_of_the_lines(samples):
    path = samples / "perf" / "sched_trace" / "own61_trace_lines.txt"
    calls = re.findall(r"\( *(\d+\.\d+) ms\): \S+ (\w+)\(", path.read_text("utf-8"))
    series = pipeline.read(path).latency_series
    assert list(series["op"]) == [name for _, name in calls]
    assert list(series["latency_s"]) == pytest.approx([float(text) / 1000 for text, _ in calls])
    summary = pipeline.read(samples / "latency_breakdown" / "main" / "01b_perf_trace_s_backend.txt")
    times = summary.metric_series.query("metric == 'syscall_time_s'")["value"].to_numpy()
    means = (summary.latency_summary["mean_s"] * summary.latency_summary["n_ops"]).to_numpy(float)
    assert means == pytest.approx(times, abs=0.5e-6 * summary.latency_summary["n_ops"].max())


def test_times_of_the_scheduler_are_those_of_the_lines(samples):
    path = samples / "perf" / "sched_trace" / "own61_sched_timehist_first2000.txt"
    lines = re.findall(
        r"\] +(\S.*?) +(\d+\.\d{3}) +(\d+\.\d{3}) +(\d+\.\d{3}) $", path.read_text("utf-8"), re.MULTILINE
    )
    series = pipeline.read(path).latency_series
    for i, phase in enumerate(("wait", "wakeup_delay", "run"), 1):
        rows = series[series["phase"] == phase]
        assert list(rows["job"]) == [line[0] for line in lines]
        assert list(rows["latency_s"]) == pytest.approx([float(line[i]) / 1000 for line in lines])
