"""Private to the monitors: options that have one value each."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import Value
from pipeline.collect.work import Scalar


def single(monitor: str, given: Mapping[str, Value]) -> dict[str, Scalar]:
    """The options as they are; SpecError where one has a list."""
    for name, value in given.items():
        if not isinstance(value, Scalar):
            raise options.wrong(f"monitors.{monitor}", name, "one value", value)
    return {name: value for name, value in given.items() if isinstance(value, Scalar)}
