import io
import time
import tracemalloc
from pathlib import Path

import pytest

from pipeline.parse._source import Source
from pipeline.parse.workloads import cassandra_stress
from pipeline.parse.workloads._cstress_results import plain
from pipeline.tidy import tables_of
from pipeline.tools import load_reader, readers_of

HERE = Path(__file__).parent
MINE = ("cassandra_stress", "hammerdb", "iotune", "iotune_yaml", "latte", "latte_json", "scylla_bench", "tlp_stress",
        "ycsb")  # fmt: skip
HEADER = (
    "type       total ops,    op/s,    pk/s,   row/s,    mean,     med,     .95,     .99,    .999,     max,   time,   "
    "stderr, errors,  gc: #,  max ms,  sum ms,  sdv ms,      mb\n"
)
ROW = "total,{:12d},    1000,    1000,    1000,     0.6,     0.5,     0.9,     1.2,     4.7,    17.0,{:9.1f},  0.00000,      0,      0,       0,       0,       0,       0\n"  # noqa: E501


def log(n_rows):
    text = io.StringIO()
    text.write("Running WRITE with 4 threads 1 days\n" + HEADER)
    text.writelines(ROW.format(i * 1000, float(i)) for i in range(1, n_rows + 1))
    return text.getvalue().encode()


def test_an_hour_at_one_second_is_read_in_little_memory_and_time(monkeypatch):
    class Spill:
        n_rows = 0

        def take(self, _report, _table, rows, blocks):
            self.n_rows += len(rows) + sum(len(block["metric"]) for block in blocks if "metric" in block)

    monkeypatch.setattr("pipeline.parse._report.ROWS_IN_MEMORY", 1000)
    source = Source("stress.log", log(3600))
    source.spill = Spill()
    tracemalloc.start()
    start = time.process_time()
    (report,) = cassandra_stress.parse(source)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - start < 20
    assert peak < 60e6
    assert source.spill.n_rows > 0
    assert report.run["is_complete"] is False


def test_intervals_follow_each_other():
    operations = tables_of(_with_keys(cassandra_stress.parse(Source("stress.log", log(50))))).operations
    assert operations["n_ops"].sum() == 50_000
    assert list(operations["interval_start_s"])[1:] == list(operations["interval_end_s"])[:-1]


def _with_keys(reports):
    for number, report in enumerate(reports):
        report.describe(run_id=f"run{number}")
    return reports


@pytest.mark.parametrize(
    ("text", "is_whole", "value"),
    [("6,778", True, 6778), ("6.778", True, 6778), ("1\u202f000\u202f000", True, 1_000_000), ("16386", True, 16386),
     ("0.6", False, 0.6), ("0,6", False, 0.6), ("1.234,5", False, 1234.5), ("1,234.5", False, 1234.5),
     ("67.78", True, None), ("", True, None), ("1,2,3", True, None)],
)  # fmt: skip
def test_separators_of_any_language(text, is_whole, value):
    assert plain(text, is_whole=is_whole) == value


@pytest.mark.parametrize("reader", MINE)
def test_no_other_reader_takes_the_samples(reader):
    for case in sorted((HERE / reader).glob("*")):
        (path,) = [path for path in case.iterdir() if path.name != "expected.yaml"]
        head = Source(path).head
        taking = [name for name in readers_of(None) if load_reader(name).recognise(head)]
        assert taking in ([reader], []), path


@pytest.mark.parametrize("reader", MINE)
def test_the_samples_of_other_readers_are_left_alone(reader):
    module = load_reader(reader)
    for path in sorted(HERE.glob("*/*/*")):
        if path.name != "expected.yaml" and path.parent.parent.name != reader:
            assert not module.recognise(Source(path).head), path
