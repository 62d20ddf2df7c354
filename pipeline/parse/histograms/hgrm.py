"""HdrHistogram percentile tables (.hgrm), as outputPercentileDistribution and HistogramLogProcessor print them.

Grammar
    ``Value Percentile TotalCount 1/(1-Percentile)``, a row a percentile of the distribution (a share of 1), then
    ``#[Mean = …, StdDeviation = …]``, ``#[Max = …, Total count = …]``, ``#[Buckets = …, SubBuckets = …]``. In CSV the
    heading is quoted, and nothing follows the rows.
Versions
    HdrHistogram 1.0 to 2.2 for Java, and its ports.
Traps
    * The percentile has six decimals (CSV: twelve), too few for the rows near 1: where 1/(1-p) is from 1000 on, it has
      more digits, and the percentile is taken from it.
    * Nothing tells the unit: nearly all print ms (``unit_guessed``).
Sample
    tests/parse/hgrm/synthetic_table/
Gives
    latency_percentiles (percentile 0 … 100) and latency_summary (mean, standard deviation as printed, of all values;
    max, n_ops), op ``total``, scope ``total``, phase ``total``. Several tables in a file are several reports.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "HdrHistogram's percentiles: `Value   Percentile   TotalCount 1/(1-Percentile)`"
FORM = "percentile table"
VERSIONS = "1.0 – 2.2"
NOT_READ = "the cumulative counts of the rows"
UNSEEN_CUTS = ""
_HEADING = re.compile(r'\s*"?Value"?[\s,]+"?Percentile"?[\s,]+"?TotalCount"?[\s,]+"?1/\(1-Percentile\)"?\s*')
_VALUE = r"([0-9]{1,25}(?:\.[0-9]{1,25})?(?:[eE][-+]?[0-9]{1,3})?)"
_ROW = re.compile(rf"\s*{_VALUE}[\s,]+([01](?:\.[0-9]{{1,25}})?)[\s,]+([0-9]{{1,18}})[\s,]+({_VALUE}|inf|Infinity)?\s*")
_SECOND = "(?:StdDeviation|Total count|SubBuckets)"
_FOOTER = re.compile(rf"\s*#\[(Mean|Max|Buckets)\s*=\s*{_VALUE},\s*{_SECOND}\s*=\s*{_VALUE}\]")
_MANY = 1000.0
_KEY = {"op": "total", "scope": "total", "phase": "total"}


def recognise(head: str) -> bool:
    """Whether a heading stands alone on one of the first lines, and a row below it."""
    lines = [line for line in head.split("\n") if line.strip()]
    for number, line in enumerate(lines[:40]):
        if _HEADING.fullmatch(line[:200]):
            return len(lines) > number + 1 and _ROW.fullmatch(lines[number + 1][:200]) is not None
    return False


def parse(source: Source) -> list[Report]:
    """Return a report for each table; ParseError when no row can be read."""
    lines = source.lines
    starts = [number for number, line in enumerate(lines) if _HEADING.fullmatch(line[:200])]
    reports = []
    for start, end in pairwise([*starts, len(lines)]):
        report = _table(source, lines, start, end)
        if report is not None:
            reports.append(report)
    if not reports:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return reports


def _table(source: Source, lines: list[str], start: int, end: int) -> Report | None:
    report = Report("hdrhistogram", source)
    footer: dict[str, tuple[float, float]] = {}
    is_csv = '"' in lines[start]
    last = 0.0
    n_rows = n_unknown = first_unknown = 0
    for number in range(start + 1, end):
        line = lines[number]
        is_torn = number == len(lines) - 1  # no line feed behind it
        if match := None if is_torn else _ROW.fullmatch(line[:200]):
            last = float(match[2])
            report.add("latency_percentiles", **_KEY, percentile=_percentile(match[2], match[4] or ""),
                       latency_s=_seconds(match[1]))  # fmt: skip
            n_rows += 1
        elif match := _FOOTER.match(line[:400]):
            footer[match[1]] = (float(match[2]), float(match[3]))
        elif line.strip() and not is_torn:
            n_unknown += 1
            first_unknown = first_unknown or number + 1
    if not n_rows:
        return None
    report.warn(
        None,
        "unit_guessed",
        "expected a unit of the values, found none: taken as ms "
        "(1000 times too large where µs were printed, as asbench does)",
    )
    mean, stddev = footer.get("Mean", (None, None))
    largest, n_ops = footer.get("Max", (None, None))
    if footer:
        report.add("latency_summary", **_KEY, n_ops=None if n_ops is None or n_ops > 2**62 else int(n_ops),
                   **{name: None if value is None else _finite(value * units.MILLI)
                      for name, value in (("mean_s", mean), ("stddev_s", stddev), ("max_s", largest))})  # fmt: skip
    if n_unknown:
        report.warn(first_unknown, "unknown_line", f"expected a row or a footer, found {n_unknown} other lines")
    if last < 1.0 or (not is_csv and "Buckets" not in footer):
        found = "the end of the table"
        report.incomplete(end, "truncated", f"expected the row of percentile 1 and the footer, found {found}")
    return report


def _percentile(share: str, inverse: str) -> float:
    if inverse in ("", "inf", "Infinity") or float(share) >= 1.0:
        return min(100.0, float(share) / units.PERCENT)
    many = float(inverse)
    return (1.0 - 1.0 / many) / units.PERCENT if many >= _MANY else min(100.0, float(share) * 100)


def _seconds(text: str) -> float | None:
    return _finite(float(text) * units.MILLI)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
