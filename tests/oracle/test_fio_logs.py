"""fio's logs against the reports of the same runs: counts, statistics, percentiles and histograms."""

import pytest

import pipeline
from pipeline.parse.fio import _fio_bins as bins
from pipeline.parse.fio._fio_log_name import PHASES, log_name

FOLDERS = [
    "fio/09_logs_full", "fio/10_logs_avg500_numjobs2", "latency_breakdown/main",
    *(f"fio/by_version/{version}" for version in ("fio-1.58", "fio-2.1.11", "fio-3.0", "fio-3.20", "fio-3.36", "HEAD")),
]  # fmt: skip
PERCENTILE_KEYS = ["job", "op", "phase", "percentile"]


def logs_of(folder):
    return [path for path in sorted(folder.iterdir()) if log_name(path.name)]


@pytest.mark.parametrize("name", FOLDERS)
def test_each_log_agrees_with_the_report_beside_it(samples, name):
    """The reader itself holds counts and means against the report, and would warn; here each row is counted again."""
    for path in logs_of(samples / name):
        tables = pipeline.read(path)
        kind = log_name(path.name).kind
        codes = set(tables.warnings["code"])
        assert codes <= ({"count_mismatch"} if kind == "clat_hist" else {"counted_ios"}), path.name
        if kind in PHASES:
            n_lines = pipeline.parse._source.Source(path).data.count(b"\n")
            assert len(tables.latency_series) == n_lines
            assert set(tables.latency_series["phase"]) == {PHASES[kind]}
            assert (tables.latency_series["latency_s"] < 10).all()


@pytest.mark.parametrize("name", ["fio/09_logs_full", "fio/by_version/fio-3.36"])
def test_statistics_are_the_reports(samples, name):
    for path in logs_of(samples / name):
        if log_name(path.name).prefix not in ("full", "lf") or log_name(path.name).kind not in PHASES:
            continue
        report = "out.json" if "full" in path.name else "lf.json"
        ours, fios = pipeline.read(path), pipeline.read(samples / name / report)
        keys = ["job", "op", "phase"]
        both = ours.latency_summary.merge(fios.latency_summary, on=keys, suffixes=("", "_of_fio"))
        assert len(both) == 2
        for column in ("n_ops", "mean_s", "stddev_s", "min_s", "max_s"):
            assert both[column].tolist() == pytest.approx(both[f"{column}_of_fio"].tolist(), rel=1e-6), column
        both = ours.latency_percentiles.merge(fios.latency_percentiles, on=PERCENTILE_KEYS, suffixes=("", "_of_fio"))
        if log_name(path.name).kind == "clat":
            assert len(both) == 34
        assert both["latency_s"].tolist() == pytest.approx(both["latency_s_of_fio"].tolist(), rel=1e-12)


def test_histograms_hold_what_the_lines_do(samples):
    for path in sorted(samples.glob("fio/by_version/*/*clat_hist*")):
        table = pipeline.read(path).latency_bins
        edges = (bins.lower_edges(1856) / 1e9).tolist()
        expected = []
        for line in path.read_text("utf-8").splitlines():
            cells = [int(cell) for cell in line.split(", ")]
            expected += [(cells[0] / 1000, edges[i], n) for i, n in enumerate(cells[3:]) if n]
        found = table[["interval_end_s", "lower_s", "count"]].itertuples(index=False, name=None)
        assert list(found) == expected


@pytest.mark.parametrize("path", ["fio/sets/samyaple_randrw50_qd2_nj4", "fio/sets/fioplot_2.18_testdata01_01-02"])
def test_published_sets_are_one_run(samples, path):
    folder = samples.parent / "published" / path
    if not folder.is_dir():
        pytest.skip("the published samples are not here")
    tables = pipeline.read(folder)
    assert len(tables.runs) == 1
    n_lines = {"lat": 0, "rate": 0}
    for log in logs_of(folder):
        n_lines["lat" if log_name(log.name).kind in PHASES else "rate"] += log.read_bytes().count(b"\n")
    assert len(tables.latency_series) == n_lines["lat"]
    assert len(tables.throughput_series) == n_lines["rate"]
    assert not set(tables.warnings["code"]) & {"unit_guessed", "rows_guessed", "bad_line"}
