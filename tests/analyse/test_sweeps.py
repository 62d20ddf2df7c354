import pandas as pd
import pytest
from frames import report, run, tables

from pipeline.analyse.sweeps import device_sweep, highest_held, published_sweep, with_x_rating
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


def test_highest_held_is_per_device_and_in_total():
    search = pd.DataFrame(
        [
            (1, 16000.0, True),
            (1, 32000.0, True),
            (1, 64000.0, False),
            (2, 16000.0, True),
            (2, 32000.0, False),
            (3, 1500.0, True),
        ],
        columns=["n_devices", "offered_ops_per_s", "is_complete"],
    )
    search["is_aborted"] = ~search["is_complete"]
    killed = pd.DataFrame([{"n_devices": 1, "offered_ops_per_s": 8000.0, "is_complete": False, "is_aborted": False}])
    search = pd.concat([search, killed], ignore_index=True)
    frame = highest_held(search)
    assert list(frame["held_x"]) == [16, 4]
    assert list(frame["given_up_x"]) == [32, 8]
    assert list(frame["held_x_total"]) == [16, 8]
    assert list(frame["efficiency"]) == [1, 0.25]
    with pytest.raises(AnalysisError, match="gave up"):
        highest_held(search[search["is_complete"]])


def test_published_sweep_of_the_articles_table():
    made = report(tool="published")
    for row, values in (("SSDs", (1, 2, 4)), ("rate", (192_000, 354_000, 708_000))):
        for column, value in zip("abc", values, strict=True):
            made.add("published", source="s", exhibit="e", row=row, column=column, value_text=str(value), value=value)
    frame = with_x_rating(published_sweep(tables(made), "e", "SSDs", "rate"))
    assert list(frame["x_rating"]) == [64, 59, 59]
