"""The configuration file of ACT: ``actconfig….txt`` to 4.0, ``act_storage.conf`` and ``act_index.conf`` from 5.0 on.

Grammar
    ``key: value`` a line, the colon optional; ``#`` begins a comment (to 4.0 only at the line's start). Devices are
    separated by commas, semicolons or space. What follows the first word of another value is ignored.
Versions
    1.x to 6.6: every key that one of them knows.
Traps
    A default that stands in a comment is no setting: ACT's default then depends on its version and the machine. A key
    that comes twice counts as ACT takes it: the last one, but ``device-names`` add up. ACT 5.0 and later refuse a key
    that they do not know.
Sample
    tests/parse/act_config/synthetic_defaults-in-comments/
Gives
    parameters, under the names of the log's own (the devices with a space between them). Nothing was measured: there
    are no other rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "an ACT configuration: `device-names: /dev/…`, `test-duration-sec: …`"
FORM = "configuration file"
VERSIONS = "1.x – 6.6"
NOT_READ = ""
UNSEEN_CUTS = "a configuration has no end mark"
_FLAGS = {
    "commit-to-device", "disable-odsync", "microsecond-histograms", "no-defrag-reads", "queue-per-device",
    "tomb-raider", "use-valloc",
}  # fmt: skip
_NUMBERS = {
    "cache-threads", "commit-min-bytes", "compress-pct", "defrag-lwm-pct", "file-size-mbytes",
    "large-block-op-kbytes", "large-block-ops-per-sec", "max-lag-sec", "max-reqs-queued", "num-cache-threads",
    "num-queues", "num-write-buffers", "read-req-num-512-blocks", "read-reqs-per-sec", "record-bytes",
    "record-bytes-range-max", "replication-factor", "report-interval-sec", "service-threads", "test-duration-sec",
    "threads-per-queue", "tomb-raider-sleep-usec", "update-pct", "write-reqs-per-sec",
}  # fmt: skip
KEYS = {"device-names", "scheduler-mode"} | _FLAGS | _NUMBERS
_LINE = re.compile(r"([a-z][a-z0-9-]{0,40})[:\s]\s*([^#]*)(?:#.*)?")
_DEVICES = re.compile(r"[,;\s]+")
_NUMBER = re.compile(r"[0-9]{1,10}")


def recognise(head: str) -> bool:
    """Whether all lines are settings or comments, the devices and another known key among them."""
    lines = [line for line in (line.strip() for line in head.split("\n")) if line and line[0] != "#"]
    if not lines or len(lines) > 1000:
        return False
    matches = [_LINE.fullmatch(line) for line in lines[:-1]] + [_LINE.match(lines[-1])]
    known = {match[1] for match in matches if match} & KEYS
    return all(matches) and "device-names" in known and len(known) > 1


def parse(source: Source) -> list[Report]:
    """Return the one report; ParseError when no line is a setting that ACT knows."""
    report = Report("act_config", source)
    lines = source.lines
    settings: dict[str, str | None] = {}
    faults: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines, 1):
        if number == len(lines) and line.strip():
            report.incomplete(number, "truncated", f"expected a line feed, found the end of the file in {line[:80]!r}")
            continue
        for code, text in _read(line.strip(), settings):
            faults.setdefault(code, []).append((number, text))
    if not settings.keys() & KEYS:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for name, value in settings.items():
        report.parameter(name, value)
    for code, found in faults.items():
        more = f" and {len(found) - 1} more such lines" if len(found) > 1 else ""
        report.warn(found[0][0], code, f"expected a setting of ACT's, found {found[0][1][:80]!r}{more}")
    return [report]


def _read(line: str, settings: dict[str, str | None]) -> Iterator[tuple[str, str]]:
    """Take in a line; what is wrong with it, as code and text."""
    if not line or line[0] == "#":
        return
    match = _LINE.fullmatch(line)
    if match is None:
        yield "unknown_line", line
        return
    name, words = match[1], match[2].split()
    if name not in KEYS:
        yield "unknown_key", line
    if name == "device-names":
        devices = [device for device in _DEVICES.split(match[2]) if device]
        before = settings.get(name)
        settings[name] = " ".join([*([before] if before else []), *devices]) or None
        return
    if name in settings:
        yield "repeated_key", line
    settings[name] = words[0] if words else None
    if not words or (name in _NUMBERS and not _NUMBER.fullmatch(words[0])):
        yield "bad_value", line
    elif len(words) > 1:
        yield "ignored_words", line
