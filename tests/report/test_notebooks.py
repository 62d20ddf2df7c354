"""Notebooks are executed so that equal inputs give equal bytes, and a failure leaves nothing that looks finished."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from pipeline.errors import PipelineError, SpecError
from pipeline.report import notebooks

GOOD = """
import plotly.graph_objects as go
from pipeline.report.results import Results
results = Results("t", output)
results.numbers("answer", {"value": factor * 21, "missing": float("nan")})
results.figure("f", go.Figure(go.Scatter(y=[1, 2])))
results.conclude("It is", str(factor * 21))
results.finish()
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params.yaml").write_text("t: {factor: 2}\n")

    def write(code):
        parameters = new_code_cell("factor = 1\noutput = None", id="parameters")
        parameters.metadata["tags"] = ["parameters"]
        cells = [new_markdown_cell("# A title", id="title"), parameters, new_code_cell(code, id="work")]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(new_notebook(cells=cells, metadata=kernel), tmp_path / "notebooks" / "t.ipynb")
        return tmp_path

    return write


def outputs(root):
    return {p.relative_to(root): p.read_bytes() for p in sorted((root / "data").rglob("*")) if p.is_file()}


def test_two_executions_give_equal_bytes(project):
    root = project(GOOD)
    notebooks.execute("t", root)
    first = outputs(root)
    assert sorted(map(str, first)) == [
        "data/figures/t/f.json",
        "data/results/t/results.json",
        "data/results/t/t.ipynb",
    ]
    results = json.loads(first[next(path for path in first if path.name == "results.json")])
    assert results["answer"] == {"value": 42, "missing": None}
    assert results["conclusion"] == "It is 42"
    notebooks.execute("t", root)
    assert outputs(root) == first


def test_a_failure_keeps_the_earlier_results_and_shows_the_failed_notebook(project):
    root = project(GOOD)
    notebooks.execute("t", root)
    first = outputs(root)
    project(GOOD + "\n1 / 0")
    with pytest.raises(PipelineError, match=r"ZeroDivisionError.*data/failed/t\.ipynb"):
        notebooks.execute("t", root)
    after = outputs(root)
    assert {path: data for path, data in after.items() if "failed" not in path.parts} == first
    assert (root / "data/failed/t.ipynb").is_file()


@pytest.mark.parametrize(
    ("code", "message"),
    [("pass", "wrote no results"), (GOOD.replace("results.finish()", ""), "wrote no results"),
     (GOOD.replace('results.conclude("It is", str(factor * 21))', ""), "expected a conclusion")],
    ids=["nothing", "no-finish", "no-conclusion"],
)  # fmt: skip
def test_a_notebook_that_does_not_finish_is_refused(project, code, message):
    root = project(code)
    with pytest.raises(PipelineError, match=message):
        notebooks.execute("t", root)
    assert not (root / "data/results/t").exists()
    assert not (root / "data/figures/t").exists()


def test_unknown_parameters_and_notebooks_are_refused(project):
    root = project(GOOD)
    (root / "params.yaml").write_text("t: {facktor: 2}\n")
    with pytest.raises(SpecError, match="facktor"):
        notebooks.execute("t", root)
    for name in ("../t", "absent"):
        with pytest.raises(SpecError, match="expected a"):
            notebooks.execute(name, root)
