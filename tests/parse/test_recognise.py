"""Whatever a head holds, all readers decide about it at once; other tools' outputs are left alone."""

import time

import pytest

from pipeline.errors import ParseError
from pipeline.parse._source import HEAD_BYTES, Source
from pipeline.tools import load_reader, readers_of

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
        '{\n\t"start":\t{\n\t\t"connected":\t[{\n\t\t\t"socket":\t5}],\n\t\t"version":\t"iperf 3.9"}}',
        '{"sysstat": {"hosts": [{"nodename": "a", "statistics": [{"disk": [{"disk-device": "sda", "tps": 1}]}]}]}}',
        '{"sysstat": {"hosts": [{"nodename": "a", "statistics": [{"cpu-load": [{"cpu": "all", "usr": 0.1}]}]}]}}',
        '{"status": "success", "data": {"resultType": "matrix", "result": []}}',
        '{"ISO date": "2026-01-01", "operation": "WRITE", "IOPS [last]": "5"}',
        "10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n10:00:01 all 1 1 1 1 1 95\n",
        "10:00:00   DEV   tps   rkB/s   wkB/s   areq-sz   aqu-sz   await   %util\n10:00:01 sda 1 1 1 1 1 1 1\n",
        "procs -----memory----- ---swap--\n r  b   swpd   free\n 1  0      0      1\n",
        "3;fio-3.33;job;0;0;1024;512;128;2000;0;0;0.0\n",
        "[global]\nioengine=libaio\niodepth=8\n[a]\nfilename=/dev/x\n",
        "0, 51192, 1, 4096, 0\n1, 5, 0, 4096, 0\n",
        "1 2 3 4 5 6\n1 2 3 4 5 7\n",
        "-[ RECORD 1 ]-----+--\ncheckpoints_timed | 1\nbuffers_alloc | 5\n",
        "metrics:\n    - stressor: cpu\n      bogo-ops: 1\n",
    ],
)
def test_other_tools_are_left_alone(head):
    assert [name for name in READERS if load_reader(name).recognise(head)] == []
