"""Instances and their prices, from a dated file to which users add their own rows.

The file (``data/prices.yaml``) is YAML: ``sources`` (an id with title and date), ``instances`` (name, provider, vcpus,
cores, dram_gib, drives, drive_gb, storage_tb, source) and ``prices`` (instance, price, currency, per: hour, month or
year, hours where it is not by the hour, kind such as on-demand, region, date, source). A quantity is a number, or a
range such as ``0.172-10.892``. What is not known is left out, never guessed.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pipeline.analyse.rounding import Interval
from pipeline.errors import AnalysisError

QUANTITIES = ("vcpus", "cores", "dram_gib", "drives", "drive_gb", "storage_tb")


@dataclass(frozen=True)
class Instance:
    """A machine that can be rented; a quantity that is not known is None."""

    name: str
    source: str
    provider: str | None = None
    vcpus: Interval | None = None
    cores: Interval | None = None
    dram_gib: Interval | None = None
    drives: Interval | None = None
    drive_gb: Interval | None = None
    storage_tb: Interval | None = None

    @property
    def terabytes(self) -> Interval | None:
        """Local storage in TB (10¹² B): as stated, or drives × their capacity."""
        if self.storage_tb is not None:
            return self.storage_tb
        return self.drives * self.drive_gb / 1000 if self.drives is not None and self.drive_gb is not None else None


@dataclass(frozen=True)
class Price:
    """What an instance costs: ``amount`` in ``currency`` for ``hours`` hours."""

    instance: str
    amount: Interval
    currency: str
    per: str
    hours: float
    kind: str
    region: str
    date: datetime.date
    source: str
    note: str = ""

    @property
    def per_hour(self) -> Interval:
        """The price of an hour."""
        return self.amount / self.hours


@dataclass(frozen=True)
class PriceList:
    """Instances by name, prices in the order of the file, and titles of sources by id; ``name`` is the file's."""

    name: str
    instances: dict[str, Instance]
    prices: tuple[Price, ...]
    sources: dict[str, str]

    def instance(self, name: str) -> Instance:
        """An instance; AnalysisError names the file to add it to."""
        if name not in self.instances:
            raise AnalysisError(
                f"{self.name}: expected an instance {name!r}, found {', '.join(sorted(self.instances))}"
            )
        return self.instances[name]

    def price(
        self, instance: str, kind: str, *, currency: str = "USD", region: str | None = None, date: str | None = None
    ) -> Price:
        """The price of a kind; of several the latest up to ``date`` (ISO), if it is given.

        AnalysisError where there is none, or several of which region and date do not choose one.
        """
        self.instance(instance)
        own = [p for p in self.prices if p.instance == instance]
        found = [p for p in own if p.kind == kind and p.currency == currency and region in (None, p.region)]
        if date is not None:
            found = [p for p in found if p.date.isoformat() <= date]
            found = [p for p in found if p.date == max(other.date for other in found)]
        if len(found) != 1:
            there = [(p.kind, p.currency, p.region, p.date.isoformat()) for p in own]
            asked = "".join(f", {name} {value}" for name, value in (("region", region), ("up to", date)) if value)
            raise AnalysisError(
                f"{self.name}: expected one {kind} price of {instance} in {currency}{asked}, "
                f"found {len(found)} of {there or 'no price at all'}"
            )
        return found[0]

    def to_frame(self) -> pd.DataFrame:
        """A row an instance: its quantities, and each of its prices by the hour, with kind, region, date and source."""
        rows = []
        for instance in self.instances.values():
            quantities = {name: _text(getattr(instance, name)) for name in QUANTITIES[:-1]}
            base = {"instance": instance.name, **quantities, "storage_tb": _text(instance.terabytes)}
            own: list[Price | None] = [p for p in self.prices if p.instance == instance.name]
            for price in own or [None]:
                rows.append({**base, **_price_row(price), "source": price.source if price else instance.source})
        return pd.DataFrame(rows)


def _price_row(price: Price | None) -> dict[str, Any]:
    if price is None:
        return {"price": None, "per": None, "price_per_hour": None, "kind": None, "region": None, "date": None}
    return {"price": f"{_text(price.amount)} {price.currency}", "per": f"{price.per} ({price.hours:g} h)",
            "price_per_hour": f"{_text(price.per_hour)} {price.currency}", "kind": price.kind, "region": price.region,
            "date": price.date.isoformat()}  # fmt: skip


def _text(quantity: Interval | None) -> str | None:
    if quantity is None:
        return None
    low, high = f"{quantity.low:,.10g}", f"{quantity.high:,.10g}"
    if quantity.low != quantity.high and not quantity.low.is_integer():
        low, high = f"{quantity.low:,.4f}", f"{quantity.high:,.4f}"
    return low if quantity.low == quantity.high else f"{low} – {high}"
