"""Private to ``fio_json``: the JSON documents in a file, wherever they stand in it, each with its line and its damage.

A whole document is read by the standard library, but for the numbers of its histograms, which numpy reads. One that the
library refuses is read again token by token: brackets that are left open at a cut are closed after the last complete
value, what is no JSON is skipped and counted. The file is read in pieces, so that the status documents of a long run
need not fit into memory together.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.parse._source import TEXT_BYTES, Source
from pipeline.parse.fio._fio_json_bins import PLACE, Histogram, histograms_of
from pipeline.parse.fio._fio_json_recovery import Recovery, number_of

# Whatever key a tool that sorts keys may have put first; fio itself begins with its version.
START = re.compile(r'\{\s*"(?:fio version|client_stats|cpu_idleness|disk_util|global options|jobs)"\s*:')
_BEGINNING = re.compile(r'\{\s*(?:"[a-z _]*"?\s*:?)?\s*\Z')
PADDING = "0.00"  # to 3.3 fio fills the list of percentiles up to 20 entries with this key
MAX_DEPTH = 100

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_MARKS = {"fio version", "jobs", "client_stats"}
_BINS = re.compile(r'("bins"\s*:\s*\{[^}]*\})')
_Hook = Callable[[list[tuple[str, Any]]], dict[str, Any]]


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
    """A document: its content, where it stands, and what is wrong with it.

    A histogram that numpy has read is in ``histograms``; in the content stands its place there (see ``PLACE``).
    """

    value: dict[str, Any]
    text: str
    histograms: list[Histogram] = field(default_factory=list)
    first_line: int = 0
    last_line: int = 0
    before: str = ""  # the text between the previous document and this one
    is_cut: bool = False
    n_skipped: int = 0
    repeated: set[str] = field(default_factory=set)
    jobs: Any = None  # kept by ``jobs_of``, so that it is done once
    state: Any = None  # likewise


class Documents:
    """The documents of a file in their order; ``gap`` is the text behind the last one, from ``line`` on."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.line = 1
        self.gap = ""
        self.n_found = 0

    def __iter__(self) -> Iterator[Document]:
        rest = ""
        for piece, is_last in _pieces(self.source):
            rest = yield from self._take(rest + piece, is_last=is_last)
            if len(rest) + len(self.gap) > TEXT_BYTES:
                raise self.source.error(self.line, f"documents of at most {TEXT_BYTES} bytes", "a longer one")

    def _take(self, text: str, *, is_last: bool) -> Generator[Document, None, str]:
        """Yield the documents of a piece; return what the next piece has to begin with."""
        end = 0
        match = START.search(text)
        while match:
            start = match.start()
            following = START.search(text, match.end())
            try:
                found = _read(text, start, following)
            except RecursionError as error:
                line = self.line + (self.gap + text[end:start]).count("\n")
                raise self.source.error(line, f"at most {MAX_DEPTH} nested brackets", "more") from error
            if found.is_cut and following is None and not is_last:  # its end may come with the next piece
                self.gap += text[end:start]
                return text[start:]
            stop = start + len(found.text)
            match = following if following and following.start() >= stop else START.search(text, stop)
            if found.is_cut or found.value.keys() & _MARKS:
                self.gap += text[end:start]
                yield self._placed(found)
            else:  # another program's object
                self.gap += text[end:stop]
            end = stop
        self.gap += text[end:]
        torn = _BEGINNING.search(self.gap, max(0, len(self.gap) - 100)) if is_last and self.n_found else None
        if torn:  # a last document that was cut within its first words
            self.gap = self.gap[: torn.start()]
            yield self._placed(Document({}, torn[0], is_cut=True))
        return ""

    def _placed(self, document: Document) -> Document:
        document.before, self.gap = self.gap, ""
        document.first_line = self.line + document.before.count("\n")
        document.last_line = self.line = document.first_line + document.text.count("\n")
        self.n_found += 1
        return document


def _pieces(source: Source) -> Iterator[tuple[str, bool]]:
    """The file's text in pieces that end behind a line ``}``, each with whether it is the last."""
    parts: list[str] = []
    for block in source.blocks():
        text = _decoded(block)
        end = text.rfind("\n}\n") + 3
        if end == 2:  # none
            end = 2 if text.startswith("}\n") else 0
        if end:
            yield "".join((*parts, text[:end])), False
            parts = [text[end:]]
        else:
            parts.append(text)
            if sum(map(len, parts)) > TEXT_BYTES:
                raise source.error(None, f"documents of at most {TEXT_BYTES} bytes", "a longer one")
    yield "".join(parts), True


def _decoded(block: bytes) -> str:
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        return block.decode("latin-1")


def _decoder(chunk: str, to_object: _Hook) -> json.JSONDecoder:
    """A decoder whose numbers can all be a double: Python's own integers have no end."""
    has_long_ones = b"0" * 20 in chunk.encode("utf-8", "replace").translate(_DIGITS)
    parse_int = number_of if has_long_ones else None
    return json.JSONDecoder(object_pairs_hook=to_object, parse_int=parse_int, strict=False)


def _read(text: str, start: int, following: re.Match[str] | None) -> Document:
    limit = following.start() if following else len(text)
    chunk = text[start:limit] if start or following else text
    repeated: set[str] = set()
    to_object = _hook(repeated, has_surrogates="\\" in chunk and _SURROGATE.search(chunk) is not None)
    try:
        return _read_fast(chunk, to_object, repeated)
    except ValueError:
        repeated.clear()
    if following:  # which may stand within this one
        try:
            value, end = _decoder(text, to_object).raw_decode(text, start)
            return Document(value, text[start:end], repeated=repeated)
        except ValueError:
            repeated.clear()
    reader = Recovery(to_object, MAX_DEPTH)
    value, end = reader.read(chunk)
    return Document(value, chunk[:end], is_cut=reader.is_cut, n_skipped=reader.n_skipped, repeated=repeated)


def _read_fast(chunk: str, to_object: _Hook, repeated: set[str]) -> Document:
    """Read a whole document, its histograms apart; ValueError if it is none."""
    parts = _BINS.split(chunk)  # the contents of the bins are at the odd places
    found = histograms_of(parts[1::2]) if len(parts) > 1 else []
    if not found:
        value, end = _decoder(chunk, to_object).raw_decode(chunk)
        return Document(value, chunk[:end], repeated=repeated)
    marks = [f'"bins":"{PLACE}{place}"' for place in range(len(found))]
    cut = [len(part) - len(mark) for part, mark in zip(parts[1::2], marks, strict=True)]  # characters
    parts[1::2] = marks
    rest = "".join(parts)
    value, end = _decoder(rest, to_object).raw_decode(rest)
    passed = n_cut = 0
    for place, part in enumerate(parts):
        passed += len(part)
        if passed >= end:
            break
        n_cut += cut[place // 2] if place % 2 else 0
    return Document(value, chunk[: end + n_cut], found, repeated=repeated)


def _hook(repeated: set[str], *, has_surrogates: bool) -> _Hook:
    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if has_surrogates:
            pairs = [(_encodable(key), _encodable(value)) for key, value in pairs]
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        keeper = Repeated(pairs)
        repeated.update(keeper.names - {PADDING})
        return keeper

    return to_object


def _encodable(value: Any) -> Any:
    """Half of a surrogate pair, which JSON can escape and no file can hold, replaced."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
