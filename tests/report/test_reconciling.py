"""The command ``reconcile``: its table, its reds, its exit status; and the figures of the gate."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline import __main__ as command
from pipeline.analyse.reconciliation.gate import reconcile
from pipeline.report.figures.reconciliation import BEYOND, difference_figure, matrix_figure, symlog
from pipeline.report.reconciling import printable
from pipeline.tidy import load_folder

ROOT = Path(__file__).parents[2]
ARTICLE = "2022-05-nutanix-insert"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two campaigns with the article's raw logs, one of them without its fio report."""
    for slug, tools in (("article", ("fio", "diskspd")), ("diskspd", ("diskspd",))):
        for tool in tools:
            source = ROOT / "data/raw" / ARTICLE / f"win-guest-{tool}-write-4k-r1"
            target = tmp_path / "data/raw" / slug / source.name
            target.mkdir(parents=True)
            for path in source.iterdir():
                (target / path.name).write_bytes(path.read_bytes().replace(ARTICLE.encode(), slug.encode()))
        (tmp_path / f"data/campaigns/{slug}.yaml").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"data/campaigns/{slug}.yaml").write_text("title: A\nquestion: B?\n", "utf-8")
    (tmp_path / "data/campaigns/index.yaml").write_text("campaigns:\n  article: {}\n  diskspd: {}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    for slug in ("article", "diskspd"):
        assert command.main(["parse", "--campaign", slug]) == 0
    return tmp_path


@pytest.mark.usefixtures("project")
def test_the_articles_contradiction_is_printed_with_both_numbers(capsys):
    capsys.readouterr()
    assert command.main(["reconcile", "diskspd", "article"]) == 1
    text = capsys.readouterr().out
    assert "\x1b" not in text  # plain without a terminal
    assert "red: article, win-guest-fio-write-4k-r1, fio, samples: write, job log, ops_per_s" in text
    assert "3,568.36/s  metric_series.ops_per_s_mean of win-guest-fio-write-4k-r1/fio.txt" in text
    assert "3,658.00/s  operations.ops_per_s of win-guest-fio-write-4k-r1/fio.txt" in text
    assert "-2.45%  window samples: " in text
    assert "contradict each other" in text


@pytest.mark.usefixtures("project")
def test_a_campaign_without_contradiction_exits_with_0(capsys):
    assert command.main(["reconcile", "diskspd"]) == 0
    assert "red:" not in capsys.readouterr().out
    assert command.main(["reconcile", "article", "--tolerance", "0.03"]) == 0


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [(["nope"], "error: nope: expected a campaign"), (["a\x1b[31m"], "error: a�[31m: expected"),
     (["diskspd", "--tolerance", "2"], "error: --tolerance: expected a share")],
)  # fmt: skip
def test_what_cannot_be_reconciled_is_an_error(capsys, arguments, error):
    assert command.main(["reconcile", *arguments]) == 1
    assert capsys.readouterr().err.startswith(error)


def test_text_of_logs_does_not_steer_a_terminal():
    assert printable("a\x1b[2Jb\r") == "a�[2Jb�"


def test_figures(project):
    gate = reconcile(load_folder(project / "data/tidy/article"))
    counts = gate.counts("campaign", "check")
    heat = matrix_figure(counts, title="t").data[0]
    cells = dict(zip(heat.y, heat.text[:, 0], strict=True))
    assert (cells["samples"], cells["byte-rate"]) == ("2!", "5")
    figure = difference_figure(gate.frame, 0.01, title="t")
    by_name = {trace.name.split(" ")[0]: trace for trace in figure.data}
    assert set(by_name["red"].y) == {"samples"}
    assert by_name["red"].name == "red (2)"


def test_symmetric_logarithm():
    values = symlog(pd.Series([0.0, 0.01, -0.01, float("inf")]))
    assert values.iloc[0] == 0
    assert values.iloc[1] == -values.iloc[2] == pytest.approx(2.00432, abs=1e-5)
    assert values.iloc[3] == symlog(pd.Series([BEYOND])).iloc[0]
