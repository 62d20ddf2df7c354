"""``compare`` on the command line with the shipped repeats: what it prints, writes and exits with; its figures."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.__main__ import main
from pipeline.analyse.comparison.compare import compare, side
from pipeline.report.comparison_table import change_text, comparison_table, scaled
from pipeline.report.figures.comparison import forest_figure, strip_figure
from pipeline.tidy import load

RAW = Path(__file__).parents[2] / "data/raw/2026-11-fio-depth"
SLUG = "depth"
POINT = "randread-qd8-j1"
pytestmark = pytest.mark.xdist_group("comparing")  # one project, parsed once


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the ten free and the ten rate-limited repeats of the shipped campaign."""
    root = tmp_path_factory.mktemp("compare")
    for folder in sorted(RAW.glob(f"*-{POINT}-*")):
        shutil.copytree(folder, root / "data/raw" / SLUG / folder.name)
    (root / "data/campaigns").mkdir(parents=True)
    (root / "data/campaigns/index.yaml").write_text(f"campaigns:\n  {SLUG}: {{}}\ncollected: {{}}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["parse", "--campaign", SLUG]) == 0
    return root


@pytest.fixture
def run(project, monkeypatch, capsys):
    monkeypatch.chdir(project)

    def compare_sides(a, b, *options):
        status = main(["compare", a, b, *options])
        said = capsys.readouterr()
        return status, said.out, said.err

    return compare_sides


ODD, EVEN = f"{SLUG}:.*-{POINT}-r[13579]", f"{SLUG}:.*-{POINT}-r(?:[2468]|10)"
FREE, LIMITED = f"{SLUG}:{POINT}", f"{SLUG}:{POINT}-limited"


FIRST, LAST = f"{SLUG}:.*-{POINT}-r[1-5]", f"{SLUG}:.*-{POINT}-r([6-9]|10)"  # a group on one side names nothing


@pytest.mark.parametrize("halves", [(ODD, EVEN), (FIRST, LAST)], ids=["odd and even", "first and last"])
def test_two_halves_of_ten_repeats_show_no_difference(run, tmp_path, halves):
    status, out, _ = run(*halves, "--fail-above", "0%", "--json", str(tmp_path / "c.json"))
    assert status == 0
    assert out.count("need ≥ 6") >= 6  # 5 rows and the sentence
    assert "∞: a median's interval at 95% needs ≥ 6 repeats" in out
    assert "nothing is significantly worse by more than 0 %" in out
    content = json.loads((tmp_path / "c.json").read_text())
    assert {row["verdict"] for row in content["rows"]} == {"not enough"}
    assert {(row["n_a"], row["n_b"], row["median_a_low"]) for row in content["rows"]} == {(5, 5, None)}
    assert len(content["values"]) == 50
    assert content["regressions"] == []


def test_the_rate_limited_repeats_differ_after_holm_with_the_intervals_of_their_values(run, tmp_path):
    status, out, _ = run(FREE, LIMITED, "--fail-above", "5%", "--csv", str(tmp_path / "c.csv"))
    assert status == 1
    assert f"worse by more than 5 %, significantly: {POINT} → {POINT}-limited fio read ops_per_s −90.0 %" in out
    rows = pd.read_csv(tmp_path / "c.csv").set_index("measure")
    assert (rows["p_holm"] < 0.001).all()
    rates = [
        sorted(
            json.loads(text)["jobs"][0]["read"]["iops"]
            for text in (fio_json(folder) for folder in RAW.glob(f"*-{name}-r*"))
        )
        for name in (POINT, f"{POINT}-limited")
    ]
    rate = rows.loc["ops_per_s"]
    for side_, values in zip("ab", rates, strict=True):
        assert rate[f"median_{side_}"] == pytest.approx((values[4] + values[5]) / 2)
        assert (rate[f"median_{side_}_low"], rate[f"median_{side_}_high"]) == pytest.approx((values[1], values[8]))
    ratios = sorted(b / a for a in rates[0] for b in rates[1])
    assert (rate["ratio_low"], rate["ratio_high"]) == pytest.approx((ratios[23], ratios[76]))  # U ≤ 23 rejects
    assert rate["ratio"] == pytest.approx((ratios[49] * ratios[50]) ** 0.5)
    assert rate["p"] == pytest.approx(2 / 184756)
    assert (rate["verdict"], rows.loc["latency_mean_s", "verdict"]) == ("worse", "better")


def fio_json(folder):
    import zstandard

    (path,) = folder.glob("fio.json*")
    text = path.read_bytes()
    return zstandard.ZstdDecompressor().stream_reader(text).read() if path.suffix == ".zst" else text


def test_without_a_threshold_nothing_fails(run):
    assert run(FREE, LIMITED)[0] == 0


def test_a_higher_threshold_excuses_what_is_below_it(run):
    status, out, _ = run(FREE, LIMITED, "--fail-above", "0.95")
    assert (status, "nothing is significantly worse by more than 95 %" in out) == (0, True)


def test_a_threshold_that_nothing_can_exceed_is_told(run):
    status, out, _ = run(f"{SLUG}:.*-{POINT}-r[1-3]", f"{SLUG}:.*-{POINT}-limited-r[1-3]", "--fail-above", "5%")
    assert status == 0
    assert "5 of 5 comparisons cannot fail, whatever is found: need ≥ 6 repeats a side" in out
    status, _, err = run(f"{SLUG}:.*(-r[12])", f"{SLUG}:.*(-r[34])", "--fail-above", "5%")
    assert status == 1
    assert "expected measures at points that both sides have, found none" in err
    assert run(f"{SLUG}:.*(-r[12])", f"{SLUG}:.*(-r[34])")[0] == 0


def test_the_order_of_the_sides_is_a_against_b(run):
    status, out, _ = run(LIMITED, FREE, "--fail-above", "5%")
    assert status == 1  # free runs are faster, and slower to answer
    assert "latency_mean" in out.splitlines()[-1]
    assert "ops_per_s" not in out.splitlines()[-1]


def test_folders_of_logs_are_compared_without_a_project(run, tmp_path, monkeypatch):
    for name, pattern in (("before", "*j1-r[1-3]"), ("after", "*j1-limited-r[1-3]")):
        for number, folder in enumerate(sorted(RAW.glob(f"*{POINT[:-2]}{pattern}"))):
            (log,) = folder.glob("fio.json*")
            (tmp_path / name).mkdir(exist_ok=True)
            shutil.copy(log, tmp_path / name / f"run{number}{''.join(log.suffixes)}")
    monkeypatch.chdir(tmp_path)
    status, out, _ = run("before:(run).*", "after:(run).*")
    assert status == 0
    assert out.count("need ≥ 6") == 6  # 5 rows and the sentence
    assert "3 + 3" in out


def test_a_file_whose_name_has_a_colon_is_a_file(run, tmp_path):
    (log,) = next(RAW.glob(f"*{POINT}-r1")).glob("fio.json*")
    path = tmp_path / f"a:b{''.join(log.suffixes)}"
    shutil.copy(log, path)
    status, out, _ = run(str(path), LIMITED)
    assert status == 0
    assert "1 + 10" in out


def test_what_cannot_be_compared_is_told(run):
    status, _, err = run(FREE, FREE)
    assert status == 1
    assert "found 10 on both" in err
    status, _, err = run("nowhere", FREE)
    assert status == 1
    assert err.startswith(f"error: nowhere: expected a campaign ({SLUG}), or a log file or folder")
    status, _, err = run(f"{SLUG}:write", FREE)
    assert status == 1
    assert f"there are {POINT}-limited, {POINT}" in err


@pytest.mark.parametrize("share", ["5", "-1%", "100%", "much", "nan"])
def test_a_threshold_that_may_mean_anything_is_a_usage_error(run, share, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(FREE, LIMITED, f"--fail-above={share}")
    assert stopped.value.code == 2
    assert "--fail-above" in capsys.readouterr().err


def test_names_cannot_drive_the_terminal(run, tmp_path):
    (log,) = next(RAW.glob(f"*{POINT}-r1")).glob("fio.json*")
    path = tmp_path / f"\x1b[31m{''.join(log.suffixes)}"
    shutil.copy(log, path)
    _, out, _ = run(str(path), LIMITED)
    assert "\x1b" not in out


@pytest.fixture(scope="module")
def limited(project):
    tables = load(SLUG, project)
    return compare(side(tables, "free", POINT), side(tables, "limited", f"{POINT}-limited"))


def test_the_strip_figure_shows_every_run_and_the_forest_every_ratio(limited):
    strip = strip_figure(limited, title="t")
    shown = [trace for trace in strip.data if trace.mode == "markers"]
    assert sum(len(trace.y) for trace in shown) == len(limited.values) == 100
    assert [text.text for text in strip.layout.annotations] == comparison_table(limited)["what"].tolist()
    forest = forest_figure(limited, title="t")
    assert sorted(x for trace in forest.data for x in trace.x) == sorted(limited.frame["ratio"])
    assert forest.layout.xaxis.type == "log"
    assert [text.text.split(",")[0] for text in forest.layout.annotations] == [
        change_text(ratio) for ratio in limited.frame["ratio"]
    ]


def test_figures_of_one_run_a_side_have_no_intervals(project):
    tables = load(SLUG, project)
    found = compare(side(tables, "A", f".*{POINT}-r1"), side(tables, "B", f".*{POINT}-limited-r1"))
    assert all(pd.isna(trace.error_x.array).all() for trace in forest_figure(found, title="t").data)
    assert not [trace for trace in strip_figure(found, title="t").data if trace.fill]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0, "+0.0 %"), (0.1, "−90.0 %"), (0.0012, "−99.88 %"), (1.234, "+23.4 %"), (2.5, "+150 %"), (12.34, "×12.3")],
)
def test_ratios_are_read_as_changes(ratio, text):
    assert change_text(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(65690.77, "1/s", "65.69 k/s"), (385e-6, "s", "385.0 µs"), (3.0, "1", "3.000"), (0.0, "s", "0 s"),
     (5.0, None, "5.000")],
)  # fmt: skip
def test_values_are_scaled(value, unit, text):
    assert scaled(value, unit) == text
