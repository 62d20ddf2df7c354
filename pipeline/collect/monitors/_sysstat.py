"""Private to ``iostat`` and ``mpstat``: they have the same frame and the same option."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.monitors import _monitor
from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Monitor, Requirement, Step


def monitor(program: str, arguments: tuple[str, ...], given: Mapping[str, Value]) -> Monitor:
    """A program of sysstat with JSON at an interval; without a count it goes on until it is interrupted."""
    words = options.read({"interval_s": options.whole(1, 3600)}, _monitor.single(program, given), f"monitors.{program}")
    # LC_ALL=C alone gives dates such as 11/21/26; ISO leaves no doubt.
    argv = ("env", "S_TIME_FORMAT=ISO", program, *arguments, "-o", "JSON", words.get("interval_s", "1"))
    log = f"{program}.json"
    return Monitor(program, Step(argv, log), requirements=(Requirement(program, "sysstat", ("-V",)),), logs=(log,))
