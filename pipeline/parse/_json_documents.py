"""JSON documents that follow each other in a text, whole or cut, with other lines around them.

A document that the standard library refuses is read up to the last complete value before the fault: the brackets
that are open there are closed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_STRUCTURE = re.compile(r'\\.|["{}\[\],]', re.DOTALL)
MAX_DEPTH = 100


class TooDeepError(ValueError):
    """Brackets nested deeper than any tool nests them."""


@dataclass
class Document:
    """A document: its content, the line it begins and ends in, and what is wrong with it."""

    value: Any
    first_line: int
    last_line: int
    is_cut: bool = False
    repeated: set[str] = field(default_factory=set)  # keys that occur twice in an object; the last one counts
    before: str = ""  # the text between the previous document and this one
    after: str = ""  # of the last one: what stands behind it


def documents(text: str, start: re.Pattern[str]) -> Iterator[Document]:
    """Yield the documents that begin where ``start`` matches; TooDeepError on hostile nesting."""
    end, line, found = 0, 1, None
    match = start.search(text)
    while match:
        following = start.search(text, match.end())
        first = line + text.count("\n", end, match.start())
        repeated: set[str] = set()
        value, stop, is_cut = _read(text, match.start(), following.start() if following else len(text), repeated)
        line = first + text.count("\n", match.start(), stop)
        if found:
            yield found
        found = Document(value, first, line, is_cut, repeated, text[end : match.start()])
        end = stop
        match = start.search(text, stop)
    if found:
        found.after = text[end:]
        yield found


def load(text: str) -> Any:
    """Read one document; ValueError when it is none. Numbers that do not fit become None."""
    try:
        return _decoder(set()).decode(text)
    except RecursionError as error:
        raise TooDeepError from error


def _read(text: str, start: int, limit: int, repeated: set[str]) -> tuple[Any, int, bool]:
    try:
        value, end = _decoder(repeated).raw_decode(text, start)
        return value, end, False
    except RecursionError as error:
        raise TooDeepError from error
    except json.JSONDecodeError as error:
        fault = min(max(error.pos, start), len(text))
    repeated.clear()
    try:
        return _decoder(repeated).decode(_closed(text, start, fault)), max(limit, start + 1), True
    except RecursionError as error:
        raise TooDeepError from error
    except ValueError:
        return None, max(limit, start + 1), True


def _decoder(repeated: set[str]) -> json.JSONDecoder:
    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            repeated.update(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return found

    return json.JSONDecoder(object_pairs_hook=to_object, parse_int=_integer, parse_float=_float,
                            parse_constant=_nothing, strict=False)  # fmt: skip


def _closed(text: str, start: int, fault: int) -> str:
    """The text up to the last complete value before the fault, with its open brackets closed."""
    stack: list[str] = []
    end, closers = start, ""
    in_string = False
    for match in _STRUCTURE.finditer(text, start, fault):
        mark = match[0]
        if mark == '"':
            in_string = not in_string
        elif in_string or len(mark) > 1:
            continue
        elif mark in "{[":
            stack.append("}" if mark == "{" else "]")
            if len(stack) > MAX_DEPTH:
                raise TooDeepError
            end, closers = match.end(), "".join(reversed(stack))
        elif mark == ",":
            end, closers = match.start(), "".join(reversed(stack))
        elif stack and stack[-1] == mark:
            stack.pop()
            end, closers = match.end(), "".join(reversed(stack))
        else:
            break
    return text[start:end] + closers


def _integer(text: str) -> int | None:
    return int(text) if len(text) < 20 else None


def _float(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _nothing(_: str) -> None:
    return None


def encodable(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON can escape and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
