"""Prometheus: answers of its HTTP API to a query (query_range, query), as JSON.

Grammar
    ``{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {LABELS}, "values": [[TIME, "VALUE"],
    …]}]}}``; vector: ``"value": [TIME, "VALUE"]``; scalar and string: ``"result": [TIME, "VALUE"]``; ``warnings`` and
    ``infos`` are lists of texts. ``promtool query … -o json`` prints ``result`` alone.
Versions
    Prometheus 2.0 to 3.5, Thanos, Mimir, VictoriaMetrics (``isPartial``); any layout, as of jq.
Traps
    * Values are texts: ``NaN``, ``+Inf`` and ``-Inf`` among them, which no number of a table is.
    * An expression has no ``__name__``, and the answer does not repeat the query.
    * ``{"status": "error"}`` is an answer without figures: refused, with Prometheus's own words.
    * A query with ``@`` or an offset may give samples before the first of the first series.
Sample
    tests/parse/prometheus/range_of_a_counter/
Gives
    metric_series: metric = ``__name__``, or the file's name without one; labels as JSON, sorted, without ``__name__``;
    time_s since the first sample of all series; value as it is (counters stay counters), null where it is not finite
    (``not_finite`` counts them); unit by the name's suffix (``_seconds``, ``_bytes`` …; ``_total`` alone: 1), null for
    an expression. started_at: the first sample. Native histograms are left out with a warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pipeline.parse._compiled import PLAIN_BYTES
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._prometheus_fast import add_series, find_series
from pipeline.parse.monitors._prometheus_rows import Rows

EXPECTED = 'Prometheus\'s answer: `{"status":"success","data":{"resultType":"matrix","result":[…`'
FORM = "HTTP API JSON"
VERSIONS = "2.0 – 3.5"
NOT_READ = "native histograms"
UNSEEN_CUTS = ""
_HEAD = re.compile(
    r'\s*\{\s*"(?:status"\s*:\s*"(?:success|error)"\s*,\s*"(?:isPartial|data|errorType|warnings|infos|error)"'
    r'|data"\s*:\s*\{\s*"result(?:Type)?"|resultType"|isPartial"|result"\s*:\s*\[\s*\{\s*"metric")'
)
_BARE = re.compile(r'\s*\[\s*\{\s*"metric"\s*:\s*\{')
_SERIES = re.compile(r'\{\s*"metric"\s*:')
_MAX_TORN = 8
_Entry = tuple[Mapping[str, object], list[Any]]


def recognise(head: str) -> bool:
    """Whether the document begins as an answer to a query does."""
    if _BARE.match(head):
        return '"value' in head
    is_answer = '"resultType"' in head or '"errorType"' in head or '"metric"' in head
    return bool(_HEAD.match(head)) and is_answer and ('"result"' in head or '"errorType"' in head)


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when the answer is an error or holds no sample."""
    data = source.data
    report = Report("prometheus", source)
    try:
        if len(data) >= PLAIN_BYTES and _read_fast(report, data):
            return [report]
    except ValueError:  # samples in another order than Prometheus's
        report = Report("prometheus", source)
    _read_any(report, source)
    return [report]


def _read_fast(report: Report, data: bytes) -> bool:
    """Read a long answer as Prometheus lays it out; False when it is another, ValueError if that comes out later."""
    answer = find_series(data)
    if answer is None or not answer.series:
        return False
    try:
        around = json.loads(answer.rest)
    except (ValueError, RecursionError):
        return False
    rows = Rows(report, answer.start_us)
    for series in answer.series:
        if not add_series(rows, data, series):
            values = json.loads(data[series.begin - 1 : series.end + 1])
            _add_entry(rows, (series.labels, values))
    _finish(report, rows, around, answer.start_us)
    return True


def _read_any(report: Report, source: Source) -> None:
    """Read an answer of any layout, or what is left of one."""
    text = source.text
    document: Any
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        document = {"status": "success", "data": {"resultType": "matrix", "result": _salvage(text)}}
        report.incomplete(None, "truncated", f"expected a whole document, found: {str(error)[:100]}")
    if isinstance(document, list):
        document = {"data": {"result": document}}
    if not isinstance(document, dict):
        raise source.error(1, EXPECTED, source.head)
    if document.get("status") == "error":
        raise source.error(1, "an answer", f"the error {document.get('error')!s}"[:200])
    data = document.get("data", document)
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        raise source.error(1, EXPECTED, source.head)
    entries = _entries(report, result)
    times = [time for _, samples in entries for sample in samples if (time := _time_us(sample)) is not None]
    if not times and not (result == [] and report.run["is_complete"]):
        raise source.error(1, "a series with samples", source.head)
    rows = Rows(report, min(times, default=None))
    for entry in entries:
        _add_entry(rows, entry)
    _finish(report, rows, document, min(times, default=None))


def _salvage(text: str) -> list[Any]:
    """The series of a damaged document; of the last one, the samples before the damage."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    place, n_torn = 0, 0
    while (match := _SERIES.search(text, place)) is not None and n_torn < _MAX_TORN:
        try:
            series, place = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            n_torn += 1
            place = match.end()
            end = text.rfind("]", place, (nxt.start() if (nxt := _SERIES.search(text, place)) else len(text)))
            if end < 0:
                continue
            try:
                series = json.loads(text[match.start() : end + 1].rstrip() + "]}")
            except (ValueError, RecursionError):
                continue
        found.append(series)
    return found


def _entries(report: Report, result: list[Any]) -> list[_Entry]:
    """Labels and samples of each series; a scalar is one without labels."""
    if len(result) == 2 and isinstance(result[0], int | float) and isinstance(result[1], str):
        return [({}, [result])]
    entries: list[_Entry] = []
    n_histograms = n_other = 0
    for series in result:
        labels = series.get("metric") if isinstance(series, dict) else None
        if not isinstance(labels, dict):
            n_other += 1
            continue
        n_histograms += "histogram" in series or "histograms" in series
        samples = series.get("values", [series["value"]] if "value" in series else [])
        if isinstance(samples, list):
            entries.append((labels, samples))
        else:
            n_other += 1
    if n_histograms:
        report.warn(None, "native_histograms", f"expected floats, found {n_histograms} series of native histograms")
    if n_other:
        report.warn(None, "unknown_entry", f"expected series, found {n_other} other entries")
    return entries


def _time_us(sample: object) -> int | None:
    """Time of a sample in µs since 1970; None when it is none."""
    if not isinstance(sample, list) or len(sample) != 2:
        return None
    time = sample[0]
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < 1e11:
        return None
    return round(time * 1_000_000)


def _add_entry(rows: Rows, entry: _Entry) -> None:
    labels, samples = entry
    times = [_time_us(sample) for sample in samples]
    rows.note("other samples", times.count(None))
    good = [(time, rows.number(sample[1])) for time, sample in zip(times, samples, strict=True) if time is not None]
    if good:
        rows.add(labels, np.array([time for time, _ in good], np.int64), [value for _, value in good])


def _finish(report: Report, rows: Rows, document: Mapping[str, Any], start_us: int | None) -> None:
    rows.finish()
    for kind in ("warnings", "infos"):
        texts = document.get(kind)
        for text in texts if isinstance(texts, list) else []:
            report.warn(None, f"prometheus_{kind.removesuffix('s')}", str(text)[:1000])
    if document.get("isPartial") is True:
        report.incomplete(None, "partial", "expected all data, found that the server says it is partial")
    if start_us is not None:
        report.describe(started_at=datetime.fromtimestamp(start_us / 1_000_000, UTC))
