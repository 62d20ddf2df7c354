"""What a campaign measured, a row an operation, for its data page."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.analyse.select import summable_operations
from pipeline.tidy import Tables

MAX_ROWS = 1_000  # of a page; the table has all
_PART = ["run_id", "tool", "job", "target", "op", "scope"]
_PERCENTILES = {50.0: "p50_s", 99.0: "p99_s"}


def rows(tables: Tables) -> list[dict[str, Any]]:
    """Rate, mean and percentiles of each operation of each run: the rows of ``operations`` that may be added up.

    Percentiles are the tool's own, of the total phase, or where it has none of the completion; ``phase`` says which.
    """
    chosen = summable_operations(tables).sort_values(_PART)
    percentiles = tables["latency_percentiles"]
    percentiles = percentiles[percentiles["percentile"].isin(_PERCENTILES) & percentiles["interval_end_s"].isna()]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for phase in ("completion", "total"):  # the later one wins
        for row in percentiles[percentiles["phase"] == phase].to_dict("records"):
            part = found.setdefault(_part(row), {})
            part[_PERCENTILES[row["percentile"]]] = row["latency_s"]
            part["phase"] = phase
    kept = chosen.to_dict("records")
    return [
        {**{str(key): None if pd.isna(value) else value for key, value in row.items()}, **_found(found, row)}
        for row in kept
    ]


def _found(found: dict[tuple[Any, ...], dict[str, Any]], row: dict[Any, Any]) -> dict[str, Any]:
    empty = {"phase": None, **dict.fromkeys(_PERCENTILES.values())}
    return empty if not pd.isna(row["interval_end_s"]) else {**empty, **found.get(_part(row), {})}


def _part(row: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(None if pd.isna(row[name]) else row[name] for name in _PART)
