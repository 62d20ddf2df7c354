"""Figures that lkp-tests takes out of fio's JSON, against ours: ``lkp__fio__01.yaml`` is of ``lkp__fio__01``.

Disagreements: lkp's MBps is MiB/s, and its ``slat_mean_us`` is in ns, as fio prints it since 2.99.
"""

import json

import pytest
import yaml

import pipeline

MIB = 1 << 20
EDGES = {"us": 1e-6, "ms": 1e-3}


@pytest.fixture(scope="module")
def folder(samples):
    found = samples.parent / "published" / "fio_extra" / "text"
    if not found.is_dir():
        pytest.skip(f"{found} absent")
    return found


def ours(tables, op):
    """Our figures of a direction by lkp's names; without I/O ours are missing, and lkp's 0."""
    operations = tables.operations.query("op == @op")
    summary = tables.latency_summary.query("op == @op").set_index("phase")
    percentiles = tables.latency_percentiles.query("op == @op and phase == 'completion'").set_index("percentile")
    found = {
        f"{op}_bw_MBps": operations["bytes_per_s"].sum() / MIB, f"{op}_iops": operations["ops_per_s"].sum(),
        f"{op}_clat_mean_ns": summary["mean_s"].get("completion", 0) * 1e9,
        f"{op}_clat_stddev": summary["stddev_s"].get("completion", 0) * 1e9,
    }  # fmt: skip
    found |= {f"{op}_clat_{share}%_ns": percentiles["latency_s"].get(share, 0) * 1e9 for share in (90, 95, 99)}
    for name in ("mean", "stddev"):
        value = summary[f"{name}_s"].get("submission", 0) * 1e9
        found[f"{op}_slat_{name}" + ("_us" if name == "mean" else "")] = value
    return found


def shares(tables):
    """Our shares of latencies by lkp's names of their upper edges."""
    metrics = tables.metric_series.query("metric == 'latency_ratio'")
    found = {}
    for labels, value in zip(metrics["labels"].map(json.loads), metrics["value"], strict=True):
        upper = labels.get("upper_s")
        if upper is None:
            name = ">=2000ms"
        else:
            unit = "us" if upper <= 1.0001e-3 else "ms"
            name = f"{round(upper / EDGES[unit])}{unit}"
        found[f"latency_{name}%"] = value * 100
    return found


@pytest.mark.parametrize("name", ["01", "02", "03"])
def test_figures_of_lkp(folder, name):
    expected = yaml.safe_load((folder / f"lkp__fio__{name}.yaml").read_text())
    tables = pipeline.read(folder / f"lkp__fio__{name}")
    found = {**ours(tables, "read"), **ours(tables, "write"), **shares(tables)}
    found["workload"] = tables.operations["n_ops"].sum()
    for key, value in expected.items():
        assert found.get(key, 0) == pytest.approx(value, rel=1e-6, abs=1e-9), key


@pytest.mark.parametrize("number", [1, 2])
def test_figures_of_a_short_report(folder, number):
    every = yaml.safe_load((folder / "lkp__fio__fio-multi-instance.yaml").read_text())
    suffix = f".instance{number}"
    expected = {key.removesuffix(suffix): value for key, value in every.items() if key.endswith(suffix)}
    tables = pipeline.read(folder / f"lkp__fio-multi-instance__fio.output.{number}")
    found = {**ours(tables, "read"), **shares(tables), "workload": tables.operations["n_ops"].sum()}
    for key, value in expected.items():
        assert found.get(key, 0) == pytest.approx(value, rel=1e-6, abs=1e-9), key
