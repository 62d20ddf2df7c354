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

import re
from typing import Any

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._iostat_columns import COLUMNS
from pipeline.parse.monitors._iostat_samples import Sample, Writer, warn_of_groups, warn_since_boot
from pipeline.parse.monitors._sysstat_json import Documents, Host, damage_of, has_frame, trailing_text

EXPECTED = 'iostat\'s {"sysstat": {"hosts": [… "avg-cpu" or "disk_device"'
FORM = "JSON (-o JSON)"
VERSIONS = "sysstat 11.6 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = ""
_PROPERTIES = ("nodename", "sysname", "release", "machine", "number-of-cpus", "date")
_PROPERTY = re.compile(r'"(nodename|sysname|release|machine|number-of-cpus|date)"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)')


def recognise(head: str) -> bool:
    """Whether the head has sysstat's frame and a key that only iostat writes."""
    return has_frame(head) and ('"avg-cpu"' in head or '"disk_device"' in head)


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no sample."""
    documents = Documents(source)
    runs: list[tuple[Host, Report, int | None]] = []
    n_samples = 0
    for host in documents.hosts():
        report = Report("iostat", source)
        describe(report, host.before)
        n, first = _read_host(report, documents, host)
        n_samples += n
        runs.append((host, report, first))
    if n_samples == 0:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for host, report, first in runs:
        if damage := damage_of(host):
            report.incomplete(host.end, "truncated", f"expected the end of the document, found {damage}")
        elif host.is_last and trailing_text(host):
            report.warn(host.end, "trailing_text", "expected the end, found more text")
        if first is not None and not host.opens_with_empty_line:
            warn_since_boot(report, first)
    return [report for _, report, _ in runs]


def _read_host(report: Report, documents: Documents, host: Host) -> tuple[int, int | None]:
    """Read the samples of one host: how many, and the line of the first one."""
    writer = Writer(report, omits_since_boot=host.opens_with_empty_line)
    unknown: set[str] = set()
    groups: set[str] = set()
    first: int | None = None
    for line, entry in documents.samples(host):
        first = host.line if first is None else first
        sample = _sample(entry, line)
        for number, (name, cells) in enumerate(sample.devices):
            unknown |= cells.keys() - COLUMNS.keys()
            if name.startswith(" "):
                groups.add(name.strip())
                sample.devices[number] = (name.strip(), cells)
        writer.add(sample)
    if unknown:
        names = ", ".join(sorted(unknown)[:20])
        report.warn(host.line, "unknown_column", f"expected iostat's columns, found {names}")
    warn_of_groups(report, groups)
    writer.finish()
    return writer.n_samples, first


def describe(report: Report, text: str) -> None:
    """Parameters from what stands before a host's statistics (of the last host there)."""
    found = dict(_PROPERTY.findall(text))
    for name in _PROPERTIES:
        if name in found:
            report.parameter(name, found[name].strip('"'))


def _sample(entry: dict[str, Any], line: int) -> Sample:
    stamp, cpu, disks = entry.get("timestamp"), entry.get("avg-cpu"), entry.get("disk")
    sample = Sample(line, stamp if isinstance(stamp, str) else None, _cells(cpu) if isinstance(cpu, dict) else None)
    for disk in disks if isinstance(disks, list) else []:
        name = disk.get("disk_device") if isinstance(disk, dict) else None
        if isinstance(name, str):
            sample.devices.append((name, {_column(key): value for key, value in _cells(disk).items()}))
    return sample


def _cells(entry: dict[str, Any]) -> dict[str, object]:
    """The figures of an entry; lists and objects are none."""
    return {
        key: value if isinstance(value, float | str) else None for key, value in entry.items() if key != "disk_device"
    }


def _column(key: str) -> str:
    """The column's name in the text: JSON has no percent signs."""
    return f"%{key}" if f"%{key}" in COLUMNS else key
