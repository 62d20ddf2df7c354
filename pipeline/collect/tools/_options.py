"""Private to the tools: the options that a spec may set, and what each takes. What is not listed is refused.

A value is turned into one word: it has no line feed, no control character and nothing but ASCII.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pipeline.collect.work import Scalar
from pipeline.errors import SpecError

Value = Scalar | Sequence[Scalar]  # a monitor's option may be a list, such as events

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_TIME = re.compile(r"([0-9]{1,12})(us|ms|s|m|h|d)?")
_SIZE = re.compile(r"([0-9]{1,15})([kKmMgGtT]?)(?:i?[bB])?")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Kind:
    """What an option takes: ``text`` gives the word for the tool, None where the value is of another kind."""

    expected: str
    text: Callable[[Scalar], str | None]


def whole(low: int = 0, high: int = 10**15) -> Kind:
    """A whole number from ``low`` to ``high``."""

    def text(value: Scalar) -> str | None:
        number = _integer(value)
        return str(number) if number is not None and low <= number <= high else None

    return Kind(f"a whole number from {low} to {high}", text)


def number(low: float, high: float) -> Kind:
    """A number from ``low`` to ``high``."""

    def text(value: Scalar) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return None
        return f"{value:.15g}"

    return Kind(f"a number from {low:g} to {high:g}", text)


def flag(on: str = "1", off: str = "0") -> Kind:
    """A flag; written as ``on`` or ``off``."""
    return Kind("true or false", lambda value: (on if value else off) if _is_flag(value) else None)


def choice(*words: str) -> Kind:
    """One of some words."""
    return Kind(
        f"one of {', '.join(words)}", lambda value: value if isinstance(value, str) and value in words else None
    )


def pattern(expression: str, expected: str) -> Kind:
    """A word of a given form, of at most 500 characters; a number is taken as it is printed."""
    compiled = re.compile(expression, re.ASCII)

    def text(value: Scalar) -> str | None:
        word = "" if isinstance(value, bool) else str(value)
        return word if len(word) <= 500 and compiled.fullmatch(word) else None

    return Kind(expected, text)


def _duration(value: Scalar) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value if _TIME.fullmatch(value) and seconds(value) > 0 else None
    return time_word(value) if 0 < value <= 10**9 else None


SIZE = pattern(_SIZE.pattern, "bytes, such as 4096, 4k or 1g")
WHOLE_DURATION = pattern(r"[1-9][0-9]{0,8}[smhd]?", "whole seconds, or a time such as 30s, 5m or 24h")
DURATION = Kind("seconds, or a time such as 30s, 5m or 24h", _duration)


def read(
    allowed: Mapping[str, Kind], given: Mapping[str, Scalar], where: str, refused: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The words of the options given, in their order; SpecError for one that is not allowed or of another kind.

    ``refused`` tells of some that are not allowed what to do instead.
    """
    words = {}
    for name, value in given.items():
        if name not in allowed:
            raise wrong(where, name, (refused or {}).get(name) or _known(allowed, name), "this option")
        word = allowed[name].text(value)
        if word is None:
            raise wrong(where, name, allowed[name].expected, value)
        words[name] = word
    return words


def wrong(where: str, name: object, expected: str, found: object) -> SpecError:
    """An error that names the option: ``parameters.size: expected …, found …``."""
    is_plain = isinstance(name, str) and _NAME.fullmatch(name)
    shown = found if found in ("this option", "none") else ascii(found)[:80]
    return SpecError(f"{where}.{name if is_plain else ascii(name)[:60]}: expected {expected}, found {shown}")


def need(where: str, given: Mapping[str, Scalar], *names: str) -> None:
    """SpecError unless all these options are given."""
    for name in names:
        if name not in given:
            raise wrong(where, name, "a value", "none")


def seconds(word: str) -> float:
    """A time as ``DURATION`` takes it, in s."""
    match = _TIME.fullmatch(word)
    return int(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0


def n_bytes(word: str) -> int:
    """A size as ``SIZE`` takes it, in B; its units are powers of 1024."""
    match = _SIZE.fullmatch(word)
    return int(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else 0


def time_word(value: float) -> str:
    """Seconds as tools take them: whole ones, or ms."""
    return str(int(value)) if value == int(value) else f"{math.ceil(value * 1000)}ms"


def is_on(words: Mapping[str, str], name: str) -> bool:
    """Whether a flag is given and on."""
    return words.get(name, "") not in ("", "0")


def _known(allowed: Mapping[str, Kind], name: str) -> str:
    """What is allowed: all of few options, of many those whose names are like it."""
    if len(allowed) <= 20:
        return f"one of {', '.join(sorted(allowed))}"
    near = get_close_matches(str(name)[:80], allowed, n=3, cutoff=0.7)
    return f"an option that a campaign may set{', such as ' + ', '.join(near) if near else ''}"


def _integer(value: Scalar) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,15}", value) else None
    return int(value) if isinstance(value, int) or value == math.trunc(value) else None


def _is_flag(value: Scalar) -> bool:
    return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
