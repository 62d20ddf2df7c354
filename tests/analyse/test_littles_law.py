import pandas as pd
import pytest
from frames import run, tables

from pipeline.analyse.queueing.circularity import stated_depth
from pipeline.analyse.queueing.littles_law import combine, littles_law
from pipeline.errors import AnalysisError


def only(*reports, tolerance=0.05):
    frame = littles_law(tables(*reports), tolerance).frame
    assert len(frame) == 1
    return frame.iloc[0]


@pytest.mark.parametrize(
    ("operations", "n", "configured"),
    [
        ([{"ops_per_s": 1000.0, "latency_mean_s": 8e-3, "queue_depth": 8}], 8, 8),
        # Reads and writes of one job share its depth.
        ([{"ops_per_s": 700.0, "latency_mean_s": 1e-3, "queue_depth": 1},
          {"op": "write", "ops_per_s": 300.0, "latency_mean_s": 1e-3, "queue_depth": 1}], 1, 1),
        # Two jobs add up.
        ([{"ops_per_s": 1000.0, "latency_mean_s": 4e-3, "queue_depth": 4},
          {"job": "k", "ops_per_s": 1000.0, "latency_mean_s": 4e-3, "queue_depth": 4}], 8, 8),
        # A write that waits for its sync is there for both.
        ([{"op": "write", "ops_per_s": 1000.0, "latency_mean_s": 0.1e-3, "queue_depth": 1},
          {"op": "sync", "ops_per_s": 1000.0, "latency_mean_s": 0.9e-3}], 1, 1),
        # The tool's own total, not its parts once more; nor its sum over directions.
        ([{"op": "read", "ops_per_s": 500.0, "latency_mean_s": 1e-3, "queue_depth": 1},
          {"op": "read", "job": None, "scope": "total", "ops_per_s": 500.0, "latency_mean_s": 2e-3, "queue_depth": 1},
          {"op": "total", "job": None, "scope": "total", "ops_per_s": 500.0, "latency_mean_s": 2e-3,
           "queue_depth": 1}], 1, 1),
        # Status intervals are not the run.
        ([{"ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1},
          {"ops_per_s": 9.0, "latency_mean_s": 9.0, "interval_start_s": 0.0, "interval_end_s": 1.0}], 1, 1),
    ],
    ids=["one-job", "mix", "two-jobs", "write-and-sync", "scopes", "intervals"],
)  # fmt: skip
def test_queue_depth_of_a_run(operations, n, configured):
    row = only(run(*operations))
    assert row["queue_depth"] == pytest.approx(n)
    assert row["queue_depth_configured"] == configured
    assert row["verdict"] == "agrees"


def test_a_synced_write_is_one_operation_of_both_times():
    write = {"op": "write", "ops_per_s": 1000.0, "latency_mean_s": 0.1e-3, "queue_depth": 1}
    row = only(run(write, {"op": "sync", "ops_per_s": 1000.0, "latency_mean_s": 0.9e-3}))
    assert (row["ops_per_s"], row["latency_mean_s"]) == (1000, pytest.approx(1e-3))


def test_the_configured_depth_is_the_workers_not_that_of_a_total_over_them():
    reader = {"job": "a", "op": "read", "ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1}
    writer = {"job": "b", "op": "write", "ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1}
    totals = [{**row, "job": None, "scope": "total"} for row in (reader, writer)]
    row = only(run(reader, writer, *totals))
    assert (row["queue_depth"], row["queue_depth_configured"]) == (pytest.approx(2), 2)


def test_a_sum_is_dropped_only_beside_its_own_parts():
    mixed = {"job": "a", "op": "mixed", "ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1}
    read = {"job": "b", "op": "read", "ops_per_s": 500.0, "latency_mean_s": 2e-3, "queue_depth": 1}
    row = only(run(mixed, read))
    assert (row["ops_per_s"], row["queue_depth"]) == (1500, pytest.approx(2))


def test_a_run_that_has_intervals_only_is_judged_interval_by_interval():
    rows = [{"ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1, "interval_start_s": s,
             "interval_end_s": s + 2} for s in (0.0, 2.5)]  # fmt: skip
    frame = littles_law(tables(run(*rows))).frame
    assert list(frame["group"]) == ["0 – 2 s", "2.5 – 4.5 s"]
    assert list(frame["queue_depth"]) == pytest.approx([1, 1])


def test_jobs_that_ran_one_after_the_other_are_not_added():
    rows = [{"job": j, "ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 1} for j in ("a", "b")]
    frame = littles_law(tables(run(*rows, warnings=["sequential_jobs"]))).frame
    assert list(frame["group"]) == ["a", "b"]
    assert list(frame["queue_depth"]) == [1, 1]


def mismatch(**kwargs):
    return run({"ops_per_s": 100.0, "latency_mean_s": 1e-3, "queue_depth": 8}, **kwargs)


@pytest.mark.parametrize(
    ("report", "verdict", "cause"),
    [
        (mismatch(parameters=[("rate_iops", "100")]), "differs", "rate-limited"),
        (mismatch(parameters=[("rate_iops", "0"), ("thinktime", "500")]), "differs", "think time"),
        (mismatch(parameters=[("target 1/throughput rate-limited to 50 B/ms", "true")]), "differs", "rate-limited"),
        (mismatch(parameters=[("target 1/think time", "5ms"), ("rate", "0,0,0")]), "differs", "think time"),
        (mismatch(), "differs", "idle workers"),
        (run({"ops_per_s": 1e6, "latency_mean_s": 0.2e-6, "queue_depth": 1}), "differs", "between operations"),
        (mismatch(parameters=[("fdatasync", "1")]), "differs", "sync"),
        (mismatch(command="diskspd.exe -b4K -g50 -o8 f"), "differs", "rate-limited"),
        (mismatch(command="fio --rate_iops=100"), "differs", "rate-limited"),
        (run({"ops_per_s": 900.0, "latency_mean_s": 1e-3, "queue_depth": 8}), "differs", "between operations"),
        (mismatch(parameters=[("verify", "crc32c")]), "differs", "phases"),
        (run({"ops_per_s": 100.0}, warnings=["latency_from_rate"]), "no latency", "no latency"),
        (run({"ops_per_s": 1000.0, "latency_mean_s": 1e-3, "queue_depth": 8}), "differs", "one at a time"),
        (run({"ops_per_s": 5000.0, "latency_mean_s": 1e-3, "queue_depth": 8}), "differs", "partly filled"),
        (run({"ops_per_s": 9000.0, "latency_mean_s": 1e-3, "queue_depth": 8}), "differs", "unexplained"),
        (mismatch(warnings=["latency_from_rate"]), "circular", "circular"),
        (mismatch(is_complete=False), "differs", "incomplete run"),
        (run({"ops_per_s": 100.0, "latency_mean_s": 1e-3}), "no depth", "no depth configured"),
        (run({"ops_per_s": 100.0, "queue_depth": 8}), "no latency", "no latency"),
    ],
    ids=[
        "rate",
        "thinktime",
        "diskspd-rate",
        "diskspd-think",
        "idle",
        "own-work",
        "sync-without-time",
        "diskspd-rate-option",
        "fio-rate-option",
        "between",
        "verify",
        "rate-without-latency",
        "one",
        "partly",
        "unexplained",
        "circular",
        "incomplete",
        "no-depth",
        "no-latency",
    ],
)
def test_a_mismatch_is_flagged_with_its_likely_cause(report, verdict, cause):
    row = only(report)
    assert row["verdict"] == verdict
    assert row["cause"].startswith(cause)


def test_a_worker_that_is_busy_submitting_is_submit_bound():
    report = mismatch()
    report.add("latency_summary", op="read", scope="job", job="j", phase="submission", n_ops=1, mean_s=9e-3)
    assert only(report)["cause"] == "submit-bound: a worker spends 90% of its time submitting"


def test_coarse_bins_give_bounds_not_a_mean():
    report = run({"ops_per_s": 1000.0, "scope": "total", "job": None}, tool="act")
    keys = {"op": "read", "scope": "total", "phase": "total"}
    for start, counts in ((0.0, (3, 1)), (1.0, (1, 3))):
        for (lower, upper), count in zip(((0.0, 1e-3), (1e-3, 2e-3)), counts, strict=True):
            report.add("latency_bins", **keys, interval_start_s=start, interval_end_s=start + 1, lower_s=lower,
                       upper_s=upper, count=count)  # fmt: skip
    row = only(report)
    assert pd.isna(row["queue_depth"])
    assert (row["queue_depth_low"], row["queue_depth_high"]) == (pytest.approx(0.5), pytest.approx(1.5))
    assert row["verdict"] == "bounds"
    report.add("latency_bins", **keys, lower_s=2e-3, upper_s=None, count=1)
    assert pd.isna(only(report)["queue_depth_high"])


def test_no_rate_no_depth_and_empty_campaigns_join():
    nothing = littles_law(tables(run({"latency_mean_s": 1e-3, "n_ops": 5})))
    assert nothing.frame.empty
    assert nothing.warnings == ("Left out, for they state no rate: 1 of the reports.",)
    joined = combine([nothing, littles_law(tables(mismatch()))])
    assert len(joined.frame) == 1
    assert "in 0 of 1 runs that have one (one comparison a run" in joined.sentence()
    assert joined.sentence().endswith("; the others: 1 idle workers.")
    assert list(joined.verdict_frame()["n_runs"]) == [1]


def test_sweep_takes_the_means_of_the_repeats():
    reports = [
        run({"ops_per_s": ops, "latency_mean_s": 8 / ops, "queue_depth": 8}, run_id=f"r{i}", point="randread-qd8-j1")
        for i, ops in enumerate((900.0, 1100.0))
    ]
    law = littles_law(tables(*reports))
    row = law.sweep("c", r"(rand\w+)-qd\d+-(j\d)").iloc[0]
    assert (row["workload"], row["ops_per_s"], row["latency_mean_s"]) == ("randread j1", 1000, 8e-3)
    with pytest.raises(AnalysisError, match="found none"):
        law.sweep("c", r"nothing-(\d)")


def test_the_articles_product_is_partly_circular():
    stated = stated_depth(ops_per_s=2597.4, latency_s=385e-6, n_ops=100_000, elapsed_s=38.350)
    assert stated.is_circular
    assert stated.queue_depth == pytest.approx(1.000, abs=5e-4)
    assert stated.counted_ops_per_s == pytest.approx(2607.56, abs=0.01)
    assert stated.counted_queue_depth == pytest.approx(1.0039, abs=1e-4)
    assert "partly circular" in stated.sentence()
    apart = stated_depth(ops_per_s=2500, latency_s=385e-6, n_ops=100_000, elapsed_s=38.350)
    assert not apart.is_circular
    assert "circular" not in apart.sentence()


def with_status_interval(bins=(), phases=()):
    """A run of one report, and the rows of a status interval that is part of it."""
    made = run({"ops_per_s": 1000.0, "queue_depth": 1, "latency_mean_s": None if bins else 0.2e-3})
    keys = {"op": "read", "scope": "job", "job": "j"}
    for interval in ({}, {"interval_start_s": 0.0, "interval_end_s": 1.0}):
        if interval:
            made.add("operations", **keys, ops_per_s=1000.0, **interval)
        for lower, upper, count in bins:
            made.add("latency_bins", **keys, phase="total", lower_s=lower, upper_s=upper, count=count, **interval)
        for phase, mean_s in phases:
            made.add("latency_summary", **keys, phase=phase, mean_s=mean_s, **interval)
    return made


def test_bins_of_intervals_do_not_count_beside_the_whole_runs():
    made = with_status_interval(bins=[(1e-3, 2e-3, 10)])
    made.add("latency_bins", op="read", scope="job", job="j", phase="total", lower_s=1.0, upper_s=2.0, count=90,
             interval_start_s=1.0, interval_end_s=2.0)  # fmt: skip
    row = only(made)
    assert (row["queue_depth_low"], row["queue_depth_high"]) == (pytest.approx(1), pytest.approx(2))


def test_intervals_do_not_multiply_the_time_in_submission():
    row = only(with_status_interval(phases=[("submission", 0.3e-3)]))
    assert "submit-bound" not in row["cause"]  # 30 % of the time, not twice or four times that
