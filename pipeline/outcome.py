"""What a run's manifest tells of its reports: which run it was, and how it ended."""

from __future__ import annotations

from pipeline.campaign import Manifest
from pipeline.parse._report import Report
from pipeline.parse._source import Source


def describe(report: Report, manifest: Manifest) -> None:
    """Set what the manifest knows of the run; no report of a run that did not end well is complete."""
    report.describe(campaign=manifest.campaign, host=manifest.host, point=manifest.point, repeat=manifest.repeat)
    if manifest.is_watched:
        report.describe(attempt=manifest.attempt, state=manifest.state)
    if not manifest.is_complete:
        report.describe(is_complete=False)
    if report.tool == manifest.tool:
        # The manifest knows of the run as a whole; what the tool itself says of command and start comes first.
        known = {"command": manifest.command, "exit_status": manifest.exit_status, "started_at": manifest.started_at}
        report.describe(**{name: value for name, value in known.items() if report.run.get(name) is None})


def record(source: Source, manifest: Manifest) -> Report:
    """Report of a run that did not end well: a warning, and a row without figures where no log of the tool has one.

    ``source`` is the manifest's file.
    """
    source.run_id = manifest.run_id
    report = Report(manifest.tool or "unknown", source)
    report.part_of(source)  # like a log: whatever report of the tool is in the folder takes it in
    describe(report, manifest)
    status = "none" if manifest.exit_status is None else manifest.exit_status
    state = manifest.state.replace("_", " ")
    report.incomplete(None, f"run_{manifest.state}", f"expected a complete run, found: {state}, exit status {status}")
    return report
