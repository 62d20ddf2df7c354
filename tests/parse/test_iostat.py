"""iostat: text and JSON of the same figures agree, cut files are never whole, nothing but ParseError escapes."""

import json
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.monitors import iostat_json, iostat_text
from pipeline.parse.monitors._iostat_samples import read_stamp
from pipeline.tidy import tables_of

HERE = Path(__file__).parent
COLUMNS = [
    "r/s",
    "w/s",
    "f/s",
    "rkB/s",
    "wkB/s",
    "rrqm/s",
    "%rrqm",
    "r_await",
    "w_await",
    "rareq-sz",
    "aqu-sz",
    "%util",
]
CPU = ["user", "nice", "system", "iowait", "steal", "idle"]


def tables(reader, text):
    reports = reader.parse(Source("iostat", text if isinstance(text, bytes) else text.encode()))
    for number, report in enumerate(reports):
        report.describe(run_id=f"run#{number}")
    return tables_of(reports)


def is_whole(reader, text):
    """Whether a text gives reports that all are complete."""
    try:
        return all(report.run["is_complete"] for report in reader.parse(Source("iostat", text.encode())))
    except ParseError:
        return False


hundredths = st.integers(0, 10**7).map(lambda n: n / 100)
shares = st.integers(0, 1600).map(lambda n: n / 100)
samples = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.lists(shares, min_size=6, max_size=6),
            "disks": st.lists(
                st.lists(hundredths, min_size=len(COLUMNS), max_size=len(COLUMNS)), min_size=2, max_size=2
            ),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(samples)
@settings(max_examples=25, deadline=None)
def test_text_and_json_agree(values):
    text, entries = "Linux 6.1.0 (host) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n", []
    for second, sample in enumerate(values):
        stamp = f"11/20/26 23:11:{second:02}"
        text += f"{stamp}\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        text += " ".join(f"{value:8.2f}" for value in sample["cpu"]) + "\n\nDevice " + " ".join(COLUMNS) + "\n"
        disks = []
        for name, row in zip(("sda", "nvme0n1"), sample["disks"], strict=True):
            text += name + " " + " ".join(f"{value:.2f}" for value in row) + "\n"
            disks.append({"disk_device": name, **dict(zip((c.lstrip("%") for c in COLUMNS), row, strict=True))})
        text += "\n\n"
        entries.append({"timestamp": stamp, "avg-cpu": dict(zip(CPU, sample["cpu"], strict=True)), "disk": disks})
    document = {"sysstat": {"hosts": [{"nodename": "host", "statistics": entries}]}}
    of_text, of_json = tables(iostat_text, text), tables(iostat_json, json.dumps(document))
    for name in ("cpu_usage", "device_series", "metric_series"):
        pd.testing.assert_frame_equal(of_text[name], of_json[name])
    assert of_text.runs["is_complete"].all()
    assert of_json.runs["is_complete"].all()


@pytest.mark.parametrize("case", ["two_blank_lines_mean_y", "human_units", "short_write_and_discard", "cpu_only"])
def test_a_cut_text_is_whole_only_behind_a_sample(case):
    text = (HERE / "iostat_text" / case / "iostat.txt").read_text()
    last_lines = [block.rstrip().rsplit("\n", 1)[-1] for block in text.split("\n\n\n") if block.strip()]
    for cut in range(0, len(text.rstrip()), 3):
        if is_whole(iostat_text, text[:cut]):
            end = text[:cut].rstrip()
            assert end.rsplit("\n", 1)[-1] in last_lines, f"whole although cut after {end[-30:]!r}"


@pytest.mark.parametrize("case", ["empty_line_means_y", "two_hosts_nan_and_group"])
def test_a_cut_document_is_never_whole(case):
    text = (HERE / "iostat_json" / case / "iostat.json").read_text()
    assert is_whole(iostat_json, text)
    assert not any(is_whole(iostat_json, text[:cut]) for cut in range(0, len(text.rstrip()), 41))


@pytest.mark.parametrize(
    ("reader", "case"),
    [(iostat_text, "iostat_text/two_blank_lines_mean_y"), (iostat_text, "iostat_text/four_parts_and_label_with_space"),
     (iostat_json, "iostat_json/two_hosts_nan_and_group")],
)  # fmt: skip
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damage_gives_tables_or_a_parse_error(reader, case, data):
    (path,) = (path for path in (HERE / case).iterdir() if path.suffix != ".yaml")
    raw = bytearray(path.read_bytes())
    scraps = st.sampled_from([b"", b"9" * 400, b"-1", b"nan", b"\n", b"\x00", b"1e999", b"{", b"]", b'"', b"\xff"])
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(scraps)
        if not raw:
            return
    with suppress(ParseError):
        tables(reader, bytes(raw))


@pytest.mark.parametrize(
    ("text", "second", "date"),
    [
        ("11/20/26 23:11:06", 83466, "11/20/26"),
        ("08/14/2011 03:07:21 PM", 54441, "08/14/2011"),
        ("08/14/2011 12:00:01 AM", 1, "08/14/2011"),
        ("Time: 13:47:05", 49625, "Time:"),
        ("2020年05月01日 12时34分56秒", 45296, "2020年05月01日"),
        ("2026-11-20T23:07:34+0000", 83254, "2026-11-20T"),
    ],
)
def test_stamps(text, second, date):
    stamp = read_stamp(text)
    assert (stamp.second, stamp.date) == (second, date)


@pytest.mark.parametrize("text", ["docker-253:1-4596-pool", "vda 1.00 2.00", "25:61:00", "2026-11-20"])
def test_no_stamps(text):
    assert read_stamp(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "23:07:34     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n",
        "23:07:34          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV\n",
        "23:07:34          tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s\n",
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n",
        '{"sysstat": {"hosts": [{"statistics": [{"timestamp": "1", "cpu-load": [{"cpu": "all", "usr": 1}]}]}]}}',
        '{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk-device": "vda", "tps": 1}]}]}]}}',
    ],
    ids=["mpstat", "sar-d", "sar-b", "vmstat", "mpstat-json", "sadf-json"],
)
def test_other_tools_are_not_claimed(text):
    assert not iostat_text.recognise(text)
    assert not iostat_json.recognise(text)


def test_lines_of_the_second_document_count_from_the_files_start():
    host = '"nodename": "a", "statistics": [\n{"disk": [{"disk_device": "sda", "x": 1}]}\n]'
    document = '{"sysstat": {"hosts": [{\n' + host + "}]}}\n"
    reports = iostat_json.parse(Source("two", (document * 2).encode()))
    lines = [[row["line"] for row in report.rows["warnings"]] for report in reports]
    assert [line + document.count("\n") for line in lines[0]] == lines[1]
