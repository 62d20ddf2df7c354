"""Published figures: what an article or a data sheet states, written down by hand as YAML.

Grammar
    ``published:`` names the source; ``exhibits:`` is a list of ``{exhibit, columns, rows}``; each row is
    ``{row, unit, values}`` with a value a column, as printed. ``unit`` is the unit as printed (``ms``, ``GiB``,
    ``million ops/s``, ``%``); a row without a unit holds text. Values may be ``192,000``, ``<1 ms``, ``~160``,
    ``2-128``, ``$0.172 – $10.892/hr``, ``8 x 3750 GB``, ``+ 9%``, ``n/a``.
Traps
    A range has no single value; ``<1`` bounds from above only; ``8 x 3750`` is a product.
Sample
    tests/parse/published/ranges_and_bounds/
Gives
    published, with figures scaled to SI units: value for ``=`` and ``~``, value_low and value_high for the rest.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

import yaml

from pipeline import units
from pipeline.parse._report import Report
from pipeline.parse._source import Source

EXPECTED = "a YAML mapping that begins with `published:`"
FORM = "YAML, written by hand"
VERSIONS = "the form of this project"
NOT_READ = ""
UNSEEN_CUTS = "YAML has no end mark"

# As printed → (SI unit, factor).
_UNITS: dict[str, tuple[str, float]] = {
    "1": ("1", 1), "%": ("1", units.PERCENT), "x": ("x", 1),
    "s": ("s", 1), "ms": ("s", units.MILLI), "µs": ("s", units.MICRO),
    "min": ("s", units.SECONDS["m"]), "h": ("s", units.SECONDS["h"]),
    "ops/s": ("1/s", 1), "thousand ops/s": ("1/s", 1e3), "million ops/s": ("1/s", 1e6), "GHz": ("Hz", 1e9),
    "Mbps": ("bit/s", 1e6), "Gbps": ("bit/s", 1e9), "MB/s": ("B/s", 1e6), "GB/s": ("B/s", 1e9),
    "kB": ("B", 1e3), "MB": ("B", 1e6), "GB": ("B", 1e9), "TB": ("B", 1e12), "GiB": ("B", units.byte_size("1GiB")),
    "TiB": ("B", units.byte_size("1TiB")), "B": ("B", 1), "USD/h": ("USD/h", 1), "USD/year": ("USD/year", 1),
}  # fmt: skip
_NUMBER = r"[-−]?\d[\d,]*(?:\.\d+)?"
_FACTOR = rf"\$?\s*({_NUMBER})(?:\s*[x×]\s*({_NUMBER}))?"
# Behind the figure stands its unit in words, and perhaps a remark in brackets: no further digits.
_FIGURE = re.compile(
    rf"([<>~≈]?)\s*(?:\+\s?(?=\d))?{_FACTOR}(?:\s*([-–])\s*{_FACTOR})?(?P<unit>[^\d()]*)(?:\([^()]*\))?"
)
_NO_FIGURE = ("n/a", "–", "-", "")


def recognise(head: str) -> bool:
    """Whether the file begins with ``published:``, after comments."""
    return re.match(r"(?:[ \t]*(?:#[^\n]*)?\n)*published:\s", head) is not None


def parse(source: Source) -> list[Report]:
    """Return one report with the table ``published``; ParseError when the YAML is not of the grammar."""
    try:
        content = yaml.safe_load(source.text)
        name, exhibits = content["published"], content["exhibits"]
        report = Report("published", source)
        report.parameter("source", name)
        if content.get("url"):
            report.parameter("url", content["url"])
        for exhibit in exhibits:
            _add_exhibit(report, name, exhibit)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise source.error(mark.line + 1 if mark else None, "YAML", str(error)) from error
    except RecursionError as error:
        raise source.error(None, "exhibits as lists of rows", "lists in lists without end") from error
    except (KeyError, TypeError, ValueError) as error:
        raise source.error(None, "exhibits as {exhibit, columns, rows: [{row, unit, values}]}", str(error)) from error
    return [report]


def _add_exhibit(report: Report, source_name: str, exhibit: dict[str, Any]) -> None:
    columns = exhibit["columns"]
    for row in exhibit["rows"]:
        for column, text in zip(columns, row["values"], strict=True):
            figure = figure_of(str(text), row["unit"]) if row.get("unit") else {}
            report.add("published", source=source_name, exhibit=exhibit["exhibit"], row=row["row"],
                       column=str(column), value_text=str(text), **figure)  # fmt: skip


def figure_of(text: str, unit: str) -> dict[str, Any]:
    """Read a printed figure: its relation, and its value or bounds in the SI unit of ``unit``.

    KeyError on an unknown unit, ValueError on a text that is no figure of that unit.
    """
    si_unit, factor = _UNITS[unit]
    printed = text.strip()
    if printed.lower() in _NO_FIGURE:
        return {"unit": si_unit}
    match = _FIGURE.fullmatch(printed)
    if match is None or ("%" in printed) != (unit == "%"):
        raise ValueError(f"a figure in {unit}, not {text!r}")
    sign, low, high = match[1], _value(match[2], match[3]) * factor, None
    if match[4]:
        high = _value(match[5], match[6]) * factor
        if sign or high < low:
            raise ValueError(f"a range from the smaller to the larger without a sign before it, not {text!r}")
        return {"unit": si_unit, "relation": "range", "value_low": low, "value_high": high}
    bound = {"<": "value_high", ">": "value_low"}.get(sign, "value")
    return {"unit": si_unit, "relation": "~" if sign == "≈" else sign or "=", bound: low}


def _value(number: str, times: str | None) -> float:
    return prod(float(part.replace(",", "").replace("−", "-")) for part in (number, times) if part)
