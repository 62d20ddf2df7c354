"""The price file's text checked: every mistake is named with the file, the line and the key."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import fields

import yaml

from pipeline.analyse.price.instances import QUANTITIES, Instance, Price, PriceList
from pipeline.analyse.rounding import Interval
from pipeline.errors import AnalysisError

_RANGE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[-–]\s*(\d+(?:\.\d+)?))?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_PER = ("hour", "month", "year")


def parse_prices(text: str, name: str) -> PriceList:
    """Read and check a price file; AnalysisError names ``name``, the line and the key of whatever is wrong."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise AnalysisError(f"{name}:{mark.line + 1 if mark else 1}: expected YAML, found {error}") from error
    if not isinstance(root, yaml.MappingNode):
        raise AnalysisError(f"{name}:1: expected sources, instances and prices")
    parts = {key.value: node for key, node in root.value}
    for key, _ in root.value:
        if key.value not in ("sources", "instances", "prices"):
            raise AnalysisError(f"{name}:{key.start_mark.line + 1}: {key.value}: expected sources, instances or prices")
    sources = _sources(parts.get("sources"), name)
    instances = {}
    for row in _rows(parts.get("instances"), name, "instances"):
        instance = _instance(row, sources)
        if instance.name in instances:
            raise row.error("name", f"{instance.name} is there already")
        instances[instance.name] = instance
    prices = tuple(_price(row, sources, instances) for row in _rows(parts.get("prices"), name, "prices"))
    return PriceList(name, instances, prices, sources)


class _Row:
    """One mapping of the file, with the line of each key."""

    def __init__(self, node: yaml.Node, name: str, part: str) -> None:
        self.name, self.part, self.line = name, part, node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            raise AnalysisError(f"{name}:{self.line}: {part}: expected keys and values")
        self.lines: dict[str, int] = {}
        self.values: dict[str, str] = {}
        for key, value in node.value:
            where = key.start_mark.line + 1
            if key.value in self.lines:
                raise AnalysisError(f"{name}:{where}: {part}: {key.value} is given twice")
            if not isinstance(value, yaml.ScalarNode):
                raise AnalysisError(f"{name}:{where}: {part}: {key.value}: expected one value")
            self.lines[key.value], self.values[key.value] = where, value.value.strip()

    def error(self, key: str, message: str) -> AnalysisError:
        """An error at the line of a key, or of the row where the key is missing."""
        return AnalysisError(f"{self.name}:{self.lines.get(key, self.line)}: {self.part}: {key}: {message}")

    def check_keys(self, allowed: set[str], needed: set[str]) -> None:
        """No unknown key, every needed one."""
        for key in self.values:
            if key not in allowed:
                raise self.error(key, f"expected one of {', '.join(sorted(allowed))}")
        for key in sorted(needed):
            if not self.values.get(key):
                raise self.error(key, "expected a value, found none")

    def quantity(self, key: str) -> Interval | None:
        """A number above 0, or a range of them; None where the key is absent."""
        if key not in self.values:
            return None
        text = self.values[key]
        match = _RANGE.fullmatch(text)
        low, high = (float(match[1]), float(match[2] or match[1])) if match else (0.0, 0.0)
        if not 0 < low <= high or not math.isfinite(high):
            raise self.error(key, f"expected a number above 0 or a range such as 0.172-10.892, found {text!r}")
        return Interval((low + high) / 2, low, high)

    def required_quantity(self, key: str) -> Interval:
        """A quantity that must be there."""
        found = self.quantity(key)
        if found is None:
            raise self.error(key, "expected a value, found none")
        return found

    def date(self, key: str) -> datetime.date:
        """An ISO date."""
        try:
            return datetime.date.fromisoformat(self.values[key])
        except ValueError as error:
            raise self.error(key, f"expected a date such as 2022-06-20, found {self.values[key]!r}") from error

    def source(self, sources: dict[str, str]) -> str:
        """An id of a source."""
        if self.values["source"] not in sources:
            raise self.error("source", f"expected one of {', '.join(sources)}, found {self.values['source']!r}")
        return self.values["source"]


def _rows(node: yaml.Node | None, name: str, part: str) -> list[_Row]:
    if node is None:
        raise AnalysisError(f"{name}:1: expected {part}, found none")
    if not isinstance(node, yaml.SequenceNode):
        raise AnalysisError(f"{name}:{node.start_mark.line + 1}: {part}: expected a list")
    return [_Row(item, name, part) for item in node.value]


def _sources(node: yaml.Node | None, name: str) -> dict[str, str]:
    found = {}
    if not isinstance(node, yaml.MappingNode):
        raise AnalysisError(
            f"{name}:{node.start_mark.line + 1 if node else 1}: sources: expected ids with title and date"
        )
    for key, value in node.value:
        row = _Row(value, name, f"sources: {key.value}")
        row.check_keys({"title", "date", "url"}, {"title", "date"})
        found[key.value] = f"{row.values['title']}, {row.date('date').isoformat()}"
    return found


def _instance(row: _Row, sources: dict[str, str]) -> Instance:
    row.check_keys({field.name for field in fields(Instance)}, {"name", "source"})
    quantities = {name: row.quantity(name) for name in QUANTITIES}
    if row.values.get("storage_tb") and row.values.get("drive_gb"):
        raise row.error("storage_tb", "expected either it or drives and drive_gb")
    return Instance(row.values["name"], row.source(sources), row.values.get("provider"), **quantities)


def _price(row: _Row, sources: dict[str, str], instances: dict[str, Instance]) -> Price:
    needed = {"instance", "price", "currency", "per", "kind", "region", "date", "source"}
    row.check_keys(needed | {"hours", "note"}, needed)
    values = row.values
    if values["instance"] not in instances:
        raise row.error("instance", f"expected one of the instances above, found {values['instance']!r}")
    if not _CURRENCY.fullmatch(values["currency"]):
        raise row.error("currency", f"expected a code such as USD, found {values['currency']!r}")
    if values["per"] not in _PER:
        raise row.error("per", f"expected one of {', '.join(_PER)}, found {values['per']!r}")
    if values["per"] != "hour" and "hours" not in values:
        raise row.error("hours", f"expected the hours of a {values['per']}, such as 730 or 8760, found none")
    if values["per"] == "hour" and "hours" in values:
        raise row.error("hours", "expected none, for the price is by the hour")
    hours = row.quantity("hours")
    return Price(
        values["instance"], row.required_quantity("price"), values["currency"], values["per"],
        1.0 if hours is None else hours.value, values["kind"], values["region"], row.date("date"),
        row.source(sources), values.get("note", ""),
    )  # fmt: skip
