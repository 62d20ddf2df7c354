"""Lines of perf script as they are written: the head of a sample, a frame, a comment."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD_BYTES = 512  # of a line that are looked at for its fields before the event
_WHO = rb"\s*(?P<comm>\S.{0,63}?)\s+(?P<pid>-?\d+)(?:/ *-?\d+)?\s+(?:\[\d+\]\s+)?"
_DATE = rb"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\s+)?"
_TIME = rb"(?:[A-Zh]{1,6}\s+)?" + _DATE + rb"\d+\.\d+:(?!\S)"
_FULL = re.compile(_WHO + _TIME)
_WITHOUT_TIME = re.compile(_WHO)
_WITHOUT_PID = re.compile(rb"\s*(?P<comm>\S.{0,63}?)\s+(?:\[\d+\]\s+)?" + _TIME)
_TIME_ALONE = re.compile(rb"\s*(?:\[\d+\]\s+)?" + _TIME)
_EVENT = re.compile(rb"\s*(?:(?P<period>\d{1,20})\s+)?(?P<event>[A-Za-z0-9_/][^\s]*):(?!\S)")
_FRAME = re.compile(rb"\s*[0-9a-f]{1,16}(?:\s+\S|\s*$)")
_SINGLE = re.compile(rb"\s*(?:[0-9a-f]+\s+(?=[0-9a-f]{8}))?(?P<frame>[0-9a-f]{1,16}\s+\S.*\))\s*")
_BRANCHES = re.compile(rb"\s*0x[0-9a-f]+(?:\([^)]*\))?/0x[0-9a-f]+")
_LOST = re.compile(rb"PERF_RECORD_LOST\w*.*?lost (\d{1,18})")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_ARGUMENTS = re.compile(r"\((?!anonymous namespace\)).*")
_OPERATOR = re.compile(r"operator(?:<<=?|<=>?|<|>>=?|>=?|->\*?)")
_INLINED = re.compile(r"(?<!operator)(?<! )->(?! )")
_GO_METHOD = re.compile(r"\.\(.*\)\.")
_COMMENT = re.compile(r"#\s*(\S.*?)\s*:\s(.*)")


@dataclass(frozen=True)
class Head:
    """The first line of a sample: what was hit, by whom, and what stands behind the event."""

    event: str | None
    command: str | None
    period: int | None
    frame: bytes | None = None  # of a sample without a call graph, whose place is on the same line


def text_of(line: bytes) -> str:
    """Printable text; what is no UTF-8 is replaced."""
    text = line.decode("utf-8", "replace").replace("\t", " ")
    return text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text)


def read_head(line: bytes) -> Head | None:
    """The head of a sample with command, id and time; None when the line is none."""
    match = _FULL.match(line[:_HEAD_BYTES])
    return _head(match["comm"], line[match.end() :], is_sure=True) if match else None


def read_short_head(line: bytes) -> Head | None:
    """The same with fewer fields (-F); a frame may look so too, so that this is asked after ``is_frame``."""
    start = line[:_HEAD_BYTES]
    if match := _TIME_ALONE.match(start):
        return _head(None, line[match.end() :])
    for pattern in (_WITHOUT_PID, _WITHOUT_TIME):
        if (match := pattern.match(start)) and (head := _head(match["comm"], line[match.end() :])):
            return head
    head = _head(None, line)
    return head if head is not None and (head.frame or line.rstrip().endswith(b":")) else None


def _head(comm: bytes | None, rest: bytes, *, is_sure: bool = False) -> Head | None:
    command = None if comm is None else text_of(comm)
    match = _EVENT.match(rest[:_HEAD_BYTES])
    if match is None:
        if not is_sure:
            return None
        return Head(None, command, None, _single(rest)) if not rest.strip() or _single(rest) else None
    period = None if match["period"] is None else int(match["period"])
    return Head(text_of(match["event"]), command, period, _single(rest[match.end() :]))


def _single(rest: bytes) -> bytes | None:
    """The place behind the event, of a sample without a call graph; a tracepoint's fields are none."""
    match = _SINGLE.fullmatch(rest) if len(rest) < _HEAD_BYTES * 8 else None
    return match["frame"] if match else None


def is_frame(line: bytes) -> bool:
    """Whether a line is a frame: an address, then a symbol."""
    return _FRAME.match(line[:_HEAD_BYTES]) is not None


def is_branches(line: bytes) -> bool:
    """Whether a line is the branch stack of -F brstack."""
    return _BRANCHES.match(line[:_HEAD_BYTES]) is not None


def n_lost(line: bytes) -> int:
    """Events that a line says were lost; 0 when it says nothing of it."""
    match = _LOST.search(line[:_HEAD_BYTES])
    return int(match[1]) if match else 0


def comment_of(line: bytes) -> tuple[str, str] | None:
    """Name and value of a line of --header."""
    match = _COMMENT.match(text_of(line[: 1 << 16]))
    return (match[1], match[2].strip()) if match else None


def frame_names(line: bytes) -> tuple[str, str]:
    """A frame as stackcollapse-perf.pl writes it, and as it writes it for commands named java…; empty: none.

    The offset and the arguments go, ``[unknown]`` becomes ``[file]`` where the file is known, and a symbol that stands
    for several inlined ones (``a->b``) becomes several frames, the inner ones marked ``_[i]``.
    """
    _, _, rest = text_of(line.strip()).partition(" ")
    symbol, file = _split_file(rest.strip())
    symbol = _OFFSET.sub("", symbol) or "[unknown]"  # old perf prints nothing where it knows no symbol
    if symbol.startswith("(") and not symbol.startswith("(anonymous namespace)"):
        return "", ""  # a process's name, as old perf prints it
    plain, java = [], []
    for number, part in enumerate([part for part in _INLINED.split(symbol) if part]):
        mark = "_[i]" if number else ""
        name = _tidy(part, file)
        plain.append(name + mark)
        java.append((name[1:] if "/" in name and name.startswith("L") else name) + mark)
    return ";".join(plain), ";".join(java)


def _split_file(text: str) -> tuple[str, str]:
    """``symbol (file)`` in its two parts; the file is empty where -F left it out."""
    if not text.endswith(")"):
        return text, ""
    end = len(text) - len(" (deleted))") if text.endswith(" (deleted))") else len(text) - 1
    start = text.rfind(" (", 0, end)
    if start < 0:
        return ("", text[1:end]) if text.startswith("(") else (text, "")
    return text[:start], text[start + 2 : end]


def _tidy(symbol: str, file: str) -> str:
    if symbol == "[unknown]":
        known = file and file != "[unknown]"
        symbol = f"[{_OFFSET.sub('', file.rpartition('/')[2])}]" if known else "[unknown]"
    symbol = symbol.replace(";", ":")
    if "(" in symbol and not _GO_METHOD.search(symbol):
        symbol = _without_arguments(symbol)
    return symbol.replace('"', "").replace("'", "")


def _without_arguments(symbol: str) -> str:
    """A C++ or Rust name up to its arguments; those of a template's types, in brackets, belong to the name."""
    plain = _OPERATOR.sub(lambda match: "_" * len(match[0]), symbol)
    depth = 0
    for place, character in enumerate(plain):
        if character in "<{":
            depth += 1
        elif character in ">}":
            depth -= 1
        elif character == "(" and depth == 0 and not plain.startswith("(anonymous namespace)", place):
            return symbol[:place]
    return symbol if depth == 0 else _ARGUMENTS.sub("", symbol)
