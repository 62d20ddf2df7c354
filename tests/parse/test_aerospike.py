"""Aerospike's benchmark clients: each takes its own lines."""

import pytest

from pipeline.parse.workloads import aerospike_java_benchmark, asbench

RATES = "write(tps=1 timeouts=0 errors=0) read(tps=2 timeouts=0 errors=0) total(tps=3 timeouts=0 errors=0)\n"


@pytest.mark.parametrize(
    ("line", "reader"),
    [
        ("2022-07-27 18:19:14.834 INFO " + RATES, asbench),
        ("hdr: read  2022-07-27T18:19:14Z 1, 141792, 61, 68863, 685, 1201, 2008, 3315, 45471\n", asbench),
        ("read_hist 2022-07-27T18:19:13Z, 1.00011s, 141825, 0:3000\n", asbench),
        ("2015-06-24 11:58:13.827 " + RATES, aerospike_java_benchmark),
        ("Wed Jun 24 11:58:13 PDT 2015 " + RATES, aerospike_java_benchmark),
    ],
)
def test_each_line_is_of_one_client(line, reader):
    assert [other for other in (asbench, aerospike_java_benchmark) if other.recognise(line)] == [reader]
