"""Each reader against damage: every golden sample cut, flipped, shuffled and in other encodings.

Whatever comes, the result is tables or one ParseError, in bounded time, and a cut file is never reported complete.
"""

import contextlib
import random
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
import zstandard

from pipeline.errors import ParseError, SchemaError
from pipeline.parse import _source
from pipeline.parse._source import Source
from pipeline.reading import read_source
from pipeline.tidy import arrow_tables, tables_of
from pipeline.tools import TOOLS, load_reader

HERE = Path(__file__).parent
READERS = [reader for tool in TOOLS for reader in tool.readers]
CASES = sorted(path.parent for path in HERE.glob("*/*/expected.yaml"))
SMALL_BYTES = 16 * 1024
N_CUTS, N_FLIPS, N_LINES = 200, 60, 120
LIMIT_S = 60  # a hang, not slowness: the machines are noisy


def raw_file(case):
    (path,) = [path for path in case.iterdir() if path.name != "expected.yaml"]
    return path


@cache
def expected(case):
    return yaml.safe_load((case / "expected.yaml").read_text("utf-8"))


@cache
def content(case):
    return Source(raw_file(case)).data


READABLE = [case for case in CASES if "error" not in expected(case)]
SMALL = [case for case in READABLE if len(content(case)) <= SMALL_BYTES]
COMPLETE = [case for case in SMALL if all(expected(case).get("is_complete", [True]))]
WHOLE = [case for case in READABLE if len(content(case)) <= 64 * SMALL_BYTES]


def reports_of(case, data):
    """The reports of some bytes, None where they are refused; anything else is a defect."""
    start = time.monotonic()
    try:
        return read_source(Source(raw_file(case).name, data), load_reader(case.parent.name))
    except ParseError:
        return None
    finally:
        assert time.monotonic() - start < LIMIT_S


def outcome(case, data):
    """The tables of some bytes, None where they are refused."""
    try:
        reports = reports_of(case, data)
        return None if reports is None else tables_of(reports)
    except SchemaError:  # pipeline.read makes one error of both
        return None


def survives(case, data):
    """Some bytes give rows or one error; whether the schema allows the figures is not asked."""
    with contextlib.suppress(SchemaError):
        arrow_tables(reports_of(case, data) or [])


def figures(tables):
    """What a reading says, but for the words of its warnings and the hash."""
    frames = {name: frame for name, frame in tables.items() if len(frame) and name != "warnings"}
    frames["runs"] = frames["runs"].drop(columns=["source_sha256", "is_complete"])
    return frames


def same(left, right):
    return left.keys() == right.keys() and all(left[name].equals(right[name]) for name in left)


def ids(case):
    return f"{case.parent.name}/{case.name}"


def test_each_reader_says_what_it_reads():
    for reader in READERS:
        module = load_reader(reader)
        assert module.FORM and module.VERSIONS, reader
        assert isinstance(module.NOT_READ, str) and isinstance(module.UNSEEN_CUTS, str), reader


@pytest.mark.parametrize("case", COMPLETE, ids=ids)
def test_a_cut_file_is_never_complete(case):
    data = content(case)
    whole = figures(outcome(case, data))
    hidden = load_reader(case.parent.name).UNSEEN_CUTS
    chance = random.Random(0)
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    cuts = set(chance.sample(ends, min(N_LINES, len(ends)))) | {chance.randrange(len(data)) for _ in range(N_CUTS)}
    for cut in sorted(cut for cut in cuts - {len(data)} if data[cut - 1 : cut + 1] != b"\r\n"):
        reports = reports_of(case, data[:cut])
        if reports is None or not all(report.run["is_complete"] for report in reports):
            continue
        tables = tables_of(reports)
        if same(figures(tables), whole):
            continue
        assert hidden, f"cut at byte {cut} of {len(data)}, which is not seen"
        before = data.rfind(b"\n", 0, cut) + 1
        if before != cut:  # the part of a line must not have become a figure
            until = outcome(case, data[:before])
            assert until is not None and same(figures(tables), figures(until)), f"part of a line at byte {cut} was read"


@pytest.mark.parametrize("case", SMALL, ids=ids)
def test_damaged_bytes_give_tables_or_one_error(case):
    data = content(case)
    chance = random.Random(1)
    for _ in range(N_FLIPS):
        flipped = bytearray(data)
        for _ in range(chance.choice((1, 1, 4, 40))):
            flipped[chance.randrange(len(data))] = chance.choice((0, 10, 44, 45, 48, 57, 255, chance.randrange(256)))
        survives(case, bytes(flipped))
    lines = data.splitlines(keepends=True)
    for _ in range(10):
        chance.shuffle(lines)
        survives(case, b"".join(lines))
    for _ in range(10):
        survives(
            case, data[: chance.randrange(len(data))] + chance.randbytes(200) + data[chance.randrange(len(data)) :]
        )
    survives(case, data + data)
    survives(case, data.replace(b"0", b"9" * 400, 3))
    survives(case, data.replace(b".", b"e", 9))


@pytest.mark.parametrize("reader", READERS)
def test_garbage_gives_one_error(reader):
    module = load_reader(reader)
    chance = random.Random(2)
    for data in (b"", b"\n", b"\0" * 1000, b"\xff\xfe", b"{", b"[" * 100_000, chance.randbytes(5000), b"<a>" * 9999):
        with pytest.raises((ParseError, SchemaError)):
            tables_of(read_source(Source("garbage.log", data), module))


FIRST = list({case.parent: case for case in reversed(SMALL)}.values())  # one sample a reader


@pytest.mark.parametrize("case", FIRST, ids=ids)
def test_hostile_content_neither_hangs_nor_fills_the_memory(case, monkeypatch):
    data = content(case)
    half = data.find(b"\n", len(data) // 2) + 1
    deep = b"[" * 100_000
    laughs = b'<!DOCTYPE r [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9)
    )
    for extra in (deep, deep + b"]" * 100_000, b'{"a":' * 100_000, b"<a>" * 100_000, b"(" * 100_000):
        survives(case, data[:half] + extra + data[half:])
        survives(case, data.replace(b":", b":" + extra, 1))
    survives(case, laughs + b"]><r>&j;</r>" + data)
    monkeypatch.setattr(_source, "LINE_BYTES", 1 << 20)
    monkeypatch.setattr(_source, "TEXT_BYTES", 8 << 20)
    for filler in (b"0", b" ", b"a;", b"1,", b"\0"):  # as the 1 GB line would be, for readers and limits of a hundredth
        survives(case, zstandard.compress(data[:half] + filler * (10 << 20) + b"\n" + data[half:]))


def test_a_line_of_a_gigabyte_does_not_fill_the_memory(tmp_path):
    compressor = zstandard.ZstdCompressor().compressobj()
    with (tmp_path / "long_lat.1.log.zst").open("wb") as file:
        file.write(compressor.compress(b"1, 2, 0, 4096\n"))
        for _ in range(1 << 10):
            file.write(compressor.compress(b"1" * (1 << 20)))
        file.write(compressor.flush())
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30));" \
              "from pipeline.__main__ import main; sys.exit(main())"  # fmt: skip
    command = [sys.executable, "-c", limited, "parse", tmp_path, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "expected lines of at most 16 MiB" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("case", WHOLE, ids=ids)
def test_the_encoding_does_not_matter(case):
    data = content(case)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1")
    text = text.replace("\r\n", "\n")
    plain = figures(outcome(case, text.encode()))
    encoded = {"mark": b"\xef\xbb\xbf" + text.encode(), "utf-16": text.encode("utf-16"),
               "crlf": text.replace("\n", "\r\n").encode(), "cr": text.replace("\n", "\r").encode()}  # fmt: skip
    for name, variant in encoded.items():
        tables = outcome(case, variant)
        assert tables is not None, name
        for table, frame in figures(tables).items():
            pd.testing.assert_frame_equal(frame, plain[table], obj=f"{name}: {table}")
    outcome(case, text.encode("latin-1", "replace"))
