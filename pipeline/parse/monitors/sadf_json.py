r"""sysstat sadf, JSON: ``sadf -j FILE -- -A > FILE.json``.

Grammar
    ``{"sysstat": {"hosts": [{nodename, …, "file-date", "timezone", "statistics": [sample …], "restarts": [{"boot":
    {date, time, cpu_count}}], "comments": [{"comment": {date, time, com}}]}]}}``; a sample is ``{"timestamp": {date,
    time, "utc": 1 or "tz": "UTC", interval}, "cpu-load": [{cpu, user, …}], "disk": [{"disk-device", …}], "network":
    {"net-dev": […], …}, …}``, an activity a key.
Versions
    10.1 to 12.7.
Traps
    * Keys are not the text's columns: ``memfree`` is kbmemfree, ``util-percent`` %util, ``rd_sec`` (512 B) stands
      beside ``rkB`` (1024 B); memory and swap space stand together.
    * iostat and mpstat write the same frame.
    * A killed sadf leaves the document torn: whole samples are kept.
Sample
    tests/parse/sadf_json/many_activities/
Gives
    As sadf_csv, with the names of the text's columns: cpu_usage, device_series, metric_series; a report for each host.
"""

from __future__ import annotations

from typing import Any

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sadf_names import rows_of
from pipeline.parse.monitors._sysstat_dated import Dated, When
from pipeline.parse.monitors._sysstat_json import Documents, Host, damage_of, has_frame, notes_of, trailing_text
from pipeline.parse.monitors.iostat_json import describe

EXPECTED = 'sadf\'s {"sysstat": {"hosts": [… "timestamp": {"date": …'
FORM = "sadf -j"
VERSIONS = "sysstat 10.1 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = ""


def recognise(head: str) -> bool:
    """Whether the head has sysstat's frame, and a stamp or a header that only sadf writes."""
    return has_frame(head) and ('"file-date"' in head or '"timestamp": {' in head or '"disk-device"' in head)


def parse(source: Source) -> list[Report]:
    """Return a report for each host in the file; ParseError when there is no sample."""
    documents = Documents(source)
    runs: list[tuple[Host, Dated]] = []
    for host in documents.hosts():
        dated = Dated("sar", source, None)
        describe(dated.report, host.before)
        runs.append((host, dated))
        for line, entry in documents.samples(host):
            _read(dated, line, entry)
    if not any(dated.n_rows for _, dated in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    for host, dated in runs:
        _read_notes(dated, host)
        dated.finish(None)
        if damage := damage_of(host):
            dated.report.incomplete(host.end, "truncated", f"expected the end of the document, found {damage}")
        elif host.is_last and trailing_text(host):
            dated.report.warn(host.end, "trailing_text", "expected the end, found more text")
    return [dated.report for _, dated in runs]


def _read_notes(dated: Dated, host: Host) -> None:
    """Restarts and comments, which stand behind the samples."""
    for kind, values in notes_of(host):
        stamp = f"{values.get('date')} {values.get('time')}"
        dated.special(stamp, "LINUX-RESTART" if kind == "boot" else f"COM {values.get('com')}")


def _read(dated: Dated, line: int, entry: dict[str, Any]) -> None:
    """Read one sample."""
    when = _when(dated, entry.get("timestamp"))
    if when is None:
        dated.note("sample_without_stamp", line)
        when = (None, None)
    for row in rows_of(entry):
        if isinstance(row, str):
            dated.note("unknown_activity", line)
            continue
        sheet = dated.sheet(row[0])
        if sheet is None:
            dated.note("unknown_activity", line)
        else:
            dated.add(sheet, row[1], when)


def _when(dated: Dated, stamp: object) -> When | None:
    if not isinstance(stamp, dict):
        return None
    zone = "UTC" if stamp.get("utc") == 1 else stamp.get("tz", "")
    interval = stamp.get("interval")
    seconds = str(int(interval)) if isinstance(interval, float) and 0 <= interval < 1e9 else "0"
    return dated.when(f"{stamp.get('date')} {stamp.get('time')} {zone}".strip(), seconds)
