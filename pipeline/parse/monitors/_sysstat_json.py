"""sysstat's JSON frame, read sample by sample: a monitor's document may be larger than the memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.parse._source import Source

_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_NO_NUMBER = re.compile(r"(:\s*)-?(?:nan|inf)\b")
_DECODER = json.JSONDecoder(parse_int=float)  # an integer of a million digits costs nothing as a float
_SAMPLE_BYTES = 64 << 20
_START = re.compile(r'\{\s*"sysstat"\s*:')
_FRAME = re.compile(r'"sysstat"\s*:\s*\{\s*"hosts"\s*:')


@dataclass
class Host:
    """One host of a document: what stands before its samples, and how the document ended."""

    before: str  # the text before its statistics, from the end of the last host's
    line: int  # of its statistics
    opens_with_empty_line: bool = False
    after: str = ""  # the text behind its statistics, up to the next host's
    is_closed: bool = False  # its statistics have their bracket
    is_last: bool = True  # of its document
    end: int = 0  # the line where its samples end


def has_frame(head: str) -> bool:
    """Whether the head has sysstat's frame."""
    return _FRAME.search(head) is not None


class Documents:
    """A stream of samples: ``hosts()`` gives each host, and ``samples(host)`` must be gone through before the next."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._blocks = source.blocks()
        self._text = ""
        self._position = 0
        self._line = 1
        self.is_read = False  # the file has ended

    def _more(self) -> bool:
        """Read on; False at the end. What was gone through is forgotten."""
        block = next(self._blocks, None)
        if block is None:
            self.is_read = True
            return False
        try:
            text = block.decode("utf-8")
        except UnicodeDecodeError:
            text = block.decode("latin-1")
        self._line += self._text.count("\n", 0, self._position)
        self._text = self._text[self._position :] + _NO_NUMBER.sub(r'\1"nan"', text)
        self._position = 0
        return True

    def line(self) -> int:
        """The line at the current place."""
        return self._line + self._text.count("\n", 0, self._position)

    def hosts(self) -> Iterator[Host]:
        """Each host in the file; ``after`` of the last one is known when the iterator ends."""
        last: Host | None = None
        while True:
            match = _STATISTICS.search(self._text, self._position)
            if match is None:
                if len(self._text) - self._position > _SAMPLE_BYTES:
                    raise self._source.error(self.line(), '"statistics"', "a long text without it")
                if self._more():
                    continue
                if last is not None:
                    last.after = self._text[self._position :]
                return
            before = self._text[self._position : match.start()]
            if last is not None:
                start = _START.search(before)
                last.after, last.is_last = before[: start.start()] if start else before, start is not None
            self._position = match.end()
            last = Host(before, self.line())
            ahead = self._text[self._position : self._position + 80]
            last.opens_with_empty_line = re.match(r"[ \t]*\n[ \t]*\n", ahead) is not None
            yield last

    def samples(self, host: Host) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each whole sample of the host with its line."""
        counted = self._position, self.line()
        while True:
            text, position = self._text, self._position
            while position < len(text) and text[position] in " \t\n\r,":
                position += 1
            if position < len(text) and text[position] == "]":
                self._position, host.is_closed = position + 1, True
                host.end = self.line()
                return
            try:
                entry, end = _DECODER.raw_decode(text, position)
            except (ValueError, RecursionError):
                self._position = position
                if not self._twice_as_much():
                    host.end = self.line()
                    return
                counted = 0, self._line
                continue
            line = counted[1] + text.count("\n", counted[0], position)
            counted = position, line
            self._position = end
            if isinstance(entry, dict):
                yield line, entry

    def _twice_as_much(self) -> bool:
        """Read on until the sample at hand has twice the text, so that many tries cost no more than one."""
        wanted = 2 * (len(self._text) - self._position)
        if wanted > _SAMPLE_BYTES or not self._more():
            return False
        while len(self._text) < wanted and self._more():
            pass
        return True


def damage_of(host: Host) -> str | None:
    """Why the document is not whole behind its last host; None when it is."""
    if not host.is_closed:
        return "a sample that does not end"
    if not host.is_last:
        return None
    closing = re.sub(r"\s+", "", _without_notes(host.after))
    return None if closing.startswith("}]}}") else "no closing brackets"


def _without_notes(after: str) -> str:
    """What stands behind the statistics without sadf's restarts and comments."""
    text = after.lstrip()
    while text.startswith(","):
        match = re.match(r',\s*"(?:restarts|comments)"\s*:\s*', text)
        if match is None:
            break
        try:
            _, end = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        text = text[end:].lstrip()
    return text


def notes_of(host: Host) -> Iterator[tuple[str, dict[str, Any]]]:
    """Restarts and comments behind the statistics: ``boot`` or ``comment``, and what it says."""
    text = host.after.lstrip()
    while match := re.match(r',\s*"(?:restarts|comments)"\s*:\s*', text):
        try:
            entries, end = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            return
        for entry in entries if isinstance(entries, list) else []:
            for kind, values in entry.items() if isinstance(entry, dict) else ():
                if isinstance(values, dict):
                    yield kind, values
        text = text[end:].lstrip()


def trailing_text(host: Host) -> str:
    """What stands behind the document's end."""
    text = re.sub(r"^[\s}\]]*", "", _without_notes(host.after))
    return text[:80]
