"""fio's logs: the loops against plain references, what lies beside a log, long logs in bounded pieces."""

import json
import math
import re
import statistics
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import _fio_bins as bins
from pipeline.parse.fio import _fio_log_compiled as compiled
from pipeline.parse.fio import _fio_log_layout as layouts
from pipeline.parse.fio import _fio_log_text as log_text
from pipeline.parse.fio import fio_hist_log, fio_log
from pipeline.parse.fio._fio_log_kernel import STATE_SIZE
from pipeline.parse.fio._fio_log_name import log_name
from pipeline.parse.fio._fio_log_statistics import PERCENTILES, Latencies
from pipeline.reading import read_source
from pipeline.tidy import tables_of

KERNELS = [compiled.plain_kernels(), compiled.compiled_kernels()]
GOOD = re.compile(rb"\d{1,18}, ?\d{1,18}, ?0{0,17}[012], ?\d{1,18}, ?(?:\d{1,18}|0x[0-9a-f]{1,8})")
GOOD_COUNTS = re.compile(r"\d{1,18}, ?0{0,17}[012](?:, ?\d{1,18}){3}")


def rows_of(kernels, text, n_columns=5, hex_column=4):
    out = np.zeros((n_columns, len(text) + 1), np.int64)
    state = np.zeros(STATE_SIZE, np.int64)
    n_rows = kernels.parse_rows(kernels.text(text), out, 0, state, n_columns, 2, hex_column)
    return out[:, :n_rows].T.tolist(), state.tolist()


def reference(text):
    lines = text.split(b"\n")[:-1]
    good = [line for line in lines if GOOD.fullmatch(line)]
    bad = [number for number, line in enumerate(lines) if line and not GOOD.fullmatch(line)]
    rows = [[int(cell, 16 if b"x" in cell else 10) for cell in line.split(b",")] for line in good]
    return rows, len(lines), len(bad), bad[0] if bad else 0


CELL = st.one_of(
    st.integers(0, 3).map(str), st.integers(0, 10**20).map(str), st.integers(0, 2**40).map(hex),
    st.sampled_from(["", "-1", "1.5", "0x", "0xg1", "x1", "00x1", "007", " 1", "1 ", "\0", "0x0 1"]),
)  # fmt: skip
SEPARATOR = st.sampled_from([", "] * 12 + [",", " ", ",  ", "; ", "\t"])
LINE = st.lists(st.tuples(CELL, SEPARATOR), min_size=1, max_size=7).map(
    lambda cells: "".join(cell + separator for cell, separator in cells[:-1]) + cells[-1][0]
)
PLAIN_LINE = st.tuples(*[st.integers(0, 10**18 - 1)] * 2, st.integers(0, 3), *[st.integers(0, 10**18)] * 2).map(
    lambda row: ", ".join(map(str, row))
)


@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
@given(lines=st.lists(st.one_of(PLAIN_LINE, LINE, st.text(alphabet="0123, x\r-af", max_size=30)), max_size=12))
@example(lines=[])
@example(lines=[""])
@example(lines=["1, 2, 0, 4, 0x00ff", "9" * 5000])
@example(lines=["0,0,0,0,0", "0, 0,  0, 0, 0", "0, 0, 00, 0, 0"])
@example(lines=["0, 0, 0, 0, 0xx1", "0, 0, 0, 0, 0x0x1"])
@settings(deadline=None)
def test_rows_are_those_of_a_plain_reference(kernels, lines):
    text = "".join(line.replace("\n", "") + "\n" for line in lines).encode()
    rows, state = rows_of(kernels, text)
    expected, n_lines, n_bad, first_bad = reference(text)
    assert rows == expected
    assert state[:3] == [n_lines, n_bad, first_bad]
    if n_bad:
        assert text[state[3] : state[4]] == text.split(b"\n")[first_bad]


@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
def test_no_hexadecimal_number_where_none_may_be(kernels):
    assert rows_of(kernels, b"1, 2, 0, 4, 0x1\n", hex_column=-1) == ([], [1, 1, 0, 0, 15])


@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10**12)), min_size=1, max_size=50),
       per_us=st.sampled_from([1, 1000]), n_first=st.integers(0, 50))  # fmt: skip
@example(rows=[(0, 0)], per_us=1, n_first=0)
@example(rows=[(1, 63), (1, 64), (1, 127), (1, 128), (1, 10**18 - 1)], per_us=1000, n_first=2)
@settings(deadline=None)
def test_statistics_are_those_of_the_values(kernels, rows, per_us, n_first):
    latencies = Latencies(per_us)
    for part in (rows[:n_first], rows[n_first:]):
        if part:
            ops, values = (np.array(column, np.int64) for column in zip(*part, strict=True))
            latencies.add(values, ops, kernels)
    edges = bins.lower_edges(bins.N_BINS[per_us]).tolist()
    for op in range(3):
        own = [value for which, value in rows if which == op]
        assert latencies.n[op] == len(own) == latencies.counts[op].sum()
        if not own:
            continue
        assert latencies.sums[op] == sum(own)
        assert (latencies.low[op], latencies.high[op]) == (min(own), max(own))
        if len(own) > 1:
            found = math.sqrt(latencies.spreads[op] / (len(own) - 1))
            assert found == pytest.approx(statistics.stdev(own), rel=1e-9, abs=1e-9)
        for index in np.flatnonzero(latencies.counts[op]).tolist():
            inside = [v for v in own if edges[index] <= v and (v < edges[index + 1] or index == len(edges) - 2)]
            assert len(inside) == latencies.counts[op][index]
        for percentile, found in zip(PERCENTILES, latencies._percentiles(op), strict=True):
            exact = sorted(own)[math.ceil(len(own) * round(percentile * 1000) / 100_000) - 1]
            assert found == max(own) or abs(found - exact) <= max(exact / 128, 0.5)


@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
@given(lines=st.lists(st.lists(st.integers(0, 3), min_size=22, max_size=22), min_size=1, max_size=5),
       junk=st.sampled_from(["", "1, 2\n", "\n", "1, 0, 4096" + ", 9" * 20 + "\n"]))  # fmt: skip
@settings(deadline=None)
def test_histograms_are_those_of_a_plain_reference(kernels, lines, junk):
    text = (junk + "".join(", ".join(map(str, line)) + "\n" for line in lines)).encode()
    heads, cells = np.zeros((20, 4), np.int64), np.zeros((200, 2), np.int64)
    state = np.zeros(STATE_SIZE, np.int64)
    n_rows, n_cells = kernels.parse_histograms(kernels.text(text), 19, heads, cells, state)
    good = [line for line in lines if line[1] <= 2]
    counts = [[(i, n) for i, n in enumerate(line[3:]) if n] for line in good]
    assert heads[:n_rows].tolist() == [[*line[:3], len(own)] for line, own in zip(good, counts, strict=True)]
    assert cells[:n_cells].tolist() == [list(cell) for own in counts for cell in own]
    assert state[1] == len(lines) - len(good) + (len(junk) > 1)


@given(st.lists(st.text("11120, \nx", max_size=60), min_size=1, max_size=4))
@example(["1,0,1,1,1\n" * 9, "\n", "1,0,1,1,1\n" * 10])
@settings(deadline=None)
def test_whatever_a_block_holds_there_is_room_for_it(blocks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_text, "kernels_for", lambda _: compiled.plain_kernels())  # which looks at bounds
        patch.setattr(Source, "blocks", lambda *_: [block.encode() for block in blocks])
        lines = log_text.Lines(Source("x_clat_hist.1.log", b""), 5)
        n_cells = sum(len(cells) for _, cells in lines.histograms())
    good = [line for block in blocks for line in block.split("\n")[:-1] if GOOD_COUNTS.fullmatch(line)]
    assert lines.n_rows == len(good)
    assert n_cells == sum(int(cell) > 0 for line in good for cell in line.split(",")[3:])


def test_bins_are_fios_own():
    edges = bins.lower_edges(1856)
    assert edges[:3].tolist() == [0, 1, 2]
    assert edges[[128, 129, 192]].tolist() == [128, 130, 256]
    assert edges[-2:].tolist() == [2**34 - 2**27, 2**34]
    assert bins.lower_edges(1216)[-1] == 2**24
    assert bins.lower_edges(1856, 6).tolist() == [0, *(2**power for power in range(6, 35))]
    assert bins.middles(np.array([127, 128, 1855])).tolist() == [127, 129, 2**34 - 2**26]
    assert [bins.layout_of(n) for n in (1856, 29, 1216, 608, 19)] == [(1000, 0), (1000, 6), (1, 0), (1, 1), (1, 6)]
    assert bins.layout_of(1855) is None


def test_code_is_compiled_where_no_folder_can_keep_it(monkeypatch):
    real = numba.njit

    def njit(*, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled.compiled(lambda x: x + 1)(2) == 3


def test_recognition_and_short_logs_need_no_numba():
    code = (
        "import sys; from pipeline.parse.fio import fio_log; from pipeline.parse._source import Source\n"
        "fio_log.parse(Source('x_lat.1.log', b'1, 2, 0, 4096, 0\\n' * 100)); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/full_lat.1.log", ("full", "lat", 1, None)), ("x_clat_hist.12.log.zst", ("x", "clat_hist", 12, None)),
        ("lf_bw.log", ("lf", "bw", None, None)), ("p.results_slat.3.log", ("p.results", "slat", 3, None)),
        ("lat_log_lat_iops.2.log", ("lat_log_lat", "iops", 2, None)), ("j_clat.1.log.fz", ("j", "clat", 1, None)),
        ("j_lat.1.log.10.0.0.1", ("j", "lat", 1, "10.0.0.1")), ("_bw.1.log", ("", "bw", 1, None)),
        ("lat.1.log.zst", ("", "lat", 1, None)),
        ("lat.log", None), ("notes.txt", None), ("x_lat.1.json", None),
    ],
)  # fmt: skip
def test_names(name, parts):
    found = log_name(name)
    assert (found and (found.prefix, found.kind, found.number, found.host)) == parts


def layout(line, version=None, *, offset=None, maximum=None):
    sample, has_hex = layouts.sample_of(line + "\n")
    found = layouts.layout_of(sample, version, has_hex=has_hex, has_offset=offset, has_maximum=maximum)
    return found and (found.maximum, found.op, found.offset, found.priority, found.issued)


def test_columns():
    assert layout("500, 81751, 0, 0") == (None, 2, None, None, None)
    assert layout("5, 81751, 0, 4096, 0") == (None, 2, None, 4, None)
    assert layout("5, 81751, 0, 4096, 81920") == (None, 2, 4, None, None)
    assert layout("5, 81751, 0, 4096, 0", (3, 7)) == (None, 2, 4, None, None)
    assert layout("5, 81751, 0, 4096, 0", offset=True) == (None, 2, 4, None, None)
    assert layout("5, 81751, 0, 4096, 0x4003") == (None, 2, None, 4, None)
    assert layout("5, 81751, 0, 4096, 81920, 0x4003") == (None, 2, 4, 5, None)
    assert layout("5, 81751, 0, 4096, 81920, 0x4003, 12345") == (None, 2, 4, 5, 6)
    assert layout("500, 81751, 90000, 0, 0, 0") == (2, 3, None, 5, None)
    assert layout("500, 81751, 90000, 0, 0, 0, 0") == (2, 3, 5, 6, None)
    assert layout("500, 81751, 90000, 0, 0, 0, 0, 0") == (2, 3, 5, 6, 7)
    assert layout("500, 1, 1, 0, 0, 0") == (None, 2, 4, 5, None)  # either: the options decide
    assert layout("500, 1, 1, 0, 0, 0", maximum=True) == (2, 3, None, 5, None)
    assert layout("500, 81751, 7, 4096") is None


def tables_from(name, text, reader=fio_log):
    return tables_of(read_source(Source(name, text.encode()), reader))


def test_a_long_log_is_read_piece_by_piece(monkeypatch):
    lines = [f"{i // 3}, {1000 + i * 37 % 5000}, {i % 2}, 4096, 0\n" for i in range(3000)]
    lines[1234] = "what is this\n"
    whole = tables_from("x_lat.1.log", "".join(lines))
    monkeypatch.setattr(log_text, "BLOCK_BYTES", 200)
    monkeypatch.setattr(log_text, "ROWS", 10)
    pieces = tables_from("x_lat.1.log", "".join(lines))
    for name, frame in whole.items():
        if name == "latency_summary":
            assert frame.drop(columns="stddev_s").equals(pieces[name].drop(columns="stddev_s"))
            assert frame["stddev_s"].tolist() == pytest.approx(pieces[name]["stddev_s"].tolist(), rel=1e-12)
        else:
            assert frame.equals(pieces[name]), name
    assert whole.warnings["line"].tolist() == [1235]


def test_histograms_piece_by_piece(monkeypatch):
    lines = [f"{500 * i + 1}, {i % 2}, 4096" + ", 0, 3" * 14 + ", 0\n" for i in range(1, 40)]
    whole = tables_from("x_clat_hist.1.log", "".join(lines), fio_hist_log)
    monkeypatch.setattr(log_text, "BLOCK_BYTES", 400)
    assert whole.latency_bins.equals(tables_from("x_clat_hist.1.log", "".join(lines), fio_hist_log).latency_bins)
    assert len(whole.latency_bins) == 39 * 14
    assert whole.latency_bins["interval_start_s"].tolist()[::14][:3] == [0, 0, 0.501]


@pytest.mark.parametrize("block_bytes", [log_text.BLOCK_BYTES, 400])
def test_intervals_of_jobs_in_one_log_begin_at_their_starts(monkeypatch, block_bytes):
    monkeypatch.setattr(log_text, "BLOCK_BYTES", block_bytes)
    stamps = [300, 601, 300, 300, 299, 600]  # two jobs of two intervals, and between them two of one
    text = "".join(f"{stamp}, 0, 4096" + ", 0, 3" * 14 + ", 0\n" for stamp in stamps)
    starts = tables_from("x_clat_hist.log", text, fio_hist_log).latency_bins["interval_start_s"]
    assert starts.tolist()[::14] == [0, 0.3, 0, 0, 0, 0.299]


@pytest.mark.parametrize("block_bytes", [log_text.BLOCK_BYTES, 40])
def test_windows_of_jobs_in_one_log_begin_at_their_starts(monkeypatch, block_bytes):
    monkeypatch.setattr(log_text, "BLOCK_BYTES", block_bytes)
    stamps = [147, 248, 348, 347, 146, 248, 349, 100, 200]  # 347: a step back is no beginning
    text = "".join(f"{stamp}, 4000, 0, 0, 0\n" for stamp in stamps)
    windows = tables_from("x_bw.log", text).throughput_series["window_s"]
    assert windows.tolist() == [0.147, 0.101, 0.1, 0.001, 0.146, 0.102, 0.101, 0.1, 0.1]


def test_more_than_64_bits_can_hold_in_sum():
    tables = tables_from("x_lat.1.log", f"0, {10**18 - 1}, 0, 4096, 0\n" * 20)
    assert tables.latency_summary["mean_s"].tolist() == [(10**18 - 1) / 10**9]
    assert tables.latency_summary["stddev_s"].tolist() == [0]


def test_sizes_beyond_any_io_are_not_added():
    tables = tables_from("x_lat.1.log", f"0, 5, 0, 4096, 0\n0, 5, 0, {10**18 - 1}, 0\n" * 20)
    assert tables.throughput_series["bytes_per_s"].tolist() == [20 * 4096 / 0.001]
    assert tables.warnings["code"].tolist() == ["bad_value"]


def test_a_name_that_tells_nothing_is_refused():
    with pytest.raises(ParseError, match="so give the file that name"):
        fio_log.parse(Source("log.txt", b"1, 2, 0, 4096, 0\n"))


def test_an_empty_log_says_so():
    assert fio_log.recognise_name("x_slat.1.log")
    assert not fio_log.recognise_name("x_clat_hist.1.log")
    assert fio_hist_log.recognise_name("x_clat_hist.1.log")
    assert tables_from("x_slat.1.log", "").warnings["code"].tolist() == ["empty_log"]
    assert tables_from("x_clat_hist.1.log", "", fio_hist_log).warnings["code"].tolist() == ["empty_log"]


# What lies beside a log

LATENCY = {"min": 1000, "max": 3000, "mean": 2000.0, "stddev": 1000.0, "N": 2}


def job(name, n_ops=2, **options):
    read = {"total_ios": n_ops, "io_bytes": 8192, "bw": 8, "iops": 2.0, "runtime": 1000, "lat_ns": LATENCY}
    return {"jobname": name, "job options": {"rw": "randread", **options}, "read": read, "job_start": 1795238886000}


def folder(tmp_path, jobs, logs, version="fio-3.36"):
    document = {"fio version": version, "timestamp": 1795238890, "time": "x", "jobs": jobs, "disk_util": []}
    (tmp_path / "out.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    for name, text in logs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return pipeline.read(tmp_path)


TWO = "1, 1000, 0, 4096, 0\n2, 3000, 0, 4096, 0\n"


def test_report_and_logs_are_one_run(tmp_path):
    jobs = [job("a", write_lat_log="x"), job("b", write_lat_log="x")]
    tables = folder(tmp_path, jobs, {"x_lat.1.log": TWO, "x_lat.2.log": TWO})
    assert tables.runs["run_id"].tolist() == ["out"]
    assert tables.latency_series["run_id"].unique().tolist() == ["out"]
    assert tables.latency_series["job"].tolist() == ["a", "a", "b", "b"]
    summary = tables.latency_summary
    assert (
        summary[summary["scope"] == "log"]["mean_s"].tolist() == summary[summary["scope"] == "job"]["mean_s"].tolist()
    )
    assert not len(tables.warnings)


def test_jobs_of_one_name_and_of_a_group(tmp_path):
    tables = folder(tmp_path, [job("a", write_lat_log="x")] * 2, {"x_lat.2.log": TWO})
    assert tables.latency_series["job"].unique().tolist() == ["a#2"]
    jobs = [job("g", write_lat_log="x", numjobs="3", group_reporting="1"), job("h", write_lat_log="x")]
    tables = folder(tmp_path, jobs, {"x_lat.2.log": TWO, "x_lat.4.log": TWO})
    assert tables.latency_series["job"].unique().tolist() == ["g#2", "h"]


@pytest.mark.parametrize(("version", "latency_s"), [("fio-2.21", 0.001), ("fio-2.99", 1e-6), ("fio-3.7", 1e-6)])
def test_the_version_tells_the_unit(tmp_path, version, latency_s):
    tables = folder(tmp_path, [job("a", write_lat_log="x")], {"x_lat.1.log": "5, 1000, 0, 4096\n" * 2}, version)
    assert tables.latency_series["latency_s"].tolist() == [latency_s] * 2
    assert "unit_guessed" not in tables.warnings["code"].tolist()


def test_other_counts_and_means_than_the_reports(tmp_path):
    tables = folder(tmp_path, [job("a", write_lat_log="x")], {"x_lat.1.log": "1, 9000000, 0, 4096, 0\n"})
    warnings = dict(zip(tables.warnings["code"], tables.warnings["message"], strict=True))
    assert warnings["count_mismatch"] == "expected 2 I/Os of read by fio's report, found 1 rows"
    assert warnings["unit_mismatch"] == "expected a mean total latency of read of 2e-06 s, found 0.009 s"


def test_a_log_without_a_number_is_of_the_jobs_that_ask_for_it(tmp_path):
    one_log = {"write_lat_log": "x", "per_job_logs": "0"}
    jobs = [job("b", write_lat_log="y"), job("a", **one_log), job("a", **one_log)]
    tables = folder(tmp_path, jobs, {"x_lat.log": TWO * 2, "y_lat.1.log": TWO})
    assert tables.warnings["code"].tolist() == ["stamps_fall"]
    assert tables.latency_series["job"].fillna("").tolist() == ["", "", "", "", "b", "b"]
    (tmp_path / "x_lat.log").write_text(TWO * 3, encoding="utf-8")
    messages = pipeline.read(tmp_path).warnings["message"].tolist()
    assert "expected 4 I/Os of read by fio's report, found 6 rows" in messages


def test_a_log_without_a_number_has_the_options_of_its_job(tmp_path):
    jobs = [job("b", write_lat_log="y", log_avg_msec="500", log_max_value="1"),
            job("a", write_lat_log="x", write_bw_log="y", per_job_logs="0", log_avg_msec="100")]  # fmt: skip
    series = folder(tmp_path, jobs, {"x_lat.log": "101, 1000, 0, 0, 0\n203, 3000, 0, 0, 0\n"}).latency_series
    assert series[["job", "window_s", "latency_s"]].to_numpy().tolist() == [["a", 0.1, 1e-6], ["a", 0.1, 3e-6]]


def test_a_log_of_another_run_stays_alone(tmp_path):
    tables = folder(tmp_path, [job("a", write_lat_log="y")], {"x_lat.1.log": TWO})
    assert sorted(tables.runs["run_id"]) == ["out", "x_lat.1"]
    assert tables.latency_series["job"].tolist() == ["1", "1"]


def test_rates_come_once(tmp_path):
    options = {"write_lat_log": "x", "write_iops_log": "x", "write_bw_log": "x"}
    ones = "1, 1, 0, 4096, 0\n2, 1, 0, 4096, 0\n"
    logs = {"x_lat.1.log": TWO, "x_clat.1.log": TWO, "x_slat.1.log": TWO, "x_iops.1.log": ones, "x_bw.1.log": TWO}
    rates = folder(tmp_path, [job("a", **options)], logs).throughput_series
    assert rates["ops_per_s"].dropna().tolist() == [2 / 0.003]
    assert rates["bytes_per_s"].dropna().tolist() == [8192 / 0.003]
    for name in ("x_iops.1.log", "x_bw.1.log"):
        (tmp_path / name).unlink()
    rates = pipeline.read(tmp_path).throughput_series
    assert rates[["ops_per_s", "bytes_per_s"]].to_numpy().tolist() == [[2 / 0.003, 8192 / 0.003]]


def test_stamps_since_1970_count_from_the_jobs_start(tmp_path):
    logs = {"x_lat.1.log": "1795238886250, 1000, 0, 4096, 0\n1795238886500, 3000, 0, 4096, 0\n"}
    tables = folder(tmp_path, [job("a", write_lat_log="x", log_unix_epoch="1")], logs)
    assert tables.latency_series["time_s"].tolist() == [0.25, 0.5]
    assert not len(tables.warnings)


def test_stamps_of_another_clock_count_from_the_runs_first(tmp_path):
    options = {"write_lat_log": "x", "write_hist_log": "x", "log_hist_msec": "200",
               "log_alternate_epoch": "1", "log_alternate_epoch_clock_id": "1"}  # fmt: skip
    logs = {f"x_lat.{i}.log": f"2977397{i}, 1000, 0, 4096, 0\n29774500, 3000, 0, 4096, 0\n" for i in (1, 2)}
    logs["x_clat_hist.1.log"] = "29774172, 0, 4096" + ", 0" * 28 + ", 2\n"
    tables = folder(tmp_path, [job("a", **options), job("b", **options)], logs)
    assert tables.latency_series["time_s"].tolist() == [0, 0.529, 0.001, 0.529]
    bins_of_log = tables.latency_bins.dropna(subset="interval_end_s")
    assert bins_of_log[["interval_start_s", "interval_end_s"]].to_numpy().tolist() == [[0, 0.201]]
    assert tables.runs["started_at"].dt.year.tolist() == [2026]
    assert set(tables.warnings["message"]) == {"stamps are ms of clock 1; time_s counts from 29773971 ms there"}


def test_windows_by_the_options(tmp_path):
    options = {"write_lat_log": "x", "log_avg_msec": "500", "log_max_value": "1"}
    logs = {"x_lat.1.log": "501, 1000, 0, 0, 0\n1003, 3000, 0, 0, 0\n2500, 3000, 0, 0, 0\n2600, 3000, 0, 0, 0\n"}
    series = folder(tmp_path, [job("a", **options)], logs).latency_series
    assert series["window_s"].tolist() == [0.5, 0.5, 1.497, 0.1]
    assert series["latency_max_s"].tolist() == [1e-6, 3e-6, 3e-6, 3e-6]
    assert series["latency_s"].isna().all()


def test_a_command_beside_the_log_tells_version_and_options(tmp_path):
    (tmp_path / "x_lat.1.log").write_text("5, 1000, 0, 4096, 0\n5, 1000, 0, 4096, 0\n", encoding="utf-8")
    (tmp_path / "run.cmd").write_text("fio-2.14 --name=j --write_lat_log=logs/x --log_offset=1\n", encoding="utf-8")
    series = pipeline.read(tmp_path / "x_lat.1.log").latency_series
    assert series["latency_s"].tolist() == [0.001, 0.001]
    assert series["offset_bytes"].tolist() == [0, 0]


def test_averages_of_compressed_logs_are_no_rates(tmp_path):
    options = {"write_iops_log": "x", "log_avg_msec": "500", "log_compression": "65536"}
    tables = folder(tmp_path, [job("a", **options)], {"x_iops.1.log": "500, 1, 0, 0, 0\n1000, 1, 0, 0, 0\n"})
    assert tables.warnings["code"].tolist() == ["no_rates"]
    assert not len(tables.throughput_series)


def test_rates_of_a_long_run_leave_memory(monkeypatch):
    text = "".join(f"{i * 700}, 5, {i % 5 % 2}, 4096, 0\n" for i in range(1, 2000))
    keys = ["op", "time_s"]
    whole = tables_from("x_lat.1.log", text).throughput_series.sort_values(keys, ignore_index=True)
    monkeypatch.setattr(log_text, "BLOCK_BYTES", 300)
    monkeypatch.setattr(log_text, "ROWS", 10)
    monkeypatch.setattr("pipeline.parse.fio._fio_log_statistics._MOST_SECONDS", 20)
    pieces = tables_from("x_lat.1.log", text).throughput_series.sort_values(keys, ignore_index=True)
    assert whole.equals(pieces)
    assert (whole["ops_per_s"] * whole["window_s"]).sum() == pytest.approx(1999)
