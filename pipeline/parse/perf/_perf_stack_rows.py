"""Rows of perf_stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.parse._report import Report

_MAX_COUNT = 2**63 - 1


class Stack(NamedTuple):
    """A row: what was hit, in which command, by which way, and how often."""

    event: str | None
    command: str | None
    stack: str | None
    n_samples: int | None
    period: float | None


def add_stacks(report: Report, rows: Sequence[Stack]) -> None:
    """Add all rows; counts that no integer column holds are null, with a warning."""
    import pyarrow as pa

    big = sum(row.n_samples is not None and row.n_samples > _MAX_COUNT for row in rows)
    if big:
        report.warn(None, "out_of_range", f"expected counts below 2^63, found {big} larger ones, which are left out")
    counts = [None if row.n_samples is None or row.n_samples > _MAX_COUNT else row.n_samples for row in rows]
    periods = [None if row.period is None else float(row.period) for row in rows]
    report.add_block(
        "perf_stacks",
        {
            "event": pa.array([row.event for row in rows], pa.string()).dictionary_encode(),
            "command": pa.array([row.command for row in rows], pa.string()).dictionary_encode(),
            "stack": pa.array([row.stack for row in rows], pa.string()),
            "n_samples": pa.array(counts, pa.int64()),
            "period": pa.array(periods, pa.float64()),
        },
    )
