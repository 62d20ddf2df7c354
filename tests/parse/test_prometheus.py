"""Prometheus's answers read series by series give what a JSON parser and Python's float give."""

import json
import random

import pytest

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors import _prometheus_fast, prometheus, prometheus_text

TEXTS = [
    "0", "-0", "1", "-1.5", "NaN", "+Inf", "-Inf", "1e-9", "1E+300", "1e999", "123456789012345678", "0.1", "5e-324",
    "9007199254740993", "0.30000000000000004", "1.7976931348623157e+308", "2.2250738585072011e-308", "1234567.125",
]  # fmt: skip


def answer(texts, n_series=3, pad=" " * 0):
    times = ["1795216287", "1795216287.5", "1795216288.125", "1795216289.639"]
    chance = random.Random(len(texts))
    series = []
    for number in range(n_series):
        samples = ",".join(f'[{chance.choice(times)},"{text}"]' for text in texts)
        series.append(
            f'{{"metric":{{"__name__":"m_{number}_seconds","job":"ü,\\"values\\":[["}},"values":[{samples}]}}'
        )
    return f'{{"status":"success","data":{{"resultType":"matrix","result":[{",".join(series)}]}}}}{pad}'.encode()


def both(data):
    source = Source("x.json", data)
    fast, slow = Report("prometheus", source), Report("prometheus", source)
    assert prometheus._read_fast(fast, data)
    prometheus._read_any(slow, source)
    return fast, slow


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_agree(seed):
    chance = random.Random(seed)
    texts = TEXTS * 3 + [repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30)) for _ in range(3000)]
    texts += [f"{chance.randint(0, 10**17)}.{chance.randint(0, 10**9)}" for _ in range(1000)]
    chance.shuffle(texts)
    fast, slow = both(answer(texts))
    assert fast.run == slow.run
    assert fast.rows == slow.rows
    for left, right in zip(fast.blocks["metric_series"], slow.blocks["metric_series"], strict=True):
        assert left["value"].equals(right["value"])
        assert left["time_s"].tolist() == right["time_s"].tolist()
        assert {name: left[name] for name in ("metric", "labels", "unit")} == {
            name: right[name] for name in ("metric", "labels", "unit")
        }
    wanted = [float(text) for text in texts]
    found = fast.blocks["metric_series"][0]["value"].to_pylist()
    assert all(value == want for value, want in zip(found, wanted, strict=True) if value is not None)
    assert sum(value is None for value in found) == sum(text in ("NaN", "+Inf", "-Inf", "1e999") for text in texts)


@pytest.mark.parametrize(
    "odd", ['[1795216287, "1"]', '[1795216287,"1"] ', '[1795216287.1234567,"1"]', '[1.9e9,"1"]', '[1795216287,"x"]']
)
def test_an_odd_sample_is_read_as_json_reads_it(odd):
    data = answer(["1"] * 10).replace(b',[1795216287,"1"]', b"," + odd.encode(), 1)
    assert odd.encode() in data
    json.loads(data)
    fast, slow = both(data)
    for left, right in zip(fast.blocks["metric_series"], slow.blocks["metric_series"], strict=True):
        assert left["value"].equals(right["value"])
        assert left["time_s"].tolist() == right["time_s"].tolist()


def test_samples_in_another_order_are_read_too():
    data = answer(["1.25"] * 20_000).replace(b',[1795216287,"1.25"]', b',[1000000000,"1.25"]', 1)
    (report,) = prometheus.parse(Source("x.json", data))
    assert sum(len(block["value"]) for block in report.blocks["metric_series"]) == 60_000
    assert report.run["started_at"].year == 2001


def test_other_layouts_are_left_to_the_general_way():
    data = answer(["1", "2"])
    assert _prometheus_fast.find_series(data) is not None
    for other in (data.replace(b":[[", b": [["), data[:-5], data.replace(b'"values"', b'"value"'), b"{}"):
        found = _prometheus_fast.find_series(other)
        assert found is None or not found.series or found.rest.count(b"{") != found.rest.count(b"}")


def test_a_cut_long_answer_is_incomplete():
    data = answer(["1.25"] * 20_000)
    for cut in (len(data) - 1, len(data) - 3, len(data) - 100, len(data) // 2):
        (report,) = prometheus.parse(Source("x.json", data[:cut]))
        assert report.run["is_complete"] is False
        assert sum(len(block["value"]) for block in report.blocks["metric_series"]) >= 20_000


def test_other_documents_are_not_claimed():
    for head in (
        '{"status":"success","data":["a","b"]}',
        '{"jobs": []}',
        '[{"a": 1}]',
        '{"status": "error"}',
        "# TYPE",
    ):
        assert not prometheus.recognise(head)
    for head in ("# comment\nkey 1\n", "a 1\nb 2\n", "# TYPE x gauge\n"):
        assert not prometheus_text.recognise(head)
