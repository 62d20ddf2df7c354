"""YCSB's text against what intel/lkp-tests reads from it."""

import pytest
import yaml

import pipeline


def test_lkp_reads_the_same(samples):
    folder = samples.parent / "published" / "ycsb" / "out"
    if not (folder / "lkp__ycsb__01").exists():
        pytest.skip("the published samples are not here")
    expected = yaml.safe_load((folder / "lkp__ycsb__01.yaml").read_text("utf-8"))
    tables = pipeline.read(folder / "lkp__ycsb__01", tool="ycsb")
    rows = tables.operations.set_index("op")
    assert rows.loc["total", "ops_per_s"] == expected["total_throughput_ops/s"]
    assert rows.loc["total", "duration_s"] * 1000 == expected["total_runtime"]
    for op in ("read", "insert"):
        assert rows.loc[op, "n_ops"] == expected[f"total_{op}_operations"]
        assert rows.loc[op, "latency_mean_s"] * 1e6 == pytest.approx(expected[f"total_{op}_averagelatency"])
