"""DISKSPD's readers: what must hold of any report, and of any damage to it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.diskspd import diskspd_text, diskspd_xml
from pipeline.parse.diskspd._diskspd_cells import percentile_of, rates
from pipeline.tidy import tables_of

HERE = Path(__file__).parent
TEXTS = {case.parent.name: case for case in (HERE / "diskspd_text").glob("*/*.txt")}
XMLS = {case.parent.name: case for case in (HERE / "diskspd_xml").glob("*/*.xml")}
WHOLE_TEXTS = ["utf16-three-targets", "three-timespans", "thread-pool", "write-only-without-latency",
               "linux-port-other-column-order", "linux-port-thread-pool", "io-distribution"]  # fmt: skip
WHOLE_XMLS = ["three-timespans-unescaped-attribute", "intervals-of-iops", "utf16-with-declaration"]
KEYS = ["interval_start_s", "interval_end_s", "job", "target", "op"]


def reports_of(reader, data):
    try:
        reports = reader.parse(Source("x", data))
    except ParseError:
        return []
    for number, report in enumerate(reports):
        report.describe(run_id=f"x#{number}")
    return reports


@pytest.mark.parametrize("name", [*WHOLE_TEXTS, *WHOLE_XMLS])
def test_a_cut_report_is_never_complete(name):
    reader, path = (diskspd_text, TEXTS[name]) if name in WHOLE_TEXTS else (diskspd_xml, XMLS[name])
    data = path.read_bytes()
    end = len(data.rstrip(b"\r\n\0 "))
    assert all(report.run["is_complete"] for report in reports_of(reader, data))
    for cut in {*range(0, end, end // 200), *range(end - 60, end)}:
        for report in reports_of(reader, data[:cut]):
            assert not report.run["is_complete"], f"complete after {cut} of {end} bytes"


@pytest.mark.parametrize("name", WHOLE_TEXTS)
def test_rows_of_the_threads_add_up_to_the_total_row(name):
    operations = pipeline.read(TEXTS[name]).operations
    keys = ["interval_start_s", "op"]
    sums = operations[operations["scope"] == "job"].groupby(keys, dropna=False)[["n_ops", "n_bytes"]].sum()
    totals = operations[operations["scope"] == "total"].set_index(keys)[["n_ops", "n_bytes"]]
    for key, row in sums.iterrows():
        assert totals.loc[key].tolist() == row.tolist()


@pytest.mark.parametrize(
    ("text", "xml"),
    [("utf16-three-targets", "three-targets"), ("three-timespans", "three-timespans-unescaped-attribute")],
)
def test_text_and_xml_of_one_command_agree_in_all_but_the_measurement(text, xml):
    of_text, of_xml = pipeline.read(TEXTS[text]), pipeline.read(XMLS[xml])
    configured = []
    for tables in (of_text, of_xml):
        jobs = tables.operations[tables.operations["scope"] == "job"]
        configured.append(jobs.set_index(KEYS)[["queue_depth", "block_size_bytes", "duration_s"]].sort_index())
    assert configured[0].equals(configured[1])
    shared = of_text.latency_percentiles[of_text.latency_percentiles["scope"] == "total"]
    keys = ["interval_start_s", "op", "percentile"]
    found = set(map(tuple, of_xml.latency_percentiles[keys].fillna(-1).to_numpy()))
    assert set(map(tuple, shared[keys].fillna(-1).to_numpy())) <= found
    assert set(of_text.cpu_usage["cpu"]) == set(of_xml.cpu_usage["cpu"])
    of_xml_alone = of_xml.metric_series[of_xml.metric_series["metric"] == "iops_stddev"]
    assert set(of_text.metric_series["labels"]) == set(of_xml_alone["labels"])


CTRL_C = b"\r\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\r\n"


@pytest.mark.parametrize(("reader", "path"), [(diskspd_text, TEXTS["write-only-without-latency"]),
                                              (diskspd_xml, XMLS["pool-etw-wait-statistics"])])  # fmt: skip
def test_a_run_that_ctrl_c_stopped_is_not_whole_and_the_next_one_is(reader, path):
    whole = path.read_bytes()
    assert [report.run["is_complete"] for report in reports_of(reader, CTRL_C + whole + whole)] == [False, True]
    assert [report.run["is_complete"] for report in reports_of(reader, whole + CTRL_C + whole)] == [True, False]
    assert [report.run["is_complete"] for report in reports_of(reader, whole + CTRL_C)] == [False]


@pytest.mark.parametrize(("planned_s", "is_complete"), [(3, True), (4, True), (5, False), (600, False)])
def test_a_run_shorter_than_its_duration_is_not_whole_without_ctrl_cs_line_too(planned_s, is_complete):
    text = TEXTS["write-only-without-latency"].read_bytes().replace(b"duration: 3s", b"duration: %ds" % planned_s)
    xml = XMLS["intervals-of-iops"].read_bytes().replace(b"<Duration>3<", b"<Duration>%d<" % planned_s)
    for reader, data in ((diskspd_text, text), (diskspd_xml, xml)):
        (report,) = reports_of(reader, data)
        assert report.run["is_complete"] is is_complete
        assert [row["code"] for row in report.rows.get("warnings", [])] == ["interrupted"] * (not is_complete)


def test_littles_law_holds_in_the_article():
    tables = pipeline.read(TEXTS["article-without-latency-table"])
    total = tables.operations[(tables.operations["scope"] == "total") & (tables.operations["op"] == "write")].iloc[0]
    assert total["ops_per_s"] * total["latency_mean_s"] == pytest.approx(0.997, abs=0.0005)
    assert total["ops_per_s"] * total["latency_mean_s"] == pytest.approx(total["queue_depth"], rel=0.01)


def test_the_finer_rate_wins_if_it_agrees():
    figures = {"i/os": 348.0, "bytes": 348.0 * 8192, "i/o per s": 0.58, "mib/s": 0.0}
    assert rates(figures, 600.0, 0.00501) == (pytest.approx(0.58), pytest.approx(348 * 8192 / 600), True)
    assert rates(figures | {"i/os": 351.0, "bytes": 351.0 * 8192}, 600.0, 0.00501)[0] == pytest.approx(0.585)
    assert rates(figures | {"i/os": 400.0}, 600.0, 0.00501) == (0.58, 0.0, False)
    assert rates({"i/os": 0.0, "bytes": 0.0, "i/o per s": 0.0, "mib/s": 0.0}, 2.0, 0.00501) == (0.0, 0.0, True)


@pytest.mark.parametrize(
    ("name", "percentile"),
    [("min", 0), ("25th", 25), ("2-nines", 99), ("3-nines", 99.9), ("9-nines", 99.9999999), ("max", 100)],
)
def test_percentiles_by_their_names(name, percentile):
    assert percentile_of(name) == percentile


LINES = sorted({line for path in TEXTS.values() for line in Source(path).lines})
TAGS = sorted({line.strip() for path in XMLS.values() for line in Source(path).lines})


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=60))
def test_text_in_any_order_gives_tables_or_one_error(lines):
    reports = reports_of(diskspd_text, "\n".join(lines).encode())
    assert not any(report.run["is_complete"] for report in reports if len(lines) < 5)
    if reports:
        tables_of(reports)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(TAGS) | st.text(max_size=30), max_size=60))
def test_elements_in_any_order_give_tables_or_one_error(tags):
    if reports := reports_of(diskspd_xml, "\n".join(["<Results>", "<TimeSpan>", *tags]).encode()):
        tables_of(reports)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_changed_bytes_give_tables_or_one_error(data):
    name = data.draw(st.sampled_from(["thread-pool", "intervals-of-iops"]))
    reader, path = (diskspd_text, TEXTS[name]) if name in TEXTS else (diskspd_xml, XMLS[name])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if reports := reports_of(reader, bytes(content)):
        tables_of(reports)


@pytest.mark.parametrize(
    "text",
    [
        "<Results>" + "<a>" * 100_000,
        "<Results><System>" * 20_000,
        '<Results><System a="' + "<" * 1_000_000,
        "<Results><System>" + "&" * 1_000_000,
        "Input parameters:\n timespan: 1\n" + "a: b\n" * 100_000,
        "Results for timespan 1:\n" + "Total IO\nthread | bytes | I/Os\n" * 20_000,
        "Results for timespan 1:\nTotal IO\nthread | bytes | I/Os | file\n0 | 1 | 1 | " + " (" * 200_000,
        "Command Line: " + "diskspd -e -L " * 50_000 + "\nInput parameters:\n timespan: 1\n duration: " + "9" * 100_000,
    ],
    ids=lambda text: text[:24],
)
def test_hostile_text_ends_soon(text):
    for reader in (diskspd_text, diskspd_xml):
        reader.recognise(text[:65536])
        for report in reports_of(reader, text.encode()):
            assert not report.run["is_complete"]
