"""Rules of sample classes from a file: the project's own, or one that a user wrote."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import yaml

from pipeline.analyse.processors.sample_classes import ClassRule, class_rules
from pipeline.errors import AnalysisError, SpecError
from pipeline.project import find_root


def load_class_rules(path: str | None = None) -> tuple[ClassRule, ...]:
    """Rules of a YAML file, relative to the project's folder; None: those that come with the package.

    SpecError names the file and what is wrong with it; nothing but plain YAML values is read.
    """
    name = path or "classes.yaml"
    try:
        own = files("pipeline.analyse.processors").joinpath("classes.yaml")
        text = own.read_text("utf-8") if path is None else (find_root() / Path(path)).read_text("utf-8")
        return class_rules(yaml.safe_load(text))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AnalysisError) as error:
        raise SpecError(f"{name}: {error}") from None
