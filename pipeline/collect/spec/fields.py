"""Types of a spec's values: names, paths, sizes, texts; each error tells what was expected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from pipeline import units
from pipeline.collect.spec.document import Keys, Problem, shown
from pipeline.collect.work import Scalar

MAX_TEXT = 20_000
_MAX_VALUE = 4096
_MAX_BYTES = 1 << 60
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_ADDRESS = re.compile(r"[A-Za-z0-9:][A-Za-z0-9.:_-]{0,252}")  # IPv6 too
_DEVICE = re.compile(r"/dev/disk/by-id/[A-Za-z0-9][A-Za-z0-9#+.:=@_-]{0,250}")
_IDENTITY = re.compile(r"[!-~]([ -~]{0,126}[!-~])?")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/](?![ .])[^<>:\"|?*\\/\x00-\x1f]{1,255}(?<![ .]))+")
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr")
_WINDOWS_SYSTEM = {"windows", "program files", "program files (x86)", "programdata"}
_UNSEEN = {
    "Cc",
    "Cf",
    "Cs",
    "Co",
    "Cn",
    "Zl",
    "Zp",
}  # control, format (right-to-left, zero width), surrogates, unassigned


def is_windows(path: str) -> bool:
    """Whether a path begins with a drive, ``D:``."""
    return path[1:2] == ":"


def _match(pattern: re.Pattern[str], expected: str, value: str) -> str:
    if not pattern.fullmatch(value) or ".." in value:
        raise ValueError(expected)
    return value


def _is_printable(value: str, also: str = "") -> bool:
    return all(character in also or unicodedata.category(character) not in _UNSEEN for character in value)


def _line(value: str) -> str:
    if not value.strip() or len(value) > _MAX_VALUE or not _is_printable(value):
        raise ValueError(f"a line of printable text, at most {_MAX_VALUE} characters")
    return value


def _text(value: str) -> str:
    if len(value) > MAX_TEXT or not _is_printable(value, "\n\t"):
        raise ValueError(f"printable text, at most {MAX_TEXT} characters")
    return value


def _path(value: str) -> str:
    """An absolute, normalised path; Windows' kind, with a drive, too."""
    parts = _parts(value)
    if len(value) > 1024 or not _is_printable(value) or {".", ".."} & set(parts) or "" in parts[1:] or len(parts) < 2:
        raise ValueError("an absolute path such as /mnt/scratch/bench, without '..', '//' or a '/' at its end")
    if not _WINDOWS.fullmatch(value) if is_windows(value) else parts[0]:
        raise ValueError("an absolute path such as /mnt/scratch/bench, or D:\\bench on Windows")
    return value


def _folder(value: str) -> str:
    """A path that is not the system's own."""
    first = _parts(_path(value))[1]
    if is_windows(value) and first.casefold() in _WINDOWS_SYSTEM:
        raise ValueError("a path that is not the system's own")
    if not is_windows(value) and first in _SYSTEM:
        raise ValueError(f"a path that is not the system's own (/{', /'.join(_SYSTEM)})")
    return value


def _parts(path: str) -> list[str]:
    return re.split(r"[\\/]", path) if is_windows(path) else path.split("/")


def _spool(value: str) -> str:
    if value.startswith("~/"):
        _folder(f"/home/{value[2:]}")  # the same rules below the home folder
        return value
    try:
        return _folder(value)
    except ValueError as error:
        raise ValueError(f"~/… or {error}") from error


def _scalar(value: object) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 1 << 63:
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    if isinstance(value, str) and len(value) <= _MAX_VALUE and _is_printable(value):
        return value
    raise ValueError(f"text (printable, at most {_MAX_VALUE} characters), a finite number, true or false")


def _sweep(value: object) -> Scalar | tuple[Scalar, ...]:
    if not isinstance(value, tuple):
        return _scalar(value)
    if not value:
        raise ValueError("at least one value in the list")
    return tuple(_scalar(item) for item in value)


def check_option(name: str, value: object) -> None:
    """An option of a monitor: a plain name, and a value or a list of values; ValueError otherwise."""
    if not _PARAMETER.fullmatch(name):
        raise ValueError("a plain name")
    _sweep(value)


def _size(value: object) -> object:
    if isinstance(value, str) and len(value) <= 32:
        try:
            size = units.byte_size(value)
        except ValueError:
            size = -1.0
        value = int(size) if 0 <= size <= _MAX_BYTES and size == int(size) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MAX_BYTES:
        raise ValueError("a number of bytes above 0, or a size such as 512MiB or 10G (10 x 2^30)")
    return value


def _kind(pattern: re.Pattern[str], expected: str) -> AfterValidator:
    return AfterValidator(partial(_match, pattern, expected))


Name = Annotated[str, _kind(_NAME, "a name of ASCII letters, digits, '.', '_', '-' (at most 64, no '..')")]
ParameterName = Annotated[str, _kind(_PARAMETER, "a parameter's name of ASCII letters, digits, '.', '_', '-'")]
Alias = Annotated[str, _kind(_ALIAS, "a host's alias in ~/.ssh/config, or its name (User and Port stand in that file)")]
Address = Annotated[str, _kind(_ADDRESS, "a host's name or IP address")]
DeviceId = Annotated[str, _kind(_DEVICE, "/dev/disk/by-id/NAME: sdb or nvme0n1 may be another disk tomorrow")]
Identity = Annotated[str, _kind(_IDENTITY, "the serial or WWN that the device reports, in quotes")]
FileName = Annotated[str, _kind(_FILE, "a file's name of ASCII letters, digits, '.', '_', '-', without folders")]
Line = Annotated[str, AfterValidator(_line)]
Text = Annotated[str, AfterValidator(_text)]
Path = Annotated[str, AfterValidator(_path)]
Folder = Annotated[str, AfterValidator(_folder)]
SpoolFolder = Annotated[str, AfterValidator(_spool)]
Value = Annotated[Scalar, PlainValidator(_scalar)]
Sweep = Annotated[Scalar | tuple[Scalar, ...], PlainValidator(_sweep)]
Size = Annotated[int, BeforeValidator(_size)]
Seconds = Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
Limit = Annotated[float, Field(gt=0, le=1e8, allow_inf_nan=False)]

_EXPECTED: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "string_type": "text", "int_type": "a whole number", "float_type": "a number", "bool_type": "true or false",
    "dict_type": "a mapping", "model_type": "a mapping", "model_attributes_type": "a mapping", "tuple_type": "a list",
    "finite_number": "a finite number", "int_parsing_size": "a smaller number", "int_from_float": "a whole number",
    "greater_than": lambda context: f"a number > {context['gt']:g}",
    "greater_than_equal": lambda context: f"a number >= {context['ge']:g}",
    "less_than_equal": lambda context: f"a number <= {context['le']:g}",
    "value_error": lambda context: str(context["error"]),
}  # fmt: skip


def problem_of(error: Any, keys: Keys, known: Iterable[str]) -> Problem:
    """What pydantic found, in our words; ``known`` are the keys that the mapping may have."""
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return Problem(keys[:-1], f"expected the key `{keys[-1]}`, found none")
    if kind == "extra_forbidden":
        near = get_close_matches(str(keys[-1])[:64], list(known), 1)
        meant = f" (did you mean `{near[0]}`?)" if near else ""
        return Problem(keys, f"expected one of {', '.join(known)}, found another key{meant}")
    expected = _EXPECTED.get(kind, error["msg"])
    text = expected if isinstance(expected, str) else expected(error.get("ctx", {}))
    hint = " (text needs quotes)" if kind == "string_type" and isinstance(value, bool | int | float) else ""
    return Problem(keys, f"expected {text}, found {shown(value)}{hint}")
