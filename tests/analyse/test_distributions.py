"""Histograms from tables: every kind of source, nothing twice, counts checked, tools' own percentiles in bounds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frames import campaign
from hdrh.histogram import HdrHistogram

import pipeline
from pipeline.analyse.distributions.histogram import Histogram
from pipeline.analyse.distributions.sources import (
    counts_sentence,
    distributions,
    ladders,
    merged,
    of_point,
    one_of_each,
)
from pipeline.errors import AnalysisError
from pipeline.tidy import Tables

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "parse"
KINDS = [  # sample, source, operations of all runs, ops and phases
    ("fio_json/jsonplus-bins/out.jsonplus", "bins", 19_558),
    ("fio_hist_log/coarseness_4/h_clat_hist.1.log", "bins of intervals", 10_517),
    ("fio_log/offset_is_fifth/lo_lat.1.log", "per-I/O log", 200),
    ("pgbench_log/first_2000_lines/pgbench_log.5659", "per-I/O log", 2000),
    ("act/sustained-1x/act66_d1_x1_r1.log", "bins of intervals", 60_001 + 706 + 706),
    ("hdr_log/synthetic_two_tags_V2/log.hlog", "bins of intervals", 8),
    ("asbench/synthetic_histogram/asbench.txt", "bins of intervals", 1013),
    ("sysbench/fileio_histogram/sysbench.txt", "bins", 66_585),
    ("ycsb/synthetic_histogram_bins/ycsb.txt", "bins", 2007),
]


@pytest.mark.parametrize(("path", "source", "n_ops"), KINDS)
def test_every_kind_of_source(path, source, n_ops):
    parts = distributions(pipeline.read(SAMPLES / path))
    assert {part.source for part in parts} == {source}
    assert sum(part.histogram.n_ops for part in parts) == n_ops
    for part in parts:
        estimate = part.histogram.percentile(50)
        assert 0 <= estimate.lower_s <= estimate.upper_s
        assert part.histogram.is_exact == (source == "per-I/O log")
        assert f"n = {part.histogram.n_ops:,}" in part.sentence()


def json_plus():
    for path in sorted((SAMPLES / "fio_json").glob("*/*")):
        if path.suffix != ".yaml":
            try:
                tables = pipeline.read(path)
            except pipeline.errors.ParseError:
                continue
            if len(tables.latency_bins):
                yield pytest.param(tables, id=path.parent.name)


@pytest.mark.parametrize("tables", list(json_plus()))
def test_fio_reports_a_value_of_the_bin_that_holds_the_percentile(tables):
    keys = ["job", "target"]
    said = tables.latency_percentiles
    n = 0
    for part in distributions(tables, keys):
        same = [said[name].isna() if value is None else said[name] == value for name, value in part.keys.items()]
        for row in said[np.logical_and.reduce(same)].itertuples():
            bounds = part.histogram.percentile(row.percentile)
            # fio prints the middle of the bin, cut to whole ns, but no more than the largest latency.
            assert bounds.lower_s - 1e-9 <= row.latency_s <= bounds.upper_s, (part.keys, row)
            n += 1
    assert n >= 17


def test_every_json_plus_run_of_the_shipped_campaign():
    """All runs at once, by what the campaign's tables hold: 2,000 percentiles and more."""
    tables = campaign("2026-11-fio-depth")
    said = tables.latency_percentiles.set_index(["run_id", "op", "phase", "job", "target"]).sort_index()
    n = 0
    for part in distributions(tables, ["job", "target"], phase="completion"):
        k = part.keys
        rows = said.loc[[(k["run_id"], k["op"], k["phase"], k["job"], k["target"])]]
        lower, upper = part.histogram.percentile_bounds(rows["percentile"].tolist())
        assert (lower - 1e-9 <= rows["latency_s"]).all(), k
        assert (rows["latency_s"] <= upper).all(), k
        n += len(rows)
    assert n > 2000


def diskspd():
    """Runs whose report has percentiles of both directions and of their total."""
    tables = campaign("2026-11-diskspd")
    percentiles = tables.latency_percentiles
    with_all = percentiles.groupby("run_id")["op"].agg(lambda ops: {"read", "write", "total"} <= set(ops))
    return tables, list(with_all[with_all].index)


def test_diskspd_total_lies_within_the_bounds_of_read_and_write_added():
    tables, runs = diskspd()
    said = tables.latency_percentiles
    n = 0
    for run in runs:
        if (
            tables.latency_percentiles.loc[tables.latency_percentiles["run_id"] == run, "interval_start_s"]
            .notna()
            .any()
        ):
            with pytest.raises(AnalysisError):  # several timespans: there are no percentiles of the whole run
                distributions(tables, runs=[run])
            continue
        parts = distributions(tables, runs=[run])
        if {part.keys["op"] for part in parts} != {"read", "write"}:
            continue  # the whole run went one way
        both = merged(parts)
        assert [part.n_ops_stated for part in parts] == [None, None]  # the number was used: it checks nothing
        stated = tables.operations[(tables.operations["run_id"] == run) & (tables.operations["op"] == "total")]
        assert both.n_ops in set(stated.groupby("scope")["n_ops"].sum())
        rows = said[(said["run_id"] == run) & (said["op"] == "total") & (said["scope"] == "total")]
        lower, upper = both.percentile_bounds(rows["percentile"].tolist())
        half = 0.5e-6 + 1e-12  # printed to 1 µs
        assert (lower <= rows["latency_s"] + half).all(), run
        assert (rows["latency_s"] - half <= upper).all(), run
        n += len(rows)
    assert n > 200


def test_act_devices_add_up_to_its_total():
    tables = pipeline.read(SAMPLES / "act/sustained-1x/act66_d1_x1_r1.log")
    total = next(part for part in distributions(tables) if part.keys["op"] == "read").histogram
    bins = tables.latency_bins
    assert Histogram.of_bins(bins[bins["scope"] == "device"]) == total
    # By hand from its last block: buckets 06 … 16 hold 57, 5130, 42359, 11614, 595, 31, 36, 74, 40, 17, 48.
    share = total.share_above(1024e-6)
    assert share.share_low == share.share_high == (31 + 36 + 74 + 40 + 17 + 48) / 60_001
    assert [total.percentile(p).upper_s for p in (50, 99, 99.9)] == pytest.approx([256e-6, 1024e-6, 32768e-6])
    assert [total.percentile(p).lower_s for p in (50, 99, 99.9)] == pytest.approx([128e-6, 512e-6, 16384e-6])


def test_hdr_logs_agree_with_the_hdrh_package(tmp_path):
    rng = np.random.default_rng(5)
    values = rng.lognormal(13, 1.5, 4000).astype(int)  # ns
    whole, lines = HdrHistogram(1, 3_600_000_000_000, 3), ["#[Histogram log format version 1.3]"]
    for second, part in enumerate(values.reshape(4, 1000)):
        interval = HdrHistogram(1, 3_600_000_000_000, 3)
        for value in part:
            interval.record_value(int(value))
            whole.record_value(int(value))
        lines.append(f"{second}.000,1.000,{part.max() / 1e6:.3f},{interval.encode().decode()}")
    path = tmp_path / "log.hlog"
    path.write_text("\n".join(lines) + "\n")
    (part,) = distributions(pipeline.read(path))
    assert part.histogram.n_ops == 4000
    ordered = np.sort(values)
    for percentile in (25, 50, 90, 95, 99, 99.9, 99.95, 100):  # of 4,000 a whole rank, where all rules agree
        bounds = part.histogram.percentile(percentile)
        assert bounds.lower_s <= ordered[round(percentile * 40) - 1] / 1e9 < bounds.upper_s
        # The package gives the largest value of the bin.
        assert whole.get_value_at_percentile(percentile) / 1e9 == pytest.approx(bounds.upper_s - 1e-9, abs=1e-12)


@pytest.fixture(scope="module")
def logs():
    return campaign("2026-11-fio-logs")


def test_jobs_and_logs_of_one_run_are_the_same_operations(logs):
    (run,) = of_point(logs, "freeze")
    (exact,) = distributions(logs, runs=[run], phase="total")
    (bins,) = distributions(logs, runs=[run], phase="total", source="bins")
    assert (exact.source, bins.source) == ("per-I/O log", "bins")
    assert exact.histogram.n_ops == bins.histogram.n_ops == exact.n_ops_stated == 13_200
    assert merged(distributions(logs, ["job"], runs=[run], phase="total", source="bins")) == bins.histogram
    for percentile in (0, 50, 90, 99, 99.9, 99.99, 100):
        bounds = bins.histogram.percentile(percentile)
        assert bounds.lower_s <= exact.histogram.percentile(percentile).lower_s < bounds.upper_s
    mean = bins.histogram.mean()
    assert mean.lower_s <= exact.histogram.mean().lower_s <= mean.upper_s
    assert (exact.warnings, bins.warnings) == ((), ())


def test_a_log_that_lacks_operations_is_told(logs):
    (run,) = of_point(logs, "freeze")
    (part,) = distributions(logs, runs=[run], source="bins of intervals")
    assert part.warnings == (
        f"{run}, write, completion: {part.histogram.n_ops:,} operations in the bins of intervals, "
        "13,200 stated by the report",
    )
    assert part.histogram.n_ops < 13_200
    assert "in 0 of them" in counts_sentence([part])


def test_averages_alone_are_refused(logs):
    with pytest.raises(AnalysisError, match=r"means of windows of 1 s.*log_avg_msec=0"):
        distributions(logs, runs=of_point(logs, "averaged"), source="per-I/O log")
    with pytest.raises(AnalysisError, match="means of windows"):
        distributions(pipeline.read(SAMPLES / "fio_log/windows/la_lat.1.log"))
    assert distributions(logs, runs=of_point(logs, "averaged"))[0].source == "bins"  # JSON+ is there, too


def test_nothing_to_read():
    with pytest.raises(AnalysisError, match=r"found none in 0 reports"):
        distributions(Tables({}))
    with pytest.raises(AnalysisError, match="'freeze', found points"):
        of_point(Tables({}), "freeze")


def test_what_must_not_be_merged(logs):
    run = of_point(logs, "freeze")
    both = distributions(logs, runs=run)
    with pytest.raises(AnalysisError, match="completion, submission, total"):
        merged(both)
    with pytest.raises(AnalysisError, match="found one twice"):
        merged([both[0], both[0]])
    with pytest.raises(AnalysisError, match="different keys"):
        merged([*distributions(logs, runs=run, phase="total"), *distributions(logs, ["job"], runs=run, phase="total")])


def test_one_of_each_kind_is_an_example(logs):
    parts = distributions(logs)
    kinds = [(part.keys["phase"], part.source) for part in one_of_each(parts)]
    assert sorted(kinds) == [("completion", "bins"), ("completion", "per-I/O log"), ("submission", "per-I/O log"),
                             ("total", "bins"), ("total", "per-I/O log")]  # fmt: skip


def test_ladders_have_keys_and_bounds(logs):
    frame = ladders(distributions(logs, runs=of_point(logs, "steady"), phase="total"), (50.0, 99.0))
    assert frame["run_id"].nunique() == 6
    assert (frame["lower_s"] < frame["upper_s"]).all()
    assert (frame["interval_low_s"] <= frame["lower_s"]).all()
    assert pd.isna(ladders([])).empty
