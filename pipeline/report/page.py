"""An executed notebook as the body of a page: figures by the shared plotly.js, code folded away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from nbconvert.preprocessors import Preprocessor
from pygments.formatters import HtmlFormatter

from pipeline.errors import PipelineError

PLOTLY = "application/vnd.plotly.v1+json"


class _PlotlyToHtml(Preprocessor):  # type: ignore[misc]  # nbconvert has no types
    """Replace a figure that is stored as JSON only (which nbconvert would drop) by an element that site.js draws."""

    def preprocess(self, notebook: Any, resources: Any) -> tuple[Any, Any]:
        number = 0
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                figure = output.get("data", {}).pop(PLOTLY, None)
                if figure is not None:
                    number += 1
                    output["data"] = {"text/html": figure_element(f"figure-{number}", figure)}
        return notebook, resources


def figure_element(div_id: str, figure: dict[str, Any], css_class: str = "figure") -> str:
    """An element that holds a figure as JSON; ``<`` is escaped, for the JSON stands inside a script element."""
    content = {"data": figure["data"], "layout": figure["layout"]}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")
    return f'<div class="{css_class}" id="{div_id}"><script type="application/json">{text}</script></div>'


def notebook_body(path: Path) -> tuple[str, str]:
    """Title (the first heading) and HTML body of an executed notebook."""
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0] if notebook.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        raise PipelineError(f"{path}: expected a first cell in Markdown that begins with '# title'")
    title = first.source.splitlines()[0].removeprefix("# ").strip()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise PipelineError(f"{path}: holds an error output: {output.ename}: {output.evalue}")
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    exporter.register_preprocessor(_PlotlyToHtml(), enabled=True)
    body, _ = exporter.from_notebook_node(notebook)
    return title, body


def stylesheet_of_code() -> str:
    """Colours of the highlighted code."""
    return str(HtmlFormatter(style="default").get_style_defs(".highlight")) + "\n"
