"""What a golden case cannot hold: shifted fields of any kind, runs told apart, versions that nobody runs any more."""

import functools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import fio_json, fio_terse, fio_text
from pipeline.tidy import tables_of

CASES = Path(__file__).parent / "fio_terse"
V3 = (CASES / "fio-3.42-randrw/out.terse").read_text().rstrip("\n")
V5 = (CASES / "v5-read-and-write/out.terse").read_text().rstrip("\n")
V2 = (CASES / "v2-description-on-its-own-line/out.terse").read_text().split("\n")[0]
SNAPSHOTS = (CASES / "status-interval/out.terse").read_text().splitlines()
N_FIELDS = {"3": 41, "5": 47}


def parse(text):
    return fio_terse.parse(Source("out.terse", text.encode()))


def tables(text):
    reports = parse(text)
    for number, report in enumerate(reports):
        report.describe(run_id=f"run#{number}")
    return tables_of(reports)


@functools.cache
def undisturbed(line):
    return tables(f"{line}\n")


@settings(deadline=None)
@given(
    name=st.text(st.sampled_from("ab;1 0.%="), min_size=1, max_size=20).filter(lambda text: not text.endswith(";")),
    description=st.text(st.sampled_from("ab;1 0.%-"), max_size=20),
    line=st.sampled_from([V3, V5]),
)
def test_separators_in_a_name_or_description_shift_no_figure(name, description, line):
    plain = undisturbed(line)
    fields = line.split(";")
    fields[2] = name
    found = tables(";".join(fields) + (f";{description}" if description else "") + "\n")
    assert found.operations["job"].tolist() == [name] * len(found.operations)
    for column in ("n_bytes", "ops_per_s", "latency_mean_s", "latency_max_s"):
        assert found.operations[column].tolist() == plain.operations[column].tolist()
    assert (";" in name or ";" in description) == ("shifted_fields" in found.warnings["code"].tolist()) or (
        description.split(";")[0].isdigit()  # read as the errors of continue_on_error
    )


def test_version_2_before_trims():
    fields = V2.split(";")
    line = ";".join(fields[: 4 + 2 * 41] + fields[4 + 3 * 41 :])
    found = tables(f"{line}\n\n")
    assert line.count(";") == 119
    assert found.operations[["op", "n_bytes", "ops_per_s"]].values.tolist() == [["read", 51175424, 12481]]
    assert found.latency_percentiles["latency_s"].max() == 7241e-6


@pytest.mark.parametrize(("printed", "bytes_per_s"), [("32747", 33532928), ("33533", 33533000)])
def test_bandwidth_was_in_thousands_of_bytes(printed, bytes_per_s):
    fields = V3.split(";")
    fields[6] = printed  # 65560 KiB in 2002 ms
    assert tables(";".join(fields) + "\n").operations["bytes_per_s"][0] == bytes_per_s


def test_a_small_bandwidth_is_bytes_by_time():
    fields = V3.split(";")
    fields[5:9] = ["1001", "500", "125", "2002"]
    assert tables(";".join(fields) + "\n").operations["bytes_per_s"][0] == 1001 * 1024 / 2002 * 1000


@pytest.mark.parametrize("place", [3, 5, 7, 13, 20, 40, 45, 90, 100, 121])
def test_a_field_that_is_none_gives_no_figure_in_its_place(place):
    fields = V3.split(";")
    fields[place] = "x"
    text = ";".join(fields) + "\n"
    try:
        reports = parse(text)
    except ParseError:
        return
    assert not reports[0].run["is_complete"] or place == 121  # a disk may have any name
    assert all(row["n_bytes"] in (67133440, 67088384) for row in reports[0].rows["operations"])


def test_numbers_beyond_64_bits_are_null():
    fields = V3.split(";")
    fields[5], fields[16] = "9" * 20, "nan"
    found = tables(";".join(fields) + "\n")
    assert found.operations["n_bytes"].isna().tolist() == [True, False]
    assert found.warnings["code"].tolist() == ["bad_value"]


def test_status_reports_of_one_run():
    found = tables("\n".join(SNAPSHOTS) + "\n")
    assert found.operations["interval_end_s"].tolist()[:3] == [0.879, 1.879, 2.88]
    assert found.operations["interval_start_s"].tolist()[:3] == [0, 0, 0]
    assert found.operations["interval_end_s"].isna().tolist() == [False, False, False, True]


def test_status_reports_without_disk_counters():
    lines = [line[: line.index(";vda;")] for line in SNAPSHOTS]
    assert len(parse("\n".join(lines) + "\n")) == 1
    assert tables("\n".join(lines) + "\n").operations["interval_end_s"].count() == 3


@pytest.mark.parametrize("order", [[0, 2, 1], [3, 0], [1, 1]])
def test_what_does_not_grow_is_another_run_or_job(order):
    found = tables("\n".join(SNAPSHOTS[place] for place in order) + "\n")
    n_intervals = 1 if order == [0, 2, 1] else 0
    assert found.operations["interval_end_s"].count() == n_intervals
    assert len(found.runs) == (1 if order == [1, 1] else 2)


def test_groups_and_versions_that_go_back_begin_a_run():
    later = V3.replace(";m;0;0;", ";m;1;0;", 1)
    assert len(parse(f"{V3}\n{later}\n{V3}\n")) == 2
    assert len(parse(f"{V3}\n{V3.replace('fio-3.42', 'fio-3.41', 1)}\n")) == 2
    assert len(parse(f"{V3}\nfio-3.42\nStarting 1 process\n{V3}\n")) == 2


def test_a_failed_job_and_one_without_io():
    failed = parse(V3.replace(";m;0;0;", ";m;0;28;", 1) + "\n")[0]
    assert not failed.run["is_complete"]
    assert [row["code"] for row in failed.rows["warnings"]] == ["job_error"]
    fields = V3.split(";")
    for first in (5, 5 + 41):
        fields[first : first + 4] = ["0"] * 4
    idle = tables(";".join(fields) + "\n")
    assert idle.warnings["code"].tolist() == ["no_io"]
    assert idle.operations[["n_bytes", "duration_s", "ops_per_s"]].fillna(-1).values.tolist() == [[0, -1, -1]] * 2


def test_other_forms_come_first():
    for head in (
        f"{V3}\n" + '{\n  "fio version" : "fio-3.42",\n',
        f"{V3}\n\nm: (groupid=0, jobs=1): err= 0: pid=1: x\n",
    ):
        assert fio_json.recognise(head) or fio_text.recognise(head)
    assert not fio_text.recognise(f"m: (g=0): rw=read, bs=4K-4K/4K-4K, ioengine=sync, iodepth=1\n{V3}\n")


@pytest.mark.parametrize("text", ["2;3;4;5\n", "3;fio-3.42\n", "a;b;c;0;0;1;2;3;4\n", "5;4;3;2;1;0;0;0;0;0;0;0;0\n"])
def test_other_lists_are_none(text):
    assert not fio_terse.recognise(text)


def test_a_long_line_of_separators_takes_no_time():
    with pytest.raises(ParseError):
        parse("3;fio-3.42;" + "1;" * 1_000_000 + "\n" + "2;" + ";0;0" * 15_000 + "\n")
