import gzip
import hashlib
import lzma

import pytest
import zstandard

from pipeline.parse._source import Source

TEXT = "fio-3.33\nlat (µs): 1\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.encode("latin-1"),
        gzip.compress(TEXT.encode()),
        lzma.compress(TEXT.encode()),
        zstandard.compress(TEXT.encode()),
        zstandard.compress(TEXT[:8].encode()) + zstandard.compress(TEXT[8:].encode()),
    ],
    ids=["utf-8", "bom", "utf-16", "utf-16-le-no-bom", "utf-16-be", "crlf", "cr", "latin-1", "gz", "xz", "zst", "zst2"],
)
def test_reads_any_encoding_and_compression(data):
    source = Source("log", data)
    assert source.text == TEXT
    assert source.head == TEXT
    assert source.damage is None
    assert source.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstandard.compress])
def test_damaged_compression_keeps_what_came_before(compress):
    lines = "".join(f"{i},{i * 7919 % 10007},0,4096\n" for i in range(200_000)).encode()
    data = compress(lines)
    for eighths in range(1, 8):
        source = Source("log.gz", data[: len(data) * eighths // 8])
        kept = b"".join(source.blocks())
        assert lines.startswith(kept)
        assert len(kept) > len(lines) * (eighths - 1) // 8 - (128 << 10)  # zstd gives blocks of 128 KiB
        assert f"damaged compression after {len(kept)} bytes" in source.damage
    source = Source("log.gz", data + b"no compression")
    assert source.data == lines
    assert source.damage is not None or compress is lzma.compress  # xz may be followed by anything


@pytest.mark.parametrize(
    ("path", "stem"),
    [("a/fio.json", "fio"), ("a/fio.json.zst", "fio"), ("x.v2.log.gz", "x.v2"), ("log", "log"), (".zst", "")],
)
def test_stem(path, stem):
    assert Source(path, b"").stem == stem


def test_error_is_one_printable_line():
    error = Source("a.log", b"").error(3, "a header", "\x1b[2Jevil\nsecond line")
    assert str(error) == "a.log:3: expected a header, found �[2Jevil"


def test_whole_lines_leave_what_no_line_feed_ends():
    source = Source("f", b"a\nb\r\nc")
    for _ in range(2):  # a second pass says the same
        assert list(source.whole_lines()) == [(1, "a"), (2, "b")]
        assert source.torn == (3, "c")
    source = Source("f", b"a\n")
    assert list(source.whole_lines()) == [(1, "a")]
    assert source.torn is None
