"""What a notebook publishes: tables (CSV), numbers (``results.json``), figures (plotly JSON), one conclusion."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from IPython.display import Markdown

from pipeline.campaign import check_name, write_atomically
from pipeline.errors import SpecError
from pipeline.report.paths import NAME

FIGURES, RESULTS = "figures", "results"


class Results:
    """Collects a notebook's results and writes each as it comes; without ``output`` (exploring) nothing is written.

    ``output`` is the folder that gets ``results/<notebook>/`` and ``figures/<notebook>/``. ``results.json`` is
    written last, by ``finish``: a notebook that stops half way leaves none.
    """

    def __init__(self, notebook: str, output: str | None) -> None:
        self.notebook = check_name("notebook", notebook, NAME, "its file's name without .ipynb")
        self._folder = None if output is None else Path(output)
        self._numbers: dict[str, Any] = {}
        self._figures: list[str] = []
        self._conclusion: str | None = None

    def table(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        """Publish a frame as ``<name>.csv`` and return it for display."""
        if path := self._path(RESULTS, f"{name}.csv"):
            frame.to_csv(path, index=False, lineterminator="\n")
        return frame

    def numbers(self, section: str, values: dict[str, Any]) -> None:
        """Publish numbers under a section of ``results.json``; names carry units, as columns do."""
        if section in self._numbers:
            raise SpecError(f"{self.notebook}: results section {section!r} is there already")
        self._numbers[section] = _plain(values)

    def figure(self, name: str, figure: go.Figure) -> go.Figure:
        """Publish a figure as ``<name>.json`` and return it for display."""
        self._figures.append(name)
        if path := self._path(FIGURES, f"{name}.json"):
            write_atomically(path, figure.to_json() + "\n")
        return figure

    def conclude(self, *sentences: str) -> Markdown:
        """Publish the conclusion, computed from the data, and return it for display."""
        self._conclusion = " ".join(sentences)
        return Markdown(f"**{self._conclusion}**")

    def finish(self) -> None:
        """Write ``results.json``: the conclusion, the names of the figures in their order, the numbers by section."""
        if self._conclusion is None:
            raise SpecError(f"{self.notebook}: expected a conclusion before finish()")
        if path := self._path(RESULTS, "results.json"):
            content = {"notebook": self.notebook, "conclusion": self._conclusion, "figures": self._figures,
                       **self._numbers}  # fmt: skip
            write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def _path(self, kind: str, name: str) -> Path | None:
        if self._folder is None:
            return None
        check_name(kind, Path(name).stem, NAME, "letters, digits, '_' and '-'")
        folder = self._folder / kind / self.notebook
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings as JSON has them; NaN and missing become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, list | tuple | np.ndarray | pd.Series):
        return [_plain(item) for item in value]
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
