"""Execute notebooks with papermill so that equal inputs give equal bytes, and failures leave nothing finished."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from pipeline.campaign import check_name, load_yaml
from pipeline.errors import PipelineError, SpecError
from pipeline.report.paths import NAME
from pipeline.report.results import FIGURES, RESULTS

PARAMETERS = Path("params.yaml")


def execute(name: str, root: Path) -> int:
    """Execute ``notebooks/<name>.ipynb`` into ``data/results/<name>`` and ``data/figures/<name>``.

    Parameters come from the notebook's block in ``params.yaml``. It runs into a folder of its own, which replaces the
    earlier results only when all went well; a failed notebook is kept as ``data/failed/<name>.ipynb`` to look at.
    """
    check_name("notebook", name, NAME, "its file's name without .ipynb")
    source = root / "notebooks" / f"{name}.ipynb"
    if not source.is_file():
        there = ", ".join(sorted(path.stem for path in source.parent.glob("*.ipynb")))
        raise SpecError(f"{source}: expected a notebook, found none; there are {there}")
    incoming = root / "data" / f".incoming-{name}"
    shutil.rmtree(incoming, ignore_errors=True)
    try:
        _run(source, incoming / RESULTS / name / f"{name}.ipynb", _parameters(name, source, root), root)
        _check(incoming, name, source)
        for kind in (RESULTS, FIGURES):
            target = root / "data" / kind / name
            shutil.rmtree(target, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            (incoming / kind / name).replace(target)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    (root / "data" / "failed" / source.name).unlink(missing_ok=True)
    print(f"{name}: data/{RESULTS}/{name}, data/{FIGURES}/{name}")
    return 0


def _run(source: Path, executed: Path, parameters: dict[str, Any], root: Path) -> None:
    """Execute into ``<incoming>/results/<name>/<name>.ipynb``; the notebook writes its results beside it."""
    executed.parent.mkdir(parents=True)
    parameters = {**parameters, "output": f"../data/{executed.parents[2].name}"}
    os.environ["PYTHONHASHSEED"] = "0"  # for the kernel: sets in a fixed order
    try:
        with tempfile.TemporaryDirectory() as sockets:
            papermill.execute_notebook(
                str(source), str(executed), parameters, cwd=str(source.parent), progress_bar=False,
                kernel_name="python3", config=_kernel(sockets),
            )  # fmt: skip
    except PapermillExecutionError as error:
        failed = root / "data" / "failed" / source.name
        failed.parent.mkdir(parents=True, exist_ok=True)
        executed.replace(failed)
        cell = f"cell {error.exec_count}" if error.exec_count else "a cell"
        raise PipelineError(f"{source}: {cell} failed: {error.ename}: {error.evalue}; see {failed}") from error
    _normalise(executed)


def _kernel(sockets: str) -> Config:
    """Let the kernel listen in a folder of ours, not on TCP ports that others on the machine may reach.

    It does not tell of its own end on stderr; what fails in a cell comes back as that cell's error.
    """
    manager = {"transport": "ipc", "ip": f"{sockets}/kernel"}
    return Config({"KernelManager": manager, "NotebookClient": {"extra_arguments": ["--IPKernelApp.log_level=50"]}})


def _parameters(name: str, source: Path, root: Path) -> dict[str, Any]:
    """The notebook's block of params.yaml; papermill would only warn of a parameter that the notebook has not."""
    content = load_yaml(root / PARAMETERS) or {}
    chosen = content.get(name) or {} if isinstance(content, dict) else None
    if not isinstance(chosen, dict):
        raise SpecError(f"{root / PARAMETERS}: expected a mapping of parameters under {name}:")
    known = papermill.inspect_notebook(str(source)).keys()
    unknown = (chosen.keys() | {"output"}) - known
    if unknown:
        raise SpecError(f"{source}: expected parameters {', '.join(sorted(unknown))}, found only {', '.join(known)}")
    return dict(chosen)


def _normalise(path: Path) -> None:
    """Take out what differs between two runs: time stamps, durations, and the random id of the injected cell."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
    nbformat.write(notebook, path)


def _check(incoming: Path, name: str, source: Path) -> None:
    for kind, wanted in ((RESULTS, "results.json"), (FIGURES, "*.json")):
        if not list((incoming / kind / name).glob(wanted)):
            raise PipelineError(f"{source}: ran, but wrote no {kind}/{name}/{wanted}; does it end with finish()?")
