"""DISKSPD's XML as elements, however it was damaged: cut, surrounded by other text, or ill-formed by DISKSPD itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from pipeline.parse.diskspd._diskspd_rows import CTRL_C, Notes, Settings, count

ROOT = re.compile(r"<Results(?=[\s>])")
DECLARES = re.compile(r"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST)", re.IGNORECASE)
_END = "</Results>"
_KNOWN = {"TestTimeSeconds", "ThreadCount", "RequestCount", "ProcCount", "CpuUtilization", "Latency", "Iops", "ETW",
          "ETWSessionInfo", "Thread", "Error"}  # fmt: skip
_OF_THREAD = {"Id", "Target", "WaitStatistics"}
_MOST_NESTED = 8
_VALUE = re.compile(r'="([^"\n]*)"')
_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")


@dataclass
class Document:
    """A ``<Results>`` document: its root as far as it could be read, and what is wrong with it."""

    first_line: int
    last_line: int
    root: Element | None = None
    is_closed: bool = False
    error: tuple[int, str] | None = None  # line and what the parser said
    repaired: tuple[int, str] | None = None  # line and the text as it was
    stopped: tuple[int, str] | None = None  # the line before it that tells of Ctrl-C
    _open: set[int] = field(default_factory=set)

    def all(self, parent: Element | None, name: str) -> list[Element]:
        """Children of that name which are there in full."""
        return [child for child in (parent if parent is not None else ()) if child.tag == name and self.has_end(child)]

    def one(self, parent: Element | None, *names: str) -> Element | None:
        """The first child, grandchild … by name, whether it is there in full or cut."""
        for name in names:
            parent = None if parent is None else parent.find(name)
        return parent

    def text(self, parent: Element | None, *names: str) -> str | None:
        """The text of a descendant that is there in full."""
        element = self.one(parent, *names)
        return (element.text or "").strip() if element is not None and self.has_end(element) else None

    def has_end(self, element: Element) -> bool:
        """Whether the element's end tag was read."""
        return id(element) not in self._open


def documents(text: str) -> list[Document]:
    """The documents in a text, in their order; what stands before, between and behind is passed over.

    Only that Ctrl-C stopped a run, which is said before its document, is kept.
    """
    starts = [match.start() for match in ROOT.finditer(text)]
    found: list[Document] = []
    passed = 0
    line = 1 + text.count("\n", 0, starts[0]) if starts else 1
    for start, limit in pairwise([*starts, len(text)]):
        end = text.find(_END, start, limit)
        found.append(_read(text[start : end + len(_END)] if end >= 0 else text[start:limit], line))
        found[-1].stopped = _stopped(text, passed, start)
        passed = end + len(_END) if end >= 0 else start
        line += text.count("\n", start, limit)
    if found and not found[-1].stopped:  # what no document follows is told of the last one
        found[-1].stopped = _stopped(text, passed, len(text))
    return found


def _stopped(text: str, start: int, end: int) -> tuple[int, str] | None:
    """Line and text of the words that tell of Ctrl-C in a part of the text."""
    match = CTRL_C.search(text, start, end)
    return (text.count("\n", 0, match.start(1)) + 1, match[1]) if match else None


def settings_in(element: Element, document: Document, lead: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Names and values of the leaves below an element; a leaf without text has its attributes as value.

    What lies in ``TimeSpans`` or ``Targets`` is left to the caller, who numbers them.
    """
    for child in element:
        if child.tag in ("TimeSpans", "Targets") or depth > _MOST_NESTED:
            continue
        if len(child):
            yield from settings_in(child, document, f"{lead}{child.tag}/", depth + 1)
        if document.has_end(child) and (child.attrib or not len(child)):
            words = [f"{name}={value}" for name, value in child.attrib.items()] + [(child.text or "").strip()]
            yield lead + child.tag, " ".join(filter(None, words))


def _read(piece: str, first_line: int) -> Document:
    document = Document(first_line, first_line + piece.rstrip().count("\n"))
    lines = piece.split("\n")
    for index, line in enumerate(lines):
        fixed = _AMPERSAND.sub("&amp;", line)
        if "=" in fixed:
            fixed = _VALUE.sub(lambda match: '="' + match[1].replace("<", "&lt;") + '"', fixed)
        if fixed != line and document.repaired is None:
            document.repaired = (first_line + index, line.strip())
        lines[index] = fixed
    parser: Any = XMLPullParser(["start", "end"])  # the caller has refused declarations, and so any entity
    stack: list[Element] = []
    try:
        parser.feed("\n".join(lines))
        for event, element in parser.read_events():
            if event == "start":
                stack.append(element)
                document.root = element if document.root is None else document.root
            else:
                stack.pop()
    except ParseError as error:
        document.error = (first_line + error.position[0] - 1, str(error))
    document._open = {id(element) for element in stack}
    document.is_closed = document.root is not None and not stack
    return document


def check_result(document: Document, result: Element, settings: Settings, notes: Notes) -> None:
    """Note what a timespan's results lack."""
    if error := document.text(result, "Error"):
        notes.add(None, "interrupted", f"expected results, found {error!r}", is_damage=True)
        return
    needed = ["TestTimeSeconds", "CpuUtilization", "Thread"]
    needed += ["Latency"] if settings.measures_latency else []
    needed += ["Iops"] if settings.gathers_iops else []
    missing = [name for name in needed if document.one(result, name) is None]
    n_threads, expected = len(result.findall("Thread")), count(document.text(result, "ThreadCount"))
    if missing:
        notes.add(None, "truncated", f"expected <{missing[0]}> in <TimeSpan>, found none", is_damage=True)
    elif expected is not None and expected != n_threads:
        notes.add(None, "rows_missing", f"expected {expected} threads, found {n_threads}", is_damage=True)
    unknown = [child.tag for child in result if child.tag not in _KNOWN]
    unknown += [f"Thread/{child.tag}" for child in result.iterfind("Thread/*") if child.tag not in _OF_THREAD]
    if unknown:
        message = f"expected only what this reader knows, found <{unknown[0][:60]}>"
        notes.add(None, "unread_elements", message + (f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""))


def check_document(document: Document, n_settings: int, n_results: int, notes: Notes) -> None:
    """Note what the document lacks as a whole."""
    if document.repaired:
        line, text = document.repaired
        notes.add(line, "ill_formed_xml", f"expected < and & escaped, found {text[:80]!r}; read as meant")
    if document.error:
        line, text = document.error
        notes.add(
            line, "damaged_xml", f"expected XML to the end, found {text}; what stands before is read", is_damage=True
        )
    elif not document.is_closed:
        notes.add(document.last_line, "truncated", "expected </Results>, found the end of the file", is_damage=True)
    elif n_settings != n_results or not n_results:
        message = f"expected results of {max(n_settings, 1)} timespans, found {n_results}"
        notes.add(document.last_line, "truncated", message, is_damage=True)
