"""A YAML file with the line of every key: duplicate keys, traps of YAML and bombs are errors, each with its line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import SpecError

Keys = tuple[str | int, ...]
MAX_BYTES = 1 << 20
MAX_VALUES = 200_000  # after aliases are followed
MAX_DEPTH = 20
_N_SHOWN = 100
_MERGE = "tag:yaml.org,2002:merge"
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_TRAP = re.compile(r"[-+]?(0[0-9_]+|[0-9][0-9_]*(:[0-9.]+)+)")  # octal, and base 60: 12:30 would be 750
_NEVER = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError)  # of damaged scalars


@dataclass(frozen=True)
class Problem:
    """What is wrong at a key: ``expected …, found …``."""

    keys: Keys
    message: str


@dataclass(frozen=True)
class Document:
    """The content of a file, sequences as tuples, and the line (from 1) of each key and each item."""

    path: str
    content: Any = None
    lines: Mapping[Keys, int] = field(default_factory=dict)

    def line_of(self, keys: Keys) -> int:
        """The line of a key, or of the nearest one above that is written."""
        return next((self.lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in self.lines), 1)

    def place(self, keys: Keys) -> str:
        """``path:line: hosts.db1.ssh``."""
        return f"{self.path}:{self.line_of(keys)}: {shown_keys(keys)}" if keys else f"{self.path}:1"

    def error(self, problems: Iterable[Problem]) -> SpecError:
        """One error that lists all, in the order of the lines."""
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: self.line_of(problem.keys))
        lines = [f"{self.place(problem.keys)}: {problem.message}" for problem in ordered[:_N_SHOWN]]
        if len(ordered) > _N_SHOWN:
            lines.append(f"{self.path}: and {len(ordered) - _N_SHOWN} more")
        return SpecError("\n".join(lines))


def read(path: Path) -> Document:
    """Read a YAML file; SpecError lists what is wrong, each with its line."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: expected a readable YAML file in UTF-8, found: {error}") from error
    if len(data) > MAX_BYTES:
        raise SpecError(f"{path}: expected at most {MAX_BYTES} bytes, found {len(data)}")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two of escapes such as \UFFFFFFFF
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise SpecError(f"{where}: expected YAML, found: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise SpecError(f"{path}: expected at most {MAX_DEPTH} levels, found far more") from error
    walk = _Walk()
    try:
        content = walk.value(node, ()) if node is not None else None
    except _TooMuchError:
        raise SpecError(f"{path}: expected at most {MAX_VALUES} values, found more (through aliases?)") from None
    document = Document(str(path), content, walk.lines)
    if walk.problems:
        raise document.error(walk.problems)
    return document


class _TooMuchError(Exception):
    """More values than a spec may have."""


class _Walk:
    """Makes values of nodes, and notes lines and problems on the way."""

    def __init__(self) -> None:
        self.lines: dict[Keys, int] = {}
        self.problems: list[Problem] = []
        self._scalars = yaml.SafeLoader("")
        self._n_left = MAX_VALUES
        self._active: set[int] = set()

    def value(self, node: yaml.Node, keys: Keys) -> Any:
        """The value of a node, None where there is a problem."""
        self.lines.setdefault(keys, node.start_mark.line + 1)
        self._count()
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, keys)
        if id(node) in self._active:
            return self._complain(keys, "expected a value, found an alias of what it stands in")
        if len(keys) >= MAX_DEPTH:
            return self._complain(keys, f"expected at most {MAX_DEPTH} levels, found more")
        if node.tag not in _COLLECTIONS:
            return self._complain(keys, f"expected plain YAML, found the tag {shown(node.tag)}")
        self._active.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return {key: self.value(child, (*keys, key)) for key, child in self._pairs(node, keys)}
            return tuple(self.value(child, (*keys, number)) for number, child in enumerate(node.value))
        finally:
            self._active.discard(id(node))

    def _pairs(self, node: yaml.MappingNode, keys: Keys) -> Iterator[tuple[str, yaml.Node]]:
        """Keys and values of a mapping; those that ``<<`` merges in come last and only where there is no own one."""
        seen: dict[str, int] = {}
        merged: list[yaml.Node] = []
        for key_node, child in node.value:
            self._count()
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                merged += child.value if isinstance(child, yaml.SequenceNode) else [child]
                continue
            key = self._scalar(key_node, keys) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                self._complain(keys, f"expected text as a key, found {shown(key)} in line {line} (put it in quotes)")
            elif key in seen:
                self.lines[*keys, key] = line
                self._complain((*keys, key), f"expected each key once, found it in line {seen[key]} already")
            else:
                seen[key] = self.lines[*keys, key] = line
                yield key, child
        for source in merged:
            if not isinstance(source, yaml.MappingNode) or id(source) in self._active:
                self._complain(keys, "expected `<<` with an alias of a mapping, found something else")
                continue
            self._active.add(id(source))
            for key, child in self._pairs(source, keys):
                if key not in seen:
                    seen[key] = self.lines[*keys, key]
                    yield key, child
            self._active.discard(id(source))

    def _scalar(self, node: yaml.ScalarNode, keys: Keys) -> Any:
        if node.style is None and node.tag.endswith((":int", ":float")) and _TRAP.fullmatch(node.value):
            return self._complain(keys, f"expected a plain number, or text in quotes, found {shown(node.value)}")
        try:
            return self._scalars.construct_object(node)
        except _NEVER as error:
            problem = getattr(error, "problem", None) or error
            return self._complain(keys, f"expected plain YAML, found {shown(node.value)}: {problem}")

    def _count(self) -> None:
        """Aliases of aliases grow without end; counting what they stand for is not enough, walking must end too."""
        self._n_left -= 1
        if self._n_left < 0:
            raise _TooMuchError

    def _complain(self, keys: Keys, message: str) -> None:
        self.problems.append(Problem(keys, message))


def shown_keys(keys: Keys) -> str:
    """``hosts.db1.devices`` or ``runs[0].target``; a key that is no plain name stands in quotes, escaped."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += ("." if text else "") + (key if _PLAIN_KEY.fullmatch(key) else shown(key))
    return text


def shown(value: object) -> str:
    """A value for an error: short, on one line, in ASCII, so that what looks like another letter shows."""
    match value:
        case None | bool():
            return {None: "nothing", True: "true", False: "false"}[value]
        case str():
            return ascii(value if len(value) <= 60 else f"{value[:40]}… ({len(value)} characters)")
        case int() if abs(value) >= 10**20:
            return "a number of more than 20 digits"
        case int() | float():
            return str(value)
        case dict():
            return "a mapping"
        case tuple() | list():
            return "a list"
        case datetime.date():
            return f"the date {value} (text needs quotes)"
    return f"a {type(value).__name__}"
