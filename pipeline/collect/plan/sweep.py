"""Points of a sweep: which there are, what they are called, and in which order a host measures them.

Lists in ``parameters`` make a matrix, in the order of the keys as written; ``points`` beside them are merged over the
parameters that are no lists. A point is named by its swept parameters only (``randread-iodepth8-bs4k``), so its name
depends neither on the seed, nor on the order of a list, nor on which other values there are: a campaign may grow, and
what was measured keeps its names.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.collect.work import Scalar
from pipeline.errors import SpecError

if TYPE_CHECKING:
    from pipeline.collect.spec import Entry

MAX_NAME = 64
SINGLE = "single"  # the name of the only point of an entry that sweeps over nothing
_SPEAKS_FOR_ITSELF = frozenset({"rw", "readwrite", "ioengine"})  # randread needs no `rw` before it
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+|\.\.+")


@dataclass(frozen=True)
class Point:
    """A point: its name, and all its parameters."""

    name: str
    parameters: Mapping[str, Scalar]


def count(entry: Entry) -> int:
    """How many points an entry has, without making them."""
    lists = [value for value in entry.parameters.values() if isinstance(value, tuple)]
    has_matrix = bool(lists) or not entry.points
    return (math.prod(len(values) for values in lists) if has_matrix else 0) + len(entry.points)


def points(entry: Entry) -> tuple[Point, ...]:
    """The points of an entry, the matrix first; SpecError where two are equal or would have one name."""
    fixed = {key: value for key, value in entry.parameters.items() if not isinstance(value, tuple)}
    names: dict[str, str] = {}  # by their lower case: run folders may come to lie where case does not count
    seen: set[tuple[tuple[str, str], ...]] = set()
    found = []
    for swept in _swept(entry):
        point = Point(_name(entry.name, swept), {**fixed, **swept})
        identity = tuple(sorted((key, text(value)) for key, value in point.parameters.items()))
        if identity in seen:
            raise SpecError(f"expected points that differ, found {point.name} twice")
        other = names.setdefault(point.name.casefold(), point.name)
        if len(names) == len(seen):
            raise SpecError(f"expected points that differ in their names, found {other} and {point.name}")
        seen.add(identity)
        found.append(point)
    return tuple(found)


def ordered(points_and_repeats: Iterable[tuple[str, int]], seed: int, host: str) -> Iterator[tuple[str, int]]:
    """The order on a host: points, each as often as it is repeated (from 1), as ``(point, repeat)``.

    Block-randomised: every repeat is a complete block of all points in a random order of its own, so that what drifts
    with time (temperature, wear, a neighbour) spreads evenly over the points, and a campaign that ends early has whole
    repeats. The order follows from the seed and the host's name alone, whatever the order in the spec.
    """
    repeats = dict(sorted(points_and_repeats))
    generator = random.Random(f"{seed}/{host}")  # noqa: S311 (an order, no secret)
    for repeat in range(1, max(repeats.values(), default=0) + 1):
        block = [point for point, n_repeats in repeats.items() if n_repeats >= repeat]
        generator.shuffle(block)
        yield from ((point, repeat) for point in block)


def text(value: Scalar) -> str:
    """A value as it stands in names and on command lines: ``true``, ``8``, ``0.5``, ``randread``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _swept(entry: Entry) -> Iterator[Mapping[str, Scalar]]:
    lists = {key: value for key, value in entry.parameters.items() if isinstance(value, tuple)}
    if lists or not entry.points:
        for values in itertools.product(*lists.values()):
            yield dict(zip(lists, values, strict=True))
    yield from entry.points


def _name(prefix: str | None, swept: Mapping[str, Scalar]) -> str:
    """A readable name; with a hash where it would be too long, or a value has signs that a name can't."""
    plain = "-".join(filter(None, (prefix, *(_part(key, text(value)) for key, value in swept.items())))) or SINGLE
    name = _UNSAFE.sub("_", plain)
    name = name if name[0].isalnum() else f"p{name}"
    if name == plain and len(name) <= MAX_NAME:
        return name
    values = "\0".join(f"{key}\0{text(value)}" for key, value in swept.items())
    digest = hashlib.sha256(values.encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME - len(digest) - 1].rstrip('.')}-{digest}"


def _part(key: str, value: str) -> str:
    if key in _SPEAKS_FOR_ITSELF:
        return value
    return f"{key}{value}" if value[:1].isdigit() and not key[-1].isdigit() else f"{key}-{value}"
