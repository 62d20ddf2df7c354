"""The lines of a perf log, one after the other: without terminal escapes, and without a last one that is torn."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from pipeline.parse._source import Source

_ESCAPES = re.compile(r"\x1b(?:\[[\d;?]*[A-Za-z]|[()][0-9A-Za-z]|[78=>])")


class Lines:
    """Yields (number, text) from 1 on; behind the end, ``torn`` is the last line if no line feed ends it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.torn: tuple[int, str] | None = None
        self.last = 0  # number of the last whole line

    def __iter__(self) -> Iterator[tuple[int, str]]:
        held: tuple[int, str] | None = None
        for number, line in self.source.numbered_lines():
            if held is not None:
                self.last = held[0]
                yield held
            held = number, without_escapes(line)
        if held is not None and self.source.ends_with_newline:
            self.last = held[0]
            yield held
        else:
            self.torn = held


class Ahead:
    """Lines one after the other, with a look at those that follow."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._numbered = source.numbered_lines()
        self._next: deque[str] = deque()

    def peek(self, n: int) -> str | None:
        """Return the line ``n`` lines ahead; None behind the end."""
        while len(self._next) <= n:
            numbered = next(self._numbered, None)
            if numbered is None:
                return None
            self._next.append(without_escapes(numbered[1]))
        return self._next[n]

    def skip(self, n: int) -> None:
        """Go on by ``n`` lines that were looked at."""
        for _ in range(n):
            self._next.popleft()

    @property
    def is_torn(self) -> bool:
        """Whether the file ends within the line before."""
        return self.peek(0) is None and not self._source.ends_with_newline


def without_escapes(line: str) -> str:
    """Remove what only a terminal understands."""
    return _ESCAPES.sub("", line) if "\x1b" in line else line


def printable(text: str, limit: int = 80) -> str:
    """The beginning of a line, for a message."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text.strip()[:limit])
