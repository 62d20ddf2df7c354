"""DISKSPD's ETW counters (-e…) and wait statistics (-vs) as metrics, of the text report and of the XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from pipeline.parse._report import Report
from pipeline.parse.diskspd._diskspd_rows import Notes, Span, count

EVENTS, SESSION = "etw_events", "etw_session"
_COUNT = re.compile(r"([A-Za-z][\w /-]{0,60}):\s*(\d{1,19})", re.ASCII)
_GROUP = re.compile(r"[A-Z][A-Za-z /]{0,40}")
_SESSION = {
    "allocated buffers": "AllocatedBuffers", "lost events": "LostEvents", "lost log buffers": "LostLogBuffers",
    "lost real time buffers": "LostRealTimeBuffers",
}  # fmt: skip
_BUFFERS = ("BufferSizeKB", "MinimimBuffers", "MaximumBuffers", "FreeBuffers", "BuffersWritten", "FlushTimerSeconds",
            "AgeLimitMinutes")  # fmt: skip
_SETTINGS = {"BufferSizeKB", "MinimimBuffers", "MaximumBuffers", "FlushTimerSeconds", "AgeLimitMinutes"}
_BUFFER_ROW = re.compile(r"(-?\d{1,10})(?:\s+(-?\d{1,10})){6}")
_HEADINGS = ("ETW Buffer Settings", "(KB)", "Size ")
_WAITS = ("completion_waits", "throttle_waits", "throttle_sleeps", "lookasides")
_WAIT_ROW = re.compile(
    r"(\d{1,9}) \|\s+(\d{1,20}) \|\s+(\d{1,20})\s+-\s+(\d{1,20}) \|\s+(\d{1,20}) \|((?: \d{1,20}){8})"
)
_ELEMENTS = ("CompletionWait", "ThrottleWait", "ThrottleSleep", "Lookaside")


@dataclass(frozen=True)
class Extras:
    """Adds the metrics of one timespan."""

    report: Report
    span: Span
    notes: Notes

    def add_etw_lines(self, lines: Iterable[tuple[int, str]]) -> None:
        """Add the counters of an ``ETW:`` section; ``lines`` are its lines with their numbers, stripped."""
        group = None
        for number, line in lines:
            if match := _COUNT.fullmatch(line):
                name = _SESSION.get(match[1].lower())
                labels: dict[str, str | None] = {"name": name} if name else {"event": match[1], "group": group}
                self._add(SESSION if name else EVENTS, labels, match[2], number)
            elif _BUFFER_ROW.fullmatch(line):
                self._add_session(zip(_BUFFERS, line.split(), strict=True), number)
            elif line.startswith(_HEADINGS):
                group = None
            elif _GROUP.fullmatch(line):
                group = line
            else:
                self.notes.add(number, "unread_lines", f"expected a counter of ETW, found {line[:80]!r}")

    def add_etw_elements(self, result: Element) -> None:
        """Add the counters of ``<ETW>`` and ``<ETWSessionInfo>``."""
        for child in result.iterfind("ETW/*"):
            for leaf in child if len(child) else (child,):
                labels = {"event": leaf.tag, "group": child.tag if len(child) else None}
                self._add(EVENTS, labels, (leaf.text or "").strip(), None)
        self._add_session(((leaf.tag, (leaf.text or "").strip()) for leaf in result.iterfind("ETWSessionInfo/*")), None)

    def add_wait_lines(self, lines: Iterable[tuple[int, str]]) -> None:
        """Add the rows of ``Wait Statistics``."""
        for number, line in lines:
            if match := _WAIT_ROW.fullmatch(line):
                waits = dict(zip(_WAITS, match.groups()[1:5], strict=True))
                self._add_waits(match[1], waits, match[6].split(), number)
            elif not line.startswith("thread |"):
                message = f"expected a thread's waits, found {line[:80]!r}"
                self.notes.add(number, "unread_lines", message, is_damage=True)

    def add_wait_elements(self, thread: Element, job: str | None) -> None:
        """Add ``<WaitStatistics>`` of a thread."""
        for element in thread.iterfind("WaitStatistics"):
            words = {leaf.tag: (leaf.text or "").strip() for leaf in element}
            waits = {name: words[tag] for name, tag in zip(_WAITS, _ELEMENTS, strict=True) if tag in words}
            self._add_waits(job, waits, words.get("LookasideCompletion", "").split(), None)

    def _add_waits(self, job: str | None, waits: dict[str, str], completed: list[str], line: int | None) -> None:
        for metric, text in waits.items():
            self._add(metric, {"job": job}, text, line)
        for number, text in enumerate(completed[:8]):  # lookasides that completed so many operations at once
            label = "7+" if number == 7 else str(number)
            self._add("lookaside_completions", {"completed": label, "job": job}, text, line)

    def _add_session(self, words: Iterator[tuple[str, str]], line: int | None) -> None:
        for name, text in words:
            if name in _SETTINGS:
                self.report.parameter(f"ETWSessionInfo/{name}", text)
            else:
                self._add(SESSION, {"name": name}, text, line)

    def _add(self, metric: str, labels: dict[str, str | None], text: str, line: int | None) -> None:
        value = count(text)
        if value is None:
            self.notes.add_bad_number(line, metric, text)
            return
        known = {name: label for name, label in labels.items() if label is not None}
        self.report.add(
            "metric_series", metric=metric, labels=json.dumps(known, sort_keys=True, ensure_ascii=False),
            time_s=None if self.span.is_only else self.span.end_s, value=float(value), unit="1",
        )  # fmt: skip
