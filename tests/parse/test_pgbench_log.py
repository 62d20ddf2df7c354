"""A pgbench log's statistics against numpy, in plain Python and compiled, and whatever its blocks are."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pipeline
from pipeline.parse._source import Source
from pipeline.parse.postgres import _pgbench_log_lines, pgbench_log

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
START = 1_795_216_271_000_000


def log_of(n, latencies, *, lags=None, n_clients=8):
    ends = START + np.maximum(latencies.cumsum() // n_clients, latencies)
    ends = np.maximum.accumulate(ends)
    columns = [
        np.arange(n) % n_clients,
        np.arange(n) // n_clients,
        latencies,
        np.arange(n) % 2,
        ends // 10**6,
        ends % 10**6,
    ]
    columns += [] if lags is None else [lags]
    lines = (" ".join(map(str, row)) for row in zip(*(column.tolist() for column in columns), strict=True))
    return "\n".join(lines).encode() + b"\n", ends


def tables_of(data, tmp_path):
    path = tmp_path / "pgbench_log.1"
    path.write_bytes(data)
    return pipeline.read(path)


@pytest.mark.parametrize("n", [50, 30_000])
@pytest.mark.parametrize("scale", [1, 4000, 10_000_000])
def test_statistics_are_numpys(tmp_path, n, scale):
    rng = np.random.default_rng(n)
    latencies = (rng.lognormal(5, 1, n) * scale).astype(int) + 1
    data, ends = log_of(n, latencies)
    tables = tables_of(data, tmp_path)
    operations = tables.operations[tables.operations["scope"] == "total"].iloc[0]
    start = (ends - latencies).min()
    assert operations["n_ops"] == n
    assert operations["latency_mean_s"] == pytest.approx(latencies.mean() * 1e-6, rel=1e-12)
    assert operations["latency_stddev_s"] == pytest.approx(latencies.std(ddof=1) * 1e-6, rel=1e-9)
    assert operations["duration_s"] == pytest.approx((ends.max() - start) * 1e-6, rel=1e-12)
    found = tables.latency_percentiles["latency_s"].to_numpy()
    ranks = [math.ceil(n * Fraction(str(p)) / 100) for p in PERCENTILES]  # numpy takes 29971 of 30000 for 99.9 %
    wanted = np.sort(latencies)[np.array(ranks) - 1] * 1e-6
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(tables.latency_series["time_s"], (ends - start) * 1e-6, rtol=1e-12)
    np.testing.assert_allclose(tables.latency_series["latency_s"], latencies * 1e-6, rtol=1e-12)
    assert list(tables.latency_series["job"]) == [str(i % 8) for i in range(n)]
    if len(tables.throughput_series):
        windows = tables.throughput_series
        assert (windows["ops_per_s"] * windows["window_s"]).sum() == pytest.approx(n)
        assert windows["window_s"].sum() == pytest.approx(operations["duration_s"])


def test_a_later_line_may_prove_the_first_ones_wrong(tmp_path):
    n = 60_000
    latencies = np.full(n, 100)
    data, ends = log_of(n, latencies)
    lines = data.splitlines(keepends=True)
    last = int(ends[-1]) + 1
    lines.append(f"8 0 {last - START + 5_000_000} 0 {last // 10**6} {last % 10**6}\n".encode())  # began 5 s before all
    tables = tables_of(b"".join(lines), tmp_path)
    assert len(tables.latency_series) == n + 1
    assert tables.latency_series["time_s"].iloc[0] == pytest.approx(5.0 + (ends[0] - START) * 1e-6)
    assert str(tables.runs["started_at"].iloc[0]) == "2026-11-20 23:11:06+00:00"


@pytest.mark.parametrize("last_lag", [50, 101])
def test_a_seventh_column_is_known_only_at_the_end(tmp_path, last_lag):
    n = 60_000
    lags = np.full(n, 3)
    lags[-1] = last_lag
    data, _ = log_of(n, np.full(n, 200), lags=lags)
    tables = tables_of(data, tmp_path)
    phases = {"total", "schedule_lag"} if last_lag > 100 else {"total"}
    assert set(tables.latency_series["phase"]) == set(tables.latency_summary["phase"]) == phases
    assert len(tables.latency_series) == n * len(phases)


def test_the_loops_agree_compiled_or_not(monkeypatch):
    rng = np.random.default_rng(1)
    pieces = [
        b"0 1 100 0 1795216271 5", b"1 2 skipped 0 1795216271 9", b"2 3 failed 1 1795216272 1", b"", b"x", b"0 1 2",
        b"3 4 99999999999999999999 0 1795216271 5", b"3 4 serialization 0 1795216271 5",
        b"0 1 skippex 0 1795216271 5", b"0  1 100 0 1795216271 5", b"0 1 100 0 1795216271 5 ",
        b"0 1 100 0 1795216271 5 7", b"0 1 1a 0 1795216271 5", b"4 5 -1 0 1795216271 5",
        b"5 6 10 0 1795216271 1000000", b"5 6 10 0 95216271 5",
    ]  # fmt: skip
    data = b"".join(pieces[i] + b"\n" for i in rng.integers(0, len(pieces), 2000))
    results = []
    for limit in (0, 1 << 30):
        monkeypatch.setattr(_pgbench_log_lines, "PLAIN_BYTES", limit)
        lines = _pgbench_log_lines.Lines(Source("x", data), 6, of_one=True)
        (block,) = lines.blocks()
        n = block.n_rows
        results.append((block.columns[:, :n].tolist(), block.states[:n].tolist(), lines.n_lines, lines.n_bad))
    assert results[0] == results[1]
    assert results[0][2] == 2000
    good = {0: 0, 1: 1, 2: 2, 7: 2}
    picks = np.random.default_rng(1).integers(0, len(pieces), 2000)
    assert results[0][1] == [good[pick] for pick in picks.tolist() if pick in good]
    assert results[0][3] == sum(pick not in good and pick != 3 for pick in picks.tolist())


def test_other_logs_are_not_claimed():
    for head in ("1, 2, 0, 4096, 0\n", "1795216271 10 20 5 1 2\n", "0 1\n", "a b c\n"):
        assert not pgbench_log.recognise(head)
