"""Rates by the vCPU, core, drive, terabyte and dollar: each column names what it was divided by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.price.instances import PriceList
from pipeline.analyse.rounding import Interval
from pipeline.errors import AnalysisError

HOURS_PER_MONTH = 730.0  # 8,760 h a year / 12, as the clouds' own calculators bill
PER = ("vcpu", "core", "drive", "tb", "gib_dram", "usd_per_hour", "usd_per_month")
_QUANTITY = {"vcpu": "vcpus", "core": "cores", "drive": "drives", "tb": "terabytes", "gib_dram": "dram_gib"}


@dataclass(frozen=True)
class Normalised:
    """The rows with their normalised columns.

    ``frame``: the columns given, and for each denominator ``<value>_per_<denominator>`` with ``…_low`` and ``…_high``,
    such as ops_per_s_per_vcpu, ops_per_s_per_usd_per_hour, ops_per_s_per_usd_per_month_of_730_h.
    """

    frame: pd.DataFrame
    value: str
    columns: tuple[str, ...]
    instance: str
    priced: str
    warnings: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """The rows."""
        return self.frame

    def numbers(self) -> dict[str, Any]:
        """The rows, and which price they took."""
        return {"rows": self.frame, "columns": self.columns, "price": self.priced, "warnings": self.warnings}

    def improvement(self, of: str, against: str, by: str) -> pd.DataFrame:
        """How much more instance ``of`` gives than ``against``, a row a value of ``by``.

        Columns: ``by``, and for the rate itself and each normalised column its ratio less 1, low and high by the
        rounding of what was printed. AnalysisError unless each has one row of each value.
        """
        rows = []
        for name, part in self.frame.groupby(by, sort=False):
            pair = [part[part[self.instance] == instance] for instance in (of, against)]
            if [len(found) for found in pair] != [1, 1]:
                raise AnalysisError(f"{by} {name!r}: expected one row of {of} and of {against}")
            row: dict[str, Any] = {by: name}
            for column in (self.value, *self.columns):
                first, second = (_cell(found.to_dict("records")[0], column) for found in pair)
                change = first / second - 1
                row |= {f"{column}_change_ratio": change.value, f"{column}_change_low_ratio": change.low,
                        f"{column}_change_high_ratio": change.high}  # fmt: skip
            rows.append(row)
        return pd.DataFrame(rows)

    def short_frame(self, by: str) -> pd.DataFrame:
        """For a page: instance, ``by`` and each normalised column as a text with what rounding leaves open."""
        rows = [
            {self.instance: row[self.instance], by: row[by],
             **{column: _text(_cell(row, column)) for column in (self.value, *self.columns)}}
            for row in self.frame.to_dict("records")
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def improvement_sentence(self, of: str, against: str, by: str) -> str:
        """How much more ``of`` gives, from the least to the most over the values of ``by``, by each denominator."""
        frame = self.improvement(of, against, by)
        parts = []
        for column in (self.value, *self.columns):
            low, high = frame[f"{column}_change_low_ratio"].min(), frame[f"{column}_change_high_ratio"].max()
            parts.append(f"{column} {low * 100:+.1f} … {high * 100:+.1f} %")
        return (
            f"{of} against {against}, over n = {len(frame)} printed pairs of one run each: {'; '.join(parts)} "
            f"({self.priced}; ends by rounding, no confidence intervals)."
        )

    def sentence(self) -> str:
        """Which instance gives most by each denominator, and where the rounding leaves it open."""
        parts = []
        for column in self.columns:
            means = self.frame.groupby(self.instance)[column].agg(["min", "max"])
            parts.append(
                f"{column}: " + ", ".join(f"{n} {r['min']:,.4g} – {r['max']:,.4g}" for n, r in means.iterrows())
            )
        return (
            f"n = {len(self.frame)} printed figures, one run each: {'; '.join(parts)} ({self.priced}). "
            "Intervals are those of the rounding alone."
        )


def normalise(
    frame: pd.DataFrame,
    prices: PriceList,
    *,
    per: Sequence[str],
    value: str = "ops_per_s",
    instance: str = "instance",
    nodes: str | None = None,
    kind: str = "on-demand",
    region: str | None = None,
    date: str | None = None,
    hours_per_month: float = HOURS_PER_MONTH,
) -> Normalised:
    """Divide ``value`` by what its instances have or cost: value / (nodes · denominator).

    ``frame`` has a row a figure: ``value`` with, if known, ``<value>_low`` and ``<value>_high``, the name of the
    instance, and how many there were in column ``nodes`` (without it: 1). ``per``: any of PER. A price is of ``kind``,
    of several the latest up to ``date``, and taken by the hour; a month has ``hours_per_month`` hours, which the column
    names. Ranges of prices, and the rounding of the values, become intervals (see ``Interval``).

    AnalysisError, and no column, where a denominator is not known: an instance or a quantity that the price file lacks,
    no price of ``kind`` or several of them, no nodes. Nulls and zeros: a null value gives null, 0 gives 0.
    """
    unknown = [name for name in per if name not in PER]
    missing = [name for name in (value, instance, *([nodes] if nodes else [])) if name not in frame]
    if unknown or missing or not len(per):
        raise AnalysisError(f"expected columns and denominators ({', '.join(PER)}), found none of {unknown + missing}")
    warnings = []
    if n_null := int(frame[value].isna().sum()):
        warnings.append(f"{n_null} of {len(frame)} rows have no {value}")
    found = frame.reset_index(drop=True).copy()
    rule = _Rule(prices, kind, region, date, hours_per_month)
    columns = []
    for name in per:
        column = f"{value}_per_{name}" + (f"_of_{hours_per_month:g}_h" if name == "usd_per_month" else "")
        columns.append(column)
        cells = []
        for row in found.to_dict("records"):
            divisor = rule.denominator(row[instance], name) * _n_nodes(row, nodes, instance)
            cells.append(None if pd.isna(row[value]) else _cell(row, value) / divisor)
        for part, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
            found[column + suffix] = [None if cell is None else getattr(cell, part) for cell in cells]
            found[column + suffix] = found[column + suffix].astype("float64")
    priced = rule.described() if any(name.startswith("usd") for name in per) else "no price"
    return Normalised(found, value, tuple(columns), instance, priced, tuple(warnings))


def refusal(frame: pd.DataFrame, prices: PriceList, *, per: Sequence[str], **options: Any) -> str:
    """Why ``normalise`` refuses these rows, for a page; AnalysisError if it does not."""
    try:
        normalise(frame, prices, per=per, **options)
    except AnalysisError as error:
        return f"{error}."
    raise AnalysisError(f"expected a denominator of {', '.join(per)} to be missing, found all of them")


def unit_prices(prices: PriceList, *, kind: str, per: Sequence[str], date: str | None = None) -> Normalised:
    """What a core, a terabyte or a vCPU of each instance with a price of ``kind`` costs by the hour.

    Columns: instance, usd_per_hour with its ends, and usd_per_hour_per_<denominator>. AnalysisError without a price.
    """
    names = [p.instance for p in prices.prices if p.kind == kind and p.currency == "USD"]
    priced = [prices.price(name, kind, date=date) for name in dict.fromkeys(names)]
    if not priced:
        raise AnalysisError(f"{prices.name}: expected prices of kind {kind!r}, found {sorted(_kinds(prices))}")
    frame = pd.DataFrame(
        [
            {"instance": price.instance, "date": price.date.isoformat(), "usd_per_hour": price.per_hour.value,
             "usd_per_hour_low": price.per_hour.low, "usd_per_hour_high": price.per_hour.high}
            for price in priced
        ]
    )  # fmt: skip
    return normalise(frame, prices, per=per, value="usd_per_hour")


def _kinds(prices: PriceList) -> set[str]:
    return {price.kind for price in prices.prices}


def _text(cell: Interval) -> str:
    ends = [f"{end:,.4g}" if abs(end) < 1e4 else f"{end:,.0f}" for end in (cell.value, cell.low, cell.high)]
    return ends[0] if ends[1] == ends[2] else f"{ends[0]} ({ends[1]} … {ends[2]})"


class _Rule:
    """Which price is taken, and what an instance has of each denominator."""

    def __init__(
        self, prices: PriceList, kind: str, region: str | None, date: str | None, hours_per_month: float
    ) -> None:
        self.prices, self.kind, self.region, self.date, self.hours = prices, kind, region, date, hours_per_month
        self.dates: set[str] = set()

    def denominator(self, instance: str, name: str) -> Interval:
        """How many of them an instance has, or what it costs."""
        machine = self.prices.instance(instance)
        if name.startswith("usd"):
            price = self.prices.price(instance, self.kind, region=self.region, date=self.date)
            self.dates.add(price.date.isoformat())
            return price.per_hour * (self.hours if name == "usd_per_month" else 1.0)
        quantity: Interval | None = getattr(machine, _QUANTITY[name])
        if quantity is None:
            raise AnalysisError(f"{self.prices.name}: {instance} has no {_QUANTITY[name]}: add it, with its source")
        return quantity

    def described(self) -> str:
        """The prices that were taken."""
        return f"{self.kind} prices of {', '.join(sorted(self.dates))}"


def _n_nodes(row: Mapping[Hashable, Any], nodes: str | None, instance: str) -> float:
    n_nodes = 1.0 if nodes is None else row[nodes]
    if pd.isna(n_nodes) or not n_nodes > 0:
        raise AnalysisError(f"{row[instance]}: expected at least one node in {nodes}, found {n_nodes!r}")
    return float(n_nodes)


def _cell(row: Mapping[Hashable, Any], column: str) -> Interval:
    """A value with its ends, where the row has them."""
    value = float(row[column])
    low, high = (row.get(f"{column}_{end}") for end in ("low", "high"))
    return Interval(value, value if low is None or pd.isna(low) else float(low),
                    value if high is None or pd.isna(high) else float(high))  # fmt: skip
