import math

import numpy as np
import pytest
from frames import report, tables
from scipy.signal import lfilter

from pipeline.analyse.budget.instruments import INSTRUMENTS, Bench, measure
from pipeline.analyse.budget.measures import log_mean
from pipeline.errors import AnalysisError

PER = {"tool": "pgbench", "op": "transaction"}


def bench(*reports):
    frames = tables(*reports)
    return Bench(lambda _campaign: frames)


def taken(made, name, **options):
    instrument = INSTRUMENTS[name]
    found = measure(made, name, {**instrument.optional, "campaign": "c", "run": "r1", **options})
    return found, made.sources.expanded(found.quantity, 0.95)


def log(latency_s, time_s, tool="pgbench_log", window=None):
    made = report(tool=tool)
    for latency, time in zip(latency_s, time_s, strict=True):
        made.add("latency_series", op="transaction", phase="total", latency_s=latency, time_s=time, window_s=window)
    return made


def client(n_ops=1000, rate=1000.0):
    made = report(tool="pgbench")
    made.add("operations", op="transaction", scope="total", n_ops=n_ops, ops_per_s=rate, latency_mean_s=9e-4)
    return made


def test_batch_means_see_the_correlation_that_sigma_over_root_n_misses():
    rng = np.random.default_rng(1)
    latency = np.repeat(rng.normal(100.0, 10.0, 400), 50)  # 50 equal latencies a second: 400 independent values
    time = np.repeat(np.arange(400), 50) + np.tile(np.linspace(0, 0.98, 50), 400)
    _, found = taken(bench(log(latency, time)), "log_mean", tool="pgbench_log", op="transaction")
    assert found.value == pytest.approx(latency.mean())
    assert found.standard == pytest.approx(latency[::50].std(ddof=1) / math.sqrt(400), rel=1e-9)
    assert found.df == pytest.approx(399)


def test_elapsed_time_is_paired_with_the_latencies_of_its_windows():
    rng = np.random.default_rng(2)
    latency = rng.choice([0.004, 0.05], 500, p=[0.9, 0.1])
    made = bench(log(latency, np.cumsum(latency + 0.001)))
    options = {"tool": "pgbench_log", "op": "transaction"}
    mean, one = taken(made, "log_mean", **options)
    elapsed, _ = taken(made, "log_elapsed", **options)
    gap = made.sources.expanded(elapsed.quantity - mean.quantity, 0.95)
    assert gap.value == pytest.approx(0.001)
    assert gap.standard < one.standard / 3


def test_one_batch_leaves_the_uncertainty_incomplete():
    found, expanded = taken(bench(log([0.1, 0.2], [0.1, 0.3])), "log_mean", tool="pgbench_log", op="transaction")
    assert found.is_incomplete
    assert (expanded.value, expanded.half_width) == (pytest.approx(0.15), 0)


def test_a_log_of_windows_or_nulls_is_refused():
    options = {"tool": "pgbench_log", "op": "transaction"}
    with pytest.raises(AnalysisError, match="found means of windows"):
        taken(bench(log([0.1, 0.2], [1.0, 2.0], window=1.0)), "log_mean", **options)
    with pytest.raises(AnalysisError, match="line an operation, found"):
        taken(bench(log([None, None], [1.0, 2.0])), "log_mean", **options)


def test_a_summary_of_one_run_has_at_least_sigma_over_root_n():
    made = report(tool="diskspd")
    made.add("operations", op="write", scope="total", n_ops=400, latency_mean_s=258e-6, latency_stddev_s=100e-6)
    made = bench(made)
    found, expanded = taken(made, "operation_mean", tool="diskspd", op="write", resolution_s=1e-6)
    assert found.is_incomplete
    assert expanded.standard == pytest.approx(math.hypot(5e-6, 1e-6 / math.sqrt(12)))
    printed, expanded = taken(made, "operation_mean", tool="diskspd", op="write", resolution_s=1e-6, as_printed=True)
    assert not printed.is_incomplete
    assert expanded.standard == pytest.approx(1e-6 / math.sqrt(12))


def test_counters_are_spread_over_the_outer_operations():
    wal = report(tool="pg_stat_wal")
    wal.add("operations", op="wal_sync", scope="total", n_ops=1500, latency_mean_s=100e-6)
    made = bench(wal, client())
    _, expanded = taken(made, "operation_time", tool="pg_stat_wal", op="wal_sync", per=PER, resolution_s=1e-3)
    assert expanded.value == pytest.approx(150e-6)
    assert expanded.standard == pytest.approx(1e-6 / math.sqrt(12))
    with pytest.raises(AnalysisError, match="above 0, found 0"):
        taken(bench(wal, client(n_ops=0)), "operation_time", tool="pg_stat_wal", op="wal_sync", per=PER)


def disk(writes=(2000.0,) * 3, flushes=(1000.0,) * 3, write=50e-6, flush=40e-6, device="vda"):
    made = report(tool="iostat")
    for i, (w, f) in enumerate(zip(writes, flushes, strict=True)):
        made.add("device_series", device=device, time_s=i + 1.0, window_s=1.0, writes_per_s=w, flushes_per_s=f,
                 write_await_s=write, flush_await_s=flush, busy_ratio=0.5)  # fmt: skip
    return made


def test_the_data_write_is_taken_out_of_iostats_mixed_await():
    # 1,000 data writes of 60 µs and 1,000 flushes of 40 µs a second: iostat shows 2,000 writes of 50 µs.
    made = bench(disk(), client())
    write, one = taken(made, "device_time", request="data_write", resolution_s=1e-5)
    flush, other = taken(made, "device_time", request="flush", resolution_s=1e-5)
    assert (one.value, other.value) == (pytest.approx(60e-6), pytest.approx(40e-6))
    step = 1e-5 / math.sqrt(12)
    assert one.standard == pytest.approx(math.hypot(2, 1) * step)
    # Both awaits are rounded once: of the sum, w_await's step counts twice and f_await's cancels.
    assert made.sources.expanded(write.quantity + flush.quantity, 0.95).standard == pytest.approx(2 * step)
    assert taken(made, "device_requests", request="data_write", per=PER)[1].value == pytest.approx(1)
    assert taken(made, "device_requests", request="flush", per=PER)[1].value == pytest.approx(1)
    assert taken(made, "device_busy", per=PER)[1].value == pytest.approx(0.5 / 1000)


def test_samples_outside_the_run_and_without_requests():
    made = bench(disk(writes=(0.0, 10.0, 10.0, 900.0), flushes=(0.0, 0.0, 0.0, 0.0)), client())
    found, _ = taken(made, "device_time", request="write", first_samples=1, last_samples=1)
    assert found.n == 2
    with pytest.raises(AnalysisError, match="expected flush requests"):
        taken(made, "device_time", request="flush")
    with pytest.raises(AnalysisError, match="found 4 before those outside"):
        taken(made, "device_time", request="write", first_samples=2, last_samples=2)
    with pytest.raises(AnalysisError, match="expected one device, found sda, vda"):
        taken(bench(disk(), disk(device="sda")), "device_time", request="write")
    found, _ = taken(bench(disk(), disk(device="sda")), "device_time", request="write", device="sda")
    assert found.n == 3


def cpu(values, unit="s", event="task-clock"):
    made = report(tool="perf_stat")
    for i, value in enumerate(values):
        made.add("perf_counters", event=event, time_s=i + 1.0, window_s=1.0, value=value, unit=unit, status="counted")
    return made


def test_processor_time_is_the_sum_of_its_windows():
    _, found = taken(bench(cpu([0.1, 0.2, 0.3]), client()), "cpu_time", event="task-clock", per=PER)
    assert found.value == pytest.approx(0.6 / 1000)
    assert found.standard == pytest.approx(0.1 * math.sqrt(3) / 1000)
    with pytest.raises(AnalysisError, match="expected a time of the event 'cycles'"):
        taken(bench(cpu([1.0], unit=None), client()), "cpu_time", event="cycles", per=PER)


def test_the_share_of_draws_that_a_correlated_logs_interval_covers():
    """Latencies that drift within a second (AR(1) with a memory of 10): windows of 1 s, 100 operations each."""
    rng = np.random.default_rng(11)
    held, n = 0, 1500
    time = np.arange(n) / 100
    options = {**INSTRUMENTS["log_mean"].optional, "tool": "pgbench_log", "op": "transaction"}
    frames = tables(log([1e-4] * n, time))
    for _ in range(2000):
        noise = rng.normal(0, 1, n + 200)
        latency = 100 + lfilter([1.0], [1.0, -0.9], noise)[200:]
        frames["latency_series"]["latency_s"] = latency
        part = log_mean(frames, options)
        made = Bench(lambda _campaign: frames)
        found = made.sources.expanded(made.sources.scattered("k", part.value, part.scores), 0.95)
        held += found.low <= 100 <= found.high
    assert 0.93 <= held / 2000 <= 0.97
