"""Private to ``fio_json``: what stands around the documents – messages, banners, terse and normal reports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.parse._report import Report
from pipeline.parse.fio._fio_json_jobs import DIRECTIONS, jobs_of
from pipeline.parse.fio._fio_json_runs import Run
from pipeline.parse.fio._fio_json_text import Document

# Printed around a report without a figure in it.
_BANNER = re.compile(
    r"^[>\s,\[\]]*$|: \(g=\d+\): rw=|^fio[- ]\d\S*$|^Starting \d|^\.\.\.$|: Laying out IO file|^Jobs: \d+ \(f="
    r"|hostname=.*, be=|: ioengine=cpu"
)
_CLIENT = re.compile(r"^<[^<>\n]*> ")
_MESSAGE = re.compile(
    r"^(?:fio|note|warn\w*|error|hint)\b|\berr(?:or)?[=: ]|\bfailed\b|\bkilled\b|(?:Expected|Received) CRC",
    re.IGNORECASE,
)
_SIGNAL = re.compile(r"terminating on signal")
_TERSE = re.compile(r"^[2-5];")
_HEADER = re.compile(r"^\S.*: (?:\(g=\d+\): rw=|ioengine=cpu)", re.MULTILINE)
_STARTED = re.compile(r"^(?:fio[- ]\d|Starting \d)", re.MULTILINE)
_NORMAL = re.compile(r"^.*: \(groupid=\d+, jobs=\d+\): err=|^Run status group ")  # no job block where none ran
_NORMAL_END = re.compile(
    r"(?:run=\d+-\d+msec|maxt=\d+msec|util=\d+(?:\.\d+)?%|unit work: mean=\d+\.\d\dus, stddev=\d+\.\d\d)\s*$"
)
_GROUP = re.compile(r"^Run status group (\d{1,9}) \(all jobs\):\s*$")


def note_text(report: Report, run: Run) -> bool:
    """Warn of messages and of text that is not read; return whether a signal ended the run."""
    messages: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    repeats: list[tuple[int, str]] = []
    was_stopped = False
    for number, line in _lines(run.texts):
        text = _CLIENT.sub("", line)
        if _SIGNAL.search(text):
            was_stopped = True
            report.incomplete(number, "interrupted", f"expected a run that ends by itself, found {_short(text)!r}")
        elif (
            _TERSE.match(text)
            or _NORMAL.match(text)
            or (repeats and text.startswith((" ", "Disk stats", "CPU idleness")))
        ):
            repeats.append((number, text))
        elif _BANNER.search(text):
            continue
        else:
            (messages if _MESSAGE.search(text) else others).append((number, text))
    _warn(report, messages, "message", "fio printed")
    _warn(report, others, "not_read", "expected nothing beside the JSON, found")
    _warn(report, repeats, "other_format", "not read, the JSON holds the same results: terse or normal report")
    return was_stopped


def note_torn_end(report: Report, run: Run, after: str, after_line: int) -> None:
    """Mark the report incomplete where a normal report has to follow the JSON and does not, or ends early."""
    before = run.texts[0][1]
    lines = [line for line in after.split("\n") if line.strip()]
    if any(_NORMAL.match(line) for line in lines):
        is_whole = _is_end(lines[-1], run.last) and any(line.startswith("Run status") for line in lines)
    else:
        # A job's header is also printed where --output-format=json stands behind it on the command line; the version
        # and the start only where a normal report is to come. A server's come through its client.
        is_announced = _HEADER.search(before) and _STARTED.search(before)
        is_followed = is_announced and not any(_NORMAL.match(line) for line in before.split("\n"))
        is_whole = "client_stats" in run.last.value or not is_followed
    if not is_whole:
        found = f"found {_short(lines[-1])!r}" if lines else "found the end of the file"
        line = after_line + after.rstrip().count("\n")
        report.incomplete(line, "truncated", f"expected the end of the normal report behind the JSON, {found}")


def _is_end(line: str, document: Document) -> bool:
    """Whether a normal report may end with the line: with a group's title only where nothing ran in the last group."""
    match = _GROUP.match(line)
    if match is None:
        return _NORMAL_END.search(line) is not None
    number = int(match[1])
    rest = [job for job in jobs_of(document) if job.entry.get("groupid") not in range(number)]
    has_run = any((job.direction(op) or {}).get("runtime") for job in rest for op in DIRECTIONS)
    return not has_run and all(job.entry.get("groupid") == number for job in rest)


def _lines(texts: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            if line.strip():
                yield number, line


def _warn(report: Report, found: list[tuple[int, str]], code: str, message: str) -> None:
    if found:
        number, text = found[0]
        more = f" and {len(found) - 1} more lines" if len(found) > 1 else ""
        report.warn(number, code, f"{message} {_short(text)!r}{more}")


def _short(text: str) -> str:
    line = "".join(char if char.isprintable() else "�" for char in text.strip())
    return line if len(line) <= 120 else line[:119] + "…"
