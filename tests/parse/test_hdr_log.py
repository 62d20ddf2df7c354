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

from pipeline.parse.histograms import hdr_log, hgrm
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
