import json

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from pipeline.errors import PipelineError, SchemaError
from pipeline.report import dictionary
from pipeline.report.page import PLOTLY, figure_element, notebook_body
from pipeline.report.tables import cell_text, readable

HOSTILE = "<!--<script></script><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_a_figure_with_hostile_text_cannot_leave_its_script_element():
    element = figure_element("f", {"data": [{"name": HOSTILE}], "layout": {}})
    assert "<!--" not in element
    assert element.count("</script>") == 1
    text = element[element.index("{") : element.rindex("</script>")]
    assert json.loads(text)["data"][0]["name"] == HOSTILE


def test_a_table_with_hostile_text_is_escaped():
    html = readable(pd.DataFrame({"<b>job</b>": [HOSTILE], "latency_mean_s": [385e-6]})).data
    assert "<script" not in html
    assert "<b>" not in html
    assert "385.0 µs" in html


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [("latency_s", 385e-6, "385.0 µs"), ("bytes_per_s", 14.3e6, "14.30 MB/s"), ("ops_per_s", 3658.0, "3,658.0 /s"),
     ("busy_ratio", 0.78, "78.0%"), ("n_ops", 1234567, "1,234,567"), ("queue_depth", 0.99729, "0.9973"),
     ("value", 172714.2857, "172,714.3"), ("is_complete", True, "True"), ("x", None, "–"), ("x", float("nan"), "–")],
)  # fmt: skip
def test_values_are_scaled_for_people(column, value, text):
    assert cell_text(column, value) == text


def executed(tmp_path, *outputs, title="# A title"):
    cell = new_code_cell("1", outputs=list(outputs), id="c")
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell(title, id="t"), cell]), path)
    return path


def test_a_figure_that_is_stored_as_json_only_is_kept(tmp_path):
    figure = {"data": [{"y": [1, 2]}], "layout": {"title": {"text": "F"}}}
    title, body = notebook_body(executed(tmp_path, new_output("display_data", {PLOTLY: figure})))
    assert title == "A title"
    assert '<div class="figure" id="figure-1">' in body


def test_an_executed_notebook_with_an_error_or_without_a_title_is_refused(tmp_path):
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    with pytest.raises(PipelineError, match="ValueError: no"):
        notebook_body(executed(tmp_path, error))
    with pytest.raises(PipelineError, match="'# title'"):
        notebook_body(executed(tmp_path, title="no heading"))


def test_the_data_dictionary_is_current_and_a_stale_one_is_told(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(OSError, match=r"README\.md"):
        dictionary.write(tmp_path, is_check=True)
    (tmp_path / "README.md").write_text("a\n<!-- formats: written by `make docs` -->\n<!-- end of formats -->\nz\n")
    with pytest.raises(SchemaError, match="make docs"):
        dictionary.write(tmp_path, is_check=True)
    dictionary.write(tmp_path, is_check=False)
    assert dictionary.write(tmp_path, is_check=True) == 0
    assert "| `latency_mean_s` | number | s |" in (tmp_path / "data/README.md").read_text("utf-8")
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert "| JSON and JSON+ | 2.0.10 – 3.43 |" in readme
    assert readme.startswith("a\n")
    assert readme.endswith("z\n")
