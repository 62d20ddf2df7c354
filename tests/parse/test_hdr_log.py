"""Histograms that nobody recorded: too large, cut, or with figures that none has."""

import base64
import random
import struct
import time
import zlib

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from pipeline.parse._source import Source
from pipeline.parse.histograms import hdr_log, hgrm
from pipeline.parse.histograms._hdr_ends import are_ends
from pipeline.parse.histograms._hdr_payload import decode


def wrapped(payload, cookie=0x1C849314):
    data = zlib.compress(payload, 1)
    return base64.b64encode(struct.pack(">II", cookie, len(data)) + data).decode()


def payload(counts, *, digits=2, lowest=1, highest=1 << 40, offset=0, cookie=0x1C849313, n_bytes=None):
    length = len(counts) if n_bytes is None else n_bytes
    return struct.pack(">Iiiiqqd", cookie, length, offset, digits, lowest, highest, 1.0) + counts


@given(
    st.lists(st.tuples(st.integers(1, 10**12), st.integers(1, 10**6)), max_size=50), st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 3, 1000]),
)  # fmt: skip
def test_what_was_recorded_is_read(values, digits, lowest):
    histogram = HdrHistogram(lowest, 10**13, digits)
    for value, count in values:
        histogram.record_value(value, count)
    found = decode(histogram.encode().decode())
    assert found.counts.sum() == sum(count for _, count in values)
    for value, _ in values:
        assert ((found.lower <= value) & (value < found.upper)).sum() == 1


def test_a_bomb_is_not_inflated():
    start = time.process_time()
    with pytest.raises(ValueError, match="without their end"):
        decode(wrapped(b"\0" * (200 << 20)))
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (payload(b"\x02", digits=9), "9 digits"),
        (payload(b"\x02", lowest=0), "from 0"),
        (payload(b"\x02", highest=1), "to 1"),
        (payload(b"\x02", cookie=0x12345678), "unknown encoding"),
        (payload(b"\x02", n_bytes=99), "bytes of counts"),
        (payload(b"\x82"), "counts: .*varint"),
        (payload(b"\xff" * 9), "counts: .*overflow"),
        (payload(b"\xcf\x8c\x01\x02"), "counts: .*overrun"),
        (b"\x1c\x84", "header"),
    ],
)
def test_impossible_histograms_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        decode(wrapped(data))


def test_no_bytes_give_another_error():
    chance = random.Random(5)
    good = base64.b64decode(wrapped(payload(b"\x02\x03\x04")))
    inner = payload(b"\x02\x03\x04\x80\x01")
    for _ in range(3000):
        broken = bytearray(chance.choice([good, inner]))
        broken[chance.randrange(len(broken))] = chance.randrange(256)
        is_inner = len(broken) == len(inner)
        text = wrapped(bytes(broken)) if is_inner else base64.b64encode(bytes(broken)).decode()
        try:
            found = decode(text)
        except ValueError:
            continue
        assert len(found.counts) == len(found.lower) and (found.lower < found.upper).all()


def test_other_texts_are_not_claimed():
    for head in ("0.1,0.2,0.3,abc\n", "1, 2, 0, 4096\n", "Value Percentile\n", "a,b,c,HISTF\n"):
        assert not hdr_log.recognise(head)
        assert not hgrm.recognise(head)


@pytest.mark.parametrize(
    ("times", "start_s", "is_legend", "expected"),
    [
        ([(None, 0.127, 1.007), (None, 1.134, 0.999)], 1.4e9, True, False),  # jHiccup 2.0.1
        ([(None, 0.0, 10.0), (None, 10.0, 10.003)], 1.4e9, True, False),  # the same with long intervals
        ([(None, 0.0, 1.0), (None, 1.0, 1.001)], None, False, False),  # lengths, as far as one can tell
        ([(None, 0.0, 1.0), (None, 1.0, 2.0), (None, 2.0, 3.0)], None, False, True),
        ([("A", 1.0, 2.0), ("B", 1.0, 2.0), ("A", 2.0, 3.0), ("B", 2.0, 3.0)], 0.0, False, True),
        ([(None, 1.0, 2.0), (None, 5.0, 6.0)], None, False, False),  # neither touches
        ([(None, 1.4e9, 1.4e9 + 5)], 1.4e9, False, True),
        ([(None, 1.4e9, 5.0)], 1.4e9, False, False),
        ([(None, 50.0, 110.0)], 50.0, True, True),  # asbench, soon after the machine's start
        ([(None, 50.0, 110.0)], 50.0, False, False),
        ([], None, True, False),
    ],
)
def test_ends_are_told_from_lengths(times, start_s, is_legend, expected):
    assert are_ends(times, start_s, is_legend=is_legend, is_writer=False) is expected


def interval_log(tmp_path, *lines):
    path = tmp_path / "log.hlog"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    (report,) = hdr_log.parse(Source(path))
    return report


def test_a_maximum_as_recorded_leaves_the_unit_in_doubt(tmp_path):
    histogram = HdrHistogram(1, 10**9, 3)
    histogram.record_value(2000)
    (warning,) = interval_log(tmp_path, f"0.1,1.0,2000.0,{histogram.encode().decode()}").rows["warnings"]
    assert "1000 times" in warning["message"]
    (warning,) = interval_log(tmp_path, f"0.1,1.0,2.0,{histogram.encode().decode()}").rows["warnings"]
    assert "1000 times" not in warning["message"]


def test_an_end_before_its_start_is_left_out(tmp_path):
    text = wrapped(payload(b"\x02"))
    head = [f"{start},{start + 1},2.0,{text}" for start in range(1, 1001)]
    report = interval_log(tmp_path, *head, f"1001,3,2.0,{text}", f"1001,1002,2.0,{text}")
    assert len(report.rows["latency_summary"]) == 1001
    assert "an end before its start, 1001,3" in report.rows["warnings"][-1]["message"]
