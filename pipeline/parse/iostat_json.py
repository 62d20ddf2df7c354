r"""sysstat iostat, JSON: ``iostat -x -t -o JSON INTERVAL [COUNT] > FILE``.

Grammar
    ``{"sysstat": {"hosts": [{nodename, sysname, release, machine, number-of-cpus, date, "statistics": [sample …]}]}}``;
    a sample is ``{"timestamp", "avg-cpu": {user, nice, …}, "disk": [{"disk_device", column: value …}]}``. The columns
    are those of the text, but ``rrqm`` and ``util`` stand for ``%rrqm`` and ``%util``.
Versions
    11.6 to 12.7; several hosts and several documents in a file.
Traps
    * A killed iostat leaves the document torn, an interrupted one before 12.0 a comma too many: whole samples are kept.
    * ``rrqm`` is a percentage, ``rrqm/s`` a rate; ``nan`` is printed as it stands, which is no JSON.
    * mpstat and sadf write the same frame: ``cpu-load`` and ``disk-device`` are theirs.
    * With -y, an empty line before the first sample tells that the report since boot was left out; without it (or in a
      document that was formatted again) the first sample may be the mean since boot, as in the text.
Sample
    tests/parse/iostat_json/killed_halfway/
Gives
    As iostat_text: cpu_usage, device_series, metric_series; a report for each host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pipeline.parse._iostat_columns import COLUMNS
from pipeline.parse._iostat_samples import Sample, add_samples, warn_of_groups, warn_since_boot
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = 'iostat\'s {"sysstat": {"hosts": [… "avg-cpu" or "disk_device"'
_FRAME = re.compile(r'"sysstat"\s*:\s*\{\s*"hosts"\s*:')
_START = re.compile(r'\{\s*"sysstat"\s*:')
_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_PROPERTIES = ("nodename", "sysname", "release", "machine", "number-of-cpus", "date")
_PROPERTY = re.compile(r'"(nodename|sysname|release|machine|number-of-cpus|date)"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)')
_NO_NUMBER = re.compile(r"(:\s*)-?(?:nan|inf)\b")
_DECODER = json.JSONDecoder(parse_int=float)  # an integer of a million digits costs nothing as a float


def recognise(head: str) -> bool:
    """Whether the head has sysstat's frame and a key that only iostat writes."""
    return _FRAME.search(head) is not None and ('"avg-cpu"' in head or '"disk_device"' in head)


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no sample."""
    text = _NO_NUMBER.sub(r"\1null", source.text)
    starts = [match.start() for match in _START.finditer(text)]
    reports: list[Report] = []
    n_samples = 0
    line = text.count("\n", 0, starts[0] if starts else 0) + 1
    for start, end in pairwise([*starts, len(text)]):
        for report, samples in _hosts(source, text[start:end], line):
            reports.append(report)
            n_samples += samples
        line += text.count("\n", start, end)
    if n_samples == 0:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return reports


def _hosts(source: Source, text: str, line: int) -> Iterator[tuple[Report, int]]:
    """The report of each host of one document, and how many samples it has; a torn document is read entry by entry."""
    blocks = list(_STATISTICS.finditer(text))
    try:
        _, end = _DECODER.raw_decode(text)
        rest = text[end:].strip()
        damage = None
    except (ValueError, RecursionError) as error:
        rest, damage = "", str(error)
    position = 0
    for number, block in enumerate(blocks):
        report = Report("iostat", source)
        _describe(report, text[position : block.start()])
        stop = blocks[number + 1].start() if number + 1 < len(blocks) else len(text)
        entries, position, is_closed = _entries(text, block.end(), stop)
        if damage is not None and (not is_closed or number + 1 == len(blocks)):
            last = line + text.count("\n", 0, position)
            report.incomplete(last, "truncated", f"expected the end of the document, found {damage}")
        if rest and number + 1 == len(blocks):
            report.warn(line + text.count("\n", 0, end), "trailing_text", "expected the end, found more text")
        at = line + text.count("\n", 0, block.end())
        samples = [_sample(entry, at) for entry in entries]
        _warn_of_names(report, samples, at)
        omits = re.match(r"[ \t]*\n[ \t]*\n", text[block.end() : block.end() + 80]) is not None
        add_samples(report, samples, omits_since_boot=omits)
        if samples and not omits:
            warn_since_boot(report, samples[0].line)
        yield report, len(samples)


def _describe(report: Report, text: str) -> None:
    """Parameters from what stands before a host's statistics (of the last host there)."""
    found = dict(_PROPERTY.findall(text))
    for name in _PROPERTIES:
        if name in found:
            report.parameter(name, found[name].strip('"'))


def _entries(text: str, position: int, stop: int) -> tuple[list[dict[str, Any]], int, bool]:
    """Whole entries of a statistics list, where reading ended, and whether that was the list's end."""
    entries: list[dict[str, Any]] = []
    while position < stop:
        while position < stop and (text[position].isspace() or text[position] == ","):
            position += 1
        if position < stop and text[position] == "]":
            return entries, position, True
        try:
            entry, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return entries, position, False
        if isinstance(entry, dict):
            entries.append(entry)
    return entries, position, False


def _sample(entry: dict[str, Any], line: int) -> Sample:
    stamp, cpu, disks = entry.get("timestamp"), entry.get("avg-cpu"), entry.get("disk")
    sample = Sample(line, stamp if isinstance(stamp, str) else None, cpu if isinstance(cpu, dict) else None)
    for disk in disks if isinstance(disks, list) else []:
        name = disk.get("disk_device") if isinstance(disk, dict) else None
        if isinstance(name, str):
            cells = {_column(key): value for key, value in disk.items() if key != "disk_device"}
            sample.devices.append((name, cells))
    return sample


def _column(key: str) -> str:
    """The column's name in the text: JSON has no percent signs."""
    return f"%{key}" if f"%{key}" in COLUMNS else key


def _warn_of_names(report: Report, samples: list[Sample], line: int) -> None:
    """Warn of columns that nobody knows and of groups, whose names begin with a space, and strip that."""
    unknown = {key for sample in samples for _, cells in sample.devices for key in cells if key not in COLUMNS}
    if unknown:
        report.warn(line, "unknown_column", f"expected iostat's columns, found {', '.join(sorted(unknown))}")
    warn_of_groups(report, {name.strip() for sample in samples for name, _ in sample.devices if name.startswith(" ")})
    for sample in samples:
        sample.devices = [(name.strip(), cells) for name, cells in sample.devices]
