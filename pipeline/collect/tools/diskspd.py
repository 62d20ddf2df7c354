"""DISKSPD on Windows, on a file: ``result.xml`` (``-Rxml``, which holds the intervals of ``-D`` that the text lacks).

Parameters are DISKSPD's own letters: ``b: 4K, t: 4, o: 32, w: 30, r: true, d: 60``. Set unless the spec says
otherwise: ``L`` (latencies), ``D: 1000`` (rates a second), ``S: h`` (no cache of Windows, no write cache of the disk).
``W`` is the spec's ``warm_up_s`` also where that is 0, as DISKSPD's default is 5 s. The file is written full of random
data before the run. ``-c`` would not do: it makes the file anew, and as an administrator without writing it, so that
reads would find nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pipeline.collect.spool.quoting import WindowsStep
from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Kind, choice, flag, pattern, whole
from pipeline.collect.work import FileTarget, Request, Requirement, Scalar, Work
from pipeline.errors import SpecError

ASSUMED_BYTES_PER_S = 100e6  # of laying out the file
RESULT = "result.xml"
NEW_FILE = "New-TestFile"  # of host/windows.ps1

_INTERVAL_BYTES = 700  # of -D, for each thread and in all
_SPARE_BYTES = 1 << 26
_BINARY = re.compile(r'[A-Za-z]:(?:\\(?![ .])[^<>:"/\\|?*\x00-\x1f]{1,255}(?<![ .]))+\.exe', re.ASCII | re.IGNORECASE)
_SIZE = pattern(r"[1-9][0-9]{0,14}[KMGTb]?", "bytes, or a size such as 4K or 1G")


def _on_or(size: Kind) -> Kind:
    """A flag, or a size: ``r: true`` is ``-r``, ``r: 8K`` is ``-r8K``; false is as if it were not there."""
    return Kind(
        f"true, false, or {size.expected}",
        lambda value: ("" if value else "no") if isinstance(value, bool) else size.text(value),
    )


OPTIONS: dict[str, Kind] = {
    "b": _SIZE, "t": whole(1, 4096), "F": whole(1, 4096), "o": whole(1, 65536), "O": whole(1, 65536),
    "w": whole(0, 100), "r": _on_or(_SIZE), "rs": whole(0, 100), "s": _on_or(_SIZE), "si": _on_or(_SIZE),
    "d": whole(1, 10**7), "C": whole(0, 10**6), "D": whole(1, 10**6), "L": flag("", "no"),
    "S": choice("b", "bw", "h", "m", "mw", "r", "rw", "u", "uw", "w"), "Z": _on_or(_SIZE), "z": whole(0, 2**32 - 1),
    "g": pattern("[1-9][0-9]{0,9}i?", "bytes a ms, or I/Os a second such as 1000i"), "I": choice("1", "2", "3"),
    "n": flag("", "no"), "p": flag("", "no"), "T": _SIZE, "f": _SIZE, "x": flag("", "no"),
}  # fmt: skip
_REFUSED = {
    "c": "no -c: the target's size_bytes says it, and the file is filled before the run",
    "W": "no -W: the entry's warm_up_s says it",
    "R": "no -R: the report is XML, which tells more",
}
_EXCLUDE = (("r", "s"), ("r", "si"), ("s", "si"), ("rs", "s"), ("rs", "si"), ("t", "F"), ("o", "O"), ("si", "p"),
            ("si", "T"), ("r", "T"))  # fmt: skip
_DEFAULTS = {"L": "", "D": "1000", "S": "h", "C": "0"}


def work(request: Request) -> Work:
    """The command of a point; SpecError names an option that is not allowed."""
    target = request.target
    if not isinstance(target, FileTarget):
        raise SpecError("target: expected a file in a directory for diskspd (it writes no disk as a whole), found none")
    if request.is_sudo:
        raise SpecError("sudo: expected none on Windows, found true (the user of the ssh session must be allowed to)")
    words = _words(request.parameters)
    warm_up_s = math.ceil(request.warm_up_s)
    place = path_of(target)
    switches = [f"-{name}{word}" for name, word in words.items()]
    binary = _binary(request)
    measure = WindowsStep((binary, *switches, f"-W{warm_up_s}", "-Rxml", place), RESULT)
    duration_s = warm_up_s + int(words["d"]) + int(words["C"])
    n_rows = int(words["d"]) * 1000 / int(words["D"]) * (1 + int(words.get("t") or words.get("F") or 1))
    return Work(
        measure=(measure,), duration_s=float(duration_s),
        prepare=(WindowsStep((NEW_FILE, place, str(target.n_bytes))),), prepare_s=target.n_bytes / ASSUMED_BYTES_PER_S,
        targets=(target,), requirements=(Requirement(binary, _INSTALL),), logs=(RESULT,),
        free_bytes=_SPARE_BYTES + int(n_rows * _INTERVAL_BYTES),
    )  # fmt: skip


_INSTALL = "DISKSPD from Microsoft's releases: put diskspd.exe into a folder of PATH, or name it as `binary`"


def path_of(target: FileTarget) -> str:
    r"""Where the file is, as Windows writes it: ``D:\bench\test.dat``."""
    return "\\".join((target.directory.replace("/", "\\"), target.name.replace("/", "\\")))


def _words(given: Mapping[str, Scalar]) -> dict[str, str]:
    words = options.read(OPTIONS, given, "parameters", _REFUSED)
    words = {name: word for name, word in (words | {k: v for k, v in _DEFAULTS.items() if k not in words}).items()
             if word != "no"}  # fmt: skip
    options.need("parameters", words, "d")
    for one, other in _EXCLUDE:
        if one in words and other in words:
            raise options.wrong("parameters", other, f"none beside {one}, as DISKSPD takes one of them", words[other])
    return words


def _binary(request: Request) -> str:
    if request.binary is None:
        return "diskspd.exe"
    path = request.binary.replace("/", "\\")
    if not _BINARY.fullmatch(path) or ".." in path:
        raise SpecError(f"binary: expected the path of diskspd.exe, found {ascii(request.binary)[:80]}")
    return path
