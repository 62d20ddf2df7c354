"""perf report, text: ``perf report --stdio [-g …] [-F …] [--sort …] [-n] [-t SEP] [--hierarchy] [--stats]``; perf top.

Grammar
    ``--header``: ``# name : value`` between two ``# ========``. An event or a group of events: ``# Samples: 8K of event
    'cycles'`` (``events 'anon group { a, b }'``), ``# Event count (approx.): N``, the columns' names over dots as wide
    as the columns, then a row an entry, two spaces between columns. Under a row its call graph, in six styles: a tree
    of ``--5.67%--name`` from column 13 on, ``-g flat`` a share over its frames, ``-g folded`` ``share|count|period
    a;b;c`` from column 1 on. Two empty lines end an event. ``-t``: no dots, the separator between the columns.
    ``--hierarchy``: shares, then ``Command / Shared Object / Symbol`` one below the other. ``--stats``: events by
    type. perf top: ``PerfTop: N irqs/sec …`` over rows without names of columns.
Versions
    3.10 – 6.15; the header lines of 2.6.3x and 3.0 (``# Events: 8K cycles``).
Traps
    Columns are whatever ``--sort`` and ``-F`` ask for, in any order; ``Children`` and ``Self`` come as a pair. A group
    has a share an event in one column. Symbols hold spaces, commas and semicolons; perf pads by bytes. Sample counts of
    the header are cut off behind the thousand, ``K``, ``M``. Event names hold commas. A share of 0.00% is a real one.
    Rows below ``--percent-limit`` are not there, so that shares need not add up.
Sample
    tests/parse/perf_report/event-group/
Gives
    perf_hotspots: a row an entry and event; ``overhead_ratio`` is ``Self`` or ``Overhead``, ``children_ratio`` is
    ``Children``; ``n_samples`` and ``period`` where the report has the columns (``-n``, ``--show-total-period``);
    columns without a place of their own (CPU, source line, sys, usr, IPC …) as JSON in ``labels``, as printed. Of a
    hierarchy its finest rows, with what stands above them. perf_stacks: folded chains with counts or periods of a
    report without children, root first; of other styles the lines are counted (parameter ``call_graph_lines``): they
    are shares of shares, and with children they overlap. parameters: the header; ``Samples`` and ``Event count
    (approx.)`` as printed, with the event as their job. metric_series: ``n_events`` of ``--stats`` by type.
    perf top: all screens are one report, the number of the screen in ``labels``; their lines above the entries become
    metric_series ``irqs_per_s``, ``kernel_ratio``, ``n_lost``, ….
"""

from __future__ import annotations

import json
import re

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_lines import Lines, printable
from pipeline.parse.perf._perf_report_columns import columns_between, columns_under
from pipeline.parse.perf._perf_report_part import Part

EXPECTED = "perf report's text with `# Samples: …` and the names of its columns"
FORM = "perf report --stdio, perf top --stdio"
VERSIONS = "3.10 – 6.15"
NOT_READ = "the trees of call graphs; perf diff, perf c2c and perf annotate"
UNSEEN_CUTS = "between the tables of two events, or two screens of perf top: nothing says how many there are"

_SAMPLES = re.compile(r"# (?:Samples|Events): +(\d+ ?[KMG]?)(?: +of events? '(.*?)'(?=,|$|\s)| +(\S+)|)(.*)$")
_SETTING = re.compile(r"# ?([^:]{1,60}?) *: +(\S.*)$")
_COLUMN_NAMES = re.compile(
    r"#(?! *Total Lost).*\b(?:Overhead|Children|Self|Samples|Period|Symbol|Command|Shared Object)\b"
)
_TOP = re.compile(r"\s*PerfTop:\s+(\d+) irqs/sec\s+(.*)$")
_TOP_EVENT = re.compile(r"\[(?:[\d.]+(?:Hz)? )?([^\]]+)\],")
_LOST = re.compile(r"Processed \d+ (?:events|samples) and lost ")
_NO_ENTRY = re.compile(r"\s*no entry >= [\d.]+%")
_RULE = re.compile(r"-{20,}\s*$")
_QUIET = re.compile(r"^ {3,}\d{1,3}\.\d\d%  .*  \[[.kguH]\] \S", re.MULTILINE)
_HEAD = re.compile(
    r"^# (?:Samples|Events): +\d+ ?[KMG]?(?: of events? '| +[a-z][\w:-]*\s*$)|^ *PerfTop: +\d+ irqs/sec"
    r"|^Aggregated stats:\n *TOTAL events:",
    re.MULTILINE,
)
_OTHER_TOOLS = {
    re.compile(r"^# Event '.*'\n#\n# Baseline ", re.MULTILINE): "a perf diff: it compares recordings; give each report",
    re.compile(r"^ *(?:Trace Event Information|Shared Data Cache Line Table) *$", re.MULTILINE): "a perf c2c report",
    re.compile(r"^Selected --mem-mode but no mem data", re.MULTILINE): "perf's error: Selected --mem-mode but …",
    re.compile(r"\A#? +pid +tid +ppid +comm\n", re.MULTILINE): "the list of tasks of perf report --tasks, no figures",
}  # fmt: skip


def recognise(head: str) -> bool:
    """Whether the head has perf report's count of samples, rows of ``-q``, or perf top's line; or what is refused."""
    if any(pattern.search(head) for pattern in _OTHER_TOOLS) or _HEAD.search(head):
        return True
    lines = [line for line in head[:8192].split("\n")[:-1] if line.strip()]
    return bool(lines) and (len(_QUIET.findall(head[:8192])) == len(lines) > 2)


def parse(source: Source) -> list[Report]:
    """Return the report of the file; ParseError where there is no entry."""
    reader = _Reader(source)
    if (refused := next((why for pattern, why in _OTHER_TOOLS.items() if pattern.search(source.head)), None)) is None:
        reader.read()
    if not reader.part.has_figures:
        said = next((line for line in source.head.split("\n") if line.strip() and not line.startswith("#")), "")
        raise source.error(1, EXPECTED, refused or f"no entries: {said or 'comments alone'}")
    return [reader.part.finish()]


class _Reader:
    """Goes through the lines of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.part = Part(source)
        self._comment = ""  # the last line of names
        self._in_header = False

    def read(self) -> None:
        """Fill ``part``."""
        lines, part = Lines(self.source), self.part
        for number, line in lines:
            if not line.strip():
                part.n_empty += 1
            elif line.startswith("#"):
                self._read_comment(line)
            elif part.entry(line, number) or part.graph_line(line):
                continue
            elif not self._read_other(line):
                part.n_unread += 1
                found = f"expected entries, found other lines, the first: {printable(line)}"
                part.problem("unread_lines", number, found)
        self._judge(part, lines)

    def _judge(self, part: Part, lines: Lines) -> None:
        """Say whether the file ends where perf ended it."""
        missing = part.stats.missing if part.stats.is_open else None
        if lines.torn is not None:
            missing = "expected a line feed at the end, found a torn line"
        elif not part.stats.is_open and not part.n_screens and part.n_empty < 2 and not part.has_tip:
            missing = "expected two empty lines behind the entries, found the end"
        if missing and part.has_figures:
            part.report.incomplete(lines.last or None, "truncated", missing)

    def _read_comment(self, line: str) -> None:
        part = self.part
        if line.startswith("# ========"):
            self._in_header = not self._in_header
        elif match := _SAMPLES.match(line):
            part.event(match[1], match[2] or match[3])
            if match[4].strip(" ,"):
                part.report.parameter("filter", match[4].strip(" ,"))
        elif "." in line and (columns := columns_under(self._comment, line)):
            part.columns, self._comment, part.n_empty = columns, "", 0
        elif line.startswith("# (Tip:") or line.startswith("# (Cannot load tips"):
            part.has_tip = part.n_empty >= 2 or part.hotspots.n_rows == 0
        elif not self._in_header and _COLUMN_NAMES.match(line):
            # Without dots below it (-t), its separator tells the columns.
            self._comment = line
            part.columns = columns_between(line)
        elif match := _SETTING.match(line):
            self._read_setting(match[1], match[2].rstrip())

    def _read_setting(self, name: str, value: str) -> None:
        report, part = self.part.report, self.part
        if name.startswith("To display the perf.data header") or "info available" in name:
            return
        job = None
        if name.startswith("Event count") or name.lower() in ("total weight", "sort order"):
            job = part.event_name
        report.parameter(name, value, job=job)
        if name == "perf version":
            report.describe(tool_version=value)
        elif name == "cmdline":
            report.describe(command=value)
        elif name == "sample duration" and (match := re.fullmatch(r"(\d{1,15}\.\d+) ms", value)):
            report.describe(duration_s=units.seconds(float(match[1]), "ms"))

    def _read_other(self, line: str) -> bool:
        """Take a line that is neither comment nor row."""
        part = self.part
        if match := _TOP.match(line):
            self._read_screen(match)
        elif part.stats.take(line):
            part.has_figures = True
        elif _LOST.match(line):
            part.problem("lost_events", 1, printable(line))
        else:
            # Terminals draw the keys of perf top once it has nothing to show.
            keys = part.n_screens and re.match(r"\s*\[\w+\]|Mapped keys|Enter selection", line)
            return bool(_NO_ENTRY.match(line) or _RULE.match(line) or keys)
        return True

    def _read_screen(self, match: re.Match[str]) -> None:
        """Take perf top's line above its entries."""
        part = self.part
        part.end_table()
        part.n_screens += 1
        labels = json.dumps({"screen": str(part.n_screens)})

        def add(metric: str, value: float, unit: str | None) -> None:
            part.report.add("metric_series", metric=metric, value=value, unit=unit, labels=labels)

        add("irqs_per_s", float(match[1][:18]), "1/s")
        for name, share in re.findall(r"(kernel|exact|us|guest kernel|guest us): *(\d{1,3}\.\d)%", match[2]):
            add(f"{name.replace(' ', '_')}_ratio", round(float(share) * units.PERCENT, 6), "1")
        for name, now, total in re.findall(r"(lost|drop): *(\d{1,15})/(\d{1,15})", match[2]):
            add(f"n_{name}", float(now), None)
            add(f"n_{name}_total", float(total), None)
        if event := _TOP_EVENT.search(match[2]):
            part.events = [event[1]]
