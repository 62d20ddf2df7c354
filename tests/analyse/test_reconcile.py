"""The reconciliation gate: each check green, red and unknown, on tables made by hand and on real reports."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frames import run, tables
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.analyse.reconciliation._rounding import half_digit
from pipeline.analyse.reconciliation.gate import COLUMNS, combine, reconcile

ROOT = Path(__file__).parents[2]
ARTICLE = ROOT / "data/raw/2022-05-nutanix-insert/win-guest-fio-write-4k-r1/fio.txt"
GREEN, RED, UNKNOWN = "green", "red", "unknown"
KEYS = {"op": "read", "scope": "job", "job": "j"}
ROW = {"n_ops": 10_000, "n_bytes": 40_960_000, "duration_s": 10.0, "ops_per_s": 1000.0, "bytes_per_s": 4_096_000.0,
       "block_size_bytes": 4096, "queue_depth": 1, "latency_mean_s": 0.98765e-3}  # fmt: skip


def checks(report, tolerance=0.01):
    frame = reconcile(tables(report), tolerance).frame
    assert list(frame.columns) == COLUMNS
    assert frame[["campaign", "run_id", "check", "subject", "status"]].notna().all(axis=None)
    return frame


def only(report, check, tolerance=0.01):
    found = checks(report, tolerance)
    found = found[found["check"] == check]
    assert len(found) == 1, found[["check", "subject", "status"]]
    return found.iloc[0]


def with_row(**changes):
    return run({**ROW, **changes})


@pytest.mark.parametrize(
    ("check", "changes", "status"),
    [
        ("op-rate", {}, GREEN),
        ("op-rate", {"ops_per_s": 1020.0}, RED),
        ("op-rate", {"n_ops": None}, UNKNOWN),
        ("op-rate", {"duration_s": 0.0}, UNKNOWN),
        ("byte-rate", {}, GREEN),
        ("byte-rate", {"bytes_per_s": 4_177_920.0}, RED),
        ("byte-rate", {"n_bytes": None}, UNKNOWN),
        ("bytes", {}, GREEN),
        ("bytes", {"n_bytes": 40_000_000}, RED),
        ("bytes", {"n_bytes": 0}, RED),
        ("bytes", {"block_size_bytes": None}, UNKNOWN),
        ("byte-rate-size", {}, GREEN),
        ("byte-rate-size", {"bytes_per_s": 8_192_000.0}, RED),
        ("byte-rate-size", {"ops_per_s": None}, UNKNOWN),
        ("littles-law", {"latency_mean_s": 1.001e-3}, GREEN),
        ("littles-law", {"latency_mean_s": 1.05e-3}, RED),  # more in flight than configured
        ("littles-law", {"latency_mean_s": 0.9e-3}, UNKNOWN),  # a pause between operations contradicts nothing
        ("littles-law", {"latency_mean_s": 0.0}, RED),  # nothing in flight at all: idle, or a unit
        ("littles-law", {"queue_depth": None}, UNKNOWN),
    ],
)  # fmt: skip
def test_figures_of_one_row(check, changes, status):
    row = only(with_row(**changes), check)
    assert row["status"] == status
    assert row["cause"] or status == GREEN


def test_an_operation_without_bytes_has_none_to_check():
    found = checks(run({"n_ops": 1000, "duration_s": 1.0, "ops_per_s": 1000.0, "block_size_bytes": 1536}))
    assert list(found["check"]) == ["op-rate"]


def test_a_comparison_names_both_numbers_and_their_origin():
    row = only(with_row(ops_per_s=1020.0), "op-rate")
    assert (row["left"], row["right"]) == (1020.0, 1000.0)
    assert (row["left_from"], row["right_from"]) == ("operations.ops_per_s", "operations.n_ops / duration_s")
    assert (row["left_file"], row["right_file"]) == ("r1.log", "r1.log")
    assert row["difference_ratio"] == pytest.approx(0.02)
    assert row["tolerance_ratio"] == 0.01


@pytest.mark.parametrize(
    ("changes", "check", "cause"),
    [
        ({"ops_per_s": 1e6}, "op-rate", "unit: the factor is 10^3"),
        ({"n_bytes": 40_000_000}, "bytes", "unit: the factor is 1.024"),
        ({"bytes_per_s": 8 * 4_096_000.0}, "byte-rate", "unit: the factor is 8"),
        ({"n_ops": 538, "n_bytes": 666 * 4096, "queue_depth": 128}, "bytes", "in flight: the bytes of 128 more blocks"),
        ({"n_bytes": 30_000_000}, "bytes", "short transfers"),
    ],
)
def test_a_red_has_a_named_cause(changes, check, cause):
    row = only(with_row(**changes), check)
    assert (row["status"], row["cause"][: len(cause)]) == (RED, cause)


@pytest.mark.parametrize(
    ("settings_of_run", "cause"),
    [([("rate_iops", "100")], "rate-limited"), ([("thinktime", "500")], "think time"), ([("fsync", "1")], "sync")],
)
def test_a_depth_that_a_setting_keeps_down_is_no_red(settings_of_run, cause):
    row = only(run({**ROW, "latency_mean_s": 0.1e-3}, parameters=settings_of_run), "littles-law")
    assert (row["status"], cause in row["cause"]) == (UNKNOWN, True)


def test_a_latency_computed_from_the_rate_says_nothing_of_the_depth():
    row = only(run({**ROW, "latency_mean_s": 1e-3}, warnings=["latency_from_rate"]), "littles-law")
    assert (row["status"], row["cause"][:8]) == (UNKNOWN, "circular")


def test_rounding_of_printed_digits_is_computed_and_said():
    made = with_row(ops_per_s=100_000.0, latency_mean_s=9e-6, n_ops=None)  # 9 µs to a µs: ±0.5 µs is ±5.6 % of N
    for p, latency in ((50, 7e-6), (99, 12e-6), (99.9, 35e-6)):
        made.add("latency_percentiles", **KEYS, phase="total", percentile=p, latency_s=latency)
    operation = made.rows["operations"][0]
    operation["ops_per_s"] = 114_000.0
    row = only(made, "littles-law")  # 1.026 in flight, where one is configured
    assert (row["status"], row["cause"]) == (GREEN, "rounding: the printed digits leave ±0.057")
    operation["ops_per_s"] = 120_000.0
    assert only(made, "littles-law")["status"] == RED


@pytest.mark.parametrize(
    ("value", "is_bytes", "half"),
    [(3658.0, False, 0.5), (28_300.0, False, 50), (0.000258, False, 0.5e-6), (857 * 2**20, True, 2**19),
     (14.3 * 2**20, True, 0.05 * 2**20), (1000.0, False, 5), (0.0, False, 0)],
)  # fmt: skip
def test_half_a_digit(value, is_bytes, half):
    assert half_digit(pd.Series([float(value)]), is_bytes=is_bytes).iloc[0] == pytest.approx(half)


def samples(mean, *, low=900.0, high=1100.0, n=119, rate=1000.0, duration=60.0):
    made = run({"ops_per_s": rate, "n_ops": round(rate * duration), "duration_s": duration})
    for name, value in (("mean", mean), ("min", low), ("max", high), ("samples", float(n))):
        made.add("metric_series", metric=f"ops_per_s_{name}", labels='{"job": "j", "op": "read"}', value=value)
    return only(made, "samples")


def test_rate_samples_against_the_rate():
    assert samples(1001.0)["status"] == GREEN
    row = samples(975.0)  # 59.5 s at 975/s leave 3,975/s for half a second: nothing ran at twice the largest sample
    assert (row["status"], row["cause"].split(":")[0]) == (RED, "window samples")
    row = samples(1030.0, n=5, duration=3.0)  # half a second at 850/s: lower than any sample, but possible
    assert (row["status"], row["cause"].split(":")[0]) == (UNKNOWN, "time outside the windows")
    row = samples(1015.0, n=5, duration=3.0)  # half a second at 925/s, within what the samples had
    assert (row["status"], row["cause"].split(":")[0]) == (GREEN, "edges")
    assert samples(250.0, low=240.0, high=260.0, n=480)["cause"] == "group: fio's mean is that of one of 4 workers"
    assert samples(1.0, low=1.0, high=1.0, n=60_000)["status"] == UNKNOWN  # each I/O is a sample


def log(n_rows=1000, latency_s=1e-3, *, is_complete=True, **changes):
    made = run({"n_ops": 1000, "latency_mean_s": 1e-3, "duration_s": 1.0, **changes}, is_complete=is_complete)
    for i in range(n_rows):
        made.add("latency_series", op="read", job="1", phase="total", time_s=i / n_rows, latency_s=latency_s)
    return made


def test_log_rows_and_their_mean():
    assert only(log(), "log-rows")["status"] == GREEN
    assert only(log(980), "log-rows")["status"] == RED
    assert only(log(980, n_ops=None), "log-rows")["status"] == UNKNOWN
    row = only(log(500, is_complete=False), "log-rows")
    assert (row["status"], row["cause"].split(":")[0]) == (UNKNOWN, "incomplete run")
    assert only(log(), "log-mean")["status"] == GREEN
    assert only(log(latency_s=1.02e-3), "log-mean")["status"] == RED
    assert only(log(latency_mean_s=None), "log-mean")["status"] == UNKNOWN


def test_a_windowed_log_has_no_rows_to_count():
    made = run({"n_ops": 1000})
    made.add("latency_series", op="read", job="1", phase="total", time_s=1.0, window_s=1.0, latency_s=1e-3)
    assert "log-rows" not in set(checks(made)["check"])


def test_a_log_of_windows_may_lack_the_last():
    def report(n_logged, window):
        of_tool = run({"op": "insert", "scope": "total", "job": None, "n_ops": 1000}, tool="pgbench")
        of_log = run({"op": "insert", "scope": "total", "job": None, "n_ops": n_logged}, tool="pgbench_log")
        if window:
            of_log.add("throughput_series", op="insert", time_s=1.0, window_s=1.0, ops_per_s=100.0)
        frame = reconcile(tables(of_tool, of_log)).frame
        return frame[frame["check"] == "log-report"].iloc[0]["status"]

    assert [report(1000, False), report(950, False), report(950, True), report(850, True)] == [GREEN, RED, GREEN, RED]


def bins(counts, *, edges=(0.0, 1e-3, 2e-3, None), mean=None, interval=None, n_ops=100, percentiles=()):
    made = run({"n_ops": n_ops, "latency_mean_s": mean, "duration_s": 10.0})
    ends = {} if interval is None else {"interval_start_s": 0.0, "interval_end_s": interval}
    for lower, upper, count in zip(edges, edges[1:], counts, strict=False):
        made.add("latency_bins", **KEYS, **ends, phase="total", lower_s=lower, upper_s=upper, count=count)
    for p, latency in percentiles:
        made.add("latency_percentiles", **KEYS, phase="total", percentile=float(p), latency_s=latency)
    return made


def test_bins():
    assert only(bins([60, 40]), "bins")["status"] == GREEN
    assert only(bins([60, 60]), "bins")["status"] == RED
    assert only(bins([60, 40], n_ops=None), "bins")["status"] == UNKNOWN
    row = only(bins([55, 40], interval=9.0), "bins")  # the last second is not in it
    assert (row["status"], row["cause"].split(":")[0]) == (GREEN, "edges")
    assert only(bins([35, 40], interval=9.0), "bins")["status"] == RED


def test_the_mean_that_bins_allow():
    assert only(bins([60, 40], mean=0.9e-3), "bins-mean")["status"] == GREEN  # 0.4 … 1.4 ms
    assert only(bins([60, 40], mean=1.45e-3), "bins-mean")["status"] == RED
    assert only(bins([60, 40], mean=0.38e-3), "bins-mean")["status"] == RED
    assert only(bins([60, 0, 40], mean=9e-3), "bins-mean")["status"] == GREEN  # an overflow bin bounds nothing above
    assert "bins-mean" not in set(checks(bins([60, 40]))["check"])


def test_percentiles_lie_in_their_bins():
    assert only(bins([60, 40], percentiles=[(50, 0.8e-3), (99, 1.9e-3)]), "percentile-bins")["status"] == GREEN
    row = only(bins([60, 40], percentiles=[(50, 0.8e-3), (99, 2.2e-3)]), "percentile-bins")
    assert (row["status"], row["left"], row["right"]) == (RED, 2.2e-3, 2e-3)
    # The rank of p60 of 100 is 60 or 61, on either side of the edge.
    assert only(bins([60, 40], percentiles=[(60, 1.5e-3)]), "percentile-bins")["status"] == GREEN
    assert only(bins([0, 0, 100], percentiles=[(99.9, 5.0)]), "percentile-bins")["status"] == GREEN
    assert "percentile-bins" not in set(checks(bins([0, 0], percentiles=[(50, 1e-3)], n_ops=0))["check"])


def summaries(*phases, percentiles=()):
    made = run({"n_ops": 100, "duration_s": 1.0})
    for phase, mean, low, high in phases:
        made.add("latency_summary", **KEYS, phase=phase, n_ops=100, mean_s=mean, min_s=low, max_s=high)
    for p, latency in percentiles:
        made.add("latency_percentiles", **KEYS, phase="total", percentile=float(p), latency_s=latency)
    return made


def test_parts_of_a_latency():
    def report(total):
        parts = (("submission", 10.25e-6, 1e-6, 1e-3), ("completion", 90.5e-6, 1.5e-6, 1e-3))
        return only(summaries(*parts, ("total", total, 2.5e-6, 2e-3)), "latency-parts")["status"]

    assert [report(100.75e-6), report(104.25e-6), report(None)] == [GREEN, RED, UNKNOWN]


def test_parts_that_were_cut_to_whole_microseconds():
    parts = (("submission", 10.25e-6, 1e-6, 1e-3), ("completion", 90.5e-6, 2e-6, 1e-3))
    row = only(summaries(*parts, ("total", 102.25e-6, 4e-6, 2e-3)), "latency-parts")
    assert (row["status"], row["cause"].split(":")[0]) == (GREEN, "clock")


def test_means_and_quantiles_are_in_order():
    total = ("total", 100e-6, 20.5e-6, 300.5e-6)
    assert only(summaries(total), "mean-in-range")["status"] == GREEN
    assert only(summaries(("total", 310e-6, 20.5e-6, 300.5e-6)), "mean-in-range")["status"] == RED
    assert only(summaries(("total", 20e-6, 20.5e-6, None)), "mean-in-range")["status"] == RED
    ordered = summaries(total, percentiles=[(50, 90.5e-6), (99, 250.5e-6)])
    assert only(ordered, "quantile-order")["status"] == GREEN
    row = only(summaries(total, percentiles=[(50, 90.5e-6), (99, 320.5e-6)]), "quantile-order")
    assert (row["status"], row["left"], row["right"]) == (RED, 320.5e-6, 300.5e-6)


def test_totals_and_their_parts():
    def report(total, reads, writes):
        made = run(
            {"job": None, "scope": "total", "op": "total", "n_ops": total},
            {"job": None, "scope": "total", "n_ops": reads},
            {"job": None, "scope": "total", "op": "write", "n_ops": writes},
            {"job": "a", "n_ops": 60}, {"job": "b", "n_ops": 40},
        )  # fmt: skip
        return only(made, "directions-total")["status"], only(made, "jobs-total")["status"]

    assert report(150, 100, 50) == (GREEN, GREEN)
    assert report(155, 100, 50) == (RED, GREEN)
    assert report(153, 103, 50) == (GREEN, RED)
    assert report(None, 100, 50) == (UNKNOWN, GREEN)


def test_windows_of_a_rate_log():
    def report(rate, n=10, window=1.0):
        made = run({"n_ops": 10_000, "duration_s": 10.0})
        for second in range(n):
            made.add("throughput_series", op="read", job="1", time_s=second + 1.0, window_s=window, ops_per_s=rate)
        return only(made, "rate-series")["status"]

    assert [report(1000.0), report(1020.0), report(1000.0, n=9), report(1000.0, n=9, window=0.5)] == [
        GREEN, RED, GREEN, GREEN]  # fmt: skip
    assert report(1500.0, n=9) == RED


def test_windows_count_for_the_interval_in_which_they_end():
    spans = [{"n_ops": 1000 * (i + 1), "duration_s": 2.0, "interval_start_s": 2.0 * i, "interval_end_s": 2.0 * i + 2}
             for i in range(2)]  # fmt: skip
    made = run(*spans)
    for second, rate in enumerate((500.0, 500.0, 1000.0, 1000.0)):
        made.add("throughput_series", op="read", job="1", time_s=second + 1.0, window_s=1.0, ops_per_s=rate)
    frame = checks(made)
    assert list(frame.loc[frame["check"] == "rate-series", "status"]) == [GREEN, GREEN]


def device(n_device, *, target="/dev/sdb", parameters=(("direct", "1"),), op="read", devices=("sdb",), peak=None):
    made = run(
        {"op": op, "target": target, "n_ops": 10_000, "duration_s": 10.0, "ops_per_s": 1000.0}, parameters=parameters
    )
    for name in devices:
        made.add("metric_series", metric=f"disk_{op}s", labels=f'{{"device": "{name}"}}', value=float(n_device))
    if peak:
        made.add("metric_series", metric="ops_per_s_max", labels=f'{{"job": "j", "op": "{op}"}}', value=peak)
    return only(made, "device")


def test_the_devices_counters():
    assert device(10_050)["status"] == GREEN
    assert device(12_000)["status"] == RED  # a device of its own served more than it was asked
    assert device(9_000)["status"] == RED
    assert device(9_800)["cause"].startswith("edges: fio last reads the counters up to 0.25 s before the end")
    assert device(9_000, peak=5000.0)["status"] == UNKNOWN
    assert device(12_000, target="/mnt/file")["cause"].startswith("shared device")
    assert device(5_000, parameters=())["cause"].startswith("buffered")
    assert device(14_000, parameters=(("direct", "1"), ("ramp_time", "4")))["status"] == GREEN
    assert device(12_000, parameters=(("direct", "1"), ("ramp_time", "4")))["cause"].startswith("ramp")
    syncing = device(20_000, op="write", parameters=(("direct", "1"), ("fdatasync", "1")))
    assert syncing["cause"].startswith("flushes")
    assert device(20_000, devices=("dm-0", "sdb"))["cause"].startswith("stacked")


def iostat(writes, flushes, n=10, **row):
    made = run(
        {"op": "write", "target": "/dev/sdb", "n_ops": 10_000, "duration_s": 10.0, **row}, parameters=[("direct", "1")]
    )
    monitor = run(tool="iostat")
    for second in range(n):
        monitor.add("device_series", device="sdb", time_s=second + 1.0, window_s=1.0, reads_per_s=0.0,
                    writes_per_s=writes, flushes_per_s=flushes)  # fmt: skip
    frame = reconcile(tables(made, monitor)).frame
    return frame[frame["check"] == "device"].iloc[0]


def test_iostat_counts_flushes_among_the_writes():
    assert iostat(1000.0, 0.0)["status"] == GREEN
    assert iostat(2000.0, 1000.0)["status"] == GREEN
    assert iostat(2000.0, None)["status"] == RED
    assert iostat(1100.0, 0.0)["cause"].startswith("edges")  # two windows of ten may be off the run
    assert iostat(1000.0, 0.0, n=20)["status"] == RED
    assert iostat(1000.0, 0.0, n=5)["status"] == GREEN  # a monitor that stopped earlier gives its own rate
    row = iostat(1000.0, 0.0)
    assert (row["left_file"], row["right_file"]) == ("r1.log", "r1.log")


def test_duration_and_wall_clock():
    def report(duration, milliseconds):
        made = run({"duration_s": 10.0}, duration_s=duration, started_at=pd.Timestamp("2026-01-01", tz="UTC"))
        made.parameter("timestamp_ms", str(1_767_225_600_000 + milliseconds))
        frame = checks(made).set_index("check")["status"]
        return frame["duration"], frame["wall-clock"]

    assert report(10.0, 11_000) == (GREEN, GREEN)
    assert report(10.0, 9_500) == (GREEN, GREEN)  # a start stamp is of a whole second
    assert report(10.5, 8_000) == (RED, RED)


def test_files_that_are_not_the_manifests():
    held = tables(with_row())
    row = {"run_id": "r1", "path": "r1/fio.json", "n_bytes": 1, "sha256": "0", "status": "read", "tool": "fio"}
    for status, expected in (("read", GREEN), ("not_read", GREEN), ("changed", RED), ("failed", RED)):
        files = pd.DataFrame([row, {**row, "path": "r1/x.log", "status": status, "tool": None}])
        frame = reconcile({**held, "files": files}, 0.9).frame
        found = frame[frame["check"] == "manifest"].iloc[0]
        assert found["status"] == expected
        assert ("r1/x.log" in found["cause"]) == (expected == RED)
        assert found["campaign"] == "c"


def test_a_run_without_two_figures_is_unknown():
    frame = checks(run(tool="published"))
    assert list(frame["check"]) == ["nothing"]
    assert list(frame["status"]) == [UNKNOWN]


def test_no_runs_at_all():
    result = reconcile(tables())
    assert (len(result.frame), result.has_red) == (0, False)
    assert result.sentence().startswith("Of 0 comparisons")
    assert len(combine([]).frame) == 0


@pytest.mark.parametrize("value", [None, 0])
def test_nulls_and_zeros_do_not_stop_it(value):
    row = dict.fromkeys(ROW, value)
    made = run(row, {**row, "n_ops": 1, "job": "k"})
    made.add("latency_summary", **KEYS, phase="total", n_ops=value, mean_s=value, min_s=value, max_s=value)
    made.add("latency_percentiles", **KEYS, phase="total", percentile=50.0, latency_s=value)
    made.add("latency_bins", **KEYS, phase="total", lower_s=0.0, upper_s=None, count=0)
    assert set(checks(made)["status"]) <= {GREEN, RED, UNKNOWN}


def test_one_operation():
    made = run({"n_ops": 1, "duration_s": 1e-3, "ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1})
    made.add("latency_bins", **KEYS, phase="total", lower_s=1e-3, upper_s=1.1e-3, count=1)
    made.add("latency_percentiles", **KEYS, phase="total", percentile=99.99, latency_s=1.05e-3)
    assert set(checks(made)["status"]) == {GREEN}


CHANGES = st.tuples(st.sampled_from(["n_ops", "n_bytes", "ops_per_s", "bytes_per_s"]), st.floats(-0.0099, 0.0099),
                    st.booleans())  # fmt: skip


@settings(deadline=None, max_examples=15)
@given(st.integers(1000, 10**9), st.floats(0.5, 1e4), st.sampled_from([512, 4096, 131_072]), CHANGES)
def test_two_per_cent_off_is_red_and_within_the_tolerance_is_green(n, duration, size, changed):
    column, change, is_far = changed
    factor = (1.021 if change > 0 else 0.979) if is_far else 1 + change
    row = {"n_ops": n, "n_bytes": n * size, "duration_s": duration, "block_size_bytes": size}
    row |= {"ops_per_s": n / duration, "bytes_per_s": n * size / duration}
    row[column] = round(row[column] * factor) if column.startswith("n_") else row[column] * factor
    assume(all(len(repr(row[name])) > 6 for name in ("ops_per_s", "bytes_per_s", "duration_s")))  # not rounded
    frame = checks(run(row), tolerance=0.0105).set_index("check")["status"]
    both = {"n_ops": ["op-rate", "bytes"], "n_bytes": ["byte-rate", "bytes"],
            "ops_per_s": ["op-rate", "byte-rate-size"], "bytes_per_s": ["byte-rate", "byte-rate-size"]}  # fmt: skip
    concerned = both[column]
    four = ["op-rate", "byte-rate", "bytes", "byte-rate-size"]
    if is_far:
        assert [frame[name] for name in concerned] == [RED, RED]
        assert {frame[name] for name in set(four) - set(concerned)} == {GREEN}
    else:
        assert {frame[name] for name in four} == {GREEN}


def test_the_articles_fio_report_contradicts_itself():
    result = reconcile(pipeline.read(ARTICLE))
    reds = result.reds()
    assert sorted(reds["check"]) == ["samples", "samples"]
    row = reds[reds["unit"] == "1/s"].iloc[0]
    assert (row["left"], row["right"]) == (3568.36, 3658.0)
    assert row["difference_ratio"] == pytest.approx(-0.0245, abs=5e-5)
    # 60.001 s · 3658/s − 59.5 s · 3568.36/s = 7,166 operations in the half second outside the 119 windows of 500 ms.
    needed = (60.001 * 3658 - 59.5 * 3568.36) / 0.501
    assert f"{needed:,.0f} a second, while the windows had 2,654 to 4,104" in row["cause"]
    text = next(text for text in result.explanations() if "3,658.00/s" in text)
    assert "3,568.36/s" in text
    support = next(text for text in result.explanations() if "bytes_per_s_mean" in text)
    assert "operations.bytes_per_s agrees with operations.n_bytes / duration_s" in support
    assert np.isclose(row["right"] * 271.94e-6, 0.995, atol=5e-4)  # with the total rate one is in flight


@pytest.mark.parametrize(
    ("sample", "green"),
    [
        ("fio_json/fdatasync-counted-in-n-only", {"op-rate", "bytes", "mean-in-range"}),
        ("diskspd_xml/three-targets", {"op-rate", "bytes", "directions-total", "quantile-order"}),
        ("diskspd_xml/three-timespans-unescaped-attribute", {"rate-series", "directions-total"}),
        ("act/sustained-1x", {"bins", "devices-total", "op-rate"}),
        ("act/v66-index-reads-of-both-threads", {"bins"}),
        ("sysbench/fileio_histogram", {"bins-mean"}),  # prints intervals with more decimals than the summary
    ],
)
def test_real_reports_are_green(sample, green):
    folder = ROOT / "tests/parse" / sample
    path = next(path for path in sorted(folder.iterdir()) if path.name != "expected.yaml")
    frame = reconcile(pipeline.read(path)).frame
    assert set(frame.loc[frame["status"] == RED, "check"]) == set()
    assert green <= set(frame.loc[frame["status"] == GREEN, "check"])


def test_a_real_report_of_an_operation_that_moved_nothing():
    path = ROOT / "tests/parse/fio_json/trim-unsupported/stdout.txt"
    row = reconcile(pipeline.read(path)).reds().iloc[0]
    assert (row["check"], row["left"], row["right"]) == ("bytes", 0, 4096)


def test_counts_reasons_and_sentence():
    result = combine(
        [reconcile(tables(with_row(ops_per_s=1020.0))), reconcile(tables(run({**ROW, "n_ops": None}, campaign="d")))]
    )
    counts = result.counts("campaign")
    assert counts[["green", "red", "unknown"]].to_numpy().sum() == len(result.frame)
    assert result.has_red
    assert result.numbers()["by_campaign"]["red"].sum() == len(result.reds())
    assert set(result.reasons()["check"]) == {"op-rate", "bytes", "littles-law"}
    assert f"Of {len(result.frame)} comparisons in 2 runs" in result.sentence()
    assert len(result.explanations_in_short()) == len(result.reds()[["campaign", "check"]].drop_duplicates())
    assert result.reds_frame()["check"].iloc[0].startswith(result.reds()["check"].iloc[0])
