"""Private to ``fio_json``: reads what can be read of a document that is cut, or that something was written into."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r'(?P<space>\s+)|"(?P<string>[^"\\\n]*(?:\\.[^"\\\n]*)*)"'
    r"|(?P<value>-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|-?(?:nan|inf|NaN|Infinity)|null|true|false)(?=[\s,\]}])"
    r'|(?P<mark>[{}\[\]:,])|(?P<junk>"[^\n]*|[^\s"{}\[\]:,]+)'
)
_WORDS = {"null": None, "true": True, "false": False}


@dataclass
class _Open:
    """A bracket that is still open; ``items`` are values, or pairs of key and value."""

    is_object: bool
    name: str | None  # the key under which it stands
    items: list[Any] = field(default_factory=list)
    key: str | None = None
    has_colon: bool = False
    on_new_line: bool = False


class Recovery:
    """Reads what can be read of a document that is cut, or that something was written into."""

    def __init__(self, to_object: Any, max_depth: int) -> None:
        self.to_object, self.max_depth = to_object, max_depth
        self.stack: list[_Open] = []
        self.root: Any = None
        self.is_cut = False
        self.n_skipped = 0
        self.is_open_ended = False  # a value came last: a comma or the end of its bracket has to follow

    def read(self, text: str) -> tuple[dict[str, Any], int]:
        """Return the content of the document with which the text begins, and where it ends."""
        position, limit, begins_line = 0, len(text), False
        while position < limit:
            match = _TOKEN.match(text, position, limit)
            if match is None:  # cannot be: the tokens cover every character
                break
            position = match.end()
            if match.lastgroup == "junk" and begins_line:  # a message on a line of its own
                line_end = text.find("\n", position, limit)
                position = line_end if line_end >= 0 else limit
            begins_line = match.lastgroup == "space" and "\n" in match[0]
            self._take(match)
            if self.root is not None:
                return self.root, position
        self.is_cut = True
        while self.stack:
            # Half a histogram would shift every percentile that is read from it.
            self._close(keep=self.stack[-1].name != "bins")
        return self.root, limit

    def _take(self, match: re.Match[str]) -> None:
        kind, text = match.lastgroup, match[0]
        top = self.stack[-1] if self.stack else None
        if kind == "space":
            if top and "\n" in text:
                top.on_new_line = True
            return
        if self.is_open_ended and top and text not in (",", "}", "]"):
            top.items.pop()  # a value that something broke in two
            self.n_skipped += 1
        self.is_open_ended = kind in ("string", "value") and self._takes_value(top)
        if kind == "mark" and text in "{[":
            self._open(text == "{", top)
        elif kind == "mark" and text in "}]":
            self._close_as(text == "}")
        elif top and kind == "mark":
            self._separate(text, top)
        elif top and self.is_open_ended:
            self._add(_unescaped(match["string"]) if kind == "string" else number_of(text), top)
        elif top and kind == "string" and top.is_object and not top.has_colon:
            self.n_skipped += top.key is not None
            top.key = _unescaped(match["string"])
        else:
            self.n_skipped += 1

    @staticmethod
    def _takes_value(top: _Open | None) -> bool:
        return top is not None and (not top.is_object or (top.has_colon and not top.on_new_line))

    def _open(self, is_object: bool, top: _Open | None) -> None:
        if top is not None and top.is_object and not top.has_colon:
            self.n_skipped += 1
            return
        if len(self.stack) >= self.max_depth:
            raise RecursionError
        self.stack.append(_Open(is_object, top.key if top else None))

    def _separate(self, text: str, top: _Open) -> None:
        if text == ":" and top.key is not None and not top.has_colon:
            top.has_colon, top.on_new_line = True, False
        elif text == ":" or top.key is not None:  # a colon without a key, or a key without a value
            self.n_skipped += 1
            top.key, top.has_colon = None, False

    def _close_as(self, is_object: bool) -> None:
        if all(frame.is_object != is_object for frame in self.stack):
            self.n_skipped += 1
            return
        while self.stack[-1].is_object != is_object:
            self.n_skipped += 1
            self._close()
        self._close()

    def _close(self, *, keep: bool = True) -> None:
        frame = self.stack.pop()
        value = self.to_object(frame.items) if frame.is_object else frame.items
        if not self.stack:
            self.root = value
        elif keep:
            self._add(value, self.stack[-1])
        else:
            self.stack[-1].key, self.stack[-1].has_colon = None, False

    def _add(self, value: Any, top: _Open) -> None:
        top.items.append((top.key, value) if top.is_object else value)
        top.key, top.has_colon = None, False


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:  # a path of Windows that was not escaped
        return text


def number_of(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text.lstrip("-").isdigit() and len(text) < 20:
        return int(text)
    return float(text)  # also nan and inf, which fio prints for a division by zero
