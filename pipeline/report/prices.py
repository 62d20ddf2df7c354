"""The price file of the project, or one of the reader's own."""

from __future__ import annotations

from pathlib import Path

from pipeline.analyse.price.instances import PriceList
from pipeline.analyse.price.price_file import parse_prices
from pipeline.errors import AnalysisError
from pipeline.project import find_root

PRICES = "data/prices.yaml"


def load_prices(path: str | Path | None = None) -> PriceList:
    """Read ``data/prices.yaml`` of the project, or the file at ``path``; AnalysisError names the line of a mistake."""
    file = find_root() / PRICES if path is None else Path(path)
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AnalysisError(f"{file}: expected a price file, found {error}") from error
    return parse_prices(text, PRICES if path is None else str(path))
