"""Stalls: found where they were put, and only there."""

import numpy as np
import pandas as pd
import pytest
from frames import campaign
from simulation import share_of_draws

from pipeline.analyse.distributions.stalls import stalls
from pipeline.errors import AnalysisError
from pipeline.tidy import Tables

RATE, LENGTH = 1000.0, 20.0


def logged(stamps, latencies):
    return pd.DataFrame(
        {"run_id": "r", "tool": "fio", "job": "j", "target": None, "op": "read", "phase": "total",
         "time_s": np.round(stamps, 3), "window_s": np.nan, "latency_s": latencies}
    )  # fmt: skip


def tables(**frames):
    return {**Tables({}), **frames}


def random_run(rng, spans=(), length=LENGTH):
    """Completions at random; none within the spans, and the eight that were outstanding end with the span."""
    stamps = np.sort(rng.uniform(0, length, rng.poisson(RATE * length)))
    latencies = rng.exponential(1e-3, len(stamps))
    for start, end in spans:
        inside = np.flatnonzero((stamps > start) & (stamps < end))
        kept = inside[:8]
        stamps[kept], latencies[kept] = end, end - start
        gone = np.ones(len(stamps), bool)
        gone[inside[8:]] = False
        stamps, latencies = stamps[gone], latencies[gone]
    return tables(latency_series=logged(stamps, latencies))


def test_stalls_are_found_where_they_were_put():
    rng = np.random.default_rng(1)
    for _ in range(50):
        starts = np.sort(rng.choice(np.arange(1, 18), 3, replace=False)) + rng.uniform(0, 0.5, 3)
        spans = [(float(s), float(s + length)) for s, length in zip(starts, rng.uniform(0.1, 0.4, 3), strict=True)]
        found = stalls(random_run(rng, spans), "r")
        assert len(found.frame) == 3
        for row, (start, end) in zip(found.frame.itertuples(), spans, strict=True):
            # The completion before the stall was some ms before it: a gap of Exp(1 ms), stamps to 1 ms.
            assert start - 0.015 <= row.start_s <= start + 0.001
            assert row.end_s == pytest.approx(end, abs=0.0011)
            assert row.n_ops == 8
            assert row.kind == "no completion, long latency"
            assert row.worst_lower_s == row.worst_upper_s == pytest.approx(end - start)


def test_random_completions_are_no_stall():
    """False alarms a run: at most the stated 0.01."""
    share = share_of_draws(lambda rng: len(stalls(random_run(rng, length=4.0), "r").frame) > 0, n_draws=500)
    assert share <= 0.02


def test_a_slow_span_and_a_single_slow_operation():
    rng = np.random.default_rng(2)
    run = random_run(rng)["latency_series"]
    is_kept = ~run["time_s"].between(5, 6) | (np.arange(len(run)) % 50 == 0)  # 20 a second left
    run = run[is_kept].reset_index(drop=True)
    place = int(np.searchsorted(run["time_s"], 15.0))
    run.loc[place, "latency_s"] = 0.7
    found = stalls(tables(latency_series=run), "r", window_s=0.1)
    first, second = found.frame.itertuples()
    assert (first.kind, first.n_ops) == ("slow", 0)
    assert first.start_s == pytest.approx(5.0, abs=found.window_s)
    assert first.end_s == pytest.approx(6.0, abs=2 * found.window_s)
    assert first.n_completed > 5
    assert (second.kind, second.n_ops, second.worst_lower_s) == ("long latency", 1, 0.7)
    assert second.length_s == pytest.approx(0.7)
    assert found.numbers()["n_stalls"] == 2
    assert stalls(tables(latency_series=run), "r", latency_s=1.0, window_s=2.0).frame.empty


def test_too_few_operations_are_refused():
    few = tables(latency_series=logged(np.array([0.0, 1.0, 2.0]), np.full(3, 1e-3)))
    with pytest.raises(AnalysisError, match="3 operations in 2 s are too few"):
        stalls(few, "r")
    one = tables(latency_series=logged(np.array([1.0]), np.array([0.0])))
    with pytest.raises(AnalysisError, match="too few"):
        stalls(one, "r")
    with pytest.raises(AnalysisError, match="found none"):
        stalls(tables(), "r")
    with pytest.raises(AnalysisError, match="fraction"):
        stalls(few, "r", fraction=0)


def test_rates_alone():
    rates = pd.DataFrame(
        {"run_id": "r", "tool": "fio", "job": ["a"] * 10 + ["b"] * 10, "target": None, "op": "read",
         "time_s": np.tile(np.arange(1.0, 11), 2), "window_s": 1.0, "ops_per_s": [100.0] * 20}
    )  # fmt: skip
    rates.loc[[3, 4, 13, 14], "ops_per_s"] = [0.0, 3.0, 5.0, 0.0]
    rates.loc[[7], "ops_per_s"] = 0.0  # one job alone: half the rate is no stall
    found = stalls(tables(throughput_series=rates), "r")
    assert found.frame[["start_s", "end_s"]].to_numpy().tolist() == [[3.0, 5.0]]
    assert found.frame["n_ops"].isna().all()
    assert found.n_ops == 1508
    assert found.warnings
    both = pd.concat([rates, rates[rates["job"] == "a"].assign(op="total")])  # a sum beside its part counts once
    assert stalls(tables(throughput_series=both), "r").n_ops == 1508
    with pytest.raises(AnalysisError, match="fio, pgbench in one run"):
        stalls(tables(throughput_series=pd.concat([rates, rates.assign(tool="pgbench")])), "r")


def test_a_frozen_file_system_shows_in_every_log():
    """The file system was frozen 1.006 s and 0.304 s (freezes.tsv), some tenths after fio's own 9.7 and 19.7 s."""
    logs = campaign("2026-11-fio-logs")
    run = "lab-kvm-fio-freeze-r1"
    found = stalls(logs, run).frame
    assert found["length_s"].tolist() == pytest.approx([1.006, 0.304], abs=0.05)
    assert np.diff(found["start_s"])[0] == pytest.approx(20.044 - 10.046, abs=0.02)
    assert found["n_ops"].tolist() == [2, 2]
    coarse = stalls(logs, run, phase="completion", source="bins of intervals").frame
    assert len(coarse) == 1  # windows of 1 s cannot show 0.3 s
    assert coarse["start_s"][0] <= found["start_s"][0]
    assert coarse["end_s"][0] == found["end_s"][0]
    assert coarse["worst_lower_s"][0] <= found["worst_lower_s"][0] <= coarse["worst_upper_s"][0]
    assert stalls(logs, "lab-kvm-fio-steady-r1", phase="completion").frame.empty
