"""Private to ``fio_json``: the JSON documents in a file, wherever they stand in it, each with its line and its damage.

A whole document is read by the standard library. One that it refuses is read again token by token: brackets that are
left open at a cut are closed after the last complete value, what is no JSON is skipped and counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.parse._source import Source

# Whatever key a tool that sorts keys may have put first; fio itself begins with its version.
START = re.compile(r'\{\s*+"(?:fio version|client_stats|cpu_idleness|disk_util|global options|jobs)"\s*+:')
_BEGINNING = re.compile(r'\{\s*+(?:"[a-z _]*+"?+\s*+:?+)?\s*+\Z')
PADDING = "0.00"  # to 3.3 fio fills the list of percentiles up to 20 entries with this key
MAX_DEPTH = 100

_TOKEN = re.compile(
    r'(?P<space>\s++)|"(?P<string>[^"\\\n]*+(?:\\.[^"\\\n]*+)*)"'
    r"|(?P<value>-?\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?|-?(?:nan|inf|NaN|Infinity)|null|true|false)(?=[\s,\]}])"
    r'|(?P<mark>[{}\[\]:,])|(?P<junk>"[^\n]*+|[^\s"{}\[\]:,]++)'
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MARKS = {"fio version", "jobs", "client_stats"}
_WORDS = {"null": None, "true": True, "false": False}


class Repeated(dict[str, Any]):
    """An object in which a key occurs more than once: as a dictionary the last one counts, ``pairs`` has them all."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    @property
    def names(self) -> set[str]:
        """The keys that occur more than once."""
        return {key for key, count in Counter(key for key, _ in self.pairs).items() if count > 1}


@dataclass
class Document:
    """A document: its content, where it stands, and what is wrong with it."""

    value: dict[str, Any]
    start: int
    end: int
    first_line: int
    last_line: int
    before: str  # the text between the previous document and this one
    is_cut: bool = False
    n_skipped: int = 0
    repeated: set[str] = field(default_factory=set)


def documents(source: Source) -> Iterator[Document]:
    """Yield the documents of the file in their order; ParseError on one that is nested too deep."""
    text, end, line = source.text, 0, 1
    has_surrogates = _SURROGATE.search(text) is not None
    match = START.search(text)
    while match:
        start = match.start()
        first_line = line + text.count("\n", end, start)
        following = START.search(text, match.end())
        try:
            found = _read(text, start, following, has_surrogates=has_surrogates)
        except RecursionError as error:
            raise source.error(first_line, f"at most {MAX_DEPTH} nested brackets", "more") from error
        match = START.search(text, found.end)
        if not found.is_cut and not found.value.keys() & _MARKS:
            continue  # another program's object
        line = first_line + text.count("\n", start, found.end)
        found.before, found.first_line, found.last_line = text[end:start], first_line, line
        end = found.end
        yield found
    torn = _BEGINNING.search(text, max(end, len(text) - 100))
    if torn and end:  # a last document that was cut within its first words
        first_line = line + text.count("\n", end, torn.start())
        last_line = first_line + torn[0].count("\n")
        yield Document({}, torn.start(), len(text), first_line, last_line, text[end : torn.start()], is_cut=True)


def _read(text: str, start: int, following: re.Match[str] | None, *, has_surrogates: bool) -> Document:
    repeated: set[str] = set()

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if has_surrogates:
            pairs = [(_encodable(key), _encodable(value)) for key, value in pairs]
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        keeper = Repeated(pairs)
        repeated.update(keeper.names - {PADDING})
        return keeper

    try:
        decoder = json.JSONDecoder(object_pairs_hook=to_object, parse_int=_number, strict=False)
        value, end = decoder.raw_decode(text, start)
        return Document(value, start, end, 0, 0, "", repeated=repeated)
    except ValueError:
        repeated.clear()
    reader = _Recovery(to_object)
    limit = following.start() if following else len(text)
    value, end = reader.read(text, start, limit)
    return Document(value, start, end, 0, 0, "", reader.is_cut, reader.n_skipped, repeated)


@dataclass
class _Open:
    """A bracket that is still open; ``items`` are values, or pairs of key and value."""

    is_object: bool
    name: str | None  # the key under which it stands
    items: list[Any] = field(default_factory=list)
    key: str | None = None
    has_colon: bool = False
    on_new_line: bool = False


class _Recovery:
    """Reads what can be read of a document that is cut, or that something was written into."""

    def __init__(self, to_object: Any) -> None:
        self.to_object = to_object
        self.stack: list[_Open] = []
        self.root: Any = None
        self.is_cut = False
        self.n_skipped = 0
        self.is_open_ended = False  # a value came last: a comma or the end of its bracket has to follow

    def read(self, text: str, start: int, limit: int) -> tuple[dict[str, Any], int]:
        """Return the content, and where it ends."""
        position, begins_line = start, False
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
            self._add(_unescaped(match["string"]) if kind == "string" else _number(text), top)
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
        if len(self.stack) >= MAX_DEPTH:
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


def _encodable(value: Any) -> Any:
    """Half of a surrogate pair, which JSON can escape and no file can hold, replaced."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _number(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text.lstrip("-").isdigit() and len(text) < 20:
        return int(text)
    return float(text)  # also nan and inf, which fio prints for a division by zero
