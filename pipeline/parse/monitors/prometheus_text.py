"""Prometheus: the text that exporters expose (/metrics), and what /federate gives; OpenMetrics too.

Grammar
    ``# HELP NAME TEXT``, ``# TYPE NAME counter|gauge|histogram|summary|untyped``, then ``NAME{LABEL="VALUE",…} VALUE
    [TIME]``; TIME in ms since 1970. OpenMetrics: ``# UNIT``, TIME in s, exemplars behind `` # ``, ``# EOF`` at the end.
    Names with other characters are quoted: ``{"NAME","LABEL"="VALUE",…} VALUE``, ``# TYPE "NAME" gauge``.
Versions
    Text format 0.0.4 and 1.0.0 (Prometheus 3), OpenMetrics 1.0.
Traps
    * Label values hold braces, commas, escaped quotes and line feeds.
    * NaN, +Inf and -Inf are values. A time may have an exponent.
    * Several scrapes in a file repeat their names; only their own times tell them apart.
Sample
    tests/parse/prometheus_text/node_exporter/
Gives
    metric_series: metric = the name as it stands on the line (``…_bucket``, ``…_sum``), labels as JSON, sorted; time_s
    since the earliest time, null where a line has none; unit by the name's suffix; value null where it is not finite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._prometheus_rows import NAME, Rows

EXPECTED = 'Prometheus\'s text: `# TYPE up gauge` and `up{job="node"} 1`'
FORM = "exposition text, OpenMetrics"
VERSIONS = "0.0.4, 1.0.0, OpenMetrics 1.0"
NOT_READ = "exemplars"
UNSEEN_CUTS = "without OpenMetrics' # EOF nothing ends the text"
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_TYPE = re.compile(rf"# (?:TYPE|HELP) (?:[a-zA-Z_:][a-zA-Z0-9_:.]*|{_QUOTED}) ")
_SAMPLE = re.compile(
    r'(?=[a-zA-Z_:{])([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s*|\s)'
    r"([-+]?(?:[0-9.]{1,400}(?:[eE][-+]?[0-9]{1,3})?|[Nn]a[Nn]|[Ii]nf))(?:\s+(-?[0-9.]{1,20}(?:[eE][-+]?[0-9]{1,3})?))?(?:\s+#.*)?\s*"
)
_NAME = re.compile(rf"\s*{_QUOTED}\s*(?:,|$)")
_LABEL = re.compile(rf"\s*(?:([a-zA-Z_][a-zA-Z0-9_]*)|{_QUOTED})\s*=\s*{_QUOTED}\s*(?:,|$)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n"}
_MS_FROM = 1e11  # a time from here on is in ms: the year 1973, in s the year 5138
_LINE_CHARACTERS = 1 << 16


def recognise(head: str) -> bool:
    """Whether a line names a metric's type or meaning, and another is a sample."""
    lines = head.split("\n")[:400]
    return any(map(_TYPE.match, lines)) and any(_SAMPLE.fullmatch(line) for line in lines[:60] if len(line) < 2000)


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when there is no sample."""
    report = Report("prometheus", source)
    start_us = min((time for _, line in _lines(source) if (time := _time_of(line)) is not None), default=None)
    rows = Rows(report, start_us)
    n_bad = first_bad = 0
    is_open, is_ended = False, False
    for number, line in _lines(source):
        is_open = is_open or line.startswith("# UNIT ")
        is_ended = line.strip() == "# EOF"
        if not line.startswith("#") and line.strip() and not _add(rows, line):
            n_bad += 1
            first_bad = first_bad or number
    if not rows.n_rows:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    rows.finish()
    if start_us is not None:
        report.describe(started_at=datetime.fromtimestamp(start_us / 1_000_000, UTC))
    if n_bad:
        report.incomplete(first_bad, "bad_line", f"expected a sample, found {n_bad} lines of another form")
    if not source.ends_with_newline:
        found = "the end of the file: the line is left out"
        report.incomplete(None, "truncated", f"expected a line feed, found {found}")
    elif is_open and not is_ended:
        report.incomplete(None, "truncated", "expected # EOF, found the end of the file")
    return [report]


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that a line feed ends."""
    held: tuple[int, str] | None = None
    for item in source.numbered_lines():
        if held is not None:
            yield held
        held = item
    if held is not None and (source.ends_with_newline or held[1].strip() == "# EOF"):
        source.ends_with_newline = True
        yield held


def _match(line: str) -> re.Match[str] | None:
    return _SAMPLE.fullmatch(line) if len(line) < _LINE_CHARACTERS and not line.startswith("#") else None


def _time_of(line: str) -> int | None:
    """A line's time in µs since 1970: printed in ms, by OpenMetrics in s."""
    match = _match(line) if line[-1:].isdigit() or " # " in line else None
    if match is None or match[4] is None:
        return None
    try:
        time = float(match[4])
    except ValueError:
        return None
    time_s = time * units.MILLI if time >= _MS_FROM else time
    return round(time_s * 1_000_000) if 0 <= time_s < _MS_FROM else None


def _add(rows: Rows, line: str) -> bool:
    match = _match(line)
    if match is None:
        return False
    text, place, metric = match[2] or "", 0, match[1]
    if metric is None:
        if (name := _NAME.match(text)) is None:
            return False
        place, metric = name.end(), _unescaped(name[1])
    labels: dict[str, object] = {NAME: metric}
    while place < len(text) and (label := _LABEL.match(text, place)) is not None:
        labels[label[1] or _unescaped(label[2])] = _unescaped(label[3])
        place = label.end()
    if text[place:].strip():
        return False
    rows.add_one(labels, _time_of(line), rows.number(match[3]))
    return True


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)
