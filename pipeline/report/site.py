"""The static site ``data/site``: an index, a page a notebook, a data page a campaign; it works offline from file://."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupyter_server_mathjax
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from pipeline.campaign import STATES, load_index, load_spec
from pipeline.errors import PipelineError
from pipeline.ledger import Entry, Ledger
from pipeline.report import measured
from pipeline.report.page import figure_element, notebook_body, stylesheet_of_code
from pipeline.tidy import Tables, load
from pipeline.units import format_si

# Of MathJax 2.7 what TeX → HTML needs; site.js chooses the fonts that are here.
_MATHJAX = ("MathJax.js", "LICENSE", "config/TeX-AMS-MML_HTMLorMML-full.js", "extensions", "jax/element",
            "jax/input/TeX", "jax/output/HTML-CSS", "fonts/HTML-CSS/STIX-Web/woff")  # fmt: skip


@dataclass(frozen=True)
class Card:
    """A notebook on the index: its file name, title, conclusion, and its first figure as an element."""

    name: str
    title: str
    conclusion: str
    figure: str


def build(root: Path) -> int:
    """Build the site from the executed notebooks and the tidy tables into a new folder, which replaces the old one."""
    data = root / "data"
    incoming = data / ".incoming-site"
    shutil.rmtree(incoming, ignore_errors=True)
    (incoming / "assets").mkdir(parents=True)
    templates = _templates()
    campaigns = {slug: load_spec(root, slug) for slug in load_index(root)}
    # A notebook that was renamed or taken away leaves results that DVC no longer knows of.
    names = sorted(
        path.name for path in data.glob("results/*") if (root / "notebooks" / f"{path.name}.ipynb").is_file()
    )
    if not names:
        raise PipelineError(f"{data / 'results'}: expected executed notebooks, found none; run `dvc repro`")
    cards = [_notebook_page(name, data, incoming, templates) for name in names]
    rows = [
        _campaign_page(slug, spec, load(slug, root), incoming, templates, ledger=Ledger.load(root, slug))
        for slug, spec in campaigns.items()
    ]
    _render(templates, incoming, "index", "index", cards=cards, campaigns=rows)
    _render(templates, incoming, "licences", "licences")
    _assets(incoming / "assets")
    shutil.rmtree(data / "site", ignore_errors=True)
    incoming.replace(data / "site")
    print(f"{len(cards)} notebooks, {len(rows)} campaigns: open {data / 'site' / 'index.html'}")
    return 0


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("pipeline.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {
        "bytes": lambda n: format_si(n, "B"),
        "duration": lambda s: format_si(s, "s"),
        "rate": lambda rate: format_si(rate, "/s"),
        "byte_rate": lambda rate: format_si(rate, "B/s"),
        "words": lambda state: state.replace("_", " "),
    }
    return templates


def _render(templates: Environment, folder: Path, template: str, page: str, **values: Any) -> None:
    html = templates.get_template(f"{template}.html.j2").render(**values)
    (folder / f"{page}.html").write_text(html, "utf-8")


def _notebook_page(name: str, data: Path, incoming: Path, templates: Environment) -> Card:
    folder = data / "results" / name
    results = json.loads((folder / "results.json").read_bytes())
    title, body = notebook_body(folder / f"{name}.ipynb")
    _render(templates, incoming, "notebook", name, title=title, body=body, name=name)
    figure = data / "figures" / name / f"{results['figures'][0]}.json"
    element = figure_element(f"card-{name}", json.loads(figure.read_bytes()), css_class="figure small")
    return Card(name, title, results["conclusion"], element)


def _campaign_page(
    slug: str, spec: dict[str, Any], tables: Tables, incoming: Path, templates: Environment, *, ledger: Ledger
) -> dict[str, Any]:
    """Write a campaign's data page; return its row for the index."""
    runs = tables.runs.sort_values(["run_id", "tool"])
    present = set(tables["files"]["run_id"]) | set(runs["run_id"])
    absent: list[Entry] = [ledger.entries[run_id] for run_id in sorted(ledger.entries.keys() - present)]
    states = runs[runs["state"].notna()].drop_duplicates("run_id")["state"].value_counts()
    _render(
        templates, incoming, "campaign", f"campaign-{slug}", slug=slug, spec=spec, runs=_records(runs),
        operations=measured.rows(tables), max_rows=measured.MAX_ROWS,
        files=_records(tables["files"]), warnings=_records(tables["warnings"]), absent=absent,
        states=sorted(states.items(), key=lambda item: STATES.index(item[0])),
    )  # fmt: skip
    return {
        "slug": slug, "title": spec["title"], "n_runs": len(runs), "n_files": len(tables["files"]),
        "n_warnings": len(tables["warnings"]), "n_incomplete": int((~runs["is_complete"].astype(bool)).sum()),
        "n_absent": len(absent),
        "tools": ", ".join(sorted(runs["tool"].unique())),
    }  # fmt: skip


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None for what is missing."""
    return [{str(k): None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]


def _assets(folder: Path) -> None:
    """Write what every page shares: one plotly.js, MathJax, one style sheet, one script."""
    templates = Path(__file__).parent / "templates"
    (folder / "plotly.min.js").write_text(get_plotlyjs(), "utf-8")
    (folder / "style.css").write_text((templates / "style.css").read_text("utf-8") + stylesheet_of_code(), "utf-8")
    shutil.copyfile(templates / "site.js", folder / "site.js")
    source = Path(jupyter_server_mathjax.__file__).parent / "static"
    for part in _MATHJAX:
        target = folder / "mathjax" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target, ignore=shutil.ignore_patterns("a11y"))
        else:
            shutil.copyfile(source / part, target)
