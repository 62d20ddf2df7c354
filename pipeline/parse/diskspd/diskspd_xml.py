"""DISKSPD's XML report (``-Rxml``).

Grammar
    ``<Results>``, mostly without a declaration: ``System`` (tool, start, processors), ``Profile`` with the settings
    of each ``TimeSpan`` and its targets; then a ``TimeSpan`` of results each: ``TestTimeSeconds``,
    ``CpuUtilization``, ``Latency`` (averages, a ``Bucket`` a percentile, in ms), ``Iops`` (with -D a ``Bucket`` an
    interval: operations a second, and latencies in ms), and each ``Thread`` with its ``Target``: counts, averages.
Versions
    2.0.18a–2.2 by their source code, samples of 2.0.21a and 2.2.
Traps
    ``TimeSpan`` stands in the profile too, and ``Thread`` in ``ETW``. Latencies of a direction without I/O are absent,
    or 0.000 in the buckets of -D. 2.2 does not escape ``<unknown>`` in an attribute, and no version escapes a path.
    ``SampleMillisecond`` is the interval's end. There is no command line.
    Ctrl-C is told as in diskspd_text, before ``<Results>``.
Sample
    tests/parse/diskspd_xml/
Gives
    operations: scope job = thread × target (job = the thread's id) for read, write (those with I/O) and total;
    rates are counts by TestTimeSeconds, as Microsoft's Process-DiskSpd.ps1 takes them. DISKSPD totals only latencies
    here: latency_summary and latency_percentiles have scope total. throughput_series and latency_series of -D: of all
    together, and of each thread and target; time zero is the start of the first timespan's measurement.
    queue_depth, cpu_usage, IopsStdDev, ETW counters, wait statistics and intervals as in diskspd_text; metric_series
    ``interval_latency_s`` with the statistic min and stddev of the intervals of -D (reads and writes alone);
    parameters by the elements' names, with the sizes of the targets and their effective distributions.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.diskspd import _diskspd_rows as rows
from pipeline.parse.diskspd._diskspd_checks import add_stopped, check_length
from pipeline.parse.diskspd._diskspd_extras import Extras
from pipeline.parse.diskspd._diskspd_markup import (
    DECLARES,
    ROOT,
    Document,
    check_document,
    check_result,
    documents,
    settings_in,
)
from pipeline.parse.diskspd._diskspd_rows import Measured, Notes, Settings, Span, Target
from pipeline.parse.diskspd._diskspd_series import OPS, Series

EXPECTED = "DISKSPD's XML: `<Results>` with `<System>`, `<Profile>` and `<TimeSpan>`"
FORM = "XML (-Rxml)"
VERSIONS = "2.0.18a – 2.2"
NOT_READ = "a profile without results (-Rp)"
UNSEEN_CUTS = "between two reports in one file"

_RECOGNISED = re.compile(
    r"<Results>\s*<(?:System|Profile|TimeSpan)>|<Profile>\s*<Progress>|<(?:ThreadsPerFile|TestTimeSeconds)>"
)
_CPU = {"UsagePercent": "busy", "UserPercent": "user", "KernelPercent": "kernel", "IdlePercent": "idle"}
_PLACES = {"Id": "cpu", "Socket": "socket", "Node": "node", "Group": "group", "Core": "core"}


def recognise(head: str) -> bool:
    """Whether the first 64 KiB are of DISKSPD's XML: results, or a profile alone."""
    return _RECOGNISED.search(head) is not None


def parse(source: Source) -> list[Report]:
    """Return the reports in the file; ParseError on a profile without results, a DOCTYPE, or no element at all."""
    text = source.text
    if declared := DECLARES.search(text):
        line = text.count("\n", 0, declared.start()) + 1
        raise source.error(line, "no declarations, as DISKSPD writes none", text[declared.start() :])
    found = [document for document in documents(text) if document.root is not None and len(document.root)]
    if not found:
        is_profile = "<Profile>" in text and not ROOT.search(text)
        raise source.error(1, EXPECTED, "a profile without results (-Rp)" if is_profile else text or "an empty file")
    return [_Reader(source, document).read() for document in found]


class _Reader:
    """Turns a document into a report."""

    def __init__(self, source: Source, document: Document) -> None:
        self.document = document
        self.notes = Notes()
        version = document.text(document.root, "System", "Tool", "Version")
        started = rows.started_at(document.text(document.root, "System", "RunTime"))
        self.report = Report(rows.TOOL, source, tool_version=version, started_at=started)
        planned = document.one(document.root, "Profile", "TimeSpans")
        self.plans = planned.findall("TimeSpan") if planned is not None else []
        self.settings = [self._settings_of(plan) for plan in self.plans]
        self.results = document.root.findall("TimeSpan") if document.root is not None else []
        seconds = [rows.number(document.text(result, "TestTimeSeconds")) for result in self.results]
        self.spans = rows.lay_out(self.settings, seconds)
        if any(seconds):
            self.report.describe(duration_s=sum(filter(None, seconds)))

    def read(self) -> Report:
        """Return the report."""
        self._add_parameters()
        for position, (result, span) in enumerate(zip(self.results, self.spans, strict=True)):
            settings = self.settings[position] if position < len(self.settings) else Settings()
            self._add_cpus(result, span)
            self._add_latency(result, span)
            series = Series(self.report, self.document, self.notes, span, settings)
            series.add(result, None, None)
            extras = Extras(self.report, span, self.notes)
            extras.add_etw_elements(result)
            for thread in result.findall("Thread"):
                for target in self.document.all(thread, "Target"):
                    self._add_target(target, span, settings, self.document.text(thread, "Id"))
                    series.add(target, self.document.text(thread, "Id"), self.document.text(target, "Path"))
                extras.add_wait_elements(thread, self.document.text(thread, "Id"))
            self._add_targets(result, rows.prefix(position + 1, max(len(self.plans), len(self.results))))
            check_length(settings, span.seconds, self.notes, None)
            check_result(self.document, result, settings, self.notes)
        add_stopped(self.document.stopped, self.notes)
        check_document(self.document, len(self.settings), len(self.results), self.notes)
        self.notes.write(self.report)
        return self.report

    def _settings_of(self, plan: Element) -> Settings:
        text, pool = self.document.text, rows.count(self.document.text(plan, "ThreadCount"))
        targets = [
            Target(
                text(target, "Path") or "",
                rows.count(text(target, "BlockSize")),
                rows.count(text(target, "RequestCount")),
                None if pool else rows.count(text(target, "ThreadsPerFile")),
            )
            for target in plan.findall("Targets/Target")
        ]
        return Settings(
            duration_s=rows.number(text(plan, "Duration")),
            warm_up_s=rows.number(text(plan, "Warmup")) or 0.0,
            cool_down_s=rows.number(text(plan, "Cooldown")) or 0.0,
            measures_latency=text(plan, "MeasureLatency") == "true",
            pool_threads=pool or None,
            pool_requests=rows.count(text(plan, "RequestCount")),
            gathers_iops=text(plan, "CalculateIopsStdDev") == "true",
            bucket_s=rows.milliseconds(text(plan, "IoBucketDuration")),
            targets=targets,
        )

    def _number(self, parent: Element | None, name: str) -> float | None:
        text = self.document.text(parent, name)
        value = rows.number(text)
        if value is None and text is not None:
            self.notes.add_bad_number(None, name, text)
        return value

    def _seconds(self, parent: Element | None, name: str) -> float | None:
        value = self._number(parent, name)
        return None if value is None else value * units.MILLI

    def _add_parameters(self) -> None:
        found: list[tuple[str, str]] = []
        for part in ("System", "Profile"):
            if (element := self.document.one(self.document.root, part)) is not None:
                found += settings_in(element, self.document)
        n_timespans = max(len(self.plans), len(self.results))
        for timespan, plan in enumerate(self.plans, 1):
            found += settings_in(plan, self.document, rows.prefix(timespan, n_timespans))
            for number, target in enumerate(plan.findall("Targets/Target"), 1):
                found += settings_in(target, self.document, rows.prefix(timespan, n_timespans, number))
        for name, value in found:
            self.report.parameter(name, value)

    def _add_targets(self, result: Element, lead: str) -> None:
        """Add what DISKSPD found of the targets: sizes in bytes, and how it spread the operations (-rd)."""
        for path, size in {
            self.document.text(target, "Path"): self.document.text(target, "FileSize")
            for target in result.iterfind("Thread/Target")
        }.items():
            if path and size:
                self.report.parameter(f"{lead}size of {path}", size)
        for thread in result.findall("Thread"):
            for target in thread.findall("Target"):
                ranges = [(part.get("IO"), part.text) for part in target.iterfind("Distribution/Absolute/Range")]
                if ranges:
                    words = "; ".join(f"IO {share}: {length} bytes" for share, length in ranges)
                    path, job = self.document.text(target, "Path"), self.document.text(thread, "Id")
                    self.report.parameter(f"{lead}effective IO distribution of {path}", words, job)

    def _add_cpus(self, result: Element, span: Span) -> None:
        usage = self.document.one(result, "CpuUtilization")
        for cpu in [*self.document.all(usage, "CPU"), *self.document.all(usage, "Average")]:
            words = {child.tag: (child.text or "").strip() for child in cpu}
            labels = {"cpu": "all"} | {column: words[name] for name, column in _PLACES.items() if name in words}
            percent = {column: words[name] for name, column in _CPU.items() if name in words}
            rows.add_cpu(self.report, span, labels, percent, self.notes, line=None)
            if words.get("EfficiencyClass", "0") != "0":
                self.report.parameter(
                    f"class of cpu {words.get('Group', '0')}/{labels['cpu']}", words["EfficiencyClass"]
                )

    def _add_latency(self, result: Element, span: Span) -> None:
        """Add what DISKSPD totals: percentiles, and means with the extremes from the percentiles 0 and 100."""
        latency = self.document.one(result, "Latency")
        extremes: dict[float, rows.Directions] = {}
        for bucket in self.document.all(latency, "Bucket"):
            percentile = self._number(bucket, "Percentile")
            values = {op: self._seconds(bucket, f"{names.word}Milliseconds") for op, names in OPS.items()}
            if percentile is not None and percentile <= 100:
                rows.add_percentile(self.report, span, percentile, values, None)
                extremes[percentile] = values
        for op, names in OPS.items():
            measured = Measured(
                op,
                mean_s=self._seconds(latency, names.mean_of_all),
                stddev_s=self._seconds(latency, names.stddev),
                min_s=extremes.get(0.0, {}).get(op),
                max_s=extremes.get(100.0, {}).get(op),
                iops_stddev=self._number(self.document.one(result, "Iops"), names.iops_stddev),
            )
            rows.add_summary(self.report, span, measured)

    def _add_target(self, target: Element, span: Span, settings: Settings, job: str | None) -> None:
        """Add what a thread did on a target."""
        text, path = self.document.text, self.document.text(target, "Path")
        counts = {op: rows.count(text(target, names.n_ops)) for op, names in OPS.items()}
        if counts["total"] is None or counts["total"] != (counts["read"] or 0) + (counts["write"] or 0):
            message = f"expected IOCount = ReadCount + WriteCount of thread {job}, found {counts}"
            self.notes.add(None, "counts_disagree", message, is_damage=True)
        for op, names in OPS.items():
            n_ops, n_bytes = counts[op], rows.count(text(target, names.n_bytes))
            if not n_ops and op != "total":
                continue
            measured = Measured(
                op, "job", job, path, n_ops, n_bytes,
                ops_per_s=n_ops / span.seconds if n_ops is not None and span.seconds else None,
                bytes_per_s=n_bytes / span.seconds if n_bytes is not None and span.seconds else None,
                mean_s=self._seconds(target, names.mean),
                stddev_s=self._seconds(target, names.stddev),
                iops_stddev=self._number(self.document.one(target, "Iops"), names.iops_stddev),
            )  # fmt: skip
            rows.add_operation(self.report, span, measured, settings.depth(path), settings.block_size(path))
