"""Imports run one way, each stage names the modules it runs through, and third parties are declared."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pipeline"
# What each part may import of the others; parse, collect and analyse never import each other.
ALLOWED = {
    "parse": {"parse", "schema", "units", "errors"},
    "analyse": {"analyse", "schema", "units", "errors"},
    "report": {"report", "analyse", "ledger", "tidy", "tools", "campaign", "project", "schema", "units", "errors"},
    "collect": {"collect", "campaign", "indexing", "ledger", "locks", "project", "errors", "units"},
    "locks": {"errors"}, "ledger": {"campaign", "errors", "locks", "project"},
    "schema": set(), "units": set(), "errors": set(), "project": {"errors"}, "campaign": {"project", "errors"},
    "indexing": {"campaign", "locks", "project"},
    "tools": {"errors"}, "arrow": {"schema", "errors"}, "tidy": {"arrow", "project", "schema", "errors"},
    "joining": set(), "parts": {"arrow", "errors", "parse", "project", "schema", "tidy"},
    "output": {"arrow", "errors", "parse", "parts", "project", "schema", "tidy"},
    "outcome": {"campaign", "parse"},
    "reading": {"campaign", "errors", "joining", "outcome", "parse", "parts", "project", "tidy", "tools"},
    "store": {"errors", "joining", "output", "parse", "parts", "reading", "tidy"},
    "workers": {"errors", "reading", "store"}, "assembling": {"arrow", "joining", "output", "store", "tidy"},
}  # fmt: skip


def imports_of(tree, package):
    """Modules that a syntax tree imports, those for type checking left out."""
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if base.startswith(package) and file_of(name) else base


def file_of(module):
    path = ROOT / Path(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def test_imports_run_one_way():
    wrong = []
    for path in modules():
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for name in imports_of(ast.parse(path.read_text("utf-8")), "pipeline"):
            target = name.split(".")[1] if name.startswith("pipeline.") else None
            if part in ALLOWED and target is not None and target not in ALLOWED[part]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong


def reached(module, seen):
    """All project files that a module runs through."""
    path = file_of(module)
    if path is None or path in seen:
        return
    seen.add(path)
    for depth in range(1, module.count(".") + 1):  # the packages above run first
        seen.add(file_of(".".join(module.split(".")[:depth])))
    for name in imports_of(ast.parse(path.read_text("utf-8")), "pipeline"):
        reached(name, seen)


def stages():
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text("utf-8"))["stages"]
    yield "parse", ["pipeline.batch"], content["parse"]["do"]["deps"]
    for name in content["notebook"]["foreach"]:
        notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        roots = ["pipeline.report.notebooks", *imports_of(ast.parse(code), "pipeline")]
        yield name, roots, content["notebook"]["do"]["deps"]
    yield "site", ["pipeline.report.site"], content["site"]["deps"]


@pytest.mark.parametrize(
    ("stage", "roots", "deps"), list(stages()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_stage_names_the_modules_it_runs_through(stage, roots, deps):
    seen = {PACKAGE / "__main__.py"}
    for root in roots:
        reached(root, seen)
    named = [ROOT / dep for dep in deps]
    missing = [path for path in seen if not any(path == dep or dep in path.parents for dep in named)]
    assert not missing, f"stage {stage} lacks {sorted(str(path.relative_to(ROOT)) for path in missing)}"
    assert all("${" in dep or (ROOT / dep).exists() or dep.startswith("data/") for dep in deps)


def test_each_notebook_is_a_stage_and_each_campaign_in_the_index():
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text("utf-8"))
    assert content["stages"]["notebook"]["foreach"] == sorted(
        path.stem for path in (ROOT / "notebooks").glob("*.ipynb")
    )
    campaigns = yaml.safe_load((ROOT / "data/campaigns/index.yaml").read_text("utf-8"))["campaigns"]
    described = {path.stem for path in (ROOT / "data/campaigns").glob("*.yaml")} - {"index"}
    assert set(campaigns) == described
    assert all((ROOT / "data/raw" / slug).is_dir() for slug in campaigns)


def test_third_parties_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.match(r"[\w-]+", line)[0].replace("_", "-") for line in project["dependencies"]}
    homes = packages_distributions()
    for path in modules():
        for name in imports_of(ast.parse(path.read_text("utf-8")), "pipeline"):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top != "pipeline":
                names = {home.lower().replace("_", "-") for home in homes.get(top, [top])}
                assert names & declared, f"{path.name} imports {top}, which pyproject.toml does not declare"
