"""Tool: what its output is called, and how it is made.

Grammar
    The lines or keys that carry figures, their units, and what differs between versions.
Versions
    Those that were tried.
Traps
    What a naive reader gets wrong.
Sample
    tests/parse/<this file's name>/<oddity>.txt
Gives
    operations, latency_percentiles, … and how the tool's words map to job, target, op and scope.

To add a reader: copy this file into a folder of ``pipeline/parse``, name it in a line of ``pipeline/tools.py``, and
put golden samples named for their oddity into ``tests/parse/<name>/``, each with what it must give in
``expected.yaml``; without samples the tests fail. What grows with time is read by ``source.numbered_lines()`` or
``source.blocks()``; a log of a run that another file reports says so by ``report.part_of``.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "what the first line looks like, for the message when nothing can be read"
FORM = "text"  # this and the next two: for the README's table of formats
VERSIONS = "1.0 – 2.3"
NOT_READ = ""  # what of this form is not read
UNSEEN_CUTS = ""  # why a cut at a line's end cannot be seen; empty: every cut is seen


def recognise(head: str) -> bool:
    """Whether the first 64 KiB are of this format. Strict: it must not claim another tool's output."""
    return head.startswith("TOOL version")


def parse(source: Source) -> list[Report]:
    """Return the reports in the file, in its order; ParseError if nothing can be read."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head)
    report = Report("tool", source, tool_version="1.0")
    report.add("operations", op="read", scope="total", n_ops=1)
    report.incomplete(None, "truncated", "expected a closing line, found the end of the file")
    return [report]
