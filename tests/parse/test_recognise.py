"""Whatever a head holds, all readers decide about it at once; other tools' outputs are left alone."""

import time
from pathlib import Path

import pytest

from pipeline.errors import ParseError
from pipeline.parse._source import HEAD_BYTES, Source
from pipeline.tools import TOOLS, load_reader, readers_of

HERE = Path(__file__).parent
READERS = readers_of(None)
PIECES = ("a", " ", "\t", "\n", " \n", "\n ", "#\n", "1", "1,", "1 ", "{", "[{", '{"a":', "|", ";", '"', "<a>", "0\0")


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_heads_take_no_time(piece):
    head = (piece * HEAD_BYTES)[:HEAD_BYTES]
    start = time.process_time()
    assert [name for name in READERS if load_reader(name).recognise(head)] == []
    assert time.process_time() - start < 1


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", ["[" * 100_000, "published: a\nexhibits: " + "[" * 5000, "{" * 100_000])
def test_deep_nesting_is_one_error(name, content):
    with pytest.raises(ParseError):
        load_reader(name).parse(Source("deep", content.encode()))


@pytest.mark.parametrize(
    "head",
    [
        '{"ISO date": "2026-01-01", "operation": "WRITE", "IOPS [last]": "5"}',
        '{"a": [1, 2, 3], "b": {"read": {"iops": 5}}}',
        "a,b,c\n1,2,3\n4,5,6\n",
        "1 2 3 4 5 6\n1 2 3 4 5 7\n",
        "-[ RECORD 1 ]-----+--\ncheckpoints_timed | 1\nbuffers_alloc | 5\n",
        "[mysqld]\nport=3306\nread_buffer_size = 1M\n",
        "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n",
        "name: x\nread: 5\nwrite: 6\n",
        'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 5\n',
        "total 5\n-rw-r--r-- 1 root root 5 Nov 21 05:00 a\n",
    ],
)
def test_what_no_tool_wrote_is_left_alone(head):
    assert [name for name in READERS if load_reader(name).recognise(head)] == []


@pytest.mark.parametrize("case", sorted(path.parent for path in HERE.glob("*/*/expected.yaml")), ids=lambda c: c.name)
def test_only_one_tool_claims_a_sample(case):
    """So that the order of the registry decides between the forms of a tool, never between tools."""
    (file,) = [path for path in case.iterdir() if path.name != "expected.yaml"]
    head = Source(file).head
    claims = {tool.name for tool in TOOLS for reader in tool.readers if load_reader(reader).recognise(head)}
    assert len(claims) <= 1
