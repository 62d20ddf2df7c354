import pytest
from frames import report, run, tables

from pipeline.analyse.scaling.sweeps import depth_sweep, device_sweep, published_sweep, with_x_rating
from pipeline.errors import AnalysisError


def devices(n, repeat):
    rows = [{"job": f"dev{i}", "target": f"/dev/loop{i}", "ops_per_s": 100.0} for i in range(n)]
    return run(*rows, run_id=f"h-fio-devices{n}-r{repeat}", point=f"devices{n}-x", repeat=repeat)


def test_device_sweep_counts_targets_and_adds_rates():
    frame = device_sweep(tables(devices(2, 2), devices(1, 1), devices(2, 1)), r"devices\d-x")
    assert list(frame["n_devices"]) == [1, 2, 2]
    assert list(frame["repeat"]) == [1, 1, 2]
    assert list(frame["ops_per_s"]) == [100, 200, 200]
    assert frame["offered_ops_per_s"].isna().all()
    with pytest.raises(AnalysisError, match="found"):
        device_sweep(tables(devices(1, 1)), "nothing")


def test_device_sweep_takes_one_operation_and_what_was_offered():
    row = {"scope": "total", "job": None, "ops_per_s": 500.0}
    made = run(row, {**row, "op": "large_block_read"}, {"scope": "device", "target": "/dev/loop0", "ops_per_s": 500.0},
               tool="act", parameters=[("read-reqs-per-sec", "500")])  # fmt: skip
    frame = device_sweep(tables(made), "p", op="read", offered="read-reqs-per-sec")
    assert list(frame[["n_devices", "ops_per_s", "offered_ops_per_s"]].iloc[0]) == [1, 500, 500]


def test_published_sweep_of_the_articles_table():
    made = report(tool="published")
    for row, values in (("SSDs", (1, 2, 4)), ("rate", (192_000, 354_000, 708_000))):
        for column, value in zip("abc", values, strict=True):
            made.add("published", source="s", exhibit="e", row=row, column=column, value_text=str(value), value=value)
    frame = with_x_rating(published_sweep(tables(made), "e", "SSDs", "rate"))
    assert list(frame["x_rating"]) == [64, 59, 59]


def test_rates_over_the_queue_depth():
    """Two jobs of depth 8, read and write alike: 16 in flight, the rate of reads alone or of both."""
    rows = [
        {"job": job, "op": op, "queue_depth": 8, "ops_per_s": rate, "target": "/dev/loop0"}
        for job in ("a", "b")
        for op, rate in (("read", 100.0), ("write", 50.0))
    ]
    deep = [run(*rows, run_id=f"deep-{n}", point="qd8-j2", repeat=n) for n in (2, 1)]
    flat = run({"queue_depth": 1, "ops_per_s": 30.0}, run_id="flat", point="qd1-j1", repeat=1)
    unknown = run({"ops_per_s": 30.0}, run_id="unknown", point="qd0-j1", repeat=1)
    logs = tables(*deep, flat, unknown)
    frame = depth_sweep(logs, r"qd\d-j\d", op="read")
    assert list(frame["run_id"]) == ["flat", "deep-1", "deep-2"]
    assert list(frame["queue_depth"]) == [1, 16, 16]
    assert list(frame["ops_per_s"]) == [30, 200, 200]
    assert list(depth_sweep(logs, "qd8-j2")["ops_per_s"]) == [300, 300]
    with pytest.raises(AnalysisError, match="expected runs whose point matches 'nothing'"):
        depth_sweep(logs, "nothing")
