"""Private to ``sysbench``: the lines of --report-interval."""

from __future__ import annotations

from typing import Any

from pipeline import units
from pipeline.parse._figures import number, positive, scaled
from pipeline.parse.workloads import _sysbench_lines as lines

_Found = tuple[
    list[tuple[str, dict[str, Any]]],
    float | None,
    tuple[float, float | None, str] | None,
    list[tuple[str, float | None]],
]


def interval_of(text: str) -> _Found | None:
    """Operations, running threads, percentile and other rates of an interval's line."""
    milli, mebi = units.MILLI, units.MEBI
    if m := lines.SQL_INTERVAL.fullmatch(text):
        operations = [
            (op, {"ops_per_s": positive(m[i])})
            for i, op in enumerate(("transaction", "query", "read", "write", "other"), 2)
        ]
        return operations, number(m[1]), (float(m[7]), scaled(m[8], milli), "transaction"), [
            ("errors_per_s", positive(m[9])), ("reconnects_per_s", positive(m[10]))]  # fmt: skip
    if m := lines.EVENT_INTERVAL.fullmatch(text):
        return [("event", {"ops_per_s": positive(m[2])})], number(m[1]), (float(m[3]), scaled(m[4], milli), "event"), []
    if m := lines.FILE_INTERVAL.fullmatch(text):
        operations = [
            ("read", {"bytes_per_s": scaled(m[1], mebi)}),
            ("write", {"bytes_per_s": scaled(m[2], mebi)}),
            ("sync", {"ops_per_s": positive(m[3])}),
        ]
        return operations, None, (float(m[4] or m[7]), scaled(m[5] or m[6], milli), "event"), []
    if m := lines.MEMORY_INTERVAL.fullmatch(text):
        return [("event", {"bytes_per_s": scaled(m[1], mebi)})], None, None, []
    if m := lines.OLD_INTERVAL.fullmatch(text):
        operations = [(op, {"ops_per_s": positive(m[i])}) for i, op in enumerate(("transaction", "read", "write"), 2)]
        return operations, number(m[1]), (float(m[6]), scaled(m[5], milli), "transaction"), [
            ("errors_per_s", positive(m[7])), ("reconnects_per_s", positive(m[8]))]  # fmt: skip
    return None
