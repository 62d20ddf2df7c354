"""iperf 2 and 3: what golden samples cannot say."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parse._source import Source
from pipeline.parse.network import iperf2_csv, iperf2_text, iperf3_json, iperf3_text
from pipeline.parse.network._iperf_rows import bit_rate, byte_count, read_row

READERS = (iperf3_json, iperf3_text, iperf2_text, iperf2_csv)
CLIENT = "Client connecting to h, TCP port 5001\n[  3] local a port 1 connected with h port 5001\n"


def streams(reader, text):
    return [report.rows["network_streams"] for report in reader.parse(Source("log", text.encode()))]


def test_bytes_are_binary_and_bits_decimal():
    assert byte_count("1.5", "K") == 1536
    assert byte_count("2", "G") == 2 * 2**30
    assert bit_rate("8", "K") == 1000
    assert bit_rate("1.25", "G") == 156_250_000


@given(st.floats(0, 9999), st.sampled_from(["", "K", "M", "G", "T"]), st.sampled_from(["", "K", "M", "G", "T"]))
def test_a_row_is_read_as_printed(figure, size, rate):
    row = read_row(f"[  3]  0.0-10.0 sec  {figure:.3g} {size}Bytes  {figure:.3g} {rate}bits/sec".replace("e+03", "e3"))
    if "e" in f"{figure:.3g}":
        return
    printed = float(f"{figure:.3g}")
    assert row.n_bytes == round(printed * 1024 ** "_KMGT".index(size or "_"))
    assert row.bytes_per_s == pytest.approx(printed * 1000 ** "_KMGT".index(rate or "_") / 8)


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("[  5]   0.00-1.00   sec  654 MBytes  5.47 Gbits/sec    2   1.37 MBytes       \n", iperf3_text),
        ("[  5] 100.00-101.00 sec  654 MBytes  5.47 Gbits/sec                  sender\n", iperf3_text),
        ("[ 5] 0.00-10.00 sec 654 MBytes 5.47 Gbits/sec 0 sender\n", iperf3_text),
        ("[SUM][TX-C]   0.00-1.00   sec  1005 MBytes  8.43 Gbits/sec    6             \n", iperf3_text),
        ("[  3]  0.0- 1.0 sec   177 KBytes  1.45 Mbits/sec\n", iperf2_text),
        (
            "[  3] 0.00-60.00 sec  14063 MBytes  1966 Mbits/sec  112505/0          0       -1K/1346 us  182579.69\n",
            iperf2_text,
        ),
        ("[SUM] 0.0-600.0 sec 6.49 TBytes 95.1 Gbits/sec\n", iperf2_text),
        ("20140301120001,10.0.0.1,40000,10.0.0.2,5001,3,0.0-1.0,131250,1050000\n", iperf2_csv),
    ],
)
def test_each_line_is_of_one_iperf(text, reader):
    assert [other for other in READERS if other.recognise(text)] == [reader]


def test_a_stream_alone_is_the_whole_run_and_one_of_two_is_an_interval():
    line = "[  3]  0.0- {0} sec  1.10 GBytes   941 Mbits/sec\n"
    ((whole,),) = streams(iperf2_text, CLIENT + line.format("1.0"))
    assert whole["time_s"] is None
    ((interval, whole),) = streams(iperf2_text, CLIENT + line.format("1.0") + line.format("1.1"))
    assert (interval["time_s"], whole["time_s"]) == (1.0, None)


def test_ids_that_come_again_begin_a_new_test():
    test = CLIENT.split("\n")[1] + "\n[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n"
    assert len(streams(iperf2_text, "Server listening on TCP port 1\n" + test * 3)) == 3


def test_a_long_log_is_read_in_little_memory(tmp_path):
    path = tmp_path / "iperf.txt"
    with path.open("w") as log:
        log.write(CLIENT)
        log.writelines(f"[  3] {i}.0-{i + 1}.0 sec  1.10 GBytes   941 Mbits/sec\n" for i in range(50_000))
    source = Source(path)
    source.spill = type("Nowhere", (), {"take": lambda *_: None})()
    tracemalloc.start()
    (report,) = iperf2_text.parse(source)
    assert tracemalloc.get_traced_memory()[1] < 120e6
    tracemalloc.stop()
    assert not report.run["is_complete"]


@pytest.mark.parametrize(
    "text",
    [
        '{"start":{"version":"iperf 3.9","test_start":' + "[" * 50_000,
        '{"start":{"version":"iperf 3.9"},"x":1e999,"end":{"streams":[{"udp":{"bytes":' + "9" * 5000 + "}}]}}",
    ],
)
def test_hostile_json_gives_tables_or_one_error(text):
    try:
        iperf3_json.parse(Source("log", text.encode()))
    except Exception as error:
        assert type(error).__name__ == "ParseError"


def test_events_behind_each_other_are_tests_of_their_own():
    event = (
        '{"event":"start","data":{"version":"iperf 3.17","test_start":{"protocol":"TCP"}}}\n{"event":"end","data":{}}\n'
    )
    reports = iperf3_json.parse(Source("log", (event * 2).encode()))
    assert [report.run["is_complete"] for report in reports] == [True, True]
    (cut,) = iperf3_json.parse(Source("log", event.partition("\n")[0].encode()))
    assert not cut.run["is_complete"]
