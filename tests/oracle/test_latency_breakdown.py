"""The figures of latency_breakdown/README.txt, as the readers find them."""

import pytest

import pipeline
from pipeline.units import MICRO

FOLDER = "latency_breakdown/main"


def test_transaction_log(samples):
    tables = pipeline.read(samples / FOLDER / "01_pgbench_log.5659.zst")
    (row,) = tables.operations.to_dict("records")
    assert row["n_ops"] == 109_890 == len(tables.latency_series)
    assert row["latency_mean_s"] == pytest.approx(179.9 * MICRO, abs=0.05 * MICRO)
    assert row["ops_per_s"] == pytest.approx(5495, abs=1)
    percentiles = tables.latency_percentiles.set_index("percentile")["latency_s"]
    assert percentiles[[50, 99, 99.9]].tolist() == pytest.approx([169 * MICRO, 401 * MICRO, 1036 * MICRO])
    summary = pipeline.read(samples / FOLDER / "01_pgbench.stdout.txt").operations.iloc[0]
    assert summary["n_ops"] == row["n_ops"]
    assert summary["latency_mean_s"] == pytest.approx(row["latency_mean_s"], abs=0.5 * MICRO)
    assert summary["latency_stddev_s"] == pytest.approx(row["latency_stddev_s"], abs=0.5 * MICRO)


def test_wal(samples):
    operations = pipeline.read(samples / FOLDER / "01_pg_stat_wal.txt").operations.set_index("op")
    assert operations.loc["wal_sync", "latency_mean_s"] == pytest.approx(142.0 * MICRO, abs=0.05 * MICRO)
    assert operations.loc["wal_write", "latency_mean_s"] == pytest.approx(2.3 * MICRO, abs=0.05 * MICRO)


@pytest.mark.parametrize("suffix", ["txt", "json"])
def test_device(samples, suffix):
    series = pipeline.read(samples / FOLDER / f"01_pgbench_insert_c1.iostat_x.{suffix}").device_series
    during = series.iloc[2:-3]  # the rest lies outside the run
    assert during["writes_per_s"].mean() == pytest.approx(11326, abs=1)
    assert during["flushes_per_s"].mean() == pytest.approx(5535, abs=1)
    assert during["write_await_s"].mean() == pytest.approx(57 * MICRO, abs=1 * MICRO)
    assert during["flush_await_s"].mean() == pytest.approx(50 * MICRO, abs=1 * MICRO)
