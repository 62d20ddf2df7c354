"""From benchmarks on hosts to published figures: collect, read, analyse, report.

``pipeline.read("fio.json").operations`` reads any known log; ``pipeline.load("2026-11-fio-depth")`` gives the tidy
tables of a parsed campaign.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.reading import read
    from pipeline.tidy import load

__all__ = ["load", "read"]

# Loaded at first use: importing a part of the package must not import all of it.
_HOMES = {"read": "pipeline.reading", "load": "pipeline.tidy"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
