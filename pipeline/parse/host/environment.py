"""The environment of a measurement: what ``collect/host/snapshot.sh`` found on the host before and after a run.

Grammar
    ``environment-snapshot 1``, then ``key, tab, value`` a line, then ``end, tab, number of those lines``. Keys are
    words with dots (``block.nvme0n1.queue.scheduler``). In values, bytes that are not printable ASCII, and the
    backslash, are escapes of a backslash and three octal digits; the bytes are UTF-8.
Versions
    1.
Traps
    What a host does not have, or does not show, has no line.
Sample
    tests/parse/environment/
Gives
    parameters alone, a key a row, as it is written; job is the snapshot's moment, ``before`` or ``after`` the run, null
    without one. A snapshot after a run joins the one before it in its folder. started_at is the host's clock.
"""

from __future__ import annotations

import re
from datetime import datetime

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "a snapshot of a host: `environment-snapshot 1`, then lines of key, tab, value"
FORM = "text of `run`"
VERSIONS = "1"
NOT_READ = ""
UNSEEN_CUTS = ""
_HEADER = "environment-snapshot 1"
_KEY = re.compile(r"[a-z][A-Za-z0-9_.:!+-]{0,199}")
_ESCAPE = re.compile(r"\\([0-7]{3})")
_MOMENT = re.compile(r"^moment\t(before|after)$", re.MULTILINE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def recognise(head: str) -> bool:
    """Whether the first line is the header."""
    return head.startswith(f"{_HEADER}\n")


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError where the header or every value is missing."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    report = Report("environment", source, tool_version="1")
    moment = _moment(source)
    n_values, end = _add_values(report, source.lines, moment)
    if not n_values:
        raise source.error(2, EXPECTED, "no values")
    if end is None:
        found = f"the end of the file after {n_values} values"
        report.incomplete(len(source.lines), "truncated", f"expected the line of the end, found {found}")
    elif end[1] != n_values:
        report.incomplete(end[0], "lost_lines", f"expected {end[1]} values, as the end says, found {n_values}")
    if moment == "after" and (before := _before(source)) is not None:
        report.part_of(before)
    return [report]


def _add_values(report: Report, lines: list[str], moment: str | None) -> tuple[int, tuple[int, int] | None]:
    """Add the values; return how many there are, and the end's line with the number that it tells, if it is there."""
    n_values, unread = 0, list[tuple[int, str]]()
    for number, line in enumerate(lines[:-1], 1):  # the last one lacks its line feed: it is not whole
        if number == 1:
            continue
        key, tab, value = line.partition("\t")
        if key == "end" and value.isascii() and value.isdecimal() and len(value) < 10:
            if any(rest.strip() for rest in lines[number:]):
                report.warn(number + 1, "lines_behind_the_end", "expected nothing behind the end, found more")
            _warn_unread(report, unread)
            return n_values, (number, int(value))
        if not tab or not _KEY.fullmatch(key):
            unread.append((number, line))
            continue
        n_values += 1
        if key == "time.utc":
            _describe_time(report, value)
        report.parameter(key, _plain(value), moment)
    _warn_unread(report, unread)
    return n_values, None


def _warn_unread(report: Report, unread: list[tuple[int, str]]) -> None:
    if unread:
        shown = "".join(char if char.isprintable() else "�" for char in unread[0][1][:80])
        message = f"expected key, tab, value; found {len(unread)} other lines, such as {shown!r}"
        report.warn(unread[0][0], "unread_lines", message)


def _describe_time(report: Report, text: str) -> None:
    if _TIME.fullmatch(text):
        try:
            report.describe(started_at=datetime.fromisoformat(text))
        except ValueError:  # a month 13
            return


def _plain(value: str) -> str:
    """A value without its escapes; bytes that are no UTF-8, and what is not printable, are replaced."""
    data = bytearray()
    place = 0
    for match in _ESCAPE.finditer(value):
        data += value[place : match.start()].encode("utf-8", "replace")
        data.append(int(match[1], 8) & 0xFF)
        place = match.end()
    data += value[place:].encode("utf-8", "replace")
    text = data.decode("utf-8", "replace")
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def _moment(source: Source) -> str | None:
    match = _MOMENT.search(source.head)
    return match[1] if match else None


def _before(source: Source) -> Source | None:
    """The snapshot before the run, in the same folder: the only one there."""
    found = [other for other in source.siblings() if _is_before(other)]
    return found[0] if len(found) == 1 else None


def _is_before(other: Source) -> bool:
    return other.stem.startswith("environment") and recognise(other.head) and _moment(other) == "before"
