"""What a golden case cannot hold: cuts everywhere, hostile bytes, and documents that fio writes with other options."""

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest

from pipeline import units
from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import fio_json
from pipeline.parse.fio._fio_json_bins import edges_of, places_of
from pipeline.parse.fio._fio_json_jobs import Figures
from pipeline.parse.fio._fio_json_options import Options, block_size, seconds_of, size_of, target_of, worker_depth
from pipeline.tidy import tables_of

CASES = Path(__file__).parent / "fio_json"
BASE = json.loads((CASES / "fio-3.42-randrw/out.json").read_text("utf-8"))
NS, US = units.NANO, units.MICRO


def parse(text, name="out.json"):
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    return fio_json.parse(Source(name, data))


def tables(reports):
    for number, report in enumerate(reports):
        report.describe(run_id=f"run#{number}")
    return tables_of(reports)


def changed(change):
    """The text of a document after ``change(document, its job)``."""
    document = copy.deepcopy(BASE)
    change(document, document["jobs"][0])
    return json.dumps(document, indent=1)


def codes(report):
    return [row["code"] for row in report.rows.get("warnings", [])]


@pytest.mark.parametrize(
    "case", ["fio-2.1-fsync-not-reported", "fio-3.20-fsync", "client-server-one-host", "killed-halfway", "unified-both"]
)
def test_a_cut_file_is_never_complete(case):
    (path,) = [path for path in (CASES / case).iterdir() if path.name != "expected.yaml"]
    data = path.read_bytes()
    for end in range(0, len(data), len(data) // 70):
        try:
            reports = parse(data[:end])
        except ParseError:
            continue
        assert not all(report.run["is_complete"] for report in reports) or not data[end:].strip(), end


@pytest.mark.parametrize("seed", range(60))
def test_damage_gives_tables_or_one_error(seed):
    chance = random.Random(seed)
    data = bytearray((CASES / chance.choice(["fio-3.20-fsync", "killed-halfway"]) / "out.json").read_bytes())
    for _ in range(chance.randrange(1, 40)):
        data[chance.randrange(len(data))] = chance.choice(b'{}[]":,-9eE.\n\\nau \xff')
    lines = bytes(data).split(b"\n")
    if seed % 3 == 0:
        chance.shuffle(lines)
    try:
        tables(parse(b"\n".join(lines)))
    except ParseError as error:
        assert str(error).startswith("out.json:")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "an empty file"),
        ('{"fio version":"fio-3.1","jobs":' + "[" * 100_000, "nested brackets"),
        ('{"fio version":"fio-3.1","a":' + '{"jobs":' * 100_000, "nested brackets"),
        ('{"fio version" : "' + '\\"' * 100_000, "at least one job"),
        ('{"fio version" : ' + '"a ' * 50_000, "at least one job"),
        ("{" * 100_000, "fio JSON"),
        ('{ "disk_util" : [] }', "fio JSON"),
    ],
)
def test_nothing_to_read_is_one_error(text, found):
    with pytest.raises(ParseError, match=found):
        parse(text)


@pytest.mark.parametrize("number", ["-1", "-nan", "inf", "NaN", "9" * 3000, "9" * 5000, "1e400", '"5"', "true"])
def test_numbers_that_are_none_become_null(number):
    text = changed(lambda _, job: job["read"]["lat_ns"].update(mean=123456.5)).replace("123456.5", number)
    report = parse(text)[0]
    frames = tables([report])
    assert frames.operations["latency_mean_s"].isna().tolist() == [True, False]
    assert codes(report) == ["bad_value"]


def test_bins_add_up_and_do_not_overlap():
    frames = tables(parse((CASES / "jsonplus-slat-and-lat-in-group/out.json").read_bytes()))
    keys = ["op", "phase"]
    counted = frames.latency_bins.groupby(keys)["count"].sum()
    assert counted.to_dict() == frames.latency_summary.set_index(keys)["n_ops"].to_dict()
    for _, bins in frames.latency_bins.groupby(keys):
        ordered = bins.sort_values("lower_s")
        assert (ordered["upper_s"].to_numpy()[:-1] <= ordered["lower_s"].to_numpy()[1:]).all()


@pytest.mark.parametrize(
    ("key", "scale", "is_indexed", "edges"),
    [
        (0, NS, False, (0, 1)), (127, NS, False, (127, 128)), (129, NS, False, (128, 130)), (128, NS, False, None),
        (338, NS, False, (336, 340)), (74240, NS, False, (73728, 74752)),
        (17112760320, NS, False, (17045651456, None)), (17179869184, NS, False, None),
        (16711680, US, False, (16646144, None)), (200, US, True, (288, 292)), (127, US, True, (127, 128)),
        (1215, US, True, (16646144, None)), (1216, US, True, None),
    ],
)  # fmt: skip
def test_edges_of_a_bin(key, scale, is_indexed, edges):
    layout = edges_of(scale, is_indexed=is_indexed)
    (place,), (is_known,) = places_of(np.array([key]), layout)
    assert is_known == (edges is not None)
    if edges:
        lower, upper = edges
        assert layout.lower_s[place] == lower / round(1 / scale)
        assert np.isnan(layout.upper_s[place]) if upper is None else layout.upper_s[place] == upper / round(1 / scale)


def test_a_bin_that_is_missing_is_noticed():
    text = changed(lambda _, job: job["read"]["clat_ns"].update(bins={"74240": 39486, "74241": 1}))
    assert codes(parse(text)[0]) == ["unknown_bin"]
    text = changed(lambda _, job: job["read"]["clat_ns"].update(bins={"74240": 39486}))
    assert codes(parse(text)[0]) == ["bins_mismatch"]


def later(seconds, elapsed, factor):
    def change(document, job):
        document["timestamp_ms"] += round(seconds * 1000)
        job.update(elapsed=job["elapsed"] + elapsed, job_start=0)
        for op in ("read", "write"):
            for key in ("io_bytes", "total_ios", "runtime"):
                job[op][key] = round(job[op][key] * factor)

    return changed(change)


@pytest.mark.parametrize(
    ("seconds", "elapsed", "factor", "n_runs"),
    [(1, 1, 1.5, 1), (0.1, 1, 1.02, 1), (10, 0, 1.001, 2), (2.5, 0, 1.001, 2), (1, 1, 0.5, 2), (-60, 1, 1.5, 2)],
)
def test_status_snapshots_are_one_run_and_repeats_are_several(seconds, elapsed, factor, n_runs):
    reports = parse(later(0, 0, 1) + later(seconds, elapsed, factor))
    assert len(reports) == n_runs
    assert len(reports[0].rows.get("throughput_series", [])) == (4 if n_runs == 1 else 0)


def test_other_job_start_is_another_run():
    text = changed(lambda _, __: None)
    assert len(parse(text + text.replace("1795215867835", "1795215867935"))) == 2


def unified(_, job):
    job["mixed"] = job.pop("read")
    del job["write"], job["trim"], job["sync"]


def without_latencies(_, job):
    for op in ("read", "write"):
        job[op]["lat_ns"] = job[op]["clat_ns"] = job[op]["slat_ns"] = dict.fromkeys(
            ("min", "max", "mean", "stddev", "N"), 0
        )


def misplaced(document, job):
    document["fio version"] = "fio-3.7"
    job["job options"]["lat_percentiles"] = "1"


def with_high_priority(_, job):
    job["read"]["clat_high_prio"] = job["read"]["clat_ns"]


@pytest.mark.parametrize(
    ("change", "ops", "phases"),
    [
        (unified, ["mixed"], {"completion"}),
        (without_latencies, ["read", "write"], set()),
        (misplaced, ["read", "write"], {"total"}),
        (with_high_priority, ["read", "write"], {"completion", "completion_high_prio"}),
    ],
)
def test_documents_of_other_options(change, ops, phases):
    report = parse(changed(change))[0]
    assert [row["op"] for row in report.rows["operations"]] == ops
    assert set(tables([report]).latency_percentiles["phase"]) == phases
    means = [row.get("latency_mean_s") for row in report.rows["operations"]]
    assert (means == [None, None]) == (change is without_latencies)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda _, job: job.update(eta=7), "interrupted"),
        (lambda _, job: job["job options"].update(runtime="1m"), "interrupted"),
        (lambda _, job: job.update(error=5), "job_error"),
        (lambda document, _: document.update(jobs=[]), "no_jobs"),
        (
            lambda document, _: document["jobs"].append({"jobname": "k", "job options": {"stonewall": ""}}),
            "sequential_jobs",
        ),
        (lambda _, job: job["job options"].update(name="other"), "merged_jobs"),
        (lambda _, job: job["read"].update(new_figure=5), "unknown_key"),
        (lambda _, job: job["read"]["lat_ns"].update(mean=5.0), "impossible_latency"),
    ],
)
def test_what_a_document_says_of_its_run(change, code):
    report = parse(changed(change))[0]
    assert codes(report) == [code]
    assert report.run["is_complete"] == (
        code in ("sequential_jobs", "merged_jobs", "unknown_key", "impossible_latency")
    )


HEADER = "a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n"
START = "fio-3.33\nStarting 1 process\n"
CPU_HEADER = "c (noop): ioengine=cpuio, cpuload=10, cpucycle=50000\n"
BANNER = "hostname=h, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1\n<h> "


@pytest.mark.parametrize(
    ("before", "is_client", "expected"),
    [(HEADER, False, []), (HEADER + START, False, ["truncated"]), (START + CPU_HEADER, False, ["truncated"]),
     (BANNER + HEADER + START, True, []), ("\ufeff> \n", False, []),
     ("fio: file hash not empty on exit\nJobs: 1 (f=1)\nhello\nthere\n", False, ["message", "not_read"])],
)  # fmt: skip
def test_text_before_the_document(before, is_client, expected):
    def to_client(document, job):
        if is_client:
            job.update(hostname="h", port=8765)
            document["client_stats"] = document.pop("jobs")

    assert codes(parse(before + changed(to_client))[0]) == expected


@pytest.mark.parametrize(
    ("case", "last"),
    [("cpu-idleness-behind", "  unit work: mean=7.71us, stddev=0.02"),
     ("cpu-engine-normal-behind", "Run status group 0 (all jobs):"),
     ("create-only-normal-behind", "  vda: ios=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%")],
)  # fmt: skip
def test_a_normal_report_behind_is_whole_with_its_last_line_alone(case, last):
    text = (CASES / case / "stdout.txt").read_text("utf-8").rstrip()
    assert text.endswith(last)
    for cut in range(1, len(last)):
        assert not parse(text[:-cut])[0].run["is_complete"], text[-60:-cut]


def test_the_title_of_a_group_that_ran_is_no_end():
    title = "\nRun status group 0 (all jobs):\n"
    assert codes(parse(changed(lambda *_: None) + title)[0]) == ["truncated", "other_format"]


def test_rates_are_rounded_once():
    """11 in 22 ms are 500 a second, and 11 / 0.022 are a little more; fio cut both to whole numbers."""
    amounts = Figures().amounts({"iops": 500, "bw": 0, "total_ios": 11, "io_bytes": 11, "runtime": 22}, (2, 21))
    assert (amounts.ops_per_s, amounts.bytes_per_s) == (500.0, 500.0)


def test_repeated_options_are_kept():
    text = changed(lambda _, __: None).replace('"filename": "/mnt/data/fio/tv.dat"', '"filename": "a", "filename": "b"')
    report = parse(text)[0]
    assert [row["value"] for row in report.rows["parameters"] if row["name"] == "filename"] == ["a", "b"]
    assert report.rows["operations"][0]["target"] == "a:b"
    assert codes(report) == ["repeated_key"]


@pytest.mark.parametrize(
    ("text", "kb_base", "n_bytes"),
    [("4k", None, 4096), ("32KB", None, 32768), ("1m", None, 2**20), ("4kib", None, 4000), ("4k", "1000", 4000),
     ("4KiB", "1000", 4096), ("512", None, 512), ("4k-8k", None, None), ("100%", None, None)],
)  # fmt: skip
def test_sizes_as_fio_means_them(text, kb_base, n_bytes):
    assert size_of(text, kb_base) == n_bytes


def test_what_options_mean():
    options = Options({"bs": "4k,64k", "iodepth": "16", "filename": "f", "directory": "/d/"}.items(), None)
    assert [block_size(options, op) for op in ("read", "write", "trim", "mixed", "sync")] == [
        4096,
        65536,
        65536,
        None,
        None,
    ]
    assert target_of(options) == "/d/f"
    assert worker_depth(options, level_one=0.1) == 16
    assert worker_depth(options, level_one=100.0) == 1
    assert worker_depth(Options(None, None), None) is None
    shared = Options(None, [("bs", "4k"), ("bs", "8k")], is_shared=True)
    assert block_size(shared, "read") is None
    assert [seconds_of(text) for text in ("60", "5m", "500ms", "1:30", None)] == [60, 300, 0.5, None, None]


def test_a_long_status_log_is_read_piece_by_piece(monkeypatch):
    text = (CASES / "status-interval/out.json").read_text("utf-8")
    whole = tables(parse(text))
    blocks = Source.blocks
    for size in (1 << 10, 1 << 14):
        monkeypatch.setattr(Source, "blocks", lambda self, size=size: blocks(self, size))
        found = tables(parse(text))
        for name in ("operations", "latency_percentiles", "throughput_series", "metric_series"):
            assert found[name].equals(whole[name])
        lines = tables(parse("fio: a note\n" + text.replace("{\n", "{ ").replace(",\n", ", ").replace("  ", " ")))
        assert lines.operations.equals(whole.operations)
        assert lines.warnings["line"].tolist() == [1]


def test_bins_of_status_documents_are_intervals_from_the_start():
    text = (CASES / "jsonplus-slat-and-lat-in-group/out.json").read_text("utf-8")
    first = json.loads(text)
    later = copy.deepcopy(first)
    later["timestamp_ms"] += 1000
    later["timestamp"] += 1
    for job in later["jobs"]:
        job["elapsed"] += 1
        for op in ("read", "write"):
            job[op]["runtime"] += 1000
    frames = tables(parse(json.dumps(first) + json.dumps(later)))
    bins = frames.latency_bins
    assert bins["interval_end_s"].isna().sum() == bins["interval_end_s"].notna().sum() > 100
    ended = first["jobs"][0]["read"]["runtime"] / 1000
    assert set(bins["interval_end_s"].dropna()) == {ended}
    columns = ["job", "op", "phase", "lower_s", "upper_s", "count"]
    cut = bins[bins["interval_end_s"].notna()][columns].reset_index(drop=True)
    assert cut.equals(bins[bins["interval_end_s"].isna()][columns].reset_index(drop=True))


def stonewalled(runtime_a, runtime_b, passed_s):
    """A status document of two jobs, the second of which waited for the first."""
    document = copy.deepcopy(BASE)
    job = document["jobs"][0]
    document["jobs"] = [copy.deepcopy(job), copy.deepcopy(job)]
    document["timestamp_ms"] += round(passed_s * 1000)
    for number, (entry, runtime) in enumerate(zip(document["jobs"], (runtime_a, runtime_b), strict=True)):
        entry.update(jobname="ab"[number], groupid=number, elapsed=job["elapsed"] + round(passed_s), job_start=0)
        for op in ("read", "write"):
            entry[op].update(runtime=runtime, io_bytes=runtime * 4096, total_ios=runtime, bw=4000, iops=1000.0)
    return json.dumps(document)


def test_jobs_one_after_another_have_intervals_that_follow():
    documents = [(1000, 0, 0), (2000, 0, 1), (2000, 1000, 2), (2000, 2000, 3), (2000, 3000, 4)]
    (report,) = parse("".join(stonewalled(*document) for document in documents))
    operations = tables([report]).operations.query("op == 'read'")
    assert operations[["job", "interval_end_s", "duration_s"]].fillna(-1).values.tolist() == [
        ["a", 1, 1], ["a", 2, 2], ["b", 3, 1], ["b", 4, 2], ["a", -1, 2], ["b", -1, 3],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "bins",
    ['{"129" : 5, "129" : 6}', '{"129" : -5}', '{"1x9" : 5}', '{"129" : 99999999999999999999}', "{}", "[]", '{"129"}',
     '"\\u00005"', '{"129" : 5.5}', '{ "129" : 5, }'],
)  # fmt: skip
def test_odd_bins_are_tables_or_one_error(bins):
    text = changed(lambda _, job: job["read"]["clat_ns"].update(bins="HERE")).replace('"HERE"', bins)
    try:
        tables(parse(text))
    except ParseError as error:
        assert "out.json" in str(error)


def test_shares_of_latencies_follow_each_other():
    frames = tables(parse(changed(lambda *_: None)))
    shares = frames.metric_series.query("metric == 'latency_ratio'")
    edges = [json.loads(labels) for labels in shares["labels"]]
    assert 0.98 < shares["value"].sum() < 1.02
    assert all(edge["lower_s"] < edge["upper_s"] for edge in edges)


def test_unknown_keys_within_a_latency_are_named():
    report = parse(changed(lambda _, job: job["read"]["clat_ns"].update(jitter=5)))[0]
    assert codes(report) == ["unknown_key"]
