"""The reader of fio's normal output: figures, cuts, damage, and its agreement with the JSON of the same runs."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_text_figures as figures
from pipeline.parse.fio import fio_text
from pipeline.tidy import tables_of

CASES = Path(__file__).parent / "fio_text"
OLD = figures.Style(is_old=True, has_decimals=False)
NEW = figures.Style(is_old=False, has_decimals=True)
HEADER = "a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n"
FIXED = figures.Style(is_old=False, has_decimals=True, has_carry=True)


def raw_text(case):
    (path,) = [path for path in (CASES / case).iterdir() if path.name != "expected.yaml"]
    return path.read_bytes().decode()


def parse(text):
    reports = fio_text.parse(Source("out.txt", text.encode("utf-8", "surrogatepass")))
    for number, report in enumerate(reports):
        report.describe(run_id=f"out#{number}")
    return reports


@pytest.mark.parametrize(
    ("text", "style", "value", "inside", "outside"),
    [
        ("14.3MiB/s", NEW, 14.3 * 2**20, 14.34 * 2**20, 14.4 * 2**20),
        ("14.0MB/s", NEW, 14e6, 14.97e6, 15.1e6),  # to 3.25 the carry of .97 is lost
        ("14.0MB/s", FIXED, 14e6, 14.04e6, 14.97e6),
        ("872Mibit/s", NEW, 872 * 2**20 / 8, 872.4 * 2**20 / 8, 874 * 2**20 / 8),
        ("153M", NEW, 153e6, 153.4e6, 154e6),  # a client's sum
        ("24380KB/s", OLD, 24380 * 1024, 24380.4 * 1024, 24382 * 1024),
        ("978.58KB/s", OLD, 978.58 * 1024, 978.9 * 1024, 980 * 1024),  # 58 is no decimal fraction
        ("992174B/s", OLD, 992174, 992174.9, 992176),
        ("2.5PB", OLD, 2.5 * 2**40, 2.9 * 2**40, 3.1 * 2**40),  # T is missing in its list of prefixes
        ("0B", NEW, 0, 0, 2),
    ],
)
def test_sizes(text, style, value, inside, outside):
    printed = figures.size(text, style)
    assert printed.value == pytest.approx(value)
    assert printed.holds(value)
    assert printed.holds(inside)
    assert not printed.holds(outside)


@pytest.mark.parametrize("text", ["", "MiB", "1EiB", "nan", "-5MiB", "1.2.3MB", "9" * 30 + "MB", "1" * 5000])
def test_what_is_no_size(text):
    assert figures.size(text, NEW) is None


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("bs=4K-4K/64K-64K", [4096, 65536]),
        ("bs=12345-12345/1M-1M/4K-4K", [12345, 2**20, 4096]),
        ("bs=(R) 64.0KiB-64.0KiB, (W) 4096B-16.0KiB, (T) 65.5kB-65.5kB", [65536, None, 65536]),
        ("bs=(R) 12.1KiB-12.1KiB, (W) 12.5KiB-12.5KiB, (T) 1049kB-1049kB", [None, 12800, 2**20]),
        ("bs(seq/rand)=4K-4K/64K-64K", []),
        ("bs=(R) 4096B-4096B, (W) 4096B-4096B, bs_is_seq_rand", [4096] * 3),
    ],
)
def test_block_sizes(text, sizes):
    assert figures.block_sizes(text) == sizes


@pytest.mark.parametrize(
    "head",
    [
        "",
        "\n" * 1000 + " " * 60000,
        '{\n  "fio version" : "fio-3.33",\n  "jobs" : [',
        HEADER + 'fio-3.33\n{\n  "fio version" : "fio-3.33",',
        HEADER,  # all that is printed before an --output=o.json behind two jobs
        "3;fio-3.33;tv;0;0;261520;261258;65314;1001",
        "0, 12345, 0, 4096, 0\n1, 12346, 1, 4096, 0\n",
        "Command Line: diskspd.exe -b4k -d120\n\nInput parameters:\n",
        "Device            r/s     rkB/s   rrqm/s\nvda   1.0  2.0  3.0\n",
        "fio: failed parsing rw=nonsense\n",
    ],
)
def test_other_formats_are_not_claimed(head):
    assert not fio_text.recognise(head)


@pytest.mark.parametrize("rest", ["fio-3.33\n", "Starting 1 process\n", "...\nfio 1.58\n", HEADER * 200])
def test_a_run_without_figures_is_claimed(rest):
    assert fio_text.recognise(HEADER + rest)


def end_of_figures(text):
    """Where the last line ends without which a report cannot be whole; disk statistics may be missing unseen."""
    return max(
        match.end() for match in re.finditer(r"^ *(?:(?:READ|WRITE|TRIM|MIXED): |issued).*$", text, re.MULTILINE)
    )


@pytest.mark.parametrize(
    "case",
    ["fsync-after-each-write", "v1.58-two-jobs", "groups-in-sequence-2.1", "client-two-servers", "v3.0-two-jobs",
     "unified-mixed", "interrupted-before-second-group"],
)  # fmt: skip
def test_a_cut_report_is_never_complete(case):
    text = raw_text(case)
    end = end_of_figures(text)
    line_ends = [match.start() for match in re.finditer("\n", text)]
    for cut in sorted({*range(0, end, 37), *range(end - 300, end), *(at for at in line_ends if at < end)}):
        try:
            (report,) = parse(text[:cut])
        except ParseError:
            continue
        assert not report.run["is_complete"], f"cut at {cut}: …{text[max(0, cut - 60) : cut]!r}"


@pytest.mark.parametrize("case", ["fsync-after-each-write", "v1.58-two-jobs", "v3.0-two-jobs"])
def test_cut_disk_statistics_are_not_complete(case):
    text = raw_text(case)
    start, end = text.index("Disk stats"), text.rindex("util=")
    for cut in range(start + 1, end):
        assert not parse(text[:cut])[0].run["is_complete"], f"cut at {cut}: …{text[start:cut]!r}"
    assert parse(text)[0].run["is_complete"] == parse(text[: start - 1])[0].run["is_complete"]


def test_a_number_that_is_cut_is_not_taken():
    text = raw_text("fsync-after-each-write")
    (report,) = parse(text[: text.index("stdev=45512.22") + len("stdev=455")])
    assert [row["phase"] for row in report.rows["latency_summary"]] == ["completion"]
    assert "cut_line" in {row["code"] for row in report.rows["warnings"]}


def test_percentiles_without_brackets():
    """As 1.58 prints them with clat_percentiles=1, from its source: unbracketed, the rest of them on further lines."""
    text = raw_text("v1.58-two-jobs").replace(
        "    bw (KB/s) : min=18640",
        "    clat percentiles (usec) : 1.00th=0, 5.00th=1, 50.00th=58,\n"
        "                              99.00th=812, 99.99th=30464\n    bw (KB/s) : min=18640",
    )
    (report,) = parse(text)
    found = {row["percentile"]: row["latency_s"] for row in report.rows["latency_percentiles"]}
    assert found == pytest.approx({1.0: 0, 5.0: 1e-6, 50.0: 58e-6, 99.0: 812e-6, 99.99: 30464e-6})
    assert report.run["is_complete"]


DAMAGED = ["client-two-servers", "v1.58-two-jobs", "groups-in-sequence-2.1", "priorities", "cpu-idleness"]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damage_gives_tables_or_one_error(data):
    lines = raw_text(data.draw(st.sampled_from(DAMAGED))).split("\n")
    match data.draw(st.sampled_from(["shuffle", "cut", "overwrite", "numbers"])):
        case "shuffle":
            lines = data.draw(st.permutations(lines))
        case "cut":
            places = sorted(data.draw(st.lists(st.integers(0, len(lines)), min_size=2, max_size=6)))
            lines = [line for begin, end in pairwise(places) for line in lines[begin : max(begin, end - 1)]]
        case "overwrite":
            for _ in range(20):
                lines[data.draw(st.integers(0, len(lines) - 1))] = data.draw(st.text(max_size=30))
        case "numbers":
            number = data.draw(st.sampled_from(["", "-1", "nan", "9" * 25, "1e999", "18446744073709551615", "999999M"]))
            lines = [re.sub(r"(?<==)\s*\d+(?:\.\d+)?", number, line) for line in lines]
    try:
        reports = parse("\n".join(lines))
    except ParseError:
        return
    tables_of(reports)


WITH_JSON = sorted(path.name for path in CASES.glob("*-with-json*"))


@pytest.mark.parametrize("case", WITH_JSON)
def test_text_agrees_with_the_json_of_the_same_run(case):
    text = raw_text(case)
    document = json.loads(text[text.index("\n{\n") : text.index("\n}\n") + 2])
    (report,) = parse(text)
    tables = tables_of([report])
    rows = iter(tables.operations[tables.operations["op"] != "sync"].itertuples())
    for job in document["jobs"]:
        for op in ("read", "write", "trim", "mixed"):
            if job.get(op, {}).get("total_ios"):
                compare(job[op], next(rows), tables)
        if job.get("sync", {}).get("total_ios"):
            assert job["sync"]["total_ios"] in set(tables.operations["n_ops"])
    assert next(rows, None) is None


def compare(printed, row, tables):
    """A direction in JSON against its row: what fio prints is rounded to three or four digits, to µs, to 0.01 µs."""
    assert row.n_ops == printed["total_ios"]
    assert row.duration_s == pytest.approx(printed["runtime"] / 1000)
    if row.op != "mixed":  # with unified_rw_reporting=both its rates are not printed
        assert row.ops_per_s == pytest.approx(printed["iops"], rel=1e-6)
        assert row.n_bytes == printed["io_bytes"]
        assert row.bytes_per_s == pytest.approx(printed["bw"] * 1024, rel=1e-3)
    for key, phase in (("slat", "submission"), ("clat", "completion"), ("lat", "total")):
        scale, block = (1e-9, printed[f"{key}_ns"]) if f"{key}_ns" in printed else (1e-6, printed[key])
        if not block["mean"]:
            continue
        (found,) = select(tables.latency_summary, row, phase).itertuples()
        assert found.mean_s == pytest.approx(block["mean"] * scale, abs=6e-9)
        assert found.stddev_s == pytest.approx(block["stddev"] * scale, abs=6e-9)
        assert found.max_s == pytest.approx(block["max"] * scale, rel=1e-3, abs=1e-6)
        percentiles = select(tables.latency_percentiles, row, phase)
        known = {float(name): value * scale for name, value in block.get("percentile", {}).items() if name != "0.00"}
        for percentile in percentiles.itertuples():
            assert percentile.latency_s == pytest.approx(known[percentile.percentile], abs=1e-6)


def select(table, row, phase):
    return table[(table["job"] == row.job) & (table["op"] == row.op) & (table["phase"] == phase)]
